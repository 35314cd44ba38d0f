"""Curves and coverage of a scored track under one ground truth, for pictures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .ranking import PRCurve, pr_curve, ranking_measures
from .track_statistics import TrackStatistics, truth_pairs
from .validation import check_choice

__all__ = ["track_coverage", "track_curve"]


def track_curve(
    statistics: TrackStatistics, prefix: str, *, recall_of: str = "pairs", max_points: int | None = None
) -> PRCurve | None:
    """Return the precision-recall curve under a truth; None without scores or without a gold pair.

    Args:
        statistics: From `track_statistics`, of predictions with scores.
        prefix: "dsgt", "magt" or "magt_ds_scope".
        recall_of: "pairs": recall's denominator is the number of gold pairs. "units": that of units with a
            gold pair, as in [A], where a bag has one relation; with several, recall passes 1.
        max_points: As in `pr_curve`.

    >>> rows = [{"instance_id": f"i{n}", "bag_id": "b", "relation": r, "bag_label": "yes"}
    ...         for n, r in enumerate(["x", "y"])]
    >>> from weighted_f1_metric.track_statistics import track_statistics
    >>> statistics = track_statistics(
    ...     track="bag2bag", references=rows, relations=["x", "y"],
    ...     predictions=[{"bag_id": "b", "pred": "x", "scores": {"x": 0.9, "y": 0.1}}])
    >>> [track_curve(statistics, "dsgt", recall_of=of).recall.tolist() for of in ("pairs", "units")]
    [[0.5, 1.0], [1.0, 2.0]]

    Raises:
        ValueError: An unknown `recall_of`.

    Reference: Zhu et al. 2020 (COLING), Figure 3.
    """
    check_choice("recall_of", recall_of, ("pairs", "units"))
    gold, candidates = truth_pairs(prefix, statistics.units)
    scores = statistics.predictions.scores
    if scores is None or not gold.any():
        return None
    curve = pr_curve(scores=scores, gold=gold, candidates=candidates, max_points=max_points)
    if recall_of == "pairs":
        return curve
    num_units = int(np.count_nonzero(gold.any(axis=1)))
    return replace(curve, recall=curve.recall * (curve.num_gold / num_units))


def track_coverage(
    statistics: TrackStatistics, prefix: str, *, num_points: int = 40, max_k: int | None = None
) -> dict[str, float | None] | None:
    """Return `ranking_measures` under a truth at evenly spaced K; None without scores or without a gold pair.

    Args:
        statistics: From `track_statistics`, of predictions with scores.
        prefix: "dsgt", "magt" or "magt_ds_scope".
        num_points: How many K, about; enough for a smooth curve.
        max_k: The largest K, at most the number of candidates; None for all of them.

    Reference: Zhu et al. 2020 (COLING), Figure 4.
    """
    gold, candidates = truth_pairs(prefix, statistics.units)
    scores = statistics.predictions.scores
    if scores is None or not gold.any():
        return None
    total = int(candidates.sum())
    last = total if max_k is None else min(max_k, total)
    step = max(1, last // num_points)
    ks: Iterable[int] = range(step, last + 1, step)
    return ranking_measures(scores=scores, gold=gold, candidates=candidates, ks=tuple(ks))
