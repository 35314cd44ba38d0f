"""Units and predictions -> per-unit statistics: sum them over units or bags and a score is one call away.

A score of a track is made one way only: statistics per unit -> sum -> `ClassCounts` -> `family_from_counts`.
The bootstrap sums other multiples of the same bags, a randomization test sums two systems' bags in exchange.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .columns import check_ids, repeated_ids
from .counts import ClassCounts
from .row_sources import REFERENCE_KEYS, read_columns
from .unit_predictions import UnitPredictions, read_unit_predictions
from .units import TRUTHS, Units, read_units, unit_id_key
from .validation import check_choice, quoted


@dataclass(frozen=True)
class PairEvents:
    """(unit, relation) pairs as two int64 arrays (num_events,), sorted by unit, each pair at most once."""

    unit: np.ndarray
    relation: np.ndarray

    @classmethod
    def from_matrix(cls, pairs: np.ndarray) -> PairEvents:
        """Return the pairs that are True in a bool array (num_units, num_relations)."""
        unit, relation = np.nonzero(pairs)
        return cls(unit.astype(np.int64), relation.astype(np.int64))

    def summed(self, group_of_unit: np.ndarray, num_groups: int, num_relations: int) -> np.ndarray:
        """Return how many events each group of units has, (num_groups, num_relations) int64."""
        cells = group_of_unit[self.unit] * num_relations + self.relation
        return np.bincount(cells, minlength=num_groups * num_relations).reshape(num_groups, num_relations)


@dataclass(frozen=True)
class TruthStatistics:
    """What one ground truth counts: gold pairs, predicted pairs that count, and those that are both."""

    gold: PairEvents
    predicted: PairEvents
    true_positives: PairEvents


@dataclass(frozen=True)
class TrackStatistics:
    """Sparse per-unit statistics of one system on one track.

    Attributes:
        units: the units, with their ids, bags (`units.unit_bag`, `units.bag_ids`) and relations.
        unit_total: (num_units,) int64, what each unit adds to N of the entropy weights: its DS relations, or
            1 without any. N is the same for every truth.
        truths: prefix ("dsgt", "magt", "magt_ds_scope") -> its statistics.
        predictions: the dense predictions (and scores) they were made from.

    >>> rows = [
    ...     {"instance_id": "i0", "bag_id": "b0", "relation": "born_in", "bag_label": "yes"},
    ...     {"instance_id": "i1", "bag_id": "b0", "relation": "born_in", "bag_label": "no"},
    ... ]
    >>> statistics = track_statistics(
    ...     track="sent2sent", references=rows, relations=["born_in"],
    ...     predictions=[{"instance_id": i, "pred": "born_in"} for i in ("i0", "i1")],
    ... )
    >>> statistics.class_counts("magt").true_positives.tolist()
    [1]
    >>> statistics.class_counts("dsgt").support.tolist()
    [2]
    >>> [values.tolist() for values in statistics.bag_counts("magt")]  # one bag: tp, predicted, support, N
    [[[1]], [[2]], [[1]], [2]]
    """

    units: Units
    unit_total: np.ndarray
    truths: Mapping[str, TruthStatistics]
    predictions: UnitPredictions

    def bag_counts(self, prefix: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return true positives, predicted, support (num_bags, num_relations) and N (num_bags,) per bag,
        int64.

        Rows are in the order of `units.bag_ids`; summed over the first axis they give `class_counts(prefix)`.
        """
        return self.summed(prefix, self.units.unit_bag, len(self.units.bag_ids))

    def summed(
        self, prefix: str, group_of_unit: np.ndarray, num_groups: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return true positives, predicted, support and N, summed over the units of each group."""
        truth = self.truths[prefix]
        shape = (group_of_unit, num_groups, len(self.units.relations))
        total = np.bincount(group_of_unit, self.unit_total, num_groups).astype(np.int64)
        true_positives = truth.true_positives.summed(*shape)
        return true_positives, truth.predicted.summed(*shape), truth.gold.summed(*shape), total

    def class_counts(self, prefix: str) -> ClassCounts:
        """Return the counts of all units under one truth."""
        one_group = np.zeros(self.units.num_units, dtype=np.int64)
        true_positives, predicted, support, total = self.summed(prefix, one_group, 1)
        return ClassCounts(
            labels=self.units.relations,
            true_positives=true_positives[0],
            predicted=predicted[0],
            support=support[0],
            total=int(total[0]),
            negative_support=int(np.count_nonzero(~self.units.distant.any(axis=1))),
            negative_label=self.units.negative_relation,
        )


def track_statistics(
    *,
    predictions: Any,
    truths: str | Sequence[str] = "auto",
    unk: str = "error",
    **references: Any,
) -> TrackStatistics:
    """Return the per-unit statistics of a system on a track; arguments and errors as in `score_track`.

    Args:
        predictions, truths, unk: As in `score_track`.
        references: What `read_units` takes: track, references, relations, negative_relation, by, judgments.
    """
    units = read_units(**references)
    prefixes = resolve_truths(truths, unk, units)
    return statistics_of_units(units, read_unit_predictions(predictions, units), prefixes)


def statistics_of_units(
    units: Units, predictions: UnitPredictions, prefixes: Sequence[str]
) -> TrackStatistics:
    """Return the per-unit statistics of predictions that are aligned with `units` already."""
    return TrackStatistics(
        units=units,
        unit_total=np.maximum(units.distant.sum(axis=1), 1).astype(np.int64),
        truths={prefix: _truth_statistics(prefix, units, predictions.predicted) for prefix in prefixes},
        predictions=predictions,
    )


def truth_pairs(prefix: str, units: Units) -> tuple[np.ndarray, np.ndarray]:
    """Return the gold pairs of a truth and the pairs whose predictions count, bool (num_units,
    num_relations).

    A pair without a yes and with an unk is no candidate of the MAGT truths (only reached with unk="exclude").
    A judged yes about another relation than the unit's DS relations is gold under "magt" alone.
    """
    if prefix == "dsgt":
        return units.distant, np.ones_like(units.distant)
    if prefix == "magt":
        return units.confirmed, ~units.unjudged
    return units.confirmed & units.distant, units.distant & ~units.unjudged


def _truth_statistics(prefix: str, units: Units, predicted: np.ndarray) -> TruthStatistics:
    gold, candidates = truth_pairs(prefix, units)
    counted = predicted & candidates
    return TruthStatistics(
        gold=PairEvents.from_matrix(gold),
        predicted=PairEvents.from_matrix(counted),
        true_positives=PairEvents.from_matrix(counted & gold),
    )


def resolve_truths(truths: str | Sequence[str], unk: str, units: Units) -> tuple[str, ...]:
    """Return the prefixes to score; "auto": all three when every positive row was judged, "dsgt" when none
    was.

    Raises:
        TypeError: `truths` is no prefix and no collection of them.
        ValueError: an unknown prefix; MAGT asked of rows of which some (unless unk="exclude") or all are unk.
    """
    check_choice("unk", unk, ("error", "exclude"))
    unknown, positive = units.num_unknown_rows, units.num_positive_rows
    none_judged = unknown == positive
    if truths == "auto":
        if none_judged:
            return ("dsgt",)
        prefixes: tuple[str, ...] = TRUTHS
    else:
        if not isinstance(truths, Iterable):
            raise TypeError(f"`truths` must be 'auto', a prefix or several; got {truths!r}.")
        prefixes = (truths,) if isinstance(truths, str) else tuple(truths)
        for prefix in prefixes:
            check_choice("truths", prefix, TRUTHS)
        if not prefixes or len(set(prefixes)) < len(prefixes):
            raise ValueError(f"`truths` must be 'auto' or distinct prefixes of {TRUTHS}; got {truths!r}.")
    if prefixes == ("dsgt",):
        return prefixes
    if none_judged and positive:
        raise ValueError(
            f"All {positive} rows with a positive relation have bag_label 'unk', so nothing was judged; "
            "score them with truths=('dsgt',)."
        )
    if unknown and unk == "error":
        raise ValueError(
            f"{unknown} of {positive} rows with a positive relation have bag_label 'unk', the others yes or "
            "no. Pass unk='exclude' to leave unjudged pairs out of the MAGT counts, or truths=('dsgt',)."
        )
    return prefixes


def unit_records(
    track: str, predictions: Any, references: Any
) -> tuple[list[Any], list[Any], Sequence[str] | None]:
    """Return prediction and reference records, one a unit and in the same order; and the names of the
    relations.

    A prediction becomes {id, pred (list), score_names, score_values}, a reference {id, rows}. The names by
    id, the negative one included, are those that came with the references, or None.

    Raises:
        TypeError: records that are none; ids that are no str or int; relations or answers that are no
            strings.
        ValueError: a missing key; an id that is there twice, or on one side only.
    """
    key = unit_id_key(track)
    wanted = read_columns(predictions, required=[key, "pred"], optional=["scores"], name="predictions")
    rows = read_columns(references, required=REFERENCE_KEYS, optional=["sentence"], name="references")
    for name, columns, keys in (("predictions", wanted, [key]), ("references", rows, REFERENCE_KEYS)):
        for column in keys:
            if column in ("instance_id", "bag_id"):
                check_ids(columns[column], column, name)
                columns[column] = [_stored_id(value) for value in columns[column]]
                continue
            wrong = next((value for value in columns[column] if not isinstance(value, str)), None)
            if wrong is not None or None in columns[column]:
                raise TypeError(f"`{column}` in `{name}` must be a string; got {wrong!r}.")
    sentences = rows.get("sentence") or [None] * len(rows["instance_id"])
    rows_of_unit: dict[str, list[dict[str, Any]]] = {}
    for values in zip(*(rows[column] for column in REFERENCE_KEYS), sentences, strict=True):
        row = dict(zip((*REFERENCE_KEYS, "sentence"), values, strict=True))
        row["sentence"] = row["sentence"] if isinstance(row["sentence"], str) else ""  # as if blank
        rows_of_unit.setdefault(row[key], []).append(row)
    ids = wanted[key]
    repeated = repeated_ids(ids)
    if repeated:
        raise ValueError(f"`predictions` holds {key}s more than once: {_quoted_ids(repeated)}.")
    if key == "instance_id" and len(rows_of_unit) < len(sentences):
        repeated = repeated_ids(rows["instance_id"])
        raise ValueError(f"`references` holds instance_ids more than once: {_quoted_ids(repeated)}.")
    unknown = [value for value in ids if value not in rows_of_unit]
    missing = sorted(set(rows_of_unit) - set(ids))
    if unknown or missing:
        raise ValueError(
            f"A batch must hold the predictions and the references of the same units: {len(unknown)} {key}s "
            f"have no reference in it ({_quoted_ids(unknown)}), {len(missing)} no prediction "
            f"({_quoted_ids(missing)})."
        )
    scores = wanted.get("scores")
    stored = [
        _prediction_record(identifier, pred, None if scores is None else scores[position])
        for position, (identifier, pred) in enumerate(zip(ids, wanted["pred"], strict=True))
    ]
    records = [{"id": identifier, "rows": rows_of_unit[identifier]} for identifier in ids]
    return stored, records, rows.class_names.get("relation")


def _stored_id(value: Any) -> str:
    """An id as a text that tells a str from an int; Arrow columns have one type."""
    return f"s{value}" if isinstance(value, str) else f"i{int(value)}"


def _given_id(text: str) -> Any:
    return text[1:] if text[0] == "s" else int(text[1:])


def _quoted_ids(stored: Sequence[str]) -> str:
    return quoted(map(_given_id, stored))


def _prediction_record(identifier: str, pred: Any, scores: Any) -> dict[str, Any]:
    names = [pred] if isinstance(pred, str) else pred
    unit = _given_id(identifier)
    if not isinstance(names, (list, tuple, np.ndarray)) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"`pred` must be a relation name or a list of them; got {pred!r} for {unit!r}.")
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
        raise TypeError(f"`scores` must be numbers (float or int); got {wrong!r} for {unit!r}.")
    score_values = [float(value) for value in score_values]
    return {"id": identifier, "pred": list(names), "score_names": score_names, "score_values": score_values}


def track_arguments(
    track: str, predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the `predictions` and `references` of `score_track` from the stored records."""
    key = unit_id_key(track)
    rows = [
        {**row, "instance_id": _given_id(row["instance_id"]), "bag_id": _given_id(row["bag_id"])}
        for record in references
        for row in record["rows"]
    ]
    columns: dict[str, Any] = {
        key: [_given_id(record["id"]) for record in predictions],
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
