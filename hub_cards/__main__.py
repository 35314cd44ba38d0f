"""The command ``python -m hub_cards``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .hub import listing
from .metric_space import stage_metric
from .upload import push_folder


def _push_metric(arguments: argparse.Namespace) -> int:
    options: dict[str, Any] = {
        "repo_id": arguments.repo_id,
        "repo_type": "space",
        "public": arguments.public,
    }
    with tempfile.TemporaryDirectory(prefix="metric-") as staged:
        stage_metric(arguments.folder, Path(staged), repo_id=arguments.repo_id)
        if arguments.dry_run:
            print(listing(staged, **options))
            return 0
        # Modules that the folder has no more would still be found by those that import them.
        done = push_folder(staged, message="Metric and app", replaced=("*.py", "*.md", "*.txt"), **options)
    print(done.sentence())
    print(f'Load it: import evaluate; evaluate.load("{arguments.repo_id}")')
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hub_cards", description="Publish on the Hub.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    metric = commands.add_parser(
        "push-metric", help="upload a metric's folder to the Hub as a Space that evaluate.load finds"
    )
    metric.add_argument("--folder", required=True, metavar="DIR", help="the metric: DIR/<name of DIR>.py")
    metric.add_argument(
        "--repo_id", required=True, metavar="OWNER/NAME", help="the Space; made when it is not there"
    )
    metric.add_argument("--public", action="store_true", help="let everybody see it (default: private)")
    metric.add_argument(
        "--dry_run", action="store_true", help="upload nothing; print the list of files and the card"
    )
    metric.set_defaults(run=_push_metric)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 when it could not run."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except (ValueError, OSError, ImportError) as error:
        print(f"hub_cards: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
