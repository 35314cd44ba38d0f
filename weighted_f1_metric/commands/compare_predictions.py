"""`compare` of prediction files: bags of the same data are drawn for intervals, exchanged for p-values."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..columns import repeated_ids
from ..family import f1_family
from ..significance.comparison import f1_measure, holm_adjusted
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
from .files import write_json
from .system_files import read_systems_and_truth


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
    drawn = {"seed": arguments.seed, "n_resamples": arguments.n_resamples}
    intervals = {
        name: bootstrap_interval(predictions=predictions, **shared, **drawn)
        for name, predictions in by_name.items()
    }
    tests = {
        (a, b): randomization_test(predictions_a=by_name[a], predictions_b=by_name[b], **shared, **drawn)
        for a, b in itertools.combinations(by_name, 2)
    }
    tables = [table for pair, test in tests.items() for table in paired_tables(pair, test, intervals)]
    print("\n\n".join(table.markdown() for table in tables))
    print(
        f"\nSame data, new bags: 95% intervals from {arguments.n_resamples} draws of "
        f"{next(iter(intervals.values())).num_bags} bags, p from as many random exchanges of whole bags "
        f"between the two systems (seed {arguments.seed}); Holm's correction is over the averages of a truth."
    )
    signatures = _signatures(next(iter(by_name.values())), shared)
    for truth, line in signatures.items():
        print(f"{truth_name(truth)}: {line}".removeprefix(": "))
    if arguments.json:
        content = {
            "systems": names,
            "signatures": signatures,
            "intervals": {name: result.to_json() for name, result in intervals.items()},
            "tests": [{"a": a, "b": b, **test.to_json()} for (a, b), test in tests.items()],
        }
        write_json(arguments.json, content)
    return 0


def _signatures(predictions: Any, shared: Mapping[str, Any]) -> dict[str, str]:
    """Return truth -> signature line; it depends on the references alone, so one system stands for all."""
    if "track" in shared:
        return scored_track(predictions=predictions, **shared).signatures
    return {"": f1_family(predictions=predictions, signature=True, **shared)["signature"]}


def paired_tables(
    pair: tuple[str, str], test: RandomizationResult, intervals: Mapping[str, BootstrapResult]
) -> list[Table]:
    """Return a table for each truth: both systems with intervals, their difference, p and Holm's p."""
    measures: dict[str, dict[str, str]] = {}
    for measure in test.p_values:
        found = f1_measure(measure)
        if found:
            measures.setdefault(found[0], {})[found[1]] = measure
    return [_paired_table(truth, own, pair, test, intervals) for truth, own in measures.items()]


def _paired_table(
    truth: str,
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
    return Table([" ".join(filter(None, [truth and truth_name(truth), "F1 (%)"])), *measures], rows)


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
