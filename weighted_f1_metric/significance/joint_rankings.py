"""AUC, average precision, max F1 and P@K of drawn bags, from counts per bag as the F scores are.

Of a ranking only the places of its gold pairs matter: how many candidates lie above each of them and how
many tie with it. Candidates are therefore counted by bag in the segments between the scores of gold pairs;
the sums over the drawn bags, added up from the best segment on, are the ranks in the drawn test set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fscore import AveragedScores
from ..ranking import auc_of_ties
from ..track_statistics import TrackStatistics, truth_pairs

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

_NAME = re.compile(r"auc|average_precision|max_f1|precision_at_[1-9][0-9]*")


@dataclass(frozen=True, eq=False)
class RankedBags:
    """The candidates of one run under one truth, by bag.

    Attributes:
        counts: Sparse (num_bags, 3 G + 1) for G distinct scores of gold pairs: the candidates above the best
            of them, equal to it, between it and the next, ..., below all; then the gold pairs at each.
        checksum: Of the candidates' scores in each bag, (num_bags,), modulo 2^64.
    """

    counts: Any
    checksum: IntArray

    @property
    def num_levels(self) -> int:
        """G."""
        return int(self.counts.shape[1] - 1) // 3


def asked_rankings(measures: Iterable[str], prefixes: Sequence[str]) -> dict[str, list[str]]:
    """Return truth -> the ranking measures among keys, without their prefixes; only truths that have some.

    >>> asked_rankings(["magt_auc", "dsgt_micro_f1", "magt_precision_at_50"], ["dsgt", "magt"])
    {'magt': ['auc', 'precision_at_50']}
    """
    asked = {
        prefix: [key.removeprefix(f"{prefix}_") for key in measures if key.startswith(f"{prefix}_")]
        for prefix in prefixes
    }
    found = {prefix: [name for name in names if _NAME.fullmatch(name)] for prefix, names in asked.items()}
    return {prefix: names for prefix, names in found.items() if names}


def ranked_bags(statistics: TrackStatistics, truth: str) -> RankedBags:
    """Return the candidates of a run by bag; its predictions must have scores."""
    from scipy.sparse import csr_array

    units, scores = statistics.units, statistics.predictions.scores
    assert scores is not None  # `rank_intervals` checks it, and names the run
    gold, candidates = truth_pairs(truth, units)
    levels = np.unique(scores[gold])
    unit, relation = np.nonzero(candidates)
    below = np.searchsorted(levels, scores[unit, relation], side="left")
    through = np.searchsorted(levels, scores[unit, relation], side="right")
    segment = 2 * (len(levels) - through) + (through - below)
    hit = gold[unit, relation]
    column = np.concatenate([segment, 2 * len(levels) + 1 + len(levels) - through[hit]])
    bag = np.concatenate([units.unit_bag[unit], units.unit_bag[unit[hit]]])
    shape = (len(units.bag_ids), 3 * len(levels) + 1)
    # + 0.0 makes the two zeros one. A product with random numbers takes different scores for equal once in
    # 2^64.
    bits = np.where(candidates, scores.astype(np.float64) + 0.0, 0.0).view(np.int64)
    factors = np.random.default_rng(0).integers(1, 2**62, size=bits.shape, dtype=np.int64) | 1
    checksum = np.zeros(shape[0], dtype=np.int64)
    np.add.at(checksum, units.unit_bag, (bits * factors).sum(axis=1))
    return RankedBags(csr_array((np.ones(len(bag)), (bag, column)), shape=shape), checksum)


def ranking_scores(sums: FloatArray, names: Sequence[str]) -> AveragedScores:
    """Return the measures of rankings from sums of their counts, (num_resamples,) each.

    A measure is undefined, and 0, without a gold pair; precision at K with fewer than K candidates too.

    >>> counts = np.array([[0.0, 1.0, 0.0, 2.0, 1.0, 1.0, 1.0]])  # a hit; a tie of hit and miss; a miss
    >>> found = ranking_scores(counts, ["auc", "average_precision", "max_f1", "precision_at_2"])
    >>> {name: value.round(4).tolist() for name, value in found.values.items()}
    {'auc': [0.3958], 'average_precision': [0.8333], 'max_f1': [0.8], 'precision_at_2': [0.75]}

    Args:
        sums: (num_resamples, 3 G + 1), the columns of `RankedBags`.
        names: auc, average_precision, max_f1, precision_at_<K>.
    """
    levels = (sums.shape[1] - 1) // 3
    ends = np.cumsum(sums[:, : 2 * levels], axis=1)
    before, through, hits = ends[:, ::2], ends[:, 1::2], sums[:, 2 * levels + 1 :]
    num_gold, num_candidates = hits.sum(axis=1), sums[:, : 2 * levels + 1].sum(axis=1)
    so_far, without = np.cumsum(hits, axis=1), num_gold == 0
    width, gold = np.maximum(through - before, 1), np.maximum(num_gold, 1)
    values: dict[str, FloatArray] = {}
    undefined: dict[str, BoolArray] = {}
    for name in names:
        absent = without
        if name == "auc":
            value = auc_of_ties(before, through, hits)
        elif name == "average_precision":
            value = (hits * so_far / np.maximum(through, 1)).sum(axis=1) / gold
        elif name == "max_f1":
            value = (2 * so_far / np.maximum(num_gold[:, None] + through, 1)).max(axis=1, initial=0.0)
        else:
            k = int(name.removeprefix("precision_at_"))
            value = (hits * np.clip((k - before) / width, 0, 1)).sum(axis=1) / k
            absent = num_candidates < k
        values[name], undefined[name] = np.where(absent, 0.0, value), absent
    return AveragedScores(values, undefined)
