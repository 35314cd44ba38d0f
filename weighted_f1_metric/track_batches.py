"""A track's predictions and references as equally long columns of one record a unit, and back.

evaluate stores predictions and references side by side, row by row. A bag has one prediction and several
reference rows, so the references are regrouped to one record a unit before they are stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from .columns import first_repeat, read_columns
from .validation import quoted

REFERENCE_KEYS = ("instance_id", "bag_id", "relation", "bag_label")


def unit_records(track: str, predictions: Any, references: Any) -> tuple[list[Any], list[Any]]:
    """Prediction and reference records, one a unit and in the same order.

    A prediction becomes {id, pred (list), score_names, score_values}, a reference {id, rows}.

    Raises:
        TypeError: records that are none; ids, relations or answers that are no strings.
        ValueError: a missing key; an id that is there twice, or on one side only.
    """
    key = "bag_id" if track == "bag2bag" else "instance_id"
    wanted = read_columns(predictions, required=[key, "pred"], optional=["scores"], name="predictions")
    rows = read_columns(references, required=REFERENCE_KEYS, optional=["sentence"], name="references")
    for name, columns, keys in (("predictions", wanted, [key]), ("references", rows, REFERENCE_KEYS)):
        for column in keys:
            wrong = next((value for value in columns[column] if not isinstance(value, str)), None)
            if wrong is not None or None in columns[column]:
                raise TypeError(f"`{column}` in `{name}` must be a string; got {wrong!r}.")
    sentences = rows.get("sentence") or [""] * len(rows["instance_id"])
    rows_of_unit: dict[str, list[dict[str, str]]] = {}
    for values in zip(*(rows[column] for column in REFERENCE_KEYS), sentences, strict=True):
        row = dict(zip((*REFERENCE_KEYS, "sentence"), values, strict=True))
        row["sentence"] = row["sentence"] or ""
        rows_of_unit.setdefault(row[key], []).append(row)
    ids = wanted[key]
    repeated = first_repeat(ids)
    if repeated:
        raise ValueError(f"`predictions` holds {key}s more than once: {quoted(repeated)}.")
    if key == "instance_id" and len(rows_of_unit) < len(sentences):
        raise ValueError(
            f"`references` holds instance_ids more than once: {quoted(first_repeat(rows['instance_id']))}."
        )
    unknown = [value for value in ids if value not in rows_of_unit]
    missing = sorted(set(rows_of_unit) - set(ids))
    if unknown or missing:
        raise ValueError(
            f"A batch must hold the predictions and the references of the same units: {len(unknown)} {key}s "
            f"have no reference in it ({quoted(unknown)}), {len(missing)} no prediction ({quoted(missing)})."
        )
    scores = wanted.get("scores")
    stored = [
        _prediction_record(identifier, pred, None if scores is None else scores[position])
        for position, (identifier, pred) in enumerate(zip(ids, wanted["pred"], strict=True))
    ]
    return stored, [{"id": identifier, "rows": rows_of_unit[identifier]} for identifier in ids]


def _prediction_record(identifier: str, pred: Any, scores: Any) -> dict[str, Any]:
    names = [pred] if isinstance(pred, str) else pred
    if not isinstance(names, (list, tuple, np.ndarray)) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"`pred` must be a relation name or a list of them; got {pred!r} for {identifier!r}.")
    score_names, score_values = [], []
    if isinstance(scores, Mapping):
        # An Arrow struct fills what a record lacks with None; the check for lacking relations comes later.
        score_names = [name for name, value in scores.items() if value is not None]
        score_values = [scores[name] for name in score_names]
    elif scores is not None:
        score_values = list(scores)
    wrong = next(
        (v for v in score_values if isinstance(v, bool) or not isinstance(v, (Real, np.number))), None
    )
    if wrong is not None:
        raise TypeError(f"`scores` must be numbers (float or int); got {wrong!r} for {identifier!r}.")
    score_values = [float(value) for value in score_values]
    return {"id": identifier, "pred": list(names), "score_names": score_names, "score_values": score_values}


def track_arguments(
    track: str, predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The `predictions` and `references` of `score_track` from the stored records."""
    key = "bag_id" if track == "bag2bag" else "instance_id"
    rows = [dict(row) for record in references for row in record["rows"]]
    if not any(row["sentence"] for row in rows):
        rows = [{column: row[column] for column in REFERENCE_KEYS} for row in rows]
    columns: dict[str, Any] = {
        key: [record["id"] for record in predictions],
        "pred": [list(record["pred"]) for record in predictions],
    }
    if any(record["score_names"] for record in predictions):
        columns["scores"] = [
            dict(zip(record["score_names"], record["score_values"], strict=True)) or None
            for record in predictions
        ]
    elif any(record["score_values"] for record in predictions):
        columns["scores"] = [record["score_values"] or None for record in predictions]
    return {"predictions": columns, "references": rows}
