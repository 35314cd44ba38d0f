"""Made-up systems on the made-up test set, so that an unconfigured board shows what it is for."""

from __future__ import annotations

from typing import Any

from weighted_f1_metric import TRACKS, VERSION, space

from .gold_data import GoldData
from .kept_counts import counts_of_run, counts_of_runs
from .submission import flat_numbers, shown_bounds


def example_records(gold: GoldData) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return records of the example systems on every track with their counts; they are stored nowhere."""
    records = []
    for track in TRACKS:
        for system in space.EXAMPLE_SYSTEMS:
            scored = gold.scored(track, space.example_predictions(system, track=track))
            record = {
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
                "bounds": shown_bounds(scored),
                "scores": flat_numbers(scored.scores),
                "signatures": scored.signatures,
                "version": VERSION,
            }
            records.append((record, counts_of_runs(scored, [counts_of_run(scored)])))
    return records
