"""Counts and weights -> precision, recall and F-beta, per class and averaged; zero division in one place.

The core works on arrays (..., num_classes): one call scores one system, or ten thousand resamples of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .validation import check_choice, check_real
from .weighting import AVERAGES, Average, class_weights, named_averages

_LEAST = float(np.finfo(np.float64).tiny)


def ratio(numerator: np.ndarray, denominator: np.ndarray, zero_division: float) -> np.ndarray:
    """Return numerator / denominator, and `zero_division` where the denominator is 0.

    >>> ratio(np.array([1, 0]), np.array([2, 0]), 0.0).tolist()
    [0.5, 0.0]
    """
    numerator, denominator = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.full(shape, zero_division), where=denominator != 0)


def class_scores(
    *, true_positives: Any, predicted: Any, support: Any, beta: float = 1.0, zero_division: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return precision, recall and F-beta of each class, three float64 arrays in [0, 1] shaped as the counts.

    precision = tp / predicted, recall = tp / support, F = (1 + beta^2) tp / (beta^2 support + predicted),
    which is the weighted harmonic mean of the two; beta = inf gives recall, beta = 0 precision. 0 / 0 is
    `zero_division`.

    >>> [values.tolist() for values in class_scores(true_positives=[1], predicted=[2], support=[1], beta=2)]
    [[0.5], [1.0], [0.8333333333333334]]
    """
    tp = np.asarray(true_positives, dtype=np.float64)
    predicted = np.asarray(predicted, dtype=np.float64)
    support = np.asarray(support, dtype=np.float64)
    precision = ratio(tp, predicted, zero_division)
    recall = ratio(tp, support, zero_division)
    of_support, of_predicted = _shares(beta)
    of_both = of_support + of_predicted
    return (
        precision,
        recall,
        ratio(of_both * tp, of_support * support + of_predicted * predicted, zero_division),
    )


def _shares(beta: float) -> tuple[float, float]:
    """Return what support and predicted count weigh in F-beta, as beta^2 to 1, the larger of them 1.

    beta^2 itself would overflow from 1.4e154 on. A weight that underflows stays above 0, so that F is 0, and
    not 0 / 0, where only the count that it weighs is positive.
    """
    if beta > 1:
        return 1.0, 0.0 if np.isinf(beta) else max(1 / beta / beta, _LEAST)
    return max(beta * beta, _LEAST) if beta else 0.0, 1.0


@dataclass(frozen=True)
class AveragedScores:
    """Averages of the class scores, and where they are not defined.

    Attributes:
        values: `{average}_{precision|recall|f1|fbeta}` -> float64 array (...), no NaN.
        undefined: the same keys -> bool array (...): True where the weights sum to 0 (for micro: where the
            measure is 0 / 0) and the value is `zero_division`.
    """

    values: dict[str, np.ndarray]
    undefined: dict[str, np.ndarray]


def averaged_scores(
    *,
    true_positives: Any,
    predicted: Any,
    support: Any,
    total: Any,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
) -> AveragedScores:
    """Return the averages of precision, recall and F over the last axis of the counts.

    Args:
        true_positives, predicted, support: (..., num_classes).
        total: N of the entropy weights, (...).
        averages, beta, zero_division, macro_over: as in `f1_family`.

    >>> scores = averaged_scores(
    ...     true_positives=[[1, 1], [2, 0]],
    ...     predicted=[[1, 2], [3, 0]],
    ...     support=[[2, 1], [2, 1]],
    ...     total=[3, 3],
    ... )
    >>> scores.values["macro_recall"].tolist(), scores.values["micro_precision"].round(3).tolist()
    ([0.75, 0.5], [0.667, 0.667])

    Raises:
        ValueError: an argument out of its range.
    """
    check_choice("macro_over", macro_over, ("supported", "labels"))
    zero_division = check_real("zero_division", zero_division, low=0.0, high=1.0)
    beta = check_real("beta", beta, low=0.0, high=np.inf)
    tp, predicted, support = (np.asarray(a, dtype=np.float64) for a in (true_positives, predicted, support))
    options = {"beta": beta, "zero_division": zero_division}
    per_class = class_scores(true_positives=tp, predicted=predicted, support=support, **options)
    measures = measure_names(beta)
    averaged: tuple[np.ndarray, ...]
    missing: tuple[np.ndarray, ...]
    values: dict[str, np.ndarray] = {}
    undefined: dict[str, np.ndarray] = {}
    for name, average in named_averages(averages).items():
        if isinstance(average, str) and average == "micro":
            sums = [a.sum(axis=-1) for a in (tp, predicted, support)]
            averaged = class_scores(true_positives=sums[0], predicted=sums[1], support=sums[2], **options)
            missing = _zero_denominators(sums[1], sums[2], beta)
        else:
            if isinstance(average, str) and average == "macro" and macro_over == "labels":
                weights = np.ones_like(support)
            else:
                weights = class_weights(support, average, total=total)
            weight_sum = weights.sum(axis=-1)
            averaged = tuple(ratio((weights * s).sum(axis=-1), weight_sum, zero_division) for s in per_class)
            missing = (weight_sum == 0,) * 3
        for measure, value, absent in zip(measures, averaged, missing, strict=True):
            values[f"{name}_{measure}"] = value
            undefined[f"{name}_{measure}"] = absent
    return AveragedScores(values, undefined)


def measure_names(beta: float) -> tuple[str, str, str]:
    """Return the names of the three measures; the last is "f1", or "fbeta" when beta is not 1."""
    return ("precision", "recall", "f1" if beta == 1 else "fbeta")


def _zero_denominators(predicted: np.ndarray, support: np.ndarray, beta: float) -> tuple[np.ndarray, ...]:
    """Where the micro precision, recall and F are 0 / 0."""
    of_support, of_predicted = _shares(beta)
    return predicted == 0, support == 0, of_support * support + of_predicted * predicted == 0


def average_scores(
    scores: Any, support: Any, average: Average, *, total: Any = None, zero_division: float = 0.0
) -> float | np.ndarray:
    """Return the weighted mean of any per-class measure: [B]'s weighting does not depend on the measure.

    Args:
        scores: one finite score per class, (..., num_classes), e.g. the AUC of each relation.
        support: n_i, (..., num_classes).
        average: "weighted", "dodrans", "entropy", "macro", "n^a" or a function ("micro" weighs no scores).
        total: N of the entropy weights; default: the sum of `support`.
        zero_division: the value where the weights sum to 0.

    >>> average_scores([1.0, 0.5], [16, 1], "dodrans")  # (8 + 0.5) / 9
    0.9444444444444444

    Raises:
        ValueError: shapes differ, a score that is not finite, or see `class_weights`.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1:] != np.shape(support)[-1:]:
        raise ValueError(
            f"`scores` and `support` need one entry per class; got {values.shape} and {np.shape(support)}."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError("`scores` must be finite; give a class without a score support 0 and any number.")
    zero_division = check_real("zero_division", zero_division, low=0.0, high=1.0)
    weights = class_weights(support, average, total=total)
    mean = ratio((weights * values).sum(axis=-1), weights.sum(axis=-1), zero_division)
    return float(mean) if mean.ndim == 0 else mean
