"""The sentences behind a number: of the costliest confusions, and of what people refused most."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..row_sources import REFERENCE_KEYS, read_columns
from ..tracks import ScoredTrack
from .breakdown import confusions, truth_of_people

EXAMPLES = 3  # sentences of each


def examples_of_scored(
    scored: ScoredTrack, *, references: Any, limit: int = 5
) -> dict[str, list[dict[str, Any]]]:
    """Return what to look at: sentences of the costliest confusions and of the most refused relations.

    Args:
        scored: The system.
        references: Those that were scored, with `sentence`, and `head` and `tail` where these are to be
            marked.
        limit: How many confusions, and relations.

    Returns:
        "confusions": records with `gold`, `predicted`, `num_units` and `examples`; "refused": records with
        `relation`, `num_units` and `examples`. An example has `instance_id`, `sentence` (the entities in
        square brackets, with H and T behind), and `score`, the system's of the predicted relation, or None.

    Raises:
        ValueError: The references have no sentences.
    """
    columns = read_columns(
        references, required=[*REFERENCE_KEYS, "sentence"], optional=["head", "tail"], name="references"
    )
    statistics = scored.statistics
    units, predicted = statistics.units, statistics.predictions.predicted
    rows_of_unit: dict[int, list[int]] = {}
    for row, unit in enumerate(units.row_unit.tolist()):
        rows_of_unit.setdefault(unit, []).append(row)

    def shown(places: Sequence[int], relation: str) -> list[dict[str, Any]]:
        scores = statistics.predictions.scores
        code = units.relations.index(relation) if relation in units.relations else None
        found = []
        for unit in places[:EXAMPLES]:
            rows = rows_of_unit[unit]
            with_relation = [row for row in rows if columns["relation"][row] == relation]
            row = (with_relation or rows)[0]
            found.append(
                {
                    "instance_id": columns["instance_id"][row],
                    "sentence": marked(
                        columns["sentence"][row],
                        *(columns[name][row] if name in columns else None for name in ("head", "tail")),
                    ),
                    "score": None if scores is None or code is None else float(scores[unit, code]),
                }
            )
        return found

    wrong = confusions(statistics, truth=truth_of_people(statistics))[:limit]
    refused = units.distant & ~units.confirmed & ~units.unjudged & predicted
    number = refused.sum(axis=0)
    most = [code for code in np.argsort(-number, kind="stable")[:limit] if number[code]]
    return {
        "confusions": [
            {
                "gold": one["gold"],
                "predicted": one["predicted"],
                "num_units": len(one["units"]),
                "examples": shown(one["units"], one["predicted"]),
            }
            for one in wrong
        ],
        "refused": [
            {
                "relation": units.relations[code],
                "num_units": int(number[code]),
                "examples": shown(np.flatnonzero(refused[:, code]).tolist(), units.relations[code]),
            }
            for code in most
        ],
    }


def marked(sentence: str, head: Any, tail: Any) -> str:
    """Return a sentence with head and tail in square brackets, as far as they are found.

    Args:
        sentence: The text.
        head, tail: Records with `start` and `end` in characters, or with a `word`, whose first occurrence is
            taken; None: not marked.

    >>> marked("Ann lives in Bonn .", {"word": "ann"}, {"start": 13, "end": 17})
    '[Ann]H lives in [Bonn]T .'
    """
    spans = [(_span(sentence, one), mark) for one, mark in ((head, "H"), (tail, "T"))]
    known = sorted((span, mark) for span, mark in spans if span is not None)
    if len(known) == 2 and known[0][0][1] > known[1][0][0]:  # one inside the other
        known = known[:1]
    for (start, end), mark in reversed(known):
        sentence = f"{sentence[:start]}[{sentence[start:end]}]{mark}{sentence[end:]}"
    return sentence


def _span(sentence: str, entity: Any) -> tuple[int, int] | None:
    if not isinstance(entity, Mapping):
        return None
    start, end = entity.get("start"), entity.get("end")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(sentence):
        return start, end
    word = entity.get("word")
    found = re.search(re.escape(word), sentence, re.IGNORECASE) if isinstance(word, str) and word else None
    return found.span() if found else None
