"""What judging is worth: pairs of systems whose order under MAGT is certain, by the pool and by chance.

On the NYT-H-shaped set the known answers are hidden. Answers are then shown, those that `nyt_h_dataset sheet
--pool` asks for, in rounds of ten, or random ones of the same open pairs; after so many answers the exact
order bounds of every average say for how many pairs of systems the order is certain. An answer about a
relation that is no DS relation of the sentence is not known there and given as no, as MAGT counts it. Last,
the time that the bounds of 10,000 units and 22 relations take.

    python -m benchmarks.unjudged --data ../shared/data
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nyt_h_dataset.corpus_tools.pool import choose_pairs
from weighted_f1_metric.unit_predictions import read_unit_predictions
from weighted_f1_metric.units import Units, read_units
from weighted_f1_metric.unjudged.bounds import bounds_of_units, order_of_units
from weighted_f1_metric.weighting import AVERAGES, named_averages

SYSTEMS = ("echo_ds_label", "lr_between", "majority", "svm_all", "typepair")
MEASURES = (*AVERAGES, "macro_all")


class HiddenAnswers:
    """The sentences and systems of the NYT-H-shaped set, and the answers that are shown one by one."""

    def __init__(self, folder: Path) -> None:
        """Read the set; by sentences, since an answer serves all rows of a sentence."""
        self.rows = _lines(folder / "test.json")
        ids = json.loads((folder / "rel2id.json").read_text("utf-8"))
        self.relations = [name for name in sorted(ids, key=ids.__getitem__) if name != "NA"]
        self.systems = {name: _lines(folder / f"predictions/sent_{name}.jsonl") for name in SYSTEMS}
        self.said = {
            name: {
                record["instance_id"]: [] if record["pred"] == "NA" else [record["pred"]]
                for record in records
            }
            for name, records in self.systems.items()
        }
        self.hidden = [{**row, "bag_label": "unk"} for row in self.rows]
        self.known: dict[tuple[str, str, str], str] = {
            (row["bag_id"], row["sentence"].strip(), row["relation"]): row["bag_label"] for row in self.rows
        }
        self.sentence = {row["instance_id"]: (row["bag_id"], row["sentence"].strip()) for row in self.rows}

    def answer(self, pair: tuple[str, str]) -> dict[str, str]:
        """The judgment of a pair."""
        answer = self.known.get((*self.sentence[pair[0]], pair[1]), "no")
        return {"instance_id": pair[0], "relation": pair[1], "answer": answer}

    def asked(self, systems: Sequence[str], judgments: Sequence[Mapping[str, str]], budget: int) -> list[Any]:
        """The pairs that the pool asks for next."""
        try:
            return list(
                choose_pairs(
                    records=self.hidden,
                    systems={name: self.said[name] for name in systems},
                    relations=self.relations,
                    budget=budget,
                    judgments=judgments,
                ).pairs
            )
        except ValueError:  # nothing is open any more
            return []

    def certain(self, systems: Sequence[str], judgments: Sequence[Mapping[str, str]]) -> dict[str, int]:
        """Measure -> how many pairs of the systems have a certain order."""
        units = read_units(
            track="sent2sent",
            references=self.hidden,
            relations=self.relations,
            by="sentences",
            judgments=list(judgments),
        )
        predicted = [read_unit_predictions(self.systems[name], units).predicted for name in systems]
        result = dict.fromkeys(MEASURES, 0)
        for a, b in itertools.combinations(predicted, 2):
            bounds = order_of_units(units, a, b, averages=named_averages(AVERAGES), unk="open")
            for name in MEASURES:
                low, high = bounds[f"{name}_f1"]
                result[name] += low > 0 or high < 0
        return result


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def shares(data: HiddenAnswers, steps: Sequence[int], repeats: int) -> None:
    """Print how many of the ten pairs are certain after so many answers, of all five systems at once."""
    judgments: list[dict[str, str]] = []
    by_pool = {}
    while len(judgments) < max(steps):
        asked = data.asked(SYSTEMS, judgments, 10)
        if not asked:
            break
        judgments += [data.answer(pair) for pair in asked]
        if len(judgments) in steps:
            by_pool[len(judgments)] = data.certain(SYSTEMS, judgments)
    everything = data.asked(SYSTEMS, [], 10_000)
    by_chance: dict[int, list[dict[str, int]]] = {}
    for seed in range(repeats):
        pairs = random.Random(seed).sample(everything, len(everything))
        for step in steps:
            found = data.certain(SYSTEMS, [data.answer(pair) for pair in pairs[:step]])
            by_chance.setdefault(step, []).append(found)
    print(
        f"{len(everything)} open pairs. Pairs of systems, of 10, with a certain order: pool / chance (mean)"
    )
    print(f"| answers | {' | '.join(MEASURES)} |\n| ---: |{' ---: |' * len(MEASURES)}")
    print(f"| 0 | {' | '.join(str(data.certain(SYSTEMS, [])[name]) for name in MEASURES)} |")
    for step in by_pool:
        cells = [
            f"{by_pool[step][name]} / {np.mean([found[name] for found in by_chance[step]]):.1f}"
            for name in MEASURES
        ]
        print(f"| {step} | {' | '.join(cells)} |")


def until_certain(data: HiddenAnswers, repeats: int, step: int = 5) -> None:
    """Print how many answers settle each two systems under micro and macro_all, by the pool and by chance."""
    print("\nAnswers until the order is certain: pool / chance (mean); - where all answers leave it open")
    print("| systems | open pairs | micro | macro_all |\n| --- | ---: | ---: | ---: |")
    for pair in itertools.combinations(SYSTEMS, 2):
        everything = data.asked(pair, [], 10_000)
        by_pool: list[dict[str, str]] = []
        while asked := data.asked(pair, by_pool, step):
            by_pool += [data.answer(one) for one in asked]
        orders = [by_pool] + [
            [data.answer(one) for one in random.Random(seed).sample(everything, len(everything))]
            for seed in range(repeats)
        ]
        cells = []
        for name in ("micro", "macro_all"):
            needed = [_first_certain(data, pair, answers, name, step) for answers in orders]
            chance = [number for number in needed[1:] if number is not None]
            shown = "-" if needed[0] is None else str(needed[0])
            cells.append(f"{shown} / {np.mean(chance):.0f}" if chance else shown)
        print(f"| {pair[0]}, {pair[1]} | {len(everything)} | {' | '.join(cells)} |")


def _first_certain(
    data: HiddenAnswers, pair: Sequence[str], answers: Sequence[Mapping[str, str]], measure: str, step: int
) -> int | None:
    """The least number of answers, a multiple of `step`, that make the order certain; it then stays so."""
    low, high = 0, -(-len(answers) // step)
    if not data.certain(pair, answers)[measure]:
        return None
    while low < high:
        middle = (low + high) // 2
        if data.certain(pair, answers[: middle * step])[measure]:
            high = middle
        else:
            low = middle + 1
    return low * step


def many_units(num_units: int = 10_000, num_relations: int = 22) -> tuple[Units, list[np.ndarray]]:
    """Random units of one DS relation each, and two systems with some 40 % open predictions."""
    rng = np.random.default_rng(0)
    names = [f"r{number}" for number in range(num_relations)]
    relation = rng.choice(num_relations, num_units, p=rng.dirichlet(np.full(num_relations, 0.5)))
    yes = rng.random(num_units) < 0.52
    rows = [
        {
            "instance_id": f"i{n}",
            "bag_id": f"b{n}",
            "relation": names[r],
            "bag_label": ("no", "yes")[int(yes[n])],
        }
        for n, r in enumerate(relation.tolist())
    ]
    units = read_units(track="sent2sent", references=rows, relations=names)
    systems = []
    for _ in range(2):
        predicted = np.zeros((num_units, num_relations), dtype=bool)
        said = np.where(rng.random(num_units) < 0.6, relation, rng.integers(0, num_relations, num_units))
        predicted[np.arange(num_units), said] = True
        systems.append(predicted)
    return units, systems


def timed() -> None:
    """Print the time of the bounds."""
    units, (a, b) = many_units()
    averages = named_averages(AVERAGES)
    for name, call in (
        ("bounds, 18 measures", lambda: bounds_of_units(units, a, averages=averages)),
        ("order, 6 measures", lambda: order_of_units(units, a, b, averages=averages)),
    ):
        seconds = []
        for _ in range(10):
            start = time.perf_counter()
            found = call()
            seconds.append(time.perf_counter() - start)
        best, median = 1e3 * min(seconds), 1e3 * sorted(seconds)[5]
        size = f"10,000 units, {found['num_open']:,} open pairs"
        print(f"{name}, {size}: best {best:.1f} ms, median {median:.1f} ms")


def main(argv: Sequence[str] | None = None) -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), metavar="DIR")
    parser.add_argument("--repeats", type=int, default=20, help="random orders")
    options = parser.parse_args(argv)
    folder = options.data / "nyt_h_shaped"
    if folder.is_dir():
        data = HiddenAnswers(folder)
        shares(data, (10, 50, 100, 150), options.repeats)
        until_certain(data, options.repeats)
    timed()


if __name__ == "__main__":
    main()
