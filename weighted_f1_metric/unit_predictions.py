"""Prediction records -> what a system says of each unit, aligned with the units of a track."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import check_ids, repeated_ids
from .row_sources import read_columns, row_source
from .units import Units
from .validation import is_integer, quoted


@dataclass(frozen=True)
class UnitPredictions:
    """What a system says of each unit.

    Attributes:
        predicted: (num_units, num_relations) bool; all False is the negative relation.
        scores: (num_units, num_relations) float64, or None.
    """

    predicted: np.ndarray
    scores: np.ndarray | None


def read_unit_predictions(predictions: Any, units: Units) -> UnitPredictions:
    """Return the predictions of every unit, in the order of the units.

    Where twins are joined (`by="sentences"`) a unit gets the union of the relations that its rows get, and
    per relation the highest score.

    Raises:
        TypeError: records that are none, a relation that is no string.
        ValueError: an id that is missing, unknown or there twice; a relation that `relations` lacks; scores
            that lack a relation, are not finite, have the wrong shape, or come with some predictions only.
    """
    key = units.id_key
    other = "instance_id" if key == "bag_id" else "bag_id"
    source = row_source(predictions, "predictions")
    if other in source.keys and key not in source.keys:
        raise ValueError(
            f"Track {units.track!r} takes predictions by {key!r}, these have {other!r}; "
            f"score them with {'a sentence track' if key == 'bag_id' else 'bag2bag'}."
        )
    columns = read_columns(source, required=[key, "pred"], optional=["scores"], name="predictions")
    check_ids(columns[key], key, "predictions")
    row_of_id = _match_ids(columns[key], units)
    predicted = np.zeros((len(row_of_id), len(units.relations)), dtype=bool)
    predicted[_predicted_codes(columns["pred"], columns[key], units)] = True
    scores = None
    if "scores" in columns:
        scores = _score_matrix(columns["scores"], columns[key], units)[row_of_id]
    return predictions_of_ids(units, predicted[row_of_id], scores)


def predictions_of_ids(
    units: Units, predicted: np.ndarray, scores: np.ndarray | None = None
) -> UnitPredictions:
    """Return the predictions of every unit, from arrays (num_ids, num_relations) in the order of `units.ids`.

    Ids that share a unit give it the union of their relations, and per relation their highest score.
    """
    if units.num_units == len(units.ids):
        return UnitPredictions(predicted, scores)
    united = np.zeros((units.num_units, len(units.relations)), dtype=bool)
    np.logical_or.at(united, units.unit_of_id, predicted)
    if scores is not None:
        highest = np.full(united.shape, -np.inf)
        np.maximum.at(highest, units.unit_of_id, scores)
        scores = highest
    return UnitPredictions(united, scores)


def _match_ids(ids: Sequence[Any], units: Units) -> np.ndarray:
    """The row of `ids` that predicts each of the units' ids, (num_ids,) int64."""
    repeated = repeated_ids(ids)
    if repeated:
        raise ValueError(f"`predictions` holds {units.id_key}s more than once: {quoted(repeated)}.")
    row = {value: position for position, value in enumerate(ids)}
    needed = set(units.ids)
    unknown = [value for value in ids if value not in needed]
    missing = [value for value in units.ids if value not in row]
    if unknown or missing:
        parts = []
        if unknown:
            parts.append(f"{len(unknown)} {units.id_key}s are not in the references: {quoted(unknown)}")
        if missing:
            parts.append(f"{len(missing)} units have no prediction: {quoted(missing)}")
        hint = _id_hint(ids, units)
        raise ValueError(f"`predictions` do not fit the references: {'; '.join(parts)}.{hint}")
    return np.fromiter((row[value] for value in units.ids), dtype=np.int64, count=len(units.ids))


def _id_hint(ids: Sequence[Any], units: Units) -> str:
    """What probably went wrong with the ids, or nothing."""
    if {type(value) for value in ids}.isdisjoint({type(value) for value in units.ids}):
        return f" Ids are {type(units.ids[0]).__name__} in the references, {type(ids[0]).__name__} here."
    given, needed = _numbers(ids), _numbers(units.ids)
    if given and needed and len(given) == len(needed):
        shift = min(given) - min(needed)
        if shift and {value - shift for value in given} == needed:
            return (
                f" The numbers in the ids are shifted by {shift}: the references start at {min(needed)}, the "
                f"predictions at {min(given)} ({min(given)}-based instead of {min(needed)}-based)."
            )
    return ""


def _numbers(ids: Sequence[Any]) -> set[int]:
    """The numbers at the end of the ids; empty when one has none."""
    found = [re.search(r"\d+$", str(value)) for value in ids]
    return {int(match.group()) for match in found if match} if all(found) else set()


def _predicted_codes(
    values: Sequence[Any], ids: Sequence[Any], units: Units
) -> tuple[np.ndarray, np.ndarray]:
    """Row and relation of every predicted positive relation."""
    code = {units.negative_relation: -1, **{name: index for index, name in enumerate(units.relations)}}
    rows: list[int] = []
    codes: list[int] = []
    unknown: dict[str, Any] = {}
    for position, value in enumerate(values):
        if isinstance(value, np.ndarray):
            value = value.tolist()
        for name in (value,) if isinstance(value, str) or not isinstance(value, (list, tuple)) else value:
            if not isinstance(name, str):
                hint = " Class ids become names by the order of `relations`." if is_integer(name) else ""
                raise TypeError(
                    f"`pred` must be a relation name or a list of them; got {name!r} for "
                    f"{ids[position]!r}.{hint}"
                )
            index = code.get(name)
            if index is None:
                unknown.setdefault(name, ids[position])
            elif index >= 0:
                rows.append(position)
                codes.append(index)
    if unknown:
        name, where = next(iter(unknown.items()))
        raise ValueError(
            f"`predictions` hold relations that `relations` (rel2id.json) lacks: {quoted(unknown)}; the "
            f"first is at {where!r}. The negative relation is {units.negative_relation!r}."
        )
    return np.array(rows, dtype=np.int64), np.array(codes, dtype=np.int64)


def _score_matrix(values: Any, ids: Sequence[Any], units: Units) -> np.ndarray:
    """The scores, (num_rows, num_relations) float64, finite."""
    shape = (len(ids), len(units.relations))
    without = [position for position, value in enumerate(values) if value is None]
    if without:
        raise ValueError(
            f"{len(without)} of {len(ids)} predictions have no `scores`, the first is {ids[without[0]]!r}; "
            "give scores with all or with none."
        )
    if isinstance(values, list) and any(isinstance(value, Mapping) for value in values):
        rows = []
        known = {units.negative_relation, *units.relations}
        for position, value in enumerate(values):
            if not isinstance(value, Mapping):
                raise TypeError(
                    f"`scores` must be a mapping relation -> number in all predictions or in none; those of "
                    f"{ids[position]!r} are {value!r:.60}."
                )
            lacking = [name for name in units.relations if value.get(name) is None]
            if lacking:
                raise ValueError(
                    f"`scores` of {ids[position]!r} lack {len(lacking)} of {shape[1]} relations: "
                    f"{quoted(lacking)}."
                )
            strangers = [name for name in value if name not in known]
            if strangers:
                raise ValueError(
                    f"`scores` of {ids[position]!r} hold relations that `relations` lacks: "
                    f"{quoted(strangers)}."
                )
            rows.append([value[name] for name in units.relations])
        values = rows
    try:
        matrix = np.asarray(values)
    except ValueError:
        raise ValueError(
            f"`scores` must have shape {shape}, predictions x positive relations; these have rows of "
            "different lengths."
        ) from None
    if matrix.shape != shape:
        raise ValueError(
            f"`scores` must have shape {shape}, predictions x positive relations in the order of "
            f"`relations`; got {matrix.shape}."
        )
    if matrix.dtype.kind not in "iuf":
        raise TypeError(f"`scores` must be numbers (float or int); got values of type {matrix.dtype}.")
    matrix = matrix.astype(np.float64)
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"`scores` must be finite; {len(bad)} are not, the first is {matrix[row, column]} for "
            f"{units.relations[column]!r} of {ids[row]!r}."
        )
    return matrix
