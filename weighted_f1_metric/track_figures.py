"""The figures of a scored track, drawn or as PNG files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .plots import plot_class_weights, plot_f1_by_support, plot_pr_curves, plot_relation_coverage
from .ranking import pr_curve, ranking_measures
from .track_statistics import track_statistics, truth_pairs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Enough values of K for a smooth coverage curve.
NUM_COVERAGE_POINTS = 40


def draw_track_figures(**inputs: Any) -> dict[str, Figure]:
    """Name -> figure: class weights and F1 by support of each truth, with scores PR curves and coverage.

    Args:
        inputs: the arguments of `track_statistics`.

    Raises:
        ImportError: matplotlib is not installed.
    """
    statistics = track_statistics(**inputs)
    counts = {prefix: statistics.class_counts(prefix) for prefix in statistics.truths}
    figures: dict[str, Figure] = {}
    for prefix, truth_counts in counts.items():
        if truth_counts.support.sum():
            figures[f"class_weights_{prefix}"] = plot_class_weights(truth_counts)
            figures[f"f1_by_support_{prefix}"] = plot_f1_by_support({prefix: truth_counts})
    scores = statistics.predictions.scores
    if scores is not None:
        curves, coverage = {}, {}
        for prefix in statistics.truths:
            gold, candidates = truth_pairs(prefix, statistics.units)
            if not gold.any():
                continue
            curves[prefix] = [pr_curve(scores=scores, gold=gold, candidates=candidates)]
            step = max(1, int(candidates.sum()) // NUM_COVERAGE_POINTS)
            ks = tuple(range(step, int(candidates.sum()) + 1, step))
            coverage[prefix] = ranking_measures(scores=scores, gold=gold, candidates=candidates, ks=ks)
        if curves:
            figures["pr_curves"] = plot_pr_curves(curves)
            figures["relation_coverage"] = plot_relation_coverage(
                coverage, num_relations=len(statistics.units.relations)
            )
    return figures


def write_track_figures(folder: Path, **inputs: Any) -> list[Path]:
    """The paths of the figures written, a PNG file each.

    Args:
        folder: where to write; made when it is not there.
        inputs: the arguments of `track_statistics`.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figures = draw_track_figures(**inputs)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in figures.items():
        path = folder / f"{name}.png"
        part = folder / f".{name}.part.png"
        figure.savefig(part)
        os.replace(part, path)
        paths.append(path)
    return paths
