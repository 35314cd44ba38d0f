"""The command `python -m leaderboard`: the Space as a folder, or pushed to the Hub."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hub_cards import listing, push_folder, staged_folder

from .staging import stage_leaderboard


def _stage(arguments: argparse.Namespace) -> int:
    with staged_folder(arguments.out) as folder:
        stage_leaderboard(folder)
    print(f"Staged in {arguments.out}. Try it: cd {arguments.out} && python leaderboard/app.py")
    return 0


def _push(arguments: argparse.Namespace) -> int:
    options: dict[str, Any] = {
        "repo_id": arguments.repo_id, "repo_type": "space", "public": arguments.public,
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="leaderboard-") as staged:
        stage_leaderboard(Path(staged))
        if arguments.dry_run:
            print(listing(staged, **options))
            return 0
        done = push_folder(staged, message="Leaderboard", replaced=("*.py", "*.md", "*.txt"), **options)
    print(done.sentence())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m leaderboard", description="The leaderboard's Space.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    stage = commands.add_parser("stage", help="write the Space to a folder that runs on its own")
    stage.add_argument("--out", required=True, metavar="DIR", help="a new or empty folder")
    stage.set_defaults(run=_stage)
    push = commands.add_parser("push", help="upload the Space to the Hub in one commit")
    push.add_argument(
        "--repo_id", required=True, metavar="OWNER/NAME", help="the Space; made when it is not there"
    )
    push.add_argument("--public", action="store_true", help="let everybody see it (default: private)")
    push.add_argument(
        "--dry_run", action="store_true", help="upload nothing; print the list of files and the card"
    )
    push.set_defaults(run=_push)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 when it could not run."""
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except (ValueError, OSError, ImportError) as error:
        print(f"leaderboard: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
