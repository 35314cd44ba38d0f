"""Made-up systems on the made-up test set, so that an unconfigured board shows what it is for."""

from __future__ import annotations

from typing import Any

from weighted_f1_metric import TRACKS, VERSION, space

from .gold_data import GoldData
from .submission import flat_numbers


def example_records(gold: GoldData) -> list[dict[str, Any]]:
    """Return records of the example systems on every track; they are shown and stored nowhere."""
    records = []
    for track in TRACKS:
        for system in space.EXAMPLE_SYSTEMS:
            scores = gold.score(track, space.example_predictions(system, track=track))
            records.append(
                {
                    "id": f"example-{track}-{system}",
                    "name": f"example: {system}",
                    "link": "",
                    "track": track,
                    "submitted": "",
                    "sha256": "",
                    "files": [],
                    "login": "",
                    "revision": 1,
                    "num_runs": 1,
                    "sd": {},
                    "scores": flat_numbers(scores),
                    "signatures": scores["signatures"],
                    "version": VERSION,
                }
            )
    return records
