"""Figures of rankings: precision against recall, and how many relations the first candidates cover.

Reference: [A] Zhu et al. 2020 (COLING), Figures 3 and 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..ranking import PRCurve
from ..units import truth_name
from ..validation import quoted
from .plots import (
    check_filled,
    display_label,
    legend_below,
    line_style,
    new_figure,
    new_panels,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CURVE_POINTS = 1001
_MOST_BANDS = 4  # of more systems the bands would hide the lines
_MARKERS = 8

Coverage = Mapping[str, float | None]


def plot_pr_curves(
    curves: Mapping[str, Sequence[PRCurve]], *, title: str | None = None, max_recall: float = 1.0
) -> Figure:
    """Return precision against recall per truth (say, DSGT against MAGT), the mean over seeds in a band.

    Args:
        curves: Truth prefix or name -> the curves of its runs, from `pr_curve`. The line is the mean
            precision at each recall over the runs, the band one standard deviation (ddof = 1) around it; one
            run has no band.
        title: Above the picture.
        max_recall: End of the recall axis.

    The legend states each truth's prevalence: the precision of a random ranking, without which two truths
    cannot be compared.

    Raises:
        ValueError: Nothing to draw.

    Reference: [A] Zhu et al. 2020, Figure 3.
    """
    check_filled(curves, "curves")
    figure, axes = new_figure(x="recall", y="precision", title=title)
    for name, runs in curves.items():
        check_filled(runs, f"curves[{name!r}]")
    labels = {
        name: f"{truth_name(name)} (prevalence {100 * _prevalence(runs):.1f}%, n = {len(runs)})"
        for name, runs in curves.items()
    }
    _draw_curves(axes, curves, labels, max_recall=max_recall, bands=True)
    legend_below(figure, [axes])
    return figure


def plot_pr_panels(
    panels: Mapping[str, Mapping[str, Sequence[PRCurve]]],
    *,
    title: str | None = None,
    recall: str = "recall",
) -> Figure:
    """Return a panel for each truth, in which every system has its precision-recall curve.

    Args:
        panels: Truth prefix or name -> system -> the curves of its runs. Lines are means over the runs as in
            `plot_pr_curves`, with their bands for up to four systems. Each panel states its prevalence, the
            precision of a random ranking, and draws it as a grey line.
        title: Above the picture.
        recall: What the recall axis is called.

    Raises:
        ValueError: Nothing to draw.

    Reference: [A] Zhu et al. 2020, Figure 3.
    """
    check_filled(panels, "panels")
    prevalences = {}
    for name, curves in panels.items():
        check_filled(curves, f"panels[{name!r}]")
        for system, runs in curves.items():
            check_filled(runs, f"panels[{name!r}][{system!r}]")
        prevalences[name] = _prevalence(next(iter(curves.values())))
    titles = [f"{truth_name(name)} (prevalence {100 * value:.1f}%)" for name, value in prevalences.items()]
    figure, row = new_panels(titles, x=recall, y="precision", title=title)
    every = [curve for curves in panels.values() for runs in curves.values() for curve in runs]
    reach = max(1.0, *(float(curve.recall[-1]) for curve in every))
    for axes, (name, curves) in zip(row, panels.items(), strict=True):
        labels = {system: f"{system} (n = {len(runs)})" for system, runs in curves.items()}
        _draw_curves(axes, curves, labels, max_recall=reach, bands=len(curves) <= _MOST_BANDS)
        axes.axhline(prevalences[name], color="0.5", linewidth=1, linestyle=(0, (2, 2)))
    legend_below(figure, row)
    return figure


def plot_relation_coverage(
    scores: Mapping[str, Coverage],
    *,
    num_relations: int | None = None,
    correct: bool = False,
    title: str | None = None,
) -> Figure:
    """Return the number of distinct relations among the first K candidates, a line per system.

    Args:
        scores: Name of a system or truth -> what `ranking_measures` returns (un-prefixed keys).
        num_relations: Draws this number as a line on top: all relations there are.
        correct: Counts the relations of correct candidates only.
        title: Above the picture.

    Raises:
        ValueError: Nothing to draw, or a system without coverage.

    Reference: [A] Zhu et al. 2020, Figure 4.
    """
    check_filled(scores, "scores")
    what = "relations with a correct candidate" if correct else "relations"
    figure, axes = new_figure(x="first K candidates", y=f"distinct {what}", title=title)
    _draw_coverage(axes, scores, num_relations=num_relations, correct=correct, name="scores")
    legend_below(figure, [axes])
    return figure


def plot_coverage_panels(
    panels: Mapping[str, Mapping[str, Coverage]],
    *,
    correct: Collection[str] = (),
    num_relations: int | None = None,
    title: str | None = None,
) -> Figure:
    """Return panels side by side, each as `plot_relation_coverage` draws it, under one legend.

    Args:
        panels: Title -> system -> what `ranking_measures` returns, or its mean over runs.
        correct: The panels that count the relations of correct candidates only.
        num_relations: As in `plot_relation_coverage`.
        title: Above the picture.

    Raises:
        ValueError: Nothing to draw, or a system without coverage.

    Reference: [A] Zhu et al. 2020, Figure 4.
    """
    check_filled(panels, "panels")
    figure, row = new_panels(list(panels), x="first K candidates", y="distinct relations", title=title)
    for axes, (name, scores) in zip(row, panels.items(), strict=True):
        check_filled(scores, f"panels[{name!r}]")
        _draw_coverage(
            axes, scores, num_relations=num_relations, correct=name in correct, name=f"panels[{name!r}]"
        )
    legend_below(figure, row)
    return figure


def _draw_curves(
    axes: Axes,
    curves: Mapping[str, Sequence[PRCurve]],
    labels: Mapping[str, str],
    *,
    max_recall: float,
    bands: bool,
) -> None:
    for number, (name, runs) in enumerate(curves.items()):
        last = max(float(curve.recall[-1]) for curve in runs)  # beyond it there is nothing to find
        recall = np.linspace(0, min(max_recall, last), _CURVE_POINTS)
        precision = np.array([_precision_at(curve, recall) for curve in runs])
        mean = precision.mean(axis=0)
        line = line_style(number)
        axes.plot(recall, mean, label=display_label(labels[name]), **line)
        if bands and len(runs) > 1:
            sd = precision.std(axis=0, ddof=1)
            low, high = np.maximum(mean - sd, 0), np.minimum(mean + sd, 1)
            axes.fill_between(recall, low, high, color=line["color"], alpha=0.2, linewidth=0)
    axes.set_xlim(0, max_recall)
    axes.set_ylim(0, 1.02)


def _prevalence(runs: Sequence[PRCurve]) -> float:
    return float(np.mean([curve.num_gold / curve.num_candidates for curve in runs]))


def _precision_at(curve: PRCurve, recall: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the precision at each recall: linear between the first points that reach a recall."""
    first = np.r_[True, np.diff(curve.recall) > 0]  # later points of equal recall only fall, straight down
    return np.interp(recall, curve.recall[first], curve.precision[first])


def _draw_coverage(
    axes: Axes, scores: Mapping[str, Coverage], *, num_relations: int | None, correct: bool, name: str
) -> None:
    stem = "correct_relations_covered_at_" if correct else "relations_covered_at_"
    for number, (system, measures) in enumerate(scores.items()):
        points = sorted(
            (int(key.removeprefix(stem)), value)
            for key, value in measures.items()
            if key.startswith(stem) and value is not None
        )
        if not points:
            raise ValueError(f"`{name}` of {system!r} have no {stem}K; keys are {quoted(measures)}.")
        ks, covered = zip(*points, strict=True)
        step = max(1, len(ks) // _MARKERS)  # markers at other places in every line, or they hide each other
        style = line_style(number, markers=True) | {"markevery": (number % step, step)}
        axes.plot(ks, covered, label=display_label(truth_name(system)), **style)
    if num_relations is not None:
        axes.axhline(num_relations, color="0.5", linewidth=1, linestyle=(0, (2, 2)))
        axes.annotate(
            f"all {num_relations}", (1, num_relations), xycoords=("axes fraction", "data"),
            xytext=(-2, 3), textcoords="offset points", ha="right", va="bottom", color="0.35", fontsize=9,
        )  # fmt: skip
    axes.set_ylim(0, None if num_relations is None else 1.1 * num_relations)
    axes.set_xlim(left=0)
    whole_ticks(axes.yaxis)
