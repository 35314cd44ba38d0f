"""The command `compare`: systems from results files, their significance and where averages or truths
disagree."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ..significance.comparison import Comparison, compare_runs, f1_measure, smallest_effect
from ..significance.comparison_table import (
    against_reference,
    agreement_table,
    disagreements,
    rank_disagreements,
)
from ..significance.rank_agreement import RankAgreement, rank_systems
from ..significance.run_measures import Run, check_comparable
from ..table import Table
from ..units import truth_name
from .compare_predictions import run_compare_predictions
from .files import write_json
from .flags import add_family_flags, add_format_flag, add_label_flags, add_track_flags
from .run_files import read_systems

_DESCRIPTION = (
    "Compare systems over their runs (seeds). Two systems: per ground truth a table with mean, standard "
    "deviation, Welch's p, Holm's correction, Cohen's d and Hedges' g, and in words where averages or truths "
    "disagree on who is better. More systems: how each average and truth ranks them, with Kendall's tau. "
    "Prediction files (with --track, --rel2id and --test, or with --gold) are compared on the same data: "
    "intervals from draws of bags, p-values from exchanges of whole bags."
)


def add_compare_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Return the parser of `compare`, added to the sub-commands; its default `run` is `run_compare`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "compare", help="compare systems over their runs", description=_DESCRIPTION
    )
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="results files (A/*.json B/*.json: a run a file, a system a folder), output folders of "
        "fine-tuning, or prediction files",
    )
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="names of the systems, in the order of PATH"
    )
    parser.add_argument("--json", metavar="FILE", help="write every number")
    paired = parser.add_argument_group("prediction files")
    add_track_flags(paired)
    add_label_flags(paired)
    add_family_flags(paired)
    add_format_flag(paired)
    paired.add_argument("--seed", type=int, default=0, help="of the draws (default: 0)")
    paired.add_argument(
        "--n_resamples", type=int, default=10_000, metavar="N", help="draws and exchanges (default: 10000)"
    )
    parser.set_defaults(run=run_compare)
    return parser


def run_compare(arguments: argparse.Namespace) -> int:
    """Print the comparison that the parsed arguments ask for, and return the exit status 0.

    Raises:
        FileNotFoundError: As `read_systems`.
        ValueError: Fewer than two systems, a wrong number of names, or as `compare_runs`.
    """
    if arguments.gold or arguments.track or arguments.test:
        return run_compare_predictions(arguments)
    systems = read_systems(arguments.paths)
    if len(systems) < 2:
        raise ValueError(
            f"A comparison needs the runs of two systems; got one, {next(iter(systems))!r} "
            f"({len(next(iter(systems.values())))} runs). Files of one folder are runs of one system."
        )
    if arguments.names is not None:
        if len(set(arguments.names)) != len(systems) or len(arguments.names) != len(systems):
            raise ValueError(
                f"`--names` must give {len(systems)} different names, for {', '.join(systems)}; "
                f"got {', '.join(arguments.names)}."
            )
        systems = dict(zip(arguments.names, systems.values(), strict=True))
    check_comparable(systems)  # here, so that messages call the systems by their names
    pairs = {
        (a, b): compare_runs(runs_a=systems[a], runs_b=systems[b])
        for a, b in itertools.combinations(systems, 2)
    }
    if len(systems) == 2:
        names, compared = next(iter(pairs.items()))
        tables = [table.markdown() for table in two_systems_tables(names, compared)]
        print("\n\n".join([*tables, "\n".join(two_systems_verdict(names, compared))]))
    else:
        print(f"{ranking_text(rank_systems(systems))}\n{_NO_SETS}")
    for line in _signature_lines(systems):
        print(line)
    if arguments.json:
        write_json(arguments.json, _plain(rank_systems(systems), pairs))
    return 0


_NO_SETS = (
    "Question: which mean over these runs is higher on these test data? No test stands behind these ranks. "
    "`weighted-f1 rank` with the same folders and the test data gives each a set of ranks, over new "
    "test bags or new seeds and bags, and says how many of either would be needed."
)


def two_systems_tables(names: tuple[str, str], compared: Mapping[str, Comparison]) -> list[Table]:
    """Return the tables of two systems, one per truth."""
    truths = dict.fromkeys(found[0] for measure in compared if (found := f1_measure(measure)))
    name_a, name_b = names
    return [against_reference({name_b: compared}, reference=name_a, truth=truth) for truth in truths]


def two_systems_verdict(names: tuple[str, str], compared: Mapping[str, Comparison]) -> list[str]:
    """Return where averages or truths disagree on who is better, a sentence each, or who it is; and what was
    asked."""
    return [*_who_is_better(names, compared), seeds_question(compared)]


def seeds_question(compared: Mapping[str, Comparison]) -> str:
    """Return what the p-values of two systems' runs answer, and what so few runs can show."""
    asked = (
        "Question: same test data, new seeds. The p-values say nothing of other test data; the family of "
        "Holm's correction is the averages of one truth."
    )
    n_a, n_b = next(((one.n_a, one.n_b) for one in compared.values()), (0, 0))
    least = smallest_effect(n_a, n_b)
    if least is None:
        return f"{asked} One run has no spread: a p-value takes two seeds of each system."
    return (
        f"{asked} With {n_a} and {n_b} runs no difference below about {least:.1f} sds of the runs is "
        "significant; what is not significant is not shown to be equal."
    )


def _who_is_better(names: tuple[str, str], compared: Mapping[str, Comparison]) -> list[str]:
    sentences = disagreements(compared, name_a=names[0], name_b=names[1])
    if sentences:
        return sentences
    f1 = [comparison.difference for measure, comparison in compared.items() if f1_measure(measure)]
    differences = [difference for difference in f1 if difference]
    if not differences:
        return ["No F1 average of any truth finds a difference."]
    return [f"Every F1 average of every truth that finds a difference prefers {names[differences[0] < 0]}."]


def ranking_text(agreement: RankAgreement) -> str:
    """Return the ranks of several systems and the pairs of measures that order some of them differently."""
    sentences = rank_disagreements(agreement)
    verdict = "\n".join(sentences) if sentences else "All averages and truths rank the systems alike."
    return f"{agreement_table(agreement)}\n\n{verdict}"


def _signature_lines(systems: Mapping[str, Sequence[Run]]) -> list[str]:
    """Return the signatures that all runs share; those of the first run stand for all."""
    run = next(iter(systems.values()))[0]
    signature = run.get("signature", run.get("signatures"))
    if signature is None:
        return []
    lines = {"": signature} if isinstance(signature, str) else signature
    return ["", *(f"{truth_name(prefix)}: {line}".removeprefix(": ") for prefix, line in lines.items())]


def _plain(
    agreement: RankAgreement, pairs: Mapping[tuple[str, str], Mapping[str, Comparison]]
) -> dict[str, Any]:
    return {
        "systems": list(agreement.systems),
        "ranks": {measure: list(ranks) for measure, ranks in agreement.ranks.items()},
        "kendall_tau": [
            {"measures": list(measures), "tau": tau} for measures, tau in agreement.kendall_tau.items()
        ],
        "comparisons": [
            {"a": a, "b": b, "measures": {measure: c.to_json() for measure, c in compared.items()}}
            for (a, b), compared in pairs.items()
        ],
    }
