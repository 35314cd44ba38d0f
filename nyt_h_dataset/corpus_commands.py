"""The commands that make a data set of somebody's own corpus: convert, build, sheet, merge."""

from __future__ import annotations

import argparse
from typing import Any

from .annotation import merge_answers, write_sheet
from .building import build_corpus
from .conversion import convert_corpus
from .corpus import OPTIONAL_COLUMNS, REQUIRED_COLUMNS
from .schema import NEGATIVE_RELATION
from .selection import SPLIT_CHOICES


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


def _build(arguments: argparse.Namespace) -> int:
    built = build_corpus(
        arguments.data_dir,
        arguments.out,
        min_train=arguments.min_train,
        require_yes=not arguments.without_yes,
        split_by=arguments.split_by,
        dev_fraction=arguments.dev_fraction,
        na_ratio=arguments.na_ratio,
        seed=arguments.seed,
        overwrite=arguments.overwrite,
        cache_dir=arguments.cache_dir,
        num_proc=arguments.num_proc,
    )
    counts = {
        "rows read": sum(built.rows_in.values()),
        "duplicates in train": built.duplicates_in_train,
        "duplicates in test": built.duplicates_in_test,
        "of these, with another answer": built.conflicting_answers,
        "rows of train that are in test": built.duplicates_of_test,
        "NA rows that repeat a sentence": built.na_repeats,
        "answers about dropped relations": built.answers_lost,
    }
    for title, count in counts.items():
        print(f"{title:32} {count:>10,}")
    for name, relation in built.dropped_relations.items():
        rows = f"{relation.train_rows:,} rows in train, {relation.test_rows:,} in test"
        print(f"now NA: {name} ({relation.reason}; {rows})")
    _print_rows(built.rows_out, built.path)
    return 0


def _sheet(arguments: argparse.Namespace) -> int:
    differing = tuple(arguments.differing) if arguments.differing else None
    num_rows = write_sheet(arguments.data_dir, arguments.out, differing=differing)
    print(f"{num_rows:,} rows to answer with yes or no: {arguments.out}")
    return 0


def _merge(arguments: argparse.Namespace) -> int:
    judged = merge_answers(
        arguments.data_dir,
        arguments.out,
        annotators=tuple(arguments.annotators),
        adjudicator=arguments.adjudicator,
        overwrite=arguments.overwrite,
    )
    agreement = judged.agreement
    kappa = "undefined (one answer throughout)" if agreement.kappa is None else f"{agreement.kappa:.4f}"
    print(
        f"annotators agree on {agreement.observed:.2%} of {agreement.num_items:,} rows, Cohen's kappa {kappa}"
    )
    print(f"test: {judged.num_yes:,} yes, {judged.num_no:,} no")
    print(f"Written to {judged.path}")
    return 0


def _add_data_dir(command: argparse.ArgumentParser, about: str) -> None:
    command.add_argument("--data_dir", required=True, metavar="DIR", help=about)


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
    build = commands.add_parser(
        "build", help="make a data set of a distantly supervised corpus as NYT-H was made"
    )
    _add_data_dir(build, "the corpus, in the format of NYT-H (see convert)")
    build.add_argument(
        "--min_train",
        type=int,
        default=100,
        metavar="N",
        help="relations with fewer rows become NA (default: %(default)s)",
    )
    build.add_argument(
        "--without_yes", action="store_true", help="keep relations without a yes in test (not judged yet)"
    )
    build.add_argument(
        "--split_by",
        choices=SPLIT_CHOICES,
        default="pair",
        help="how dev is taken from train; keep leaves it as it is (default: %(default)s)",
    )
    build.add_argument(
        "--dev_fraction",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="share of the rows with a relation that go to dev (default: %(default)s)",
    )
    build.add_argument(
        "--na_ratio",
        type=float,
        default=1.0,
        metavar="R",
        help="NA rows in train per row with a relation (default: %(default)s)",
    )
    build.add_argument("--seed", type=int, default=0, help="draws dev and NA (default: %(default)s)")
    build.add_argument(
        "--cache_dir", metavar="DIR", help="where the corpus is read to (default: of datasets)"
    )
    build.add_argument("--num_proc", type=int, metavar="N", help="processes that read the corpus")
    _add_out(build)
    build.set_defaults(run=_build)
    sheet = commands.add_parser("sheet", help="write the test sentences as a sheet for an annotator")
    _add_data_dir(sheet, "the data set, in the format of NYT-H")
    sheet.add_argument("--out", required=True, metavar="FILE", help="sheet to write, .csv or .tsv")
    sheet.add_argument(
        "--differing",
        nargs=2,
        metavar=("A", "B"),
        help="filled sheets of two annotators: ask only where they differ, for the adjudicator",
    )
    sheet.set_defaults(run=_sheet)
    merge = commands.add_parser("merge", help="write the annotators' answers into the test set; kappa")
    _add_data_dir(merge, "the data set that the sheets were written from")
    merge.add_argument("--annotators", nargs=2, required=True, metavar=("A", "B"), help="two filled sheets")
    merge.add_argument("--adjudicator", metavar="C", help="filled sheet of the rows on which they differ")
    _add_out(merge)
    merge.set_defaults(run=_merge)
