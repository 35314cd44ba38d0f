"""The command ``python -m hub_cards``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .command import add_push_options, publish, run_command
from .metric_space import stage_metric
from .staging import MAX_LISTED


def _push_metric(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="metric-") as staged:
        left = stage_metric(arguments.folder, Path(staged), repo_id=arguments.repo_id)
        done = publish(
            Path(staged),
            repo_id=arguments.repo_id,
            repo_type="space",
            message="Metric and app",
            public=arguments.public,
            dry_run=arguments.dry_run,
        )
    print(done)
    if left:
        print(f"Not sent, as no part of the metric: {', '.join(left[:MAX_LISTED])} ({len(left)} in all).")
    if not arguments.dry_run:
        print(f'Load it: import evaluate; evaluate.load("{arguments.repo_id}")')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hub_cards", description="Publish on the Hub.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    metric = commands.add_parser(
        "push-metric", help="upload a metric's folder to the Hub as a Space that evaluate.load finds"
    )
    metric.add_argument("--folder", required=True, metavar="DIR", help="the metric: DIR/<name of DIR>.py")
    add_push_options(metric, "Space")
    metric.set_defaults(run=_push_metric)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 when it could not run."""
    arguments = _parser().parse_args(argv)
    return run_command("hub_cards", lambda: arguments.run(arguments))


if __name__ == "__main__":
    sys.exit(main())
