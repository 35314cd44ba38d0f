"""The command `rank`: systems ranked with confidence sets, from their prediction files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..significance.comparison import f1_measure
from ..significance.rank_intervals import QUESTIONS, Ranking, RankIntervals, rank_intervals
from ..significance.run_measures import check_comparable
from ..table import Table, percent
from ..units import TRUTHS, truth_name
from .files import read_json
from .flags import add_family_flags, add_format_flag, add_label_flags, add_track_flags
from .label_scores import print_scores
from .run_files import RUN_FILE, seed_folders
from .system_files import read_systems_and_truth

_DESCRIPTION = """Rank systems by every F1 average of every truth, with a confidence set of ranks each that
holds for all systems at once, and letters: two systems that share no letter can be told apart. A system is a
prediction file, or a folder with seed-<n>/predictions.jsonl or with *.jsonl files, a run each."""
PREDICTIONS_FILE = "predictions.jsonl"
_ASKED = {
    "runs": "Question: would these runs keep their order on new test bags?",
    "seeds": "Question: would the systems keep their order with new seeds on new test bags?",
}


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
    parser.add_argument("--measures", nargs="+", metavar="KEY", help="default: F1 under every average")
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default: 0)")
    parser.add_argument("--n_resamples", type=int, default=2000, metavar="N", help="draws (default: 2000)")
    add_format_flag(parser)
    parser.add_argument("--json", metavar="FILE", help="write every number")
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
    return 0


def system_files(paths: Sequence[str], names: Sequence[str] | None) -> dict[str, list[str | Path]]:
    """Return name -> prediction files of each system; a system is a file or a folder.

    Raises:
        FileNotFoundError: A folder without predictions.
        ValueError: A path given twice, names that do not fit, runs whose signatures differ.
    """
    distinct = {path if path == "-" else str(Path(path).resolve()): path for path in paths}
    if len(distinct) < len(paths):
        raise ValueError(f"{len(paths) - len(distinct)} of the {len(paths)} paths are there more than once.")
    short = [Path(path).name for path in distinct]
    chosen = list(names or (short if len(set(short)) == len(short) else distinct))
    if len(chosen) != len(paths) or len(set(chosen)) < len(chosen):
        raise ValueError(f"`--names` must give {len(paths)} different names; got {', '.join(chosen)}.")
    files: dict[str, list[str | Path]] = {}
    runs: dict[str, list[Any]] = {}
    for name, path in zip(chosen, distinct.values(), strict=True):
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
        if results:
            runs[name] = [read_json(file) for file in results]
    check_comparable(runs)
    return files


def rank_table(ranking: Ranking) -> Table:
    """Return the table of one measure, a row per system, the best first."""
    rows = [
        [
            system.name,
            str(system.num_runs),
            percent(system.score),
            str(system.rank),
            f"{system.rank_low}-{system.rank_high}",
            system.group,
        ]
        for system in ranking.systems
    ]
    return Table([_title(ranking.measure), "runs", "score (%)", "rank", "rank set", "group"], rows)


def _title(measure: str) -> str:
    found = f1_measure(measure)
    return " ".join(filter(None, [truth_name(found[0]), found[1], "F1"])) if found else measure


def rank_notes(result: RankIntervals) -> list[str]:
    """Return what was asked, and what can and cannot be concluded."""
    lines = [
        f"{_ASKED[result.question]} {result.n_resamples} draws of {result.num_bags} bags "
        f"(seed {result.seed}); with probability {result.confidence:g} all rank sets of one measure hold at "
        "once. Systems that share a letter cannot be told apart.",
        *result.notes,
    ]
    for measure, ranking in result.rankings.items():
        told = sum(bool(ranking.separated[i, i + 1]) for i in range(len(ranking.systems) - 1))
        lines.append(f"{_title(measure)}: {told} of {len(ranking.systems) - 1} neighbours can be told apart.")
        parts = ranking.variance
        if parts is not None:
            need = f"{parts.runs_for_half} runs" if parts.runs_for_half else "no number of seeds"
            bags = f"{parts.bags_for_half} test bags" if parts.bags_for_half else "no number of test bags"
            sds = [100 * part.estimate**0.5 for part in (parts.seeds, parts.bags, parts.seeds_x_bags)]
            lines.append(
                f"{_title(measure)}: sd of seeds {sds[0]:.2f}, of bags {sds[1]:.2f}, of seeds x bags "
                f"{sds[2]:.2f} points; half the width takes {need}, or {bags}."
            )
    return lines
