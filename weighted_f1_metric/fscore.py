"""Counts and weights -> precision, recall and F-beta, per class and averaged; zero division in one place.

The core works on arrays (..., num_classes): one call scores one system, or ten thousand resamples of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .counts import ClassCounts, class_counts
from .labels import Label
from .validation import check_choice, check_flag, check_real
from .weighting import AVERAGES, Average, class_weights, named_averages

MEASURES = ("precision", "recall", "f1")


def ratio(numerator: np.ndarray, denominator: np.ndarray, zero_division: float) -> np.ndarray:
    """numerator / denominator, and `zero_division` where the denominator is 0.

    >>> ratio(np.array([1, 0]), np.array([2, 0]), 0.0).tolist()
    [0.5, 0.0]
    """
    numerator, denominator = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.full(shape, zero_division), where=denominator != 0)


def class_scores(
    *, true_positives: Any, predicted: Any, support: Any, beta: float = 1.0, zero_division: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Precision, recall and F-beta of each class, three float64 arrays in [0, 1] shaped as the counts.

    precision = tp / predicted, recall = tp / support, F = (1 + beta^2) tp / (beta^2 support + predicted),
    which is the weighted harmonic mean of the two; beta = inf gives recall. 0 / 0 is `zero_division`.

    >>> [values.tolist() for values in class_scores(true_positives=[1], predicted=[2], support=[1], beta=2)]
    [[0.5], [1.0], [0.8333333333333334]]
    """
    tp = np.asarray(true_positives, dtype=np.float64)
    predicted = np.asarray(predicted, dtype=np.float64)
    support = np.asarray(support, dtype=np.float64)
    precision = ratio(tp, predicted, zero_division)
    recall = ratio(tp, support, zero_division)
    if np.isinf(beta):
        return precision, recall, recall.copy()
    squared = beta * beta
    return precision, recall, ratio((1 + squared) * tp, squared * support + predicted, zero_division)


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
    """The averages of precision, recall and F over the last axis of the counts.

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
    """The names of the three measures; the last is "f1", or "fbeta" when beta is not 1."""
    return ("precision", "recall", "f1" if beta == 1 else "fbeta")


def _zero_denominators(predicted: np.ndarray, support: np.ndarray, beta: float) -> tuple[np.ndarray, ...]:
    """Where the micro precision, recall and F are 0 / 0."""
    if np.isinf(beta):
        return predicted == 0, support == 0, support == 0
    return predicted == 0, support == 0, beta * beta * support + predicted == 0


def family_from_counts(
    counts: ClassCounts,
    *,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
    entropy_total: str = "all",
    per_class: bool = False,
) -> dict[str, Any]:
    """The weighted F1 family from counts; see `f1_family` for the arguments and the result.

    >>> counts = class_counts(predictions=["a", "b"], references=["a", "a"])
    >>> family_from_counts(counts, averages="micro")
    {'micro_precision': 0.5, 'micro_recall': 0.5, 'micro_f1': 0.5, 'undefined': []}

    Raises:
        TypeError: `counts` is no ClassCounts.
        ValueError: an argument out of its range.
    """
    if not isinstance(counts, ClassCounts):
        raise TypeError(f"`counts` must be ClassCounts, from class_counts(...); got {type(counts).__name__}.")
    check_choice("entropy_total", entropy_total, ("all", "positive"))
    arrays = {
        "true_positives": counts.true_positives,
        "predicted": counts.predicted,
        "support": counts.support,
    }
    scores = averaged_scores(
        **arrays,
        total=counts.total if entropy_total == "all" else counts.support.sum(),
        averages=averages,
        beta=beta,
        zero_division=zero_division,
        macro_over=macro_over,
    )
    result: dict[str, Any] = {name: float(value) for name, value in scores.values.items()}
    result["undefined"] = [name for name, absent in scores.undefined.items() if absent]
    if check_flag("per_class", per_class):
        columns = class_scores(**arrays, beta=beta, zero_division=zero_division)
        result["per_class"] = {
            label: {
                **{name: float(c[i]) for name, c in zip(measure_names(beta), columns, strict=True)},
                "support": counts.support[i].item(),
                "predicted": counts.predicted[i].item(),
            }
            for i, label in enumerate(counts.labels)
        }
    return result


def f1_family(
    *,
    predictions: Any,
    references: Any,
    labels: Any = None,
    negative_label: Label | None = None,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
    entropy_total: str = "all",
    groups: Mapping[Any, Label] | None = None,
    sample_weight: Any = None,
    outside: str = "error",
    per_class: bool = False,
) -> dict[str, Any]:
    """Precision, recall and F under every average: `{average}_{precision|recall|f1}` -> float in [0, 1].

    The average of a measure is sum(w_i s_i) / sum(w_i) over the class scores, for each measure separately: an
    averaged F1 is never the harmonic mean of averaged precision and recall.

    Args:
        predictions, references, labels, negative_label, groups, sample_weight, outside: see `class_counts`.
        averages: names of [B] Table 2 ("micro", "weighted", "dodrans", "entropy", "macro"), exponents "n^a"
            with a in [0, 1], functions support -> weights, or a mapping result name -> one of these.
        beta: F-beta weighs recall beta times as much as precision; the keys end in `fbeta` when it is not 1.
        zero_division: the value of 0 / 0, in [0, 1].
        macro_over: "supported", the classes with n_i > 0 ([B]); or "labels", every class of `labels` ([A];
            scikit-learn with `labels=`).
        entropy_total: N of the entropy weights: "all" rows (the authors' code), or the rows of the "positive"
            classes that are scored.
        per_class: adds `per_class`: label -> {precision, recall, f1, support, predicted}.

    Returns:
        The scores, and `undefined`: the keys whose weights sum to 0 (no support, or entropy with one class
        that holds all rows; micro: 0 / 0) and whose value therefore is `zero_division`. No value is ever NaN.

    >>> scores = f1_family(
    ...     predictions=["a", "NA", "b", "b"], references=["a", "a", "b", "NA"], negative_label="NA"
    ... )
    >>> scores["micro_f1"], round(scores["macro_f1"], 4), scores["undefined"]  # tp 2 of 3 predicted, 3 gold
    (0.6666666666666666, 0.6667, [])

    Raises:
        TypeError: labels that are float, bool, None, nested or of mixed type; an option of the wrong type.
        ValueError: no rows, unequal lengths, a `negative_label` that no label has, a label outside `labels`,
            an unknown average or option.

    Reference:
        [B] Table 2. With `groups` over SemEval-2010 Task 8's nine relations macro_f1 is the official score.
    """
    named = named_averages(averages)
    counts = class_counts(
        predictions=predictions,
        references=references,
        labels=labels,
        negative_label=negative_label,
        groups=groups,
        sample_weight=sample_weight,
        outside=outside,
    )
    return family_from_counts(
        counts,
        averages=named,
        beta=beta,
        zero_division=zero_division,
        macro_over=macro_over,
        entropy_total=entropy_total,
        per_class=per_class,
    )


def average_scores(
    scores: Any, support: Any, average: Average, *, total: Any = None, zero_division: float = 0.0
) -> float | np.ndarray:
    """The weighted mean of any per-class measure: [B]'s weighting does not depend on the measure.

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
