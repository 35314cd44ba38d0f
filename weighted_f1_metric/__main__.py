"""The command `weighted-f1`: score, compare, rank, stats; also `python -m weighted_f1_metric`."""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Sequence

from .commands.compare import add_compare_parser
from .commands.estimate import add_estimate_parser
from .commands.rank import add_rank_parser
from .commands.score import add_score_parser
from .commands.stats import add_stats_parser
from .signature import VERSION

# Each adds its parser to the sub-commands and sets `run`: parsed argv -> exit status.
_NO_FLAGS = ("command", "run", "files", "paths")
COMMANDS = (add_score_parser, add_estimate_parser, add_compare_parser, add_rank_parser, add_stats_parser)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all sub-commands."""
    parser = argparse.ArgumentParser(
        prog="weighted-f1",
        description="Scores of relation classification: the weighted F1 family, NYT-H tracks, significance, "
        "label statistics.",
    )
    parser.add_argument("--version", action="version", version=VERSION)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add_command in COMMANDS:
        add_command(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, or 2 for bad input, said on stderr in one line."""
    parser = build_parser()
    parsed = parser.parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning  # type: ignore[assignment]
            _check_standard_input(parsed)
            status: int = parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:  # as of `| head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        return 0
    except (OSError, ValueError, TypeError, ImportError) as error:
        print(f"{parser.prog} {parsed.command}: error: {with_flags(str(error), parsed)}", file=sys.stderr)
        return 2
    return status


def _check_standard_input(parsed: argparse.Namespace) -> None:
    """Raise ValueError when "-" stands for several files, of which the first would leave nothing to read."""
    given = {name: value if isinstance(value, list) else [value] for name, value in vars(parsed).items()}
    readers = [name for name, values in given.items() if name != "json" for value in values if value == "-"]
    if len(readers) > 1:
        flags = ", ".join(name if name in _NO_FLAGS else f"--{name}" for name in readers)
        raise ValueError(f"Standard input (-) is one file; it is given {len(readers)} times: {flags}.")


def with_flags(message: str, parsed: argparse.Namespace) -> str:
    """Return a message of the functions in the words of the command: `--unk exclude` for `unk='exclude'`.

    >>> given = argparse.Namespace(command="score", unk="error", truths=None)
    >>> with_flags("Pass unk='exclude', or truths=('dsgt',); `unk` is no `pred`.", given)
    'Pass --unk exclude, or --truths dsgt; --unk is no `pred`.'
    """

    names = "|".join(name for name in vars(parsed) if name not in _NO_FLAGS)
    value = r"'[^']*'|\"[^\"]*\"|\([^()]*\)|[\w.]+"
    message = re.sub(
        rf"\b({names})=({value})",
        lambda found: " ".join([f"--{found[1]}", *re.findall(r"[^\s'\",()]+", found[2])]),
        message,
    )
    return re.sub(rf"`({names})`", r"--\1", message)


def _print_warning(message: Warning | str, *_: object) -> None:
    print(f"warning: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
