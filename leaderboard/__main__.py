"""The command `python -m leaderboard`: the Space as a folder, or pushed to the Hub."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hub_cards import add_push_options, publish, run_command, staged_folder

from .staging import stage_leaderboard


def _stage(arguments: argparse.Namespace) -> None:
    with staged_folder(arguments.out) as folder:
        stage_leaderboard(folder)
    print(f"Staged in {arguments.out}. Try it: cd {arguments.out} && python leaderboard/app.py")


def _push(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="leaderboard-") as staged:
        stage_leaderboard(Path(staged))
        done = publish(
            Path(staged),
            repo_id=arguments.repo_id,
            repo_type="space",
            message="Leaderboard",
            public=arguments.public,
            dry_run=arguments.dry_run,
        )
    print(done)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m leaderboard", description="The leaderboard's Space.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    stage = commands.add_parser("stage", help="write the Space to a folder that runs on its own")
    stage.add_argument("--out", required=True, metavar="DIR", help="a new or empty folder")
    stage.set_defaults(run=_stage)
    push = commands.add_parser("push", help="upload the Space to the Hub in one commit")
    add_push_options(push, "Space")
    push.set_defaults(run=_push)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 when it could not run."""
    given = _parser().parse_args(argv)
    return run_command("leaderboard", lambda: given.run(given))


if __name__ == "__main__":
    sys.exit(main())
