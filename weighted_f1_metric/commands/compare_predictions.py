"""`compare` of prediction files: bags of the same data are drawn for intervals, exchanged for p-values."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..columns import repeated_ids
from ..family import f1_family
from ..significance.comparison import holm_adjusted
from ..significance.rank_intervals import rank_intervals
from ..significance.rank_table import rank_notes, rank_overview
from ..significance.resampling import (
    BootstrapResult,
    RandomizationResult,
    bootstrap_interval,
    randomization_test,
)
from ..table import Table, number, percent
from ..tracks import scored_track
from ..units import truth_name
from ..validation import quoted
from ..weighting import named_averages
from .label_scores import print_scores
from .system_files import read_systems_and_truth

MEASURE_TITLES = {"precision": "precision", "recall": "recall", "f1": "F1"}


def run_compare_predictions(arguments: argparse.Namespace) -> int:
    """Print the paired comparison that the parsed arguments ask for, and return the exit status 0.

    Raises:
        FileNotFoundError: A file that is not there.
        ValueError: Fewer than two files, two with one name, a broken file, a unit without prediction.
    """
    names = _names(arguments)
    files = {name: [path] for name, path in zip(names, arguments.paths, strict=True)}
    systems, shared = read_systems_and_truth(arguments, files)
    by_name = {name: runs[0] for name, runs in systems.items()}
    family = {"averages": arguments.averages, "beta": arguments.beta}
    drawn = {"seed": arguments.seed, "n_resamples": arguments.n_resamples, **family}
    intervals = {
        name: bootstrap_interval(predictions=predictions, **shared, **drawn)
        for name, predictions in by_name.items()
    }
    tests = {
        (a, b): randomization_test(predictions_a=by_name[a], predictions_b=by_name[b], **shared, **drawn)
        for a, b in itertools.combinations(by_name, 2)
    }
    signatures = _signatures(next(iter(by_name.values())), {**shared, **family})
    averages = list(named_averages(arguments.averages))
    tables = [
        table
        for pair, test in tests.items()
        for truth in signatures
        for table in paired_tables(truth, averages, pair, test, intervals)
    ]
    ranks = rank_intervals(systems=systems, **shared, **drawn) if len(systems) > 2 else None
    if ranks is not None:  # two systems are one pair, which the tests above answer
        tables += [table for truth in signatures if (table := rank_overview(ranks, truth))]
    notes = [
        f"Question: same runs, new test bags: 95% intervals from {arguments.n_resamples} draws of "
        f"{next(iter(intervals.values())).num_bags} bags, p from as many random exchanges of whole bags "
        f"between two systems (seed {arguments.seed}); the family of Holm's correction is the averages of a "
        "table, not the pairs of systems.",
        *([] if ranks is None else rank_notes(ranks)),
        *(f"{truth_name(truth)}: {line}".removeprefix(": ") for truth, line in signatures.items()),
    ]
    content = {
        "systems": names,
        "signatures": signatures,
        "intervals": {name: result.to_json() for name, result in intervals.items()},
        "tests": [{"a": a, "b": b, **test.to_json()} for (a, b), test in tests.items()],
        "ranks": None if ranks is None else ranks.to_json(),
    }
    print_scores(tables, notes, content, arguments)
    return 0


def _signatures(predictions: Any, shared: Mapping[str, Any]) -> dict[str, str]:
    """Return truth -> signature line; it depends on the references alone, so one system stands for all."""
    if "track" in shared:
        return scored_track(predictions=predictions, **shared).signatures
    return {"": f1_family(predictions=predictions, signature=True, **shared)["signature"]}


def paired_tables(
    truth: str,
    averages: Sequence[str],
    pair: tuple[str, str],
    test: RandomizationResult,
    intervals: Mapping[str, BootstrapResult],
) -> list[Table]:
    """Return the tables of a truth, for precision, recall and F: both systems with intervals, difference, p.

    Args:
        truth: The prefix of the measures; "" without tracks.
        averages: Their names, a column each; macro over all relations comes last where there is one.
        pair: The names of the two systems.
        test: What `randomization_test` found for them.
        intervals: System -> what `bootstrap_interval` found.
    """
    tables = []
    for measure, title in {**MEASURE_TITLES, "fbeta": "F-beta"}.items():
        keys = {
            average: key
            for average in (*averages, "macro_all")
            if (key := "_".join(filter(None, [truth, average, measure]))) in test.p_values
        }
        if keys:
            heading = " ".join(filter(None, [truth and truth_name(truth), title, "(%)"]))
            tables.append(_paired_table(heading, keys, pair, test, intervals))
    return tables


def _paired_table(
    heading: str,
    measures: Mapping[str, str],
    pair: tuple[str, str],
    test: RandomizationResult,
    intervals: Mapping[str, BootstrapResult],
) -> Table:
    rows = []
    for name in pair:
        own = [intervals[name].intervals[measure] for measure in measures.values()]
        cells = [f"{percent(i.estimate)} [{percent(i.low)}, {percent(i.high)}]" for i in own]
        rows.append([name, *cells])
    differences = [100 * test.differences[measure] for measure in measures.values()]
    p_values = [test.p_values[measure] for measure in measures.values()]
    rows += [
        ["difference", *(number(value, "+.2f") for value in differences)],
        ["p (exchanged bags)", *(number(p, ".4f") for p in p_values)],
        ["p (Holm)", *(number(p, ".4f") for p in holm_adjusted(p_values))],
    ]
    return Table([heading, *measures], rows)


def _names(arguments: argparse.Namespace) -> list[str]:
    names = arguments.names or [Path(path).name.removesuffix(".gz") for path in arguments.paths]
    if len(arguments.paths) < 2 or len(names) != len(arguments.paths):
        raise ValueError(
            f"A paired comparison needs at least two prediction files, each with a name; got "
            f"{len(arguments.paths)} files and {len(names)} names."
        )
    files = [str(Path(path).resolve()) for path in arguments.paths]
    for what in (files, arguments.names or []):
        if repeated := repeated_ids(what):
            raise ValueError(f"{quoted(repeated)} is there more than once; give different files and names.")
    return names if len(set(names)) == len(names) else files
