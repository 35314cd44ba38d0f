"""Ranking measures of scored candidates: PR curve, AUC, average precision, P@K, relation coverage.

A candidate is a (unit, relation) pair with a score. The order of the input never matters: among candidates of
equal score, the hits within the first k are the expectation over the orders of the tie, so expected hits grow
linearly through a tie. Everything follows from two sorts of values, of all scores and of the hits' scores: a
binary search of each distinct hit score in all scores gives the ranks between which its tie lies. No index
sort is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]


def checked_scores(scores: npt.ArrayLike) -> FloatArray:
    """Return the scores as a finite float matrix (num_units, num_relations); float32 and float64 are not
    copied.

    Raises:
        TypeError: The scores are not numbers.
        ValueError: Not 2-dimensional, or NaN or infinite somewhere.
    """
    try:
        matrix = np.asarray(scores)
    except ValueError as error:
        raise ValueError(
            f"`scores` must be a matrix (num_units, num_relations) with rows of one length; numpy: {error}"
        ) from error
    if matrix.dtype.kind not in "fiu":
        raise TypeError(
            f"`scores` must be numbers; got an array of dtype {matrix.dtype}. Convert them to float."
        )
    if matrix.ndim != 2:
        raise ValueError(
            f"`scores` must have the shape (num_units, num_relations); got shape {matrix.shape}."
        )
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    # min and max carry a NaN through: two passes without a temporary.
    if matrix.size and not (np.isfinite(matrix.min()) and np.isfinite(matrix.max())):
        bad = np.argwhere(~np.isfinite(matrix))
        unit, relation = bad[0]
        raise ValueError(
            f"`scores` must be finite; unit {unit}, relation {relation} (counted from 0) holds "
            f"{float(matrix[unit, relation])} ({len(bad)} such values in all). "
            "Give such a pair a finite low score."
        )
    return matrix


def checked_mask(
    mask: npt.ArrayLike, name: str, scores: FloatArray, within: BoolArray | None = None
) -> BoolArray:
    """Return `mask` as a bool array of the scores' shape whose true entries all lie in `within`.

    Raises:
        TypeError: The mask is not bool.
        ValueError: The shape differs, or an entry is true outside `within`.
    """
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise TypeError(f"`{name}` must be bool; got dtype {array.dtype}. Convert it with `.astype(bool)`.")
    if array.shape != scores.shape:
        raise ValueError(f"`{name}` must have the shape of `scores`, {scores.shape}; got {array.shape}.")
    if within is not None:
        outside = array & ~within
        if outside.any():
            unit, relation = np.argwhere(outside)[0]
            raise ValueError(
                f"`{name}` marks unit {unit}, relation {relation} (counted from 0), which is no candidate "
                f"({int(outside.sum())} such pairs in all). "
                f"Add them to `candidates` or take them out of `{name}`."
            )
    return array


def checked_ks(ks: Iterable[int]) -> tuple[int, ...]:
    """Return the cut-offs as distinct ints in the order given.

    Raises:
        TypeError: `ks` is not iterable, or holds something that is not an int (a bool is none).
        ValueError: A k is below 1.
    """
    if isinstance(ks, (str, bytes)) or not isinstance(ks, Iterable):
        raise TypeError(f"`ks` must be a collection of positive ints; got {ks!r}. Write `ks=(100,)` for one.")
    seen: dict[int, None] = {}
    for k in ks:
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
            raise TypeError(f"`ks` must be positive ints; got {k!r}.")
        if k < 1:
            raise ValueError(f"`ks` must be at least 1; got {k}.")
        seen[int(k)] = None
    return tuple(seen)


_BLOCK = 1 << 17  # candidates looked at together: keeps the temporaries small
_NEGLIGIBLE = 46.0  # exp(-46) = 1e-20


def relation_coverage(
    *,
    scores: FloatArray,
    gold: BoolArray,
    candidates: BoolArray | None,
    ascending: FloatArray,
    ks: list[int],
) -> tuple[list[float], list[float]]:
    """Return, for each k, the expected number of relations among the first k candidates, and among their
    hits.

    For a tie of T candidates cut after q, a relation with m candidates in it and none above it is covered
    with probability 1 - C(T - m, q) / C(T, q); one with a candidate above the tie is covered surely.

    Args:
        scores: Shape (num_units, num_relations).
        gold: Bool, same shape.
        candidates: Bool, same shape, or None for all.
        ascending: Scores of the candidates, sorted.
        ks: Cut-offs, each at most the number of candidates.

    Reference: Zhu et al. 2020 (COLING), Figure 4; the tie rule is the hypergeometric probability of no draw.

    >>> matrix = np.array([[0.9, 0.1], [0.5, 0.5]])
    >>> ascending = np.sort(matrix, axis=None)
    >>> relation_coverage(scores=matrix, gold=matrix > 0.8, candidates=None, ascending=ascending, ks=[1, 2])
    ([1.0, 1.5], [1.0, 1.0])
    """
    if not ks:
        return [], []
    total = ascending.size
    edges = np.unique(ascending[total - np.array(ks)])  # the scores at which some k cuts
    everyone, correct = _level_counts(scores, gold, candidates, edges)
    covered, covered_correct = [], []
    for k in ks:
        edge = ascending[total - k]
        place = int(np.searchsorted(edges, edge))
        above = total - int(np.searchsorted(ascending, edge, side="right"))
        tied = total - int(np.searchsorted(ascending, edge, side="left")) - above
        covered.append(_expected_number(everyone, place, tied, k - above))
        covered_correct.append(_expected_number(correct, place, tied, k - above))
    return covered, covered_correct


def _level_counts(
    scores: FloatArray, gold: BoolArray, candidates: BoolArray | None, edges: FloatArray
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return counts per (relation, level), of all candidates and of hits.

    Level 2i is "equal to edge i", level 2i + 1 "between edge i and the next one". Candidates below the lowest
    edge lie beyond every k and are not counted.
    """
    num_units, num_relations = scores.shape
    num_levels = 2 * edges.size
    everyone = np.zeros(num_relations * num_levels, dtype=np.int64)
    correct = np.zeros_like(everyone)
    rows = max(1, _BLOCK // num_relations)
    for first in range(0, num_units, rows):
        block = scores[first : first + rows]
        wanted = block >= edges[0]
        if candidates is not None:
            wanted &= candidates[first : first + rows]
        flat = np.flatnonzero(wanted)
        if not flat.size:
            continue
        values = block.ravel()[flat]
        # searchsorted on both sides tells "equal" (they differ) from "between" (they agree).
        level = np.searchsorted(edges, values, side="left") + np.searchsorted(edges, values, side="right") - 1
        cell = (flat % num_relations) * num_levels + level
        everyone += np.bincount(cell, minlength=everyone.size)
        is_hit = gold[first : first + rows].ravel()[flat]
        correct += np.bincount(cell[is_hit], minlength=everyone.size)
    shape = (num_relations, num_levels)
    return everyone.reshape(shape), correct.reshape(shape)


def _expected_number(counts: npt.NDArray[np.int64], place: int, tied: int, taken: int) -> float:
    surely = counts[:, 2 * place + 1 :].sum(axis=1) > 0
    at_edge = counts[:, 2 * place]
    return float(surely.sum()) + sum(_hit_probability(tied, int(m), taken) for m in at_edge[~surely])


def _hit_probability(total: int, marked: int, taken: int) -> float:
    """Return the probability that a draw of `taken` from `total` holds at least one of the `marked`.

    The miss probability is a product over the smaller of the two numbers (it is symmetric in them).
    Differences of log-gamma would lose eight digits at millions of candidates; and where the product has so
    many factors that it would take long, it is below 1e-20.
    """
    fewer, more = min(marked, taken), max(marked, taken)
    if fewer == 0:
        return 0.0
    if fewer + more > total or fewer * more > _NEGLIGIBLE * total:
        return 1.0
    return float(-np.expm1(np.log1p(-more / (total - np.arange(fewer))).sum()))


DEFAULT_KS = (50, 100, 200, 300, 500, 1000, 2000)

_SERIES_START = 64  # from here on the Euler-Maclaurin series below is exact to 1e-13


@dataclass(frozen=True)
class PRCurve:
    """Points of a precision-recall curve, in rank order.

    Attributes:
        k: Number of candidates taken, int64, shape (num_points,), increasing.
        recall: Expected hits among the first k / gold pairs, float64, in [0, 1].
        precision: Expected hits among the first k / k, float64, in [0, 1].
        num_gold: Number of gold pairs, the denominator of recall (but see `track_curve`).
        num_candidates: Number of candidates.
    """

    k: npt.NDArray[np.int64]
    recall: npt.NDArray[np.float64]
    precision: npt.NDArray[np.float64]
    num_gold: int
    num_candidates: int


@dataclass(frozen=True)
class _HitGroups:
    """Ties that hold at least one hit, best first: ranks (before, through], hits in it, hits before it."""

    before: npt.NDArray[np.int64]
    through: npt.NDArray[np.int64]
    hits: npt.NDArray[np.int64]
    hits_before: npt.NDArray[np.int64]

    @property
    def num_gold(self) -> int:
        return int(self.hits.sum())

    def expected_hits(self, k: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the expected number of hits among the first k candidates, float64, for each k."""
        if not self.hits.size:
            return np.zeros(k.shape)
        group = np.minimum(np.searchsorted(self.through, k, side="left"), self.hits.size - 1)
        width = self.through[group] - self.before[group]
        inside = np.clip(k - self.before[group], 0, width)
        return self.hits_before[group] + self.hits[group] * (inside / width)


@dataclass(frozen=True)
class RankedCandidates:
    """Scores of all candidates in order, made once by `rank_candidates` and shared by several truths.

    Attributes:
        scores: The score matrix, shape (num_units, num_relations).
        candidates: Which pairs are ranked, bool, same shape; None for all.
        ascending: Scores of the candidates, sorted, shape (num_candidates,).
    """

    scores: FloatArray
    candidates: BoolArray | None
    ascending: FloatArray

    def measures(self, *, gold: npt.ArrayLike, ks: Iterable[int] = DEFAULT_KS) -> dict[str, float | None]:
        """Return the measures of `ranking_measures` for one truth."""
        return _measures(self, checked_mask(gold, "gold", self.scores, self.candidates), checked_ks(ks))

    def curve(self, *, gold: npt.ArrayLike, max_points: int | None = None) -> PRCurve:
        """Return the curve of `pr_curve` for one truth."""
        groups = _hit_groups(self, checked_mask(gold, "gold", self.scores, self.candidates))
        return _curve(groups, self.ascending.size, max_points)


def rank_candidates(*, scores: npt.ArrayLike, candidates: npt.ArrayLike | None = None) -> RankedCandidates:
    """Return the candidates' scores in order, for use with one or several truths.

    Args:
        scores: Shape (num_units, num_relations), finite; higher is ranked first. float32 stays float32.
        candidates: Bool, same shape: the pairs that are ranked. None ranks all of them.

    Raises:
        TypeError: `scores` is not numeric or `candidates` is not bool.
        ValueError: `scores` is not 2-dimensional or not finite, or the shapes differ.
    """
    matrix = checked_scores(scores)
    if candidates is None:
        return RankedCandidates(matrix, None, np.sort(matrix, axis=None))
    mask = checked_mask(candidates, "candidates", matrix)
    ascending = matrix[mask]
    ascending.sort()
    return RankedCandidates(matrix, mask, ascending)


def ranking_measures(
    *,
    scores: npt.ArrayLike,
    gold: npt.ArrayLike,
    candidates: npt.ArrayLike | None = None,
    ks: Iterable[int] = DEFAULT_KS,
) -> dict[str, float | None]:
    """Return AUC, average precision, maximal F1, prevalence, P@K and relation coverage of scored candidates.

    Keys: `auc`, the trapezoid over (recall, precision) at k = 1, 2, ..., all: the sum over k >= 2 of (r_k -
    r_(k-1)) (p_k + p_(k-1)) / 2, so the first point is the first candidate's and no point (0, 1) is added (a
    perfect ranking of n gold pairs has 1 - 1 / n);
    `average_precision` and `max_f1` on distinct thresholds, as scikit-learn (`max_f1` is optimistic: its
    threshold is chosen on the data it is measured on); `prevalence`, gold pairs / candidates; and for each k
    `precision_at_{k}`, `relations_covered_at_{k}` and `correct_relations_covered_at_{k}`, the expected number
    of distinct relations among the first k candidates (among their hits). All but the two coverages lie in
    [0, 1].

    A value that the data do not define is None, never NaN: everything at a k beyond the number of candidates;
    `auc`, `average_precision` and `max_f1` without a gold pair; `prevalence` without a candidate.

    Args:
        scores: Shape (num_units, num_relations), finite, float32 or float64 (anything else becomes float64).
        gold: Bool, same shape: the correct pairs. They must be candidates.
        candidates: Bool, same shape: the pairs that are ranked. None ranks all of them.
        ks: Positive ints.

    Raises:
        TypeError: Masks that are not bool, scores that are not numbers, a k that is not an int.
        ValueError: Shapes differ, scores are not finite, a k below 1, a gold pair that is no candidate.

    >>> ranking_measures(scores=[[0.9, 0.1], [0.5, 0.5]], gold=[[True, False], [True, False]], ks=(2,))
    {'auc': 0.3958333333333333, 'average_precision': 0.8333333333333333, 'max_f1': 0.8, 'prevalence': 0.5,
     'precision_at_2': 0.75, 'relations_covered_at_2': 1.5, 'correct_relations_covered_at_2': 1.0}

    (One hit, then a tie of a hit and a miss: expected hits at k = 1, 2, 3, 4 are 1, 1.5, 2, 2.)

    Reference: Zhu et al. 2020 (COLING), section 5 and Figures 3 and 4; without ties `auc` is the number of
    OpenNRE and of the paper's evaluator, whose value under ties depends on the order of the input.
    """
    return rank_candidates(scores=scores, candidates=candidates).measures(gold=gold, ks=ks)


def pr_curve(
    *,
    scores: npt.ArrayLike,
    gold: npt.ArrayLike,
    candidates: npt.ArrayLike | None = None,
    max_points: int | None = None,
) -> PRCurve:
    """Return the precision-recall curve over k = 1, 2, ..., all candidates, expectations within ties.

    Args:
        scores: As in `ranking_measures`.
        gold: As in `ranking_measures`; at least one gold pair, or recall has no denominator.
        candidates: As in `ranking_measures`.
        max_points: None for every k; otherwise at most so many of them, spread evenly over the ends of
            the ties with hits, the first and the last k always among them (for drawing; the kept ones are
            exact).

    Raises:
        TypeError: As in `ranking_measures`.
        ValueError: As in `ranking_measures`, or no gold pair, or `max_points` below 2.

    >>> curve = pr_curve(scores=[[0.9, 0.1], [0.5, 0.5]], gold=[[True, False], [True, False]])
    >>> curve.recall.tolist(), curve.precision.tolist()
    ([0.5, 0.75, 1.0, 1.0], [1.0, 0.75, 0.6666666666666666, 0.5])
    """
    return rank_candidates(scores=scores, candidates=candidates).curve(gold=gold, max_points=max_points)


def _measures(ranked: RankedCandidates, gold: BoolArray, ks: tuple[int, ...]) -> dict[str, float | None]:
    groups = _hit_groups(ranked, gold)
    num_candidates, num_gold = ranked.ascending.size, groups.num_gold
    result: dict[str, float | None] = {"auc": None, "average_precision": None, "max_f1": None}
    if num_gold:
        hits = (groups.hits_before + groups.hits).astype(np.float64)
        ranks = (groups.before, groups.through, groups.hits)
        result["auc"] = float(auc_of_ties(*(part.astype(np.float64) for part in ranks)))
        result["average_precision"] = float(np.sum(groups.hits * (hits / groups.through)) / num_gold)
        # A threshold among misses only lowers precision: the best one ends a tie that holds a hit.
        result["max_f1"] = float(np.max(2 * hits / (num_gold + groups.through)))
    result["prevalence"] = num_gold / num_candidates if num_candidates else None
    within = [k for k in ks if k <= num_candidates]
    hits_at = groups.expected_hits(np.array(within, dtype=np.int64))
    covered, correct = relation_coverage(
        scores=ranked.scores, gold=gold, candidates=ranked.candidates, ascending=ranked.ascending, ks=within
    )
    for k in ks:
        place = within.index(k) if k <= num_candidates else None
        result[f"precision_at_{k}"] = None if place is None else float(hits_at[place] / k)
        result[f"relations_covered_at_{k}"] = None if place is None else covered[place]
        result[f"correct_relations_covered_at_{k}"] = None if place is None else correct[place]
    return result


def _hit_groups(ranked: RankedCandidates, gold: BoolArray) -> _HitGroups:
    hit_scores = ranked.scores[gold]
    hit_scores.sort()
    total = ranked.ascending.size
    is_first = np.ones(hit_scores.size, dtype=np.bool_)
    np.not_equal(hit_scores[1:], hit_scores[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    counts = np.diff(np.r_[starts, hit_scores.size])[::-1]
    values = hit_scores[starts]
    return _HitGroups(
        before=(total - np.searchsorted(ranked.ascending, values, side="right"))[::-1],
        through=(total - np.searchsorted(ranked.ascending, values, side="left"))[::-1],
        hits=counts,
        hits_before=np.cumsum(counts) - counts,
    )


def auc_of_ties(
    before: npt.NDArray[np.float64], through: npt.NDArray[np.float64], hits: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the trapezoid over (recall, precision) at k = 1, 2, ..., all, in closed form, (...).

    Recall moves only inside ties with hits. There, with c = hits / width, precision is p_k = c + (H - c a) /
    k for k = a, ..., b, so the trapezoid over the tie is c width + (H - c a) S(a, b), S the trapezoid sum of
    1/k. The first tie (a = 0) starts at k = 1, where p is c throughout.

    Args:
        before, through: The ranks (before, through] of each tie, best first, (..., num_ties).
        hits: Gold pairs in each; a tie without any adds nothing. 0 where there is no gold pair at all.

    >>> float(auc_of_ties(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([1.0, 1.0])))
    0.3958333333333333
    """
    slope = hits / np.maximum(through - before, 1)
    hits_before = np.cumsum(hits, axis=-1) - hits
    leading = before == 0
    start = np.where(leading, 1.0, before)
    precision_sum = slope * (through - start) + np.where(
        leading, 0.0, (hits_before - slope * before) * _reciprocal_trapezoid(start, through)
    )
    area: npt.NDArray[np.float64] = np.sum(slope * precision_sum, axis=-1)
    return area / np.maximum(np.sum(hits, axis=-1), 1)


def _reciprocal_trapezoid(
    start: npt.NDArray[np.float64], stop: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return trapezoid sums of 1/k over k = start, ..., stop: a table, then the Euler-Maclaurin series."""
    small = np.arange(1, _SERIES_START + 1, dtype=np.float64)
    table = np.r_[0.0, 0.0, np.cumsum((1 / small[1:] + 1 / small[:-1]) / 2)]  # table[k]: from 1 to k
    low = np.minimum(start, _SERIES_START).astype(np.int64), np.minimum(stop, _SERIES_START).astype(np.int64)
    a, b = np.maximum(start, _SERIES_START), np.maximum(stop, _SERIES_START)
    series = np.log1p((b - a) / a) + (a**-2 - b**-2) / 12 - (a**-4 - b**-4) / 120
    return table[low[1]] - table[low[0]] + series


def _curve(groups: _HitGroups, num_candidates: int, max_points: int | None) -> PRCurve:
    num_gold = groups.num_gold
    if not num_gold:
        raise ValueError(
            "`gold` holds no gold pair, so recall has no denominator; a curve needs at least one."
        )
    if max_points is None:
        k = np.arange(1, num_candidates + 1)
    elif isinstance(max_points, bool) or not isinstance(max_points, (int, np.integer)):
        raise TypeError(f"`max_points` must be an int or None; got {max_points!r}.")
    elif max_points < 2:
        raise ValueError(f"`max_points` must be at least 2; got {max_points}.")
    else:
        edges = np.unique(np.r_[1, np.maximum(groups.before, 1), groups.through, num_candidates])
        wanted = np.linspace(0, edges.size - 1, min(max_points, edges.size)).round().astype(np.int64)
        k = np.unique(edges[wanted])
    hits = groups.expected_hits(k)
    return PRCurve(
        k=k, recall=hits / num_gold, precision=hits / k, num_gold=num_gold, num_candidates=num_candidates
    )
