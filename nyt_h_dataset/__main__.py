"""The command ``python -m nyt_h_dataset``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .bags import BAG_KEYS
from .corpus_commands import add_corpus_commands
from .download import download_nyt_h
from .export import export_nyt_h
from .mentions import POLICIES
from .sample import SIZES, write_sample
from .schema import NA_CHOICES, UNKNOWN_RELATION_CHOICES
from .verification import verify_nyt_h


def _sample(arguments: argparse.Namespace) -> int:
    info = write_sample(arguments.out, seed=arguments.seed, size=arguments.size)
    for name, count in info.num_rows.items():
        print(f"{name:20} {count:>8,} rows")
    print(f"Synthetic corpus written to {info.path}")
    print(f'Load it: from nyt_h_dataset import load_nyt_h; load_nyt_h("{info.path}")')
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    result = verify_nyt_h(arguments.data_dir, cache_dir=arguments.cache_dir, num_proc=arguments.num_proc)
    print(result.to_markdown())
    if arguments.json:
        _write(Path(arguments.json), json.dumps(result.to_json(), indent=2) + "\n")
    return 0 if result.is_published else 1


def _export(arguments: argparse.Namespace) -> int:
    info = export_nyt_h(
        arguments.data_dir,
        arguments.out,
        na=arguments.na,
        bag_key=arguments.bag_key,
        mention_policy=arguments.mention_policy,
        unknown_relation=arguments.unknown_relation,
        figures=not arguments.no_figures,
        overwrite=arguments.overwrite,
        cache_dir=arguments.cache_dir,
        num_proc=arguments.num_proc,
    )
    for config, rows in info.num_rows.items():
        print(f"{config:10} {', '.join(f'{split} {count:,}' for split, count in rows.items())}")
    print(f"Written to {info.path}: README.md and {info.num_bytes / 1e6:.1f} MB of Parquet")
    print(f'Load it: from datasets import load_dataset; load_dataset("{info.path}", "bag")')
    return 0


def _download(arguments: argparse.Namespace) -> int:
    info = download_nyt_h(arguments.out, sha256=arguments.sha256, url=arguments.url, quiet=arguments.quiet)
    print(f"{'There already' if info.was_there else 'Downloaded'}: {info.path} ({info.num_bytes:,} bytes)")
    print(f"SHA-256: {info.sha256}{'' if arguments.sha256 is None else ' (as expected)'}")
    print(f'Load it: from nyt_h_dataset import load_nyt_h; load_nyt_h("{info.path.parent}")')
    return 0


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _add_data_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data_dir", required=True, metavar="DIR", help="the data of NYT-H, as for load_nyt_h"
    )
    command.add_argument(
        "--cache_dir", metavar="DIR", help="where the built data go (default: the cache of datasets)"
    )
    command.add_argument("--num_proc", type=int, metavar="N", help="processes that build the data")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nyt-h-dataset", description="NYT-H: data for relation extraction.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    sample = commands.add_parser("sample", help="write a synthetic corpus in the format of NYT-H")
    sample.add_argument(
        "--out", required=True, metavar="DIR", help="folder to write; new, empty, or a sample to replace"
    )
    sample.add_argument(
        "--seed", type=int, default=0, help="the same seed gives the same bytes (default: %(default)s)"
    )
    sample.add_argument(
        "--size",
        choices=tuple(SIZES),
        default="small",
        help="number of rows; full has the sizes of NYT-H (default: %(default)s)",
    )
    sample.set_defaults(run=_sample)
    verify = commands.add_parser(
        "verify", help="compare a copy with the published NYT-H; exit status 1 when it is another"
    )
    _add_data_options(verify)
    verify.add_argument("--json", metavar="FILE", help="write all numbers to this file, too")
    verify.set_defaults(run=_verify)
    download = commands.add_parser(
        "download", help="fetch the authors' archive; goes on where an interrupted download stopped"
    )
    download.add_argument("--out", required=True, metavar="DIR", help="folder for the archive")
    download.add_argument("--sha256", metavar="HEX", help="checksum that the archive must have")
    download.add_argument("--url", help="another address of the same file (default: the authors' file)")
    download.add_argument("--quiet", action="store_true", help="no progress bar")
    download.set_defaults(run=_download)
    export = commands.add_parser("export", help="write both configs as Parquet with a card, ready to share")
    _add_data_options(export)
    export.add_argument(
        "--out", required=True, metavar="DIR", help="folder to write; new or empty, unless --overwrite"
    )
    export.add_argument(
        "--overwrite", action="store_true", help="replace an earlier export (and nothing else)"
    )
    export.add_argument("--na", choices=tuple(NA_CHOICES), default="sampled", help="the NA rows in train")
    export.add_argument("--bag_key", choices=BAG_KEYS, default="pair", help="what makes a bag")
    export.add_argument(
        "--mention_policy", choices=POLICIES, default="first", help="which of several mentions to take"
    )
    export.add_argument(
        "--unknown_relation",
        choices=UNKNOWN_RELATION_CHOICES,
        default="error",
        help="what becomes of a relation that rel2id.json lacks",
    )
    export.add_argument("--no_figures", action="store_true", help="leave out the pictures (and matplotlib)")
    export.set_defaults(run=_export)
    add_corpus_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, what the command says of the data, or 2 when it could not run."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except (ValueError, OSError, ImportError) as error:
        print(f"nyt-h-dataset: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
