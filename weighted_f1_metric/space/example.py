"""A small made-up test set in NYT-H's format, and systems that trade frequent relations for rare ones."""

from __future__ import annotations

import random
from typing import Any

from ..units import unit_id_key

# The names are relations of NYT-H; bags, answers and predictions are invented.
_SUPPORT = {
    "/people/person/place_lived": 26,
    "/business/person/company": 14,
    "/location/location/contains": 10,
    "/people/person/place_of_birth": 6,
    "/people/deceased_person/place_of_death": 4,
    "/business/company/founders": 4,
}
NEGATIVE_RELATION = "NA"
# Chance of a right answer on the two frequent relations, and on the four others.
_SKILL = {
    "careful": (0.62, 0.85),
    "frequent": (0.92, 0.2),
    "plain": (0.7, 0.45),
    "level": (0.72, 0.72),
    "rare": (0.35, 0.95),
    "strong": (0.85, 0.6),
}
EXAMPLE_SYSTEMS = tuple(_SKILL)


def example_track() -> dict[str, Any]:
    """Return the arguments `references` and `relations` of `score_track` for a made-up test set of 64 rows.

    >>> data = example_track()
    >>> len(data["references"]), len(data["relations"]), data["references"][0]["bag_label"]
    (64, 6, 'no')
    """
    references: list[dict[str, Any]] = []
    for relation, support in _SUPPORT.items():
        for number in range(support):
            row = len(references)
            references.append(
                {
                    "instance_id": f"EXAMPLE#{row}",
                    "bag_id": f"EXAMPLE-BAG#{row // 2}",
                    "relation": relation,
                    "bag_label": "no" if number // 2 % 3 == 0 or number % 7 == 4 else "yes",
                    "sentence": f"This is made-up sentence {row} .",
                }
            )
    return {"references": references, "relations": list(_SUPPORT)}


def example_predictions(
    system: str = "careful", *, track: str = "bag2bag", run: int = 0
) -> list[dict[str, Any]]:
    """Return the prediction records of a made-up system, with scores; the same at each call.

    Args:
        system: one of `EXAMPLE_SYSTEMS`.
        track: decides what is a unit: a bag on bag2bag, else a row.
        run: the number of the run (the seed).

    >>> example_predictions("level")[0]["bag_id"], len(example_predictions("level", track="sent2sent"))
    ('EXAMPLE-BAG#0', 64)
    """
    key = unit_id_key(track)
    data = example_track()
    by_answer = sorted(data["references"], key=lambda row: row["bag_label"])
    rows = {row[key]: row for row in by_answer}  # where a bag has a "yes", its last row stands for it
    generator = random.Random(f"{system} {track} {run}")
    names = [NEGATIVE_RELATION, *data["relations"]]
    records = []
    for unit in sorted(rows, key=lambda name: int(name.split("#")[1])):
        gold = rows[unit]["relation"] if rows[unit]["bag_label"] == "yes" else NEGATIVE_RELATION
        skill = _SKILL[system][names.index(gold) > 2]
        pred = gold if generator.random() < skill else generator.choice(names)
        raw = {name: 0.1 + generator.random() + 2 * (name == pred) for name in names}
        scores = {name: round(value / sum(raw.values()), 4) for name, value in raw.items()}
        records.append({key: unit, "pred": pred, "scores": scores})
    return records
