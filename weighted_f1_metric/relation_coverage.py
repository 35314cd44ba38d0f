"""How many distinct relations the first k candidates name, in expectation over the orders of ties."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .score_matrix import BoolArray, FloatArray

__all__ = ["relation_coverage"]

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
