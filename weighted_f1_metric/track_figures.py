"""The figures of a scored track, drawn or as PNG files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .average_plots import plot_averages
from .family import family_from_counts
from .plots import plot_class_weights, plot_f1_by_support
from .ranking_plots import plot_pr_curves, plot_relation_coverage
from .track_curves import track_coverage, track_curve
from .track_statistics import track_statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_track_figures(
    *, predictions: Any, more_runs: Sequence[Any] = (), **inputs: Any
) -> dict[str, Figure]:
    """Name -> figure: averages, class weights, F1 by support; with scores PR curves and coverage.

    Args:
        predictions: of one run, as for `track_statistics`; F1 by support and coverage are drawn of this one.
        more_runs: predictions of further runs of the same system (other seeds): the averages and the PR
            curves are means over all runs, with their standard deviations.
        inputs: the other arguments of `track_statistics`.

    Raises:
        ImportError: matplotlib is not installed.
    """
    runs = [track_statistics(predictions=run, **inputs) for run in (predictions, *more_runs)]
    statistics = runs[0]
    counts = {prefix: statistics.class_counts(prefix) for prefix in statistics.truths}
    figures: dict[str, Figure] = {}
    averages = {}
    for prefix, truth_counts in counts.items():
        if truth_counts.support.sum():
            figures[f"class_weights_{prefix}"] = plot_class_weights(truth_counts)
            figures[f"f1_by_support_{prefix}"] = plot_f1_by_support({prefix: truth_counts})
            averages[prefix] = [family_from_counts(run.class_counts(prefix)) for run in runs]
    if averages:
        figures["averages"] = plot_averages(averages)
    curves, coverage = {}, {}
    for prefix in statistics.truths:
        found = [curve for run in runs if (curve := track_curve(run, prefix)) is not None]
        covered = track_coverage(statistics, prefix)
        if found and covered is not None:
            curves[prefix], coverage[prefix] = found, covered
    if curves:
        figures["pr_curves"] = plot_pr_curves(curves)
        figures["relation_coverage"] = plot_relation_coverage(
            coverage, num_relations=len(statistics.units.relations)
        )
    return figures


def write_track_figures(folder: Path, **inputs: Any) -> list[Path]:
    """The paths of the figures written; `inputs` are the arguments of `draw_track_figures`."""
    return write_figures(folder, draw_track_figures(**inputs))


def write_figures(folder: Path, figures: Mapping[str, Figure]) -> list[Path]:
    """The paths of the figures written, <name>.png for each, there whole or not at all.

    Args:
        folder: where to write; made when it is not there.
        figures: name -> figure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in figures.items():
        path = folder / f"{name}.png"
        part = folder / f".{name}.part.png"
        figure.savefig(part)
        os.replace(part, path)
        paths.append(path)
    return paths
