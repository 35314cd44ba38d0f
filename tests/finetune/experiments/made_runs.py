"""Finished runs without training: small data, and folders whose numbers come by hand or from predictions."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.relation_rows import RelationData, RelationRows
from finetune.experiments.run_results import SystemRun
from finetune.report.evaluation import numbers_only, score_records
from finetune.report.results import aggregate

RELATIONS = ("NA", "born_in", "lives_in", "works_for")


def made_rows(labels: Sequence[int], bags: Sequence[str], answers: Sequence[str] | None) -> RelationRows:
    names = [f"i{row}" for row in range(len(labels))]
    references = None
    if answers is not None:
        references = [
            {"instance_id": name, "bag_id": bag, "relation": RELATIONS[label], "bag_label": answer}
            for name, bag, label, answer in zip(names, bags, labels, answers, strict=True)
        ]
    return RelationRows(
        row_names=names,
        sentences=[f"Sentence {name}." for name in names],
        spans=np.zeros((len(names), 4), dtype=np.int64),
        labels=np.array(labels, dtype=np.int64),
        pair_names=list(bags),
        entity_pairs=list(bags),
        references=references,
    )


def made_data(*, human: bool = True, num_rows: int = 24, groups: bool = False) -> RelationData:
    """Bags of two rows; the three relations in turn, those of the last one refused by people.

    Without human labels every fourth row is negative.
    """
    labels = [1 + row % 3 if human else row % 4 for row in range(num_rows)]
    bags = [f"b{row // 2}" for row in range(num_rows)]
    answers = ["no" if row % 3 == 2 else "yes" for row in range(num_rows)] if human else None
    rows = made_rows(labels, bags, answers)
    names = {"born_in": "birth", "lives_in": "life", "works_for": "life"}
    return RelationData(
        name="nyt_h" if human else "semeval2010",
        splits={"train": rows, "test": rows},
        label_names=RELATIONS,
        negative_relation="NA",
        groups=names if groups else None,
    )


def run_by_hand(
    folder: Path,
    data: RelationData,
    system: str,
    scores: Mapping[int, Mapping[str, Any]],
    track: str = "sent2sent",
) -> SystemRun:
    """A run whose numbers are given: seed -> measure -> value. It has no predictions."""
    key = "bag_id" if track == "bag2bag" else "instance_id"
    rows = data.splits["test"]
    names = rows.pair_names if track == "bag2bag" else rows.row_names
    nothing = [{key: name, "pred": "NA"} for name in dict.fromkeys(names)]
    scored = score_records(data=data, split="test", track=track, records=nothing)
    echo = numbers_only(scored["echo"]) if "echo" in scored else None
    return _run(folder, data, system, track, scores, scored["signature"], echo)


def run_of_predictions(
    folder: Path, data: RelationData, system: str, records: Mapping[int, list[dict[str, Any]]], track: str
) -> SystemRun:
    """A run whose numbers are those of its predictions: seed -> records, which are written as well."""
    scores = {}
    for seed, own in records.items():
        scores[seed] = score_records(data=data, split="test", track=track, records=own)
        place = folder / f"seed-{seed}"
        place.mkdir(parents=True)
        lines = [json.dumps(record) for record in own]
        (place / "predictions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    first = next(iter(scores.values()))
    echo = numbers_only(first["echo"]) if "echo" in first else None
    numbers = {seed: numbers_only(own) for seed, own in scores.items()}
    return _run(folder, data, system, track, numbers, first["signature"], echo)


def _run(folder, data, system, track, scores, signature, echo) -> SystemRun:
    results = {
        "track": track,
        "n": len(scores),
        **aggregate(list(scores.values())),
        "echo": echo,
        "signature": signature,
        "seeds": {str(seed): {"test": dict(own)} for seed, own in scores.items()},
        "data": {"name": data.name, "fingerprint": data.fingerprint},
        "arguments": {},
    }
    return SystemRun(system, track, folder, json.loads(json.dumps(results)), tuple(scores))


def guesses(data: RelationData, track: str, *, seed: int, accuracy: float) -> list[dict[str, Any]]:
    """Predictions with scores: the first distant label of a unit with this probability, else any."""
    rng = np.random.default_rng(seed)
    rows = data.splits["test"]
    key, names = ("bag_id", rows.pair_names) if track == "bag2bag" else ("instance_id", rows.row_names)
    labels = dict(zip(reversed(names), reversed(rows.labels.tolist()), strict=True))
    records = []
    for name in dict.fromkeys(names):
        scores = rng.random(len(RELATIONS))
        if rng.random() < accuracy:
            scores[labels[name]] += 1
        scores = (scores / scores.sum()).round(6)
        pred = RELATIONS[int(scores.argmax())]
        records.append(
            {key: name, "pred": pred, "scores": dict(zip(RELATIONS, scores.tolist(), strict=True))}
        )
    return records


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
