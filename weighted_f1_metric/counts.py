"""Labels -> counts per class: the one place where labels are encoded, and what shards and workers add up.

Counts are sufficient for every score of the family, so that each partition of a large evaluation can be
counted where its rows are and only a few hundred numbers travel. With an engine such as Dask (`pip install
dask`):

    from functools import reduce
    from operator import add

    import dask

    parts = [
        dask.delayed(class_counts)(predictions=p, references=r, labels=labels, negative_label="NA")
        for p, r in partitions
    ]
    counts = dask.delayed(reduce)(add, parts).compute()
    scores = family_from_counts(counts)

Give every part the same `labels`, the negative one included: a part may lack some of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import Label, read_label, read_labels, repeated_ids
from .label_table import count_labels, scored_labels, selected_counts
from .validation import check_choice, check_real, is_integer, quoted

_ROUNDING = 1e-9  # sums of row weights can differ in their last bits
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Counts per scored class, from which every score of the family follows; counts of shards add with `+`.

    Attributes:
        labels: the classes that are scored (the positive ones, or the groups), all str or all int.
        true_positives, predicted, support: (num_classes,), int64, or float64 sums of row weights.
        total: N, all rows including those of the negative class; the sum of the weights where given.
        negative_support: rows whose reference is the negative class.
        negative_label: the class that is not scored, or None.

    >>> first = class_counts(predictions=["a", "NA"], references=["a", "b"], negative_label="NA")
    >>> second = class_counts(predictions=["b", "b"], references=["b", "NA"], negative_label="NA")
    >>> both = first + second
    >>> both.labels, both.true_positives.tolist(), both.predicted.tolist(), both.support.tolist(), both.total
    (('a', 'b'), [1, 1], [1, 2], [1, 2], 4)
    >>> ClassCounts.from_json(both.to_json()) == both
    True
    """

    labels: tuple[Label, ...]
    true_positives: np.ndarray
    predicted: np.ndarray
    support: np.ndarray
    total: int | float
    negative_support: int | float = 0
    negative_label: Label | None = None

    def __post_init__(self) -> None:
        """Checks shapes, signs and sizes, so that counts read from a file cannot be nonsense."""
        _check_labels(self.labels)
        for name in ("true_positives", "predicted", "support"):
            values = np.asarray(getattr(self, name))
            if values.dtype.kind not in "iuf" and values.size:
                raise TypeError(f"`{name}` of ClassCounts must hold numbers; got an array of {values.dtype}.")
            values = values.astype(np.float64 if values.dtype.kind == "f" and values.size else np.int64)
            if values.shape != (len(self.labels),):
                raise ValueError(
                    f"`{name}` of ClassCounts has shape {values.shape}; `labels` has {len(self.labels)} "
                    "entries."
                )
            if np.any(values < 0) or not np.all(np.isfinite(values)):
                raise ValueError(f"`{name}` of ClassCounts must hold finite numbers >= 0.")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        for name in ("predicted", "support"):
            limit = getattr(self, name)
            over = np.flatnonzero(self.true_positives > limit * (1 + _ROUNDING))
            if len(over):
                worst = over[0]
                raise ValueError(
                    f"ClassCounts: {self.labels[worst]!r} has {self.true_positives[worst]} true positives, "
                    f"but {name} {limit[worst]} ({len(over)} such classes)."
                )
        largest = self.support.max(initial=0)
        for name, low in (("total", largest), ("negative_support", 0)):
            number = check_real(f"{name}` of `ClassCounts", getattr(self, name), low=0, high=_LARGEST)
            if number < low * (1 - _ROUNDING):
                raise ValueError(f"`{name}` of ClassCounts is {number:g}, the largest support {low:g}.")

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same labels and the same numbers."""
        return isinstance(other, ClassCounts) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: ClassCounts) -> ClassCounts:
        """The counts of both parts together; classes that only one of them knows are kept, in sorted order.

        Raises:
            TypeError: the labels of one are str, of the other int.
            ValueError: the negative classes differ.
        """
        if not isinstance(other, ClassCounts):
            return NotImplemented
        if self.negative_label != other.negative_label:
            raise ValueError(
                f"Counts with negative class {self.negative_label!r} and {other.negative_label!r} cannot "
                "be added."
            )
        labels = self.labels
        if labels != other.labels:
            if len({isinstance(label, str) for label in labels + other.labels}) > 1:
                raise TypeError("Counts over str labels and counts over int labels cannot be added.")
            labels = tuple(sorted(set(labels) | set(other.labels)))  # type: ignore[type-var]
        left, right = _aligned(self, labels), _aligned(other, labels)
        sums = [a + b for a, b in zip(left, right, strict=True)]
        return ClassCounts(
            labels=labels,
            true_positives=sums[0],
            predicted=sums[1],
            support=sums[2],
            total=self.total + other.total,
            negative_support=self.negative_support + other.negative_support,
            negative_label=self.negative_label,
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict for `json.dumps`."""
        return {
            "labels": list(self.labels),
            "true_positives": self.true_positives.tolist(),
            "predicted": self.predicted.tolist(),
            "support": self.support.tolist(),
            "total": self.total,
            "negative_support": self.negative_support,
            "negative_label": self.negative_label,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ClassCounts:
        """Return the counts that `to_json` wrote.

        Raises:
            TypeError: `values` is no mapping, `labels` no list, a count no number.
            ValueError: a key is missing or unknown, lengths differ, a label is there twice, a count is
                negative or not finite, a class has more true positives than predictions or support.
        """
        if not isinstance(values, Mapping):
            raise TypeError(f"ClassCounts in JSON is an object; got {type(values).__name__}.")
        known = set(cls.__dataclass_fields__)
        if set(values) != known:
            raise ValueError(
                f"ClassCounts in JSON needs the keys {quoted(sorted(known), 7)}; got "
                f"{quoted(sorted(values), 9)}."
            )
        if not isinstance(values["labels"], (list, tuple)):
            raise TypeError(f"`labels` of ClassCounts is a list; got {type(values['labels']).__name__}.")
        return cls(**{**values, "labels": tuple(values["labels"])})


def _check_labels(labels: tuple[Label, ...]) -> None:
    if not (all(isinstance(label, str) for label in labels) or all(map(is_integer, labels))):
        raise TypeError(f"`labels` of ClassCounts must be all str or all int; got {quoted(labels)}.")
    repeated = repeated_ids(list(labels))
    if repeated:
        raise ValueError(f"`labels` of ClassCounts holds labels twice: {quoted(repeated)}.")


def _aligned(counts: ClassCounts, labels: tuple[Label, ...]) -> list[np.ndarray]:
    """The three count vectors of `counts` in the order of `labels`."""
    arrays = [counts.true_positives, counts.predicted, counts.support]
    if counts.labels == labels:
        return arrays
    position = {label: index for index, label in enumerate(labels)}
    target = [position[label] for label in counts.labels]
    aligned = [np.zeros(len(labels), dtype=values.dtype) for values in arrays]
    for result, values in zip(aligned, arrays, strict=True):
        result[target] = values
    return aligned


def class_counts(
    *,
    predictions: Any,
    references: Any,
    labels: Any = None,
    negative_label: Label | None = None,
    groups: Mapping[Any, Label] | None = None,
    sample_weight: Any = None,
    outside: str = "error",
) -> ClassCounts:
    """Return true positives, predicted count and support of every scored class.

    Args:
        predictions, references: one label a row, all str or all int: lists, numpy, torch or pyarrow arrays,
            columns of a Dataset.
        labels: the classes to score, in this order; the negative one may be among them. Default: all that
            occur in either column, sorted; with `groups`, its keys.
        negative_label: the class that gets no score of its own (by name or id; nothing is assumed). Its rows
            still make the false positives and false negatives of the others.
        groups: maps every positive label to a group (the negative one may be listed and is left out); a true
            positive needs the exact label, predicted and gold counts are per group, and the groups are the
            scored classes.
        sample_weight: one finite number >= 0 a row.
        outside: what a label outside `labels` is: "error", or "ignore" (as scikit-learn: such a row still
            counts against the scored classes it touches, and in N).

    >>> counts = class_counts(
    ...     predictions=["a-b", "b-a", "NA"], references=["a-b", "a-b", "b-a"], negative_label="NA",
    ...     groups={"a-b": "a", "b-a": "a"},
    ... )
    >>> counts.labels, counts.true_positives.tolist(), counts.predicted.tolist(), counts.support.tolist()
    (('a',), [1], [2], [3])

    Warns:
        UserWarning: no `negative_label`, and a scored class is called NA, no_relation, Other or O.

    Raises:
        TypeError: labels that are float, bool, None, nested or of mixed type.
        ValueError: no rows, unequal lengths, a `negative_label` that no label has, a label outside `labels`,
            a label twice in `labels`, a positive label without group, bad weights.
    """
    check_choice("outside", outside, ("error", "ignore"))
    predicted_labels = read_labels(predictions, "predictions")
    reference_labels = read_labels(references, "references")
    if len(predicted_labels) != len(reference_labels):
        raise ValueError(
            f"`predictions` and `references` must be equally long; got {len(predicted_labels)} predictions "
            f"and {len(reference_labels)} references."
        )
    if isinstance(predicted_labels, list) != isinstance(reference_labels, list):
        kinds = ["str" if isinstance(side, list) else "int" for side in (predicted_labels, reference_labels)]
        raise TypeError(
            f"Labels must be all str or all int; `predictions` are {kinds[0]}, `references` are {kinds[1]}."
        )
    weights = None if sample_weight is None else _read_weights(sample_weight, len(reference_labels))
    values, table = count_labels(reference_labels, predicted_labels, weights)
    negative = None if negative_label is None else read_label(negative_label, "negative_label")
    if groups is not None and not isinstance(groups, Mapping):
        raise TypeError(f"`groups` must be a mapping label -> group; got {type(groups).__name__}.")
    if groups is not None and labels is None:
        strangers = [label for label in values if label not in groups and label != negative]
        if strangers and outside == "error":
            raise ValueError(
                f"`groups` must map every positive label; it lacks {quoted(strangers)}. "
                "Add them, or pass outside='ignore' to leave them unscored."
            )
        labels = list(groups)
    scored = scored_labels(values, labels, negative, outside)
    if negative is None:
        _warn_of_negative_names(scored)
    classes, selected = selected_counts(values, table, scored, negative, groups)
    return ClassCounts(
        labels=classes,
        true_positives=selected[0],
        predicted=selected[1],
        support=selected[2],
        # Summed over the classes, not over the rows: a class that holds every row then has exactly n_i = N.
        total=table[2].sum().item(),
        negative_support=table[2, values.index(negative)].item() if negative in values else 0,
        negative_label=negative,
    )


NEGATIVE_NAMES = frozenset({"na", "n/a", "no_relation", "other", "o", "none"})


def _warn_of_negative_names(scored: list[Label]) -> None:
    """Warns where a class is called like "no relation" and scored like a relation."""
    found = [label for label in scored if str(label).strip().lower().replace(" ", "_") in NEGATIVE_NAMES]
    if found:
        warnings.warn(
            f"{quoted(found)} is scored as a class like any other. If it means 'no relation', pass "
            f"negative_label={found[0]!r}, or the numbers are not comparable with published ones.",
            UserWarning,
            stacklevel=4,
        )


def _read_weights(sample_weight: Any, num_rows: int) -> np.ndarray:
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "iuf":
        raise TypeError(
            f"`sample_weight` must hold one number a row; got an array of {given.dtype}. "
            "Every row needs a weight, a float or an int."
        )
    weights = given.astype(np.float64)
    if weights.shape != (num_rows,):
        raise ValueError(
            f"`sample_weight` must have one number a row, shape ({num_rows},); got {weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        bad = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise ValueError(
            f"`sample_weight` must hold finite numbers >= 0; sample_weight[{bad}] is {weights[bad]}."
        )
    if not np.isfinite(weights.sum()):
        raise ValueError("`sample_weight` sums to more than a float holds; divide all weights by one number.")
    return weights
