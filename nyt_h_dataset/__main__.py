"""The command ``python -m nyt_h_dataset``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .sample import SIZES, write_sample


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
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
        "--size", choices=tuple(SIZES), default="small", help="number of rows (default: %(default)s)"
    )
    arguments = parser.parse_args(argv)
    try:
        info = write_sample(arguments.out, seed=arguments.seed, size=arguments.size)
    except (ValueError, OSError) as error:
        print(f"nyt-h-dataset: {error}", file=sys.stderr)
        return 2
    for name, count in info.num_rows.items():
        print(f"{name:20} {count:>8,} rows")
    print(f"Synthetic corpus written to {info.path}")
    print(f'Load it: from nyt_h_dataset import load_nyt_h; load_nyt_h("{info.path}")')
    return 0


if __name__ == "__main__":
    sys.exit(main())
