"""The commands about somebody's own corpus: ``python -m nyt_h_dataset convert``."""

from __future__ import annotations

import argparse
from typing import Any

from .conversion import convert_corpus
from .corpus import OPTIONAL_COLUMNS, REQUIRED_COLUMNS
from .schema import NEGATIVE_RELATION


def _column(text: str) -> tuple[str, str]:
    ours, equals, theirs = text.partition("=")
    if not (ours and equals and theirs):
        raise argparse.ArgumentTypeError(f"{text!r} is no pair; write OURS=THEIRS, for instance head=subj")
    return ours, theirs


def _print_rows(num_rows: Any, path: object) -> None:
    for name, count in num_rows.items():
        print(f"{name:20} {count:>8,} rows")
    print(f"Written to {path}")
    print(f'Load it: from nyt_h_dataset import load_nyt_h; load_nyt_h("{path}", "bag")')


def _convert(arguments: argparse.Namespace) -> int:
    info = convert_corpus(
        arguments.out,
        train=arguments.train,
        validation=arguments.validation,
        test=arguments.test,
        columns=dict(arguments.columns),
        negative_relation=arguments.negative_relation,
        validation_fraction=arguments.validation_fraction,
        seed=arguments.seed,
        overwrite=arguments.overwrite,
    )
    _print_rows(info.num_rows, info.path)
    return 0


def _add_out(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", required=True, metavar="DIR", help="folder to write; new or empty")
    command.add_argument(
        "--overwrite", action="store_true", help="replace a data set in this layout (and nothing else)"
    )


def add_corpus_commands(commands: Any) -> None:
    """Add the commands of this file to what `ArgumentParser.add_subparsers` returned."""
    convert = commands.add_parser(
        "convert", help="write a corpus of your own (JSON lines or Parquet) in the format of NYT-H"
    )
    for split, needed in (("train", True), ("validation", False), ("test", True)):
        convert.add_argument(
            f"--{split}",
            required=needed,
            nargs="+",
            metavar="FILE",
            help="JSON-lines or Parquet files, or folders of Parquet files"
            + ("" if needed else " (default: entity pairs of train)"),
        )
    convert.add_argument(
        "--columns",
        nargs="+",
        type=_column,
        default=[],
        metavar="OURS=THEIRS",
        help="what the corpus calls " + ", ".join((*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)),
    )
    convert.add_argument(
        "--negative_relation",
        default=NEGATIVE_RELATION,
        metavar="NAME",
        help="what the corpus calls 'no relation' (default: %(default)s)",
    )
    convert.add_argument(
        "--validation_fraction",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="share of the entity pairs for validation where no file is given (default: %(default)s)",
    )
    convert.add_argument("--seed", type=int, default=0, help="which pairs these are (default: %(default)s)")
    _add_out(convert)
    convert.set_defaults(run=_convert)
