"""The figures of a scored track."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..ranking import PRCurve, pr_curve, ranking_measures
from ..systems.calibration import calibration
from ..tables import average_names
from ..track_statistics import TrackStatistics, truth_pairs
from ..tracks import ScoredTrack
from ..units import truth_name
from ..unjudged.bounds import bounds_of_scored, mean_bounds
from ..validation import check_choice
from .calibration_plots import plot_reliability, plot_risk_coverage
from .plots import plot_averages, plot_class_weights, plot_f1_by_support
from .ranking_plots import plot_pr_curves, plot_relation_coverage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What the figures of a track show, by the beginning of their names.
# In the order of what matters to a reader.
FIGURE_CAPTIONS = {
    "averages": "F1 under each average",
    "pr_curves": "Precision against recall",
    "f1_by_support": "F1 of each class against its support",
    "relation_coverage": "Relations among the first K candidates",
    "reliability": "Share of right predictions against their score",
    "risk_coverage": "Share of wrong predictions against the share that is kept",
    "class_weights": "What each class weighs under each average",
}


def track_curve(
    statistics: TrackStatistics, prefix: str, *, recall_of: str = "pairs", max_points: int | None = None
) -> PRCurve | None:
    """Return the precision-recall curve under a truth; None without scores or without a gold pair.

    Args:
        statistics: From `track_statistics`, or of a `ScoredTrack`; of predictions with scores.
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
        statistics: From `track_statistics`, or of a `ScoredTrack`; of predictions with scores.
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


def draw_track_figures(scored: ScoredTrack, *more_runs: ScoredTrack) -> dict[str, Figure]:
    """Return name -> figure: averages, class weights, F1 by support; with scores PR curves, coverage and what
    the scores are worth.

    Args:
        scored: One run, from `scored_track`; F1 by support, coverage and calibration are drawn of this one.
        more_runs: Further runs of the same system (other seeds), scored with the same options: the averages
            and the PR curves are means over all runs, with their standard deviations.

    Raises:
        ImportError: matplotlib is not installed.
    """
    runs, statistics = (scored, *more_runs), scored.statistics
    measure = "fbeta" if any(key.endswith("_fbeta") for key in scored.scores) else "f1"
    figures: dict[str, Figure] = {}
    averages = {}
    for prefix in statistics.truths:
        counts = statistics.class_counts(prefix)
        if counts.support.sum():
            figures[f"class_weights_{prefix}"] = plot_class_weights(counts)
            figures[f"f1_by_support_{prefix}"] = plot_f1_by_support({prefix: counts})
            keys = [f"{name}_{measure}" for name in average_names(scored.scores, prefix, measure)]
            averages[prefix] = [{key: run.scores[f"{prefix}_{key}"] for key in keys} for run in runs]
    if averages:
        ends = [own for run in runs if (own := bounds_of_scored(run)) is not None]
        bounds = {"magt": mean_bounds(ends)} if ends else None
        figures["averages"] = plot_averages(averages, measure=measure, bounds=bounds)
    curves, coverage = {}, {}
    for prefix in statistics.truths:
        found = [curve for run in runs if (curve := track_curve(run.statistics, prefix)) is not None]
        covered = track_coverage(statistics, prefix)
        if found and covered is not None:
            curves[prefix], coverage[prefix] = found, covered
    known = {prefix: calibration(statistics, prefix) for prefix in statistics.truths}
    worth = {prefix: one for prefix, one in known.items() if one is not None}
    if any(one.bins for one in worth.values()):
        figures["reliability"] = plot_reliability(worth)
    if worth:
        figures["risk_coverage"] = plot_risk_coverage(worth)
    if curves:
        figures["pr_curves"] = plot_pr_curves(curves)
        figures["relation_coverage"] = plot_relation_coverage(
            coverage, num_relations=len(statistics.units.relations)
        )
    return figures


def captioned_figures(scored: ScoredTrack) -> dict[str, Figure]:
    """Return caption -> figure of `draw_track_figures`, what matters most first; a caption says what is seen,
    and of which truth."""
    drawn, figures = draw_track_figures(scored), {}
    for stem, caption in FIGURE_CAPTIONS.items():
        for name in (name for name in drawn if name.startswith(stem)):
            truth = truth_name(name.removeprefix(stem).removeprefix("_"))
            figures[caption + (f", {truth}" if truth else "")] = drawn[name]
    return figures
