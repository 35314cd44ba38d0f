"""The command `rank`: systems ranked with confidence sets, from their prediction files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..columns import repeated_ids
from ..significance.rank_intervals import QUESTIONS, rank_intervals
from ..significance.rank_table import rank_notes, rank_table
from ..significance.run_measures import check_comparable
from ..units import TRUTHS, truth_name
from ..validation import quoted
from .files import read_json
from .flags import add_family_flags, add_format_flag, add_label_flags, add_track_flags
from .label_scores import is_prose, print_scores
from .run_files import RUN_FILE, seed_folders
from .system_files import read_systems_and_truth

_DESCRIPTION = """Rank systems by every F1 average of every truth, with a confidence set of ranks each that
holds for all systems at once, and letters: two systems that share no letter can be told apart. A system is a
prediction file, or a folder with seed-<n>/predictions.jsonl or with *.jsonl files, a run each."""
PREDICTIONS_FILE = "predictions.jsonl"


def add_rank_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Return the parser of `rank`, added to the sub-commands; its default `run` is `run_rank`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "rank", help="rank systems with confidence sets", description=_DESCRIPTION
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="prediction files, or folders of runs")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="names of the systems, in that order")
    add_track_flags(parser)
    add_label_flags(parser)
    add_family_flags(parser)
    parser.add_argument("--truths", nargs="+", choices=TRUTHS, help="default: those that the answers allow")
    parser.add_argument("--question", choices=QUESTIONS, default="runs", help="new bags, or seeds as well")
    parser.add_argument(
        "--measures",
        nargs="+",
        metavar="KEY",
        help="default: F1 under every average; with scores also magt_auc, magt_precision_at_50",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default: 0)")
    parser.add_argument("--n_resamples", type=int, default=2000, metavar="N", help="draws (default: 2000)")
    add_format_flag(parser)
    parser.add_argument("--json", metavar="FILE", help="write every number")
    parser.add_argument(
        "--plots", metavar="DIR", help="write rank plots and matrices of P(a > b), PDF and PNG"
    )
    parser.set_defaults(run=run_rank)
    return parser


def run_rank(arguments: argparse.Namespace) -> int:
    """Print the ranks that the parsed arguments ask for, and return the exit status 0.

    Raises:
        FileNotFoundError: A path without predictions.
        ValueError: Two systems of one name, runs that are not comparable; as `rank_intervals`.
    """
    files = system_files(arguments.paths, arguments.names)
    systems, shared = read_systems_and_truth(arguments, files)
    if arguments.truths and not arguments.gold:
        shared["truths"] = tuple(arguments.truths)
    result = rank_intervals(
        systems=systems,
        seed=arguments.seed,
        n_resamples=arguments.n_resamples,
        question=arguments.question,
        measures=arguments.measures,
        averages=arguments.averages,
        beta=arguments.beta,
        **shared,
    )
    lines = (f"{truth_name(truth)}: {line}" for truth, line in result.signatures.items())
    notes = [*rank_notes(result), *(line.removeprefix(": ") for line in lines)]
    tables = [rank_table(ranking) for ranking in result.rankings.values()]
    print_scores(tables, notes, result.to_json(), arguments)
    if arguments.plots:
        from .figure_files import write_rank_figures

        for path in write_rank_figures(Path(arguments.plots), result):
            print(f"Figure: {path}", file=sys.stdout if is_prose(arguments.format) else sys.stderr)
    return 0


def system_files(paths: Sequence[str], names: Sequence[str] | None) -> dict[str, list[str | Path]]:
    """Return name -> prediction files of each system; a system is a file or a folder.

    Raises:
        FileNotFoundError: A folder without predictions.
        ValueError: A path given twice without names, names that do not fit, runs whose signatures differ.
    """
    resolved = [path if path == "-" else str(Path(path).resolve()) for path in paths]
    repeated = repeated_ids(resolved)
    if repeated and (names is None or "-" in repeated):
        raise ValueError(
            f"{quoted(repeated)} is there more than once; give other files, or a name for each with --names."
        )
    short = [Path(path).name for path in resolved]
    chosen = list(names or (short if len(set(short)) == len(short) else resolved))
    if len(chosen) != len(paths) or len(set(chosen)) < len(chosen):
        raise ValueError(f"`--names` must give {len(paths)} different names; got {', '.join(chosen)}.")
    files: dict[str, list[str | Path]] = {}
    runs: dict[str, list[Any]] = {}
    for name, path in zip(chosen, paths, strict=True):
        folder = Path(path)
        if not folder.is_dir():
            files[name] = [path]
            continue
        seeds = seed_folders(folder, PREDICTIONS_FILE)
        files[name] = list(seeds or sorted(folder.glob("*.jsonl")))
        if not files[name]:
            raise FileNotFoundError(
                f"No predictions in {path!r}: it has neither seed-<n>/{PREDICTIONS_FILE} nor *.jsonl files."
            )
        results = seed_folders(folder, RUN_FILE)
        without = [file.parent for file in results if file.parent not in {one.parent for one in seeds}]
        if without:
            raise FileNotFoundError(
                f"{str(without[0])!r} has {RUN_FILE} and no {PREDICTIONS_FILE} ({len(without)} such seeds); "
                "write its predictions again, or move the seed away."
            )
        if results:
            runs[name] = [read_json(file) for file in results]
    check_comparable(runs)
    return files
