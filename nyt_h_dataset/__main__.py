"""The command ``python -m nyt_h_dataset``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .corpus_commands import add_corpus_commands
from .download import download_nyt_h
from .export_commands import add_data_options, add_export_commands
from .sample import SIZES, write_sample
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
    add_data_options(verify)
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
    add_export_commands(commands)
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
