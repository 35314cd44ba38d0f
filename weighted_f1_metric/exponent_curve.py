"""Two systems under every exponent: F weighted by n^a for a from 0 (macro) to 1 (weighted), as a line.

[B]'s framework has averages at single points of this line (macro a = 0, dodrans a = 3/4, weighted a = 1). As
a line it shows which system is better for which weight of the rare classes, where that changes, and which
classes change it.

Reference: [B] Harbecke et al. 2022, section 3 and Table 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .columns import Label
from .counts import ClassCounts
from .fscore import class_scores
from .validation import check_choice, check_real, is_integer

MEASURES = ("precision", "recall", "f1")

_SEARCH_POINTS = 2001  # roots are bracketed on this grid: two crossings closer than 1/2000 would be missed
_EQUAL = 1e-12  # a difference below this is none: sums of class scores in [0, 1] round no worse


@dataclass(frozen=True)
class ClassContribution:
    """What one class adds to the difference a - b of the averages, at both ends of the line.

    Attributes:
        label: The class.
        support: Its support n_i.
        score_a: Score of system a, in [0, 1].
        score_b: Score of system b.
        at_macro: Its share of the difference at exponent 0: (score_a - score_b) / number of classes.
        at_weighted: Its share at exponent 1: (score_a - score_b) n_i / N.
    """

    label: Label
    support: float
    score_a: float
    score_b: float
    at_macro: float
    at_weighted: float


@dataclass(frozen=True)
class ExponentCurve:
    """The averages of two systems along the exponents.

    Attributes:
        exponents: float64, (num_points,), from 0 to 1.
        scores_a: Average of system a at each exponent, float64 in [0, 1].
        scores_b: Average of system b.
        crossings: Exponents in (0, 1) at which the better system changes, increasing.
        contributions: One entry per class with support, the largest change of its share from exponent 0 to 1
            first: the classes that cause a crossing lead.
        measure: "precision", "recall", "f1" or, where beta is not 1, "fbeta".
    """

    exponents: npt.NDArray[np.float64]
    scores_a: npt.NDArray[np.float64]
    scores_b: npt.NDArray[np.float64]
    crossings: tuple[float, ...]
    contributions: tuple[ClassContribution, ...]
    measure: str

    def to_json(self) -> dict[str, Any]:
        """Return the curve as plain lists and dicts."""
        return {
            "exponents": self.exponents.tolist(),
            "scores_a": self.scores_a.tolist(),
            "scores_b": self.scores_b.tolist(),
            "crossings": list(self.crossings),
            "contributions": [vars(contribution) for contribution in self.contributions],
            "measure": self.measure,
        }


def exponent_curve(
    *,
    counts_a: ClassCounts,
    counts_b: ClassCounts,
    measure: str = "f1",
    beta: float = 1.0,
    zero_division: float = 0.0,
    num_points: int = 101,
) -> ExponentCurve:
    """Return the averages of two systems under n^a for a in [0, 1], where they cross, and which classes cause
    it.

    Args:
        counts_a: Counts of system a, from `class_counts` (or `TrackStatistics.class_counts(prefix)`).
        counts_b: Counts of system b on the same references.
        measure: "precision", "recall" or "f1" (with `beta` F-beta).
        beta: As in `f1_family`.
        zero_division: As in `f1_family`.
        num_points: Number of evenly spaced exponents, at least 2.

    Classes without support have no weight at any exponent. Crossings are roots of the difference, bracketed
    on a grid of 2,001 exponents and then found to 1e-12.

    Raises:
        TypeError: Counts that are not `ClassCounts`, `num_points` that is not an int.
        ValueError: Systems with other supports, no class with support, an argument out of its range.

    >>> from weighted_f1_metric.counts import class_counts
    >>> gold = ["a"] * 4 + ["b"]
    >>> counts = [class_counts(predictions=p, references=gold, labels=["a", "b", "NA"], negative_label="NA")
    ...           for p in (["a", "a", "a", "a", "NA"], ["a", "NA", "NA", "NA", "b"])]
    >>> curve = exponent_curve(counts_a=counts[0], counts_b=counts[1])
    >>> curve.scores_a[[0, -1]].round(3).tolist(), curve.scores_b[[0, -1]].round(3).tolist()
    ([0.5, 0.8], [0.7, 0.52])
    >>> [round(crossing, 4) for crossing in curve.crossings]  # 4^a (1 - 0.4) = 1
    [0.3685]
    >>> [(c.label, round(c.at_macro, 2), round(c.at_weighted, 2)) for c in curve.contributions]
    [('b', -0.5, -0.2), ('a', 0.3, 0.48)]
    """
    check_choice("measure", measure, MEASURES)
    beta = check_real("beta", beta, low=0.0, high=np.inf)
    zero_division = check_real("zero_division", zero_division, low=0.0, high=1.0)
    if not is_integer(num_points):
        raise TypeError(f"`num_points` must be an int; got {num_points!r}.")
    if num_points < 2:
        raise ValueError(f"`num_points` must be at least 2; got {num_points}.")
    labels, support, scores = _aligned(counts_a, counts_b, MEASURES.index(measure), beta, zero_division)

    def averages(exponents: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        # Relative to the largest class, which changes no ratio and keeps every weight in (0, 1].
        weights = (support / support.max()) ** exponents[:, None]
        return (scores @ weights.T) / weights.sum(axis=1)

    def difference(exponent: float) -> float:
        first, second = averages(np.array([exponent]))[:, 0]
        return float(first - second)

    exponents = np.linspace(0.0, 1.0, num_points)
    scores_a, scores_b = averages(exponents)
    grid = np.linspace(0.0, 1.0, _SEARCH_POINTS)
    on_grid = averages(grid)
    return ExponentCurve(
        exponents=exponents,
        scores_a=scores_a,
        scores_b=scores_b,
        crossings=_crossings(difference, grid, on_grid[0] - on_grid[1]),
        contributions=_contributions(labels, support, scores),
        measure=measure if measure != "f1" or beta == 1 else "fbeta",
    )


def _aligned(
    counts_a: ClassCounts, counts_b: ClassCounts, column: int, beta: float, zero_division: float
) -> tuple[list[Label], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the classes with support, their supports (C,), and both systems' scores (2, C)."""
    found: list[dict[Label, tuple[float, float]]] = []
    for name, counts in (("counts_a", counts_a), ("counts_b", counts_b)):
        if not isinstance(counts, ClassCounts):
            raise TypeError(
                f"`{name}` must be ClassCounts, from class_counts(...); got {type(counts).__name__}."
            )
        values = class_scores(
            true_positives=counts.true_positives,
            predicted=counts.predicted,
            support=counts.support,
            beta=beta,
            zero_division=zero_division,
        )[column]
        rows = zip(counts.labels, counts.support.tolist(), values.tolist(), strict=True)
        found.append({label: (n, score) for label, n, score in rows if n > 0})
    first, second = found
    if not first:
        raise ValueError("`counts_a` has no class with support, so no weighting is defined.")
    odd = [label for label in [*first, *second] if first.get(label, (0,))[0] != second.get(label, (0,))[0]]
    if odd:
        raise ValueError(
            f"`counts_a` and `counts_b` must come from the same references; the support of {odd[0]!r} "
            f"differs ({len(set(odd))} classes in all). Score both on the same rows with one `labels`."
        )
    support = np.array([n for n, _ in first.values()], dtype=np.float64)
    scores = np.array([[own[label][1] for label in first] for own in found])
    return list(first), support, scores


def _crossings(
    difference: Callable[[float], float], grid: npt.NDArray[np.float64], values: npt.NDArray[np.float64]
) -> tuple[float, ...]:
    """Return where the sign of the difference changes; touching without a change is no crossing."""
    from scipy.optimize import brentq

    signs = np.where(np.abs(values) <= _EQUAL, 0.0, np.sign(values))
    decided = np.flatnonzero(signs)
    changes = np.flatnonzero(np.diff(signs[decided]))
    brackets = ((grid[decided[i]], grid[decided[i + 1]]) for i in changes)
    return tuple(float(brentq(difference, low, high, xtol=1e-12)) for low, high in brackets)


def _contributions(
    labels: list[Label], support: npt.NDArray[np.float64], scores: npt.NDArray[np.float64]
) -> tuple[ClassContribution, ...]:
    gain = scores[0] - scores[1]
    at_macro, at_weighted = gain / len(support), gain * support / support.sum()
    order = np.argsort(-np.abs(at_weighted - at_macro), kind="stable").tolist()
    columns = [column.tolist() for column in (support, scores[0], scores[1], at_macro, at_weighted)]
    return tuple(ClassContribution(labels[i], *(column[i] for column in columns)) for i in order)
