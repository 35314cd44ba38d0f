"""The example of the page: label columns as text, and files as a visitor would upload them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..commands.files import write_json
from ..commands.prediction_files import write_predictions
from ..tracks import score_track
from .example import NEGATIVE_RELATION, example_predictions, example_track

RUNS = 3
COMPARED = ("careful", "frequent")


@dataclass(frozen=True)
class ExampleFiles:
    """Texts and paths of the example.

    Attributes:
        predictions, references: one label a line.
        track: the paths of predictions, test file and rel2id of bag2bag.
        systems: name -> the paths of its runs.
    """

    predictions: str
    references: str
    track: list[str]
    systems: dict[str, list[str]]


def write_example(folder: Path) -> ExampleFiles:
    """Write the example into `folder`."""
    data = example_track()
    predictions = example_predictions()
    pred_of_bag = {record["bag_id"]: record["pred"] for record in predictions}
    answers = [
        row["relation"] if row["bag_label"] == "yes" else NEGATIVE_RELATION for row in data["references"]
    ]
    track = [folder / name for name in ("predictions.jsonl", "test.json", "rel2id.json")]
    write_predictions(track[0], predictions)
    write_predictions(track[1], data["references"])
    ids = {name: number for number, name in enumerate([NEGATIVE_RELATION, *data["relations"]])}
    track[2].write_text(json.dumps(ids, indent=1), encoding="utf-8")
    systems: dict[str, list[str]] = {system: [] for system in COMPARED}
    for system, paths in systems.items():
        for run in range(RUNS):
            rows = example_predictions(system, track="sent2sent", run=run)
            path = folder / f"{system}-{run}.json"
            write_json(path, score_track(track="sent2sent", predictions=rows, **data))
            paths.append(str(path))
    return ExampleFiles(
        predictions="\n".join(pred_of_bag[row["bag_id"]] for row in data["references"]),
        references="\n".join(answers),
        track=[str(path) for path in track],
        systems=systems,
    )
