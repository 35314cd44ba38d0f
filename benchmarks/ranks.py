"""Ranks with confidence: how fast, how often right, and how wide beside Holm and Bonferroni.

python -m benchmarks.ranks speed                        time and peak memory, each size a fresh process
python -m benchmarks.ranks coverage --worlds 500        share of simulated worlds in which all sets hold
python -m benchmarks.ranks variance --worlds 300        the parts of the variance beside their known values
python -m benchmarks.ranks tacred --data ../shared/data 49 published systems on TACRED dev
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from weighted_f1_metric import holm_adjusted, rank_intervals
from weighted_f1_metric.significance.rank_intervals import Ranking

AVERAGES = ["micro", "dodrans", "macro"]
SEED_SD = {
    "no": 0.0,
    "small": 0.02,
    "typical": 0.06,
    "large": 0.2,
}  # 0.0, 0.4, 1.3 and 4.4 points of accuracy
_LEVEL, _HARDNESS = 0.8, 1.2
_OF_SYSTEM, _OF_RUN = 0.7, 0.3  # variance of a row's noise that the runs of a system share, and the rest


@dataclass(frozen=True)
class Cell:
    """One kind of simulated world.

    Attributes:
        num_systems, num_units, num_runs: Their numbers; of `mixed` every second system has one run.
        in_bags: Whether rows share the hardness of their bag (three rows on average).
        blocks: Whether the second half of the systems is worse by the same amount; else all are equal.
        spread: Key of SEED_SD.
    """

    num_systems: int
    num_units: int
    num_runs: int = 1
    in_bags: bool = False
    blocks: bool = False
    spread: str = "no"
    mixed: bool = False

    @property
    def name(self) -> str:
        """The cell in words."""
        seeds = "1 seed" if self.num_runs == 1 else f"{self.num_runs} seeds, {self.spread} spread"
        rows = f"{self.num_units} rows" + (" in bags" if self.in_bags else "")
        kind = "two blocks" if self.blocks else "all equal"
        return f"{self.num_systems} systems, {kind}; {rows}; {seeds}" + (", half with 1" * self.mixed)


def cells() -> Iterator[Cell]:
    """The cells of the table: every number of systems by rows, bags and blocks; then the seeds."""
    for systems, units, bags, blocks in itertools.product((5, 20, 50), (300, 1000), (0, 1), (0, 1)):
        yield Cell(systems, units, in_bags=bool(bags), blocks=bool(blocks))
    for systems, runs, spread in itertools.product((5, 20), (3, 5), ("small", "typical", "large")):
        yield Cell(systems, 300, runs, in_bags=systems == 20, blocks=runs == 5, spread=spread)
    yield Cell(50, 300, 3, spread="typical")
    yield Cell(20, 1000, 3, in_bags=True, spread="typical")
    yield Cell(20, 300, 3, spread="typical", mixed=True)


def world(cell: Cell, seed: int) -> tuple[dict[str, list[Any]], Any, Any]:
    """Return systems, gold labels and bags of one world; class 0 is the negative one."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.3] + [0.7 / 8] * 8)
    units = cell.num_units
    bag = np.sort(rng.integers(0, units // 3, units)) if cell.in_bags else np.arange(units)
    gold = rng.choice(9, units, p=shares)
    hard = rng.normal(0, _HARDNESS, units)[bag]
    systems: dict[str, list[Any]] = {}
    for number in range(cell.num_systems):
        level = _LEVEL - 0.5 * (cell.blocks and number >= cell.num_systems // 2)
        own = hard + rng.normal(0, _OF_SYSTEM**0.5, units)
        runs = []
        for _ in range(1 if cell.mixed and number % 2 else cell.num_runs):
            shift = rng.normal(0, SEED_SD[cell.spread])
            right = own + rng.normal(0, _OF_RUN**0.5, units) < level + shift
            runs.append(np.where(right, gold, rng.choice(9, units, p=shares)))
        systems[f"s{number:03d}"] = runs
    return systems, gold, bag if cell.in_bags else None


def simple_sets(ranking: Ranking, num_bags: int) -> dict[str, float]:
    """Return the mean size of the rank sets after two-sided tests of all pairs, d / se taken for normal.

    "corrected" is Bonferroni with the correction for few bags that the step-down sets have; without it the
    tests are too sure of themselves.
    """
    differences, errors = ranking.differences, ranking.standard_errors
    first, second = np.triu_indices(len(differences), 1)
    ratio = np.abs(differences[first, second]) / np.maximum(errors[first, second], 1e-12)
    p_values = 2 * ndtr(-ratio)
    sizes = {}
    for name, adjusted in (("Holm", holm_adjusted(p_values.tolist())), ("Bonferroni", p_values * len(first))):
        told = int((np.asarray(adjusted) <= 0.05).sum())
        sizes[name] = len(differences) - 2 * told / len(differences)
    critical = -ndtri(0.025 / len(first))
    few = max(1 - critical**2 / num_bags, 1e-12)
    told = int((ratio > critical * (num_bags / (num_bags - 1) / few) ** 0.5).sum())
    sizes["corrected"] = len(differences) - 2 * told / len(differences)
    return sizes


def mean_size(ranking: Ranking) -> float:
    """Return the mean number of ranks in a set."""
    return float(np.mean([system.rank_high - system.rank_low + 1 for system in ranking.systems]))


def holds(ranking: Ranking, cell: Cell) -> bool:
    """Return whether every set holds all ranks that its system truly shares with its equals."""
    half = cell.num_systems // 2
    for system in ranking.systems:
        worse = cell.blocks and int(system.name[1:]) >= half
        best = half + 1 if worse else 1
        last = half if cell.blocks and not worse else cell.num_systems
        if system.rank_low > best or system.rank_high < last:
            return False
    return True


def coverage_row(cell: Cell, worlds: int, n_resamples: int) -> str:
    """Return the line of a cell: worlds, coverage by average, mean sizes."""
    held: dict[str, list[bool]] = {}
    sizes: dict[str, list[float]] = {"step-down": [], "Holm": [], "Bonferroni": [], "corrected": []}
    for seed in range(worlds):
        systems, gold, bags = world(cell, seed)
        result = rank_intervals(
            systems=systems,
            references=gold,
            bags=bags,
            negative_label=0,
            seed=seed,
            n_resamples=n_resamples,
            question="runs" if cell.num_runs == 1 else "seeds",
            averages=AVERAGES,
        )
        for measure, ranking in result.rankings.items():
            held.setdefault(measure, []).append(holds(ranking, cell))
            for name, size in {
                "step-down": mean_size(ranking),
                **simple_sets(ranking, result.num_bags),
            }.items():
                sizes[name].append(size)
    covered = [f"{100 * np.mean(own):.1f}" for own in held.values()]
    return " | ".join([cell.name, str(worlds), *covered, *(f"{np.mean(own):.2f}" for own in sizes.values())])


def run_coverage(options: argparse.Namespace) -> None:
    """Print the table of coverage, line by line."""
    print(
        f"Simultaneous coverage in percent (nominal 95), {options.resamples} resamples; mean sizes of sets.\n"
    )
    titles = [
        "cell",
        "worlds",
        *(f"{name} F1" for name in AVERAGES),
        "size",
        "Holm",
        "Bonferroni",
        "corrected",
    ]
    print(f"| {' | '.join(titles)} |\n| --- |{' ---: |' * (len(titles) - 1)}", flush=True)
    for cell in cells():
        if options.only in cell.name:
            fewer = {5: 1.0, 20: 1.0, 50: options.of_fifty}[cell.num_systems]
            worlds = max(1, round(options.worlds * fewer * (1 if cell.num_runs == 1 else options.of_seeds)))
            print(f"| {coverage_row(cell, worlds, options.resamples)} |", flush=True)


def known_parts(spread: float, units: int) -> tuple[float, float, float]:
    """Return the variances of an accuracy that seeds, rows and seeds x rows make, by quadrature.

    A row of hardness h is right with p(h, s) = Phi(level + s - h); s is the shift of the seed.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    right = ndtr(_LEVEL + spread * nodes[:, None] - _HARDNESS * nodes[None, :])
    mean = float(weights @ right @ weights)
    seeds = float(weights @ (right @ weights) ** 2) - mean**2
    rows = float(weights @ (weights @ right) ** 2) - mean**2
    return seeds, rows / units, (mean - mean**2 - seeds - rows) / units


def run_variance(options: argparse.Namespace) -> None:
    """Print the mean estimated parts of the variance beside the known ones."""
    units, runs, systems = 400, 4, 4
    print(
        f"Shares of the variance of one run in percent: known / mean over {options.worlds} worlds of "
        f"{systems} systems x {runs} seeds, {units} rows. An "
        "estimate is not below 0, so that the mean for a small part lies above it.\n"
    )
    print("| sd of the seeds' shift | seeds | bags | seeds x bags | variance x 10^4 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for spread in (0.03, 0.1, 0.3):
        known = np.array(known_parts(spread, units))
        found = np.zeros(3)
        for seed in range(options.worlds):
            rng = np.random.default_rng(seed)
            hard = rng.normal(0, _HARDNESS, units)
            gold = np.zeros(units, dtype=np.int64)
            scored = {
                f"s{number}": [
                    (hard + rng.normal(0, 1, units) >= _LEVEL + rng.normal(0, spread)).astype(np.int64)
                    for _ in range(runs)
                ]
                for number in range(systems)
            }
            ranking = rank_intervals(
                systems=scored, references=gold, labels=[0, 1], seed=seed, n_resamples=options.resamples,
                averages="micro",
            ).rankings["micro_f1"]  # fmt: skip
            parts = ranking.variance
            assert parts is not None  # every system has several runs
            found += [parts.seeds.estimate, parts.bags.estimate, parts.seeds_x_bags.estimate]
        found /= options.worlds
        shares = zip(100 * known / known.sum(), 100 * found / found.sum(), strict=True)
        cells_of_row = [f"{one:.1f} / {other:.1f}" for one, other in shares]
        total = f"{1e4 * known.sum():.2f} / {1e4 * found.sum():.2f}"
        print(f"| {spread} | {' | '.join(cells_of_row)} | {total} |", flush=True)


def tacred_columns(folder: Path) -> tuple[dict[str, list[str]], Mapping[str, list[str]]]:
    """Return system -> labels, and truth -> gold labels, of TACRED dev."""
    with gzip.open(folder / "tacrev/dev_predictions.tsv.gz", "rt", encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream, delimiter="\t"))
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    truths = {name: columns.pop(f"label_{name}") for name in ("original", "revised")}
    del columns["id"]
    return columns, truths


def run_tacred(options: argparse.Namespace) -> None:
    """Print the sizes of the sets, the letters and Kendall's tau of the two truths."""
    from scipy.stats import kendalltau

    systems, truths = tacred_columns(options.data)
    titles = "mean size | Holm | Bonferroni | corrected | neighbours told apart | letters | tau"
    print(f"| truth, F1 | systems | {titles} |")
    print("| --- |" + " ---: |" * 8)
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for truth, gold in truths.items():
        result = rank_intervals(
            systems=systems, references=gold, negative_label="no_relation", seed=0,
            n_resamples=options.resamples, averages=AVERAGES,
        )  # fmt: skip
        for measure, ranking in result.rankings.items():
            own = {system.name: system.score for system in ranking.systems}
            scores.setdefault(measure, {})[truth] = own
            other = scores[measure]["original"]
            tau = kendalltau([own[name] for name in sorted(own)], [other[name] for name in sorted(own)])
            told = sum(bool(ranking.separated[i, i + 1]) for i in range(len(own) - 1))
            letters = len(set("".join(system.group for system in ranking.systems)) - set("()"))
            sizes = [mean_size(ranking), *simple_sets(ranking, result.num_bags).values()]
            numbers = [str(len(own)), *(f"{size:.2f}" for size in sizes), f"{told} of {len(own) - 1}"]
            print(
                f"| {truth}, {measure} | {' | '.join(numbers)} | {letters} | {tau.statistic:.3f} |",
                flush=True,
            )
    name, own_labels = next(iter(systems.items()))
    twice = rank_intervals(
        systems={name: own_labels, "again": own_labels}, references=truths["original"],
        negative_label="no_relation", seed=0, n_resamples=options.resamples, averages="micro",
    ).rankings["micro_f1"]  # fmt: skip
    print(
        f"\n{name} against itself: P = {twice.probability_better[0, 1]}, "
        f"groups {' '.join(system.group for system in twice.systems)}"
    )


def run_speed(options: argparse.Namespace) -> None:
    """Print time and peak memory of each size, each in a process of its own."""
    if options.systems is None:
        print("| systems | rows | resamples | seconds | CPU seconds | peak MB |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
        for systems in (50, 200):
            subprocess.run(
                [sys.executable, "-m", __spec__.name, "speed", "--systems", str(systems)], check=True
            )
        return
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, 42)
    shares /= shares.sum()
    gold = rng.choice(41, 10_000, p=shares)
    hard = rng.normal(0, 1.5, 10_000)
    predicted = {
        f"s{number:03d}": np.where(
            hard + rng.normal(0, 1, 10_000) < 0.9, gold, rng.choice(41, 10_000, p=shares)
        )
        for number in range(options.systems)
    }
    rank_intervals(  # so that the imports are not timed
        systems={"a": gold[:50], "b": gold[50:100]},
        references=gold[:50],
        negative_label=0,
        seed=0,
        n_resamples=2,
    )
    start, cpu = time.perf_counter(), time.process_time()
    rank_intervals(systems=predicted, references=gold, negative_label=0, seed=0, n_resamples=1000)
    seconds, busy = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {options.systems} | 10,000 | 1,000 | {seconds:.2f} | {busy:.2f} | {peak:.0f} |", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the measurement that the arguments name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    speed = commands.add_parser("speed")
    speed.add_argument("--systems", type=int, help="measure this size in this process")
    speed.set_defaults(run=run_speed)
    coverage = commands.add_parser("coverage")
    coverage.add_argument("--worlds", type=int, default=500, help="a cell")
    coverage.add_argument("--of_fifty", type=float, default=1.0, help="share of the worlds with 50 systems")
    coverage.add_argument("--of_seeds", type=float, default=1.0, help="share of the worlds with seeds")
    coverage.add_argument("--resamples", type=int, default=1000)
    coverage.add_argument("--only", default="", metavar="TEXT", help="cells whose name holds this")
    coverage.set_defaults(run=run_coverage)
    variance = commands.add_parser("variance")
    variance.add_argument("--worlds", type=int, default=300)
    variance.add_argument("--resamples", type=int, default=400)
    variance.set_defaults(run=run_variance)
    tacred = commands.add_parser("tacred")
    tacred.add_argument("--data", type=Path, default=Path("../shared/data"), metavar="DIR")
    tacred.add_argument("--resamples", type=int, default=2000)
    tacred.set_defaults(run=run_tacred)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    options.run(options)


if __name__ == "__main__":
    main()
