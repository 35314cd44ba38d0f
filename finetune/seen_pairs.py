"""Scores of the test split, apart for entity pairs that training has seen and those it has not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .evaluation import numbers_only, score_records
from .relation_rows import RelationData

PARTS = ("seen", "unseen")


def scores_by_seen_pairs(
    *, data: RelationData, track: str, records: Sequence[dict[str, Any]], **scoring: Any
) -> dict[str, dict[str, float | int | None]]:
    """The numbers of the units whose entity pair is among the training rows ("seen"), and of the others.

    A unit is a row or, on bag2bag, a bag. The training rows are those of the train split with its negative
    rows, without what went into the validation split. A part without units has `num_units` 0 and no scores.

    Args:
        data: With the splits "train" and "test".
        track: The track.
        records: The predictions of all test units, in any order.
        scoring: More arguments of `evaluation.score_records`.
    """
    test = data.splits["test"]
    known = set(data.splits["train"].entity_pairs)
    seen = np.array([pair in known for pair in test.entity_pairs])
    in_bags = track == "bag2bag"
    scores: dict[str, dict[str, float | int | None]] = {}
    for part, chosen in zip(PARTS, (seen, ~seen), strict=True):
        if not chosen.any():
            scores[part] = {"num_units": 0}
            continue
        rows = test.select(np.flatnonzero(chosen))
        units = set(rows.pair_names if in_bags else rows.row_names)
        own = [record for record in records if record["bag_id" if in_bags else "instance_id"] in units]
        split = replace(data, splits={"test": rows})
        scores[part] = numbers_only(
            score_records(data=split, split="test", track=track, records=own, **scoring)
        )
    return scores
