"""How good `estimate_magt` is: samples drawn many times from test sets that are judged whole.

Per data set, sample size and kind of answer: the share of 95 % intervals that hold the true value, the root
mean squared error beside that of the sample alone, the mean width of the interval, and how often the average
was called not estimable; means over the systems and measures of F1.

    python -m benchmarks.estimation --data ../shared/data --draws 100
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nyt_h_dataset.corpus_tools.sampling import allocated
from weighted_f1_metric.unit_predictions import read_unit_predictions
from weighted_f1_metric.units import read_units
from weighted_f1_metric.unjudged.estimation import (
    Population,
    Sample,
    estimate,
    pair_population,
    unit_population,
)
from weighted_f1_metric.weighting import AVERAGES, named_averages

MEASURES = (*AVERAGES, "macro_all")
MIN_DEFINED = 1e-12


@dataclass(frozen=True)
class Case:
    """A test set that is judged whole, one system, one sample size."""

    name: str
    population: Population
    num_drawn: int
    allocation: str


def tacred_cases(folder: Path, systems: int, sizes: Sequence[int]) -> Iterator[Case]:
    """TACRED dev: 22,631 rows with the original and the revised label."""
    with gzip.open(folder / "tacrev/dev_predictions.tsv.gz", "rt", encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream, delimiter="\t"))
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    names = sorted({*columns["label_original"], *columns["label_revised"]} - {"no_relation"})
    label = [
        "unk" if old == "no_relation" else ("no", "yes")[old == new]
        for old, new in zip(columns["label_original"], columns["label_revised"], strict=True)
    ]
    units = read_units(
        track="sent2sent",
        references={
            "instance_id": columns["id"],
            "bag_id": columns["id"],
            "relation": columns["label_original"],
            "bag_label": label,
        },
        relations=names,
        negative_relation="no_relation",
    )
    place = {name: position for position, name in enumerate(names)}
    gold = np.zeros((units.num_units, len(names)), dtype=bool)
    for row, name in enumerate(columns["label_revised"]):
        if name in place:
            gold[row, place[name]] = True
    systems_named = header[3:]
    for system in systems_named[:: max(1, len(systems_named) // systems)][:systems]:
        records = {"instance_id": columns["id"], "pred": columns[system]}
        predicted = read_unit_predictions(records, units).predicted
        verdict = pair_population(units, predicted)
        relation = unit_population(units, predicted, (gold, np.ones(units.num_units, dtype=bool)))
        for size in sizes:
            for allocation in ("proportional", "sqrt"):
                yield Case(f"TACRED verdict {allocation} n={size}", verdict, size, allocation)
                yield Case(f"TACRED relation {allocation} n={size}", relation, size, allocation)


def nyt_h_cases(folder: Path) -> Iterator[Case]:
    """The NYT-H-shaped set: 232 rows and 111 bags, five systems."""
    rows = [json.loads(line) for line in (folder / "nyt_h_shaped/test.json").read_text("utf-8").splitlines()]
    ids = json.loads((folder / "nyt_h_shaped/rel2id.json").read_text("utf-8"))
    names = [name for name in sorted(ids, key=ids.__getitem__) if name != "NA"]
    for track, prefix, sizes in (("sent2sent", "sent", (40, 80, 120)), ("bag2bag", "bag", (30, 60, 90))):
        units = read_units(track=track, references=rows, relations=names)
        for system in ("echo_ds_label", "lr_between", "majority", "svm_all", "typepair"):
            path = folder / f"nyt_h_shaped/predictions/{prefix}_{system}.jsonl"
            records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            population = pair_population(units, read_unit_predictions(records, units).predicted)
            for size in sizes:
                for allocation in ("proportional", "sqrt"):
                    yield Case(f"NYT-H-shaped {track} {allocation} n={size}", population, size, allocation)


def simulated_cases(sizes: Sequence[int]) -> Iterator[Case]:
    """A set of the size of NYT-H's test, 9,955 rows of which 52 % are a yes, and a system that finds more
    of the pairs with a yes."""
    rng = np.random.default_rng(0)
    names = [f"r{number}" for number in range(21)]
    share = rng.dirichlet(np.full(len(names), 0.5))
    relation = rng.choice(len(names), 9955, p=share)
    yes = rng.random(9955) < 0.52
    units = read_units(
        track="sent2sent",
        references=[
            {
                "instance_id": f"i{n}",
                "bag_id": f"i{n}",
                "relation": names[r],
                "bag_label": ("no", "yes")[int(yes[n])],
            }
            for n, r in enumerate(relation.tolist())
        ],
        relations=names,
    )
    said = np.where(rng.random(9955) < np.where(yes, 0.75, 0.55), relation, rng.choice(len(names), 9955))
    predicted = np.zeros((9955, len(names)), dtype=bool)
    predicted[np.arange(9955), said] = True
    predicted[rng.random(9955) < 0.1] = False
    population = pair_population(units, predicted)
    for size in sizes:
        for allocation in ("proportional", "sqrt"):
            yield Case(f"52 % yes {allocation} n={size}", population, size, allocation)


def one_draw(members: Sequence[np.ndarray], quota: Sequence[int], rng: np.random.Generator) -> Sample:
    """A stratified sample: so many of the members of each stratum."""
    item = [rng.choice(items, num, replace=False) for items, num in zip(members, quota, strict=True)]
    return Sample(
        np.concatenate(item), np.repeat(np.arange(len(quota)), quota), np.array([*map(len, members)])
    )


def measured(case: Case, draws: int, n_resamples: int) -> dict[str, dict[str, Any]]:
    """F1 average -> lists over the draws: covered, error, error alone, width; and refusals."""
    population = case.population
    everything = np.arange(len(population.ids))
    whole = Sample(everything, np.zeros(len(everything), dtype=np.int64), np.array([len(everything)]))
    averages = named_averages(AVERAGES)
    truth = estimate(population, whole, averages=averages, n_resamples=2).measures
    strata: dict[str, list[int]] = {}
    for position, (_, name) in enumerate(population.ids):
        strata.setdefault(name, []).append(position)
    members = [np.array(items) for items in strata.values()]
    sizes = {name: len(items) for name, items in strata.items()}
    quota = [*allocated(sizes, num_drawn=case.num_drawn, allocation=case.allocation).values()]
    result: dict[str, dict[str, Any]] = {
        name: {"covered": [], "error": [], "alone": [], "width": [], "refused": 0} for name in MEASURES
    }
    for seed in range(draws):
        sample = one_draw(members, quota, np.random.default_rng(seed))
        found = estimate(population, sample, averages=averages, n_resamples=n_resamples, seed=seed)
        for name in MEASURES:
            key = f"{population.truth}_{name}_f1"
            if key not in found.measures:
                result[name]["refused"] += 1
                continue
            one, value = found.measures[key], truth[key].value
            slack = MIN_DEFINED
            result[name]["covered"].append(one.low - slack <= value <= one.high + slack)
            result[name]["error"].append(one.value - value)
            result[name]["alone"].append(one.alone - value)
            result[name]["width"].append(one.high - one.low)
    return result


def table_row(name: str, systems: Sequence[Mapping[str, Mapping[str, Any]]], draws: int) -> str:
    """A row of the table; each cell: coverage / RMSE / RMSE of the sample alone / width, in percent."""
    cells = []
    for measure in MEASURES:
        parts = [system[measure] for system in systems if system[measure]["covered"]]
        refused = sum(system[measure]["refused"] for system in systems) / (draws * len(systems))
        if not parts:
            cells.append("not estimable")
            continue
        covered = [np.mean(part["covered"]) for part in parts]
        rmse, alone = (
            np.mean([np.sqrt(np.mean(np.square(part[key]))) for part in parts]) for key in ("error", "alone")
        )
        width = np.mean([np.mean(part["width"]) for part in parts])
        numbers = (f"{100 * value:.1f}" for value in (rmse, alone, width))
        cell = " / ".join([f"{100 * np.mean(covered):.1f} ({100 * min(covered):.0f})", *numbers])
        cells.append(cell + (f" [{100 * refused:.0f} % n.e.]" if refused else ""))
    return f"| {name} | {' | '.join(cells)} |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), metavar="DIR")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--systems", type=int, default=8, help="of TACRED dev")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds this")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 500, 1000])
    options = parser.parse_args(argv)
    cases: list[Case] = list(simulated_cases(options.sizes))
    if options.data.is_dir():
        cases += [*nyt_h_cases(options.data), *tacred_cases(options.data, options.systems, options.sizes)]
    by_name: dict[str, list[Case]] = {}
    for case in cases:
        if options.only in case.name:
            by_name.setdefault(case.name, []).append(case)
    print(
        f"{options.draws} draws; coverage (worst system) / RMSE / RMSE of the sample alone / width, percent"
    )
    print(f"| case | {' | '.join(MEASURES)} |\n| --- |{' --- |' * len(MEASURES)}")
    for name, systems in by_name.items():
        found = [measured(case, options.draws, options.resamples) for case in systems]
        print(table_row(name, found, options.draws), flush=True)


if __name__ == "__main__":
    main()
