"""Speed and memory of the metric against scikit-learn, numpy and a loop over candidates.

    python -m benchmarks.metric                # everything, some minutes; nothing else should be running
    python -m benchmarks.metric --only c e     # some sections
    python -m benchmarks.metric --scale 0.01   # small inputs, to see that it runs

Every number is the median of several repeats, ours and the peer's in turn, in one process (imports: in fresh
ones). Sections: (a) integer labels, (b) string labels, (c) ranking, (d) bootstrap, (e) import, (f) growth,
(g) the road through `evaluate`, beside what `evaluate` itself takes to store and hand back the same rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import classification_report

from weighted_f1_metric.family import f1_family
from weighted_f1_metric.ranking import ranking_measures
from weighted_f1_metric.significance.resampling import bootstrap_interval
from weighted_f1_metric.track_statistics import unit_records

from .metric_peers import (
    NUM_CLASSES,
    NUM_RELATIONS,
    candidates,
    labels,
    loop_over_candidates,
    scikit_resamples,
    silent_module,
    track_records,
)

METRIC = Path(__file__).parents[1] / "weighted_f1_metric"
NUM_ROWS = 1_000_000
NUM_BAGS = 357_196
Row = tuple[str, str, str, str, str, str]


def timed(*calls: Callable[..., Any], repeats: int, fresh: Callable[[], Any] | None = None) -> list[float]:
    """Return the median seconds of each call; the calls take turns, so that a slow spell hits all of them.

    Where `fresh` is given, each call gets a new value of it, made outside the clock.
    """
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, spent in zip(calls, seconds, strict=True):
            arguments = () if fresh is None else (fresh(),)
            start = time.perf_counter()
            call(*arguments)
            spent.append(time.perf_counter() - start)
    return [statistics.median(spent) for spent in seconds]


def row(section: str, what: str, ours: float, peer: str, theirs: float, target: str) -> Row:
    """Return a line of the table; targets read "at least 60" (peer / ours) or "at most 4" (ours / peer)."""
    at_least = target.startswith("at least")
    ratio = theirs / ours if at_least else ours / theirs
    limit = float(target.split()[2])
    verdict = "yes" if (ratio >= limit if at_least else ratio <= limit) else "no"
    cells = f"{1000 * ours:,.1f}", f"{peer}: {1000 * theirs:,.1f}", f"{ratio:,.2f}"
    return section, what, *cells, f"{target}: {verdict}"


def integer_labels(scale: float, repeats: int) -> Iterator[Row]:
    """(a) The whole family, checks included, on a million integers."""
    y, p = labels(int(NUM_ROWS * scale))
    ours, bincount = timed(
        lambda: f1_family(predictions=p, references=y),
        lambda: np.bincount(y * NUM_CLASSES + p),
        repeats=4 * repeats,
    )
    (report,) = timed(lambda: classification_report(y, p, zero_division=0), repeats=repeats)
    what = f"f1_family, {len(y):,} integers, {NUM_CLASSES} classes"
    yield row("a", what, ours, "classification_report", report, "at least 60")
    yield row("a", what, ours, "numpy.bincount(y * 42 + p)", bincount, "at most 4")


def string_labels(scale: float, repeats: int) -> Iterator[Row]:
    """(b) The same as Python strings made anew for each call, so that no hash is cached."""
    y, p = labels(int(NUM_ROWS * scale))
    numbers = y.tolist(), p.tolist()

    def made() -> list[list[str]]:
        return [[f"relation:{number}" for number in column] for column in numbers]

    ours, report = timed(
        lambda columns: f1_family(predictions=columns[1], references=columns[0]),
        lambda columns: classification_report(*columns, zero_division=0),
        repeats=repeats,
        fresh=made,
    )
    what = f"f1_family, {len(y):,} fresh strings, {NUM_CLASSES} classes"
    yield row("b", what, ours, "classification_report", report, "at least 50")


def ranking(scale: float, repeats: int) -> Iterator[Row]:
    """(c) All ranking measures of one truth, time and peak memory; the loop on a tenth, times ten."""
    for dtype in (np.float64, np.float32):
        for decimals in (None, 3, 2):
            scores, gold = candidates(int(NUM_BAGS * scale), decimals, dtype)
            ties = "no rounding" if decimals is None else f"{decimals} decimals (ties)"
            what = f"ranking_measures, {scores.size:,} {np.dtype(dtype)} scores, {ties}"
            ours, argsort = timed(
                partial(ranking_measures, scores=scores, gold=gold),
                partial(np.argsort, scores.ravel()),
                repeats=repeats,
            )
            yield row("c", what, ours, "numpy.argsort", argsort, "at most 1.2")
            tracemalloc.start()
            ranking_measures(scores=scores, gold=gold)
            peak = tracemalloc.get_traced_memory()[1] / scores.nbytes
            tracemalloc.stop()
            verdict = f"at most 2.5: {'yes' if peak <= 2.5 else 'no'}"
            yield "c", f"{what}: extra memory", "", "the score matrix", f"{peak:.2f}", verdict
            if dtype is np.float64 and decimals != 2:
                tenth = len(scores) // 10
                (loop,) = timed(partial(loop_over_candidates, scores[:tenth], gold[:tenth]), repeats=1)
                yield row("c", what, ours, "a dict per candidate (a tenth, x 10)", 10 * loop, "at least 30")


def bootstrap(scale: float, repeats: int) -> Iterator[Row]:
    """(d) 10,000 resamples of 10,000 predictions, by rows and by bags; the peer on a hundredth, times 100."""
    y, p = labels(max(500, int(10_000 * scale)))
    bags = np.sort(np.random.default_rng(1).integers(0, int(0.4 * len(y)), len(y)))
    ours = partial(bootstrap_interval, predictions=p, references=y, seed=0)
    by_rows, by_bags = timed(ours, partial(ours, bags=bags), repeats=repeats)
    families: tuple[tuple[str | None, ...], ...] = (("micro", "macro", "weighted", None), (None,))
    four, one = timed(*(partial(scikit_resamples, y, p, 100, averages) for averages in families), repeats=1)
    what = f"bootstrap_interval, 10,000 resamples of {len(y):,} rows"
    for name, seconds in (("micro, macro, weighted, per class", 100 * four), ("per class only", 100 * one)):
        peer = f"resampling + scikit-learn, {name} (on a hundredth, x 100)"
        yield row("d", what, by_rows, peer, seconds, "at least 150")
        yield row("d", f"{what} in {len(np.unique(bags)):,} bags", by_bags, peer, seconds, "at least 150")


def imports(scale: float, repeats: int) -> Iterator[Row]:
    """(e) Importing the package, bytecode compiled, in fresh processes; numpy is part of it."""
    code = (
        "import sys, time; start = time.perf_counter(); import {0}; spent = time.perf_counter() - start;"
        "print(spent, *sorted({{'scipy', 'evaluate', 'datasets', 'matplotlib'}} & set(sys.modules)))"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = cache
        seconds: dict[str, list[float]] = {"numpy": [], "weighted_f1_metric": []}
        loaded = ""
        for attempt in range(4 * repeats + 1):
            for name, spent in seconds.items():
                command = [sys.executable, "-c", code.format(name)]
                done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
                words = done.stdout.split()
                if attempt:  # the first one writes the bytecode
                    spent.append(float(words[0]))
                loaded = ", ".join(words[1:]) or "none of scipy, evaluate, datasets, matplotlib"
    ours, numpy_alone = (statistics.median(seconds[name]) for name in ("weighted_f1_metric", "numpy"))
    what = f"import weighted_f1_metric, compiled (loads {loaded})"
    yield row("e", what, ours, "import numpy", numpy_alone, "at most 1.5")


def evaluate_road(scale: float, repeats: int) -> Iterator[Row]:
    """(g) `compute` of the evaluate module, and of a module that returns nothing and stores the same rows."""
    import evaluate

    road = partial(evaluate.load, str(METRIC), keep_in_memory=True)
    y, p = labels(int(NUM_ROWS * scale))
    for what, columns in (
        ("integers", [y.tolist(), p.tolist()]),
        ("strings", [[f"relation:{number}" for number in column] for column in (y.tolist(), p.tolist())]),
    ):
        ours = road()
        inputs = {"references": columns[0], "predictions": columns[1]}
        yield evaluate_row(
            f"{len(y):,} {what}", ours, silent_module(ours, inputs), inputs, {}, inputs, repeats
        )
    ours, (inputs, options) = road("sent2sent"), track_records(int(10_000 * scale))
    stored = dict(zip(("predictions", "references"), unit_records("sent2sent", **inputs)[:2], strict=True))
    what = f"sent2sent, {int(10_000 * scale):,} rows with scores"
    yield evaluate_row(what, ours, silent_module(ours, stored), inputs, options, stored, repeats)


def evaluate_row(
    what: str, ours: Any, silent: Any, inputs: Any, options: Any, stored: Any, repeats: int
) -> Row:
    mine, own = timed(
        lambda: ours.compute(**inputs, **options), lambda: silent.compute(**stored), repeats=repeats
    )
    cells = f"{1000 * mine:,.1f}", f"a module that returns nothing: {1000 * own:,.1f}", f"{mine / own:,.2f}"
    return "g", f"evaluate, {what}", *cells, ""


def growth(scale: float, repeats: int) -> Iterator[tuple[str, ...]]:
    """(f) Seconds of (a), (c) and (d) from 10^4 to 10^7 rows."""
    for exponent in range(4, 8):
        size = int(10**exponent * scale)
        y, p = labels(size)
        scores, gold = candidates(max(3, size // NUM_RELATIONS))
        family, ranked, resampled = timed(
            partial(f1_family, predictions=p, references=y),
            partial(ranking_measures, scores=scores, gold=gold, ks=(50,)),
            partial(bootstrap_interval, predictions=p, references=y, seed=0),
            repeats=repeats,
        )
        cells = [f"{1000 * seconds:,.1f}" for seconds in (family, ranked, resampled)]
        yield f"{size:,}", *cells, f"{1e9 * family / size:.1f}", f"{1e9 * ranked / size:.1f}"


SECTIONS = {
    "a": integer_labels,
    "b": string_labels,
    "c": ranking,
    "d": bootstrap,
    "e": imports,
    "g": evaluate_road,
}


def print_table(header: tuple[str, ...], lines: Iterator[tuple[str, ...]]) -> None:
    """Print a Markdown table, each line as soon as it is measured."""
    print(f"| {' | '.join(header)} |\n|{' --- |' * len(header)}", flush=True)
    for line in lines:
        print(f"| {' | '.join(line)} |", flush=True)


def main(argv: list[str] | None = None) -> int:
    """Run the sections that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], prog="python -m benchmarks.metric")
    parser.add_argument("--only", nargs="+", choices=[*SECTIONS, "f"], default=[*SECTIONS, "f"])
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each measurement (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on all sizes (default: 1)")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print(f"numpy {np.__version__}, {os.cpu_count()} cores, medians of {arguments.repeats} repeats or more\n")
    chosen = [SECTIONS[name] for name in SECTIONS if name in arguments.only]
    if chosen:
        header = ("", "ours", "ms", "peer: ms", "ratio", "target")
        lines = (line for section in chosen for line in section(arguments.scale, arguments.repeats))
        print_table(header, lines)
    if "f" in arguments.only:
        print("\nGrowth (ms; bootstrap: 10,000 resamples of so many rows)\n")
        header = ("rows", "f1_family", "ranking_measures", "bootstrap", "family ns/row", "ranking ns/row")
        print_table(header, growth(arguments.scale, max(1, arguments.repeats // 2)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
