"""Figures of the metric; each function takes plain values and returns a matplotlib Figure.

Needs the extra `plots`. Nothing touches pyplot or a display: save with `figure.savefig("x.png")`. Colours are
the palette of Okabe and Ito, which the colour-blind can tell apart; line styles and markers tell series apart
in greyscale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .counts import ClassCounts
from .exponent_curve import ExponentCurve
from .fscore import class_scores
from .point_names import write_names
from .weighting import NAMED_SCHEMES, Average, class_weights, named_averages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "plot_class_weights",
    "plot_exponent_curve",
    "plot_f1_by_support",
]

# Okabe and Ito (2008) without their yellow, which is too light for lines on white.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_WIDTH, _HEIGHT = 6.4, 4.2  # inches: one column and a half of a paper at 10 pt text
_PANEL_WIDTH = 4.2


def _empty_figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Figures need matplotlib; install it with pip install "nyt-h[plots]".') from error
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def _figure(*, x: str, y: str, title: str | None = None) -> tuple[Figure, Axes]:
    figure = _empty_figure(_WIDTH, _HEIGHT)
    axes = figure.add_subplot()
    _dress(axes, x=x, y=y)
    if title:
        axes.set_title(title, fontsize=11, pad=14)
    return figure, axes


def _panels(titles: Sequence[str], *, x: str, y: str, title: str | None = None) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each title, side by side with one y axis."""
    figure = _empty_figure(max(_WIDTH, _PANEL_WIDTH * len(titles)), _HEIGHT)
    row = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    for axes, name in zip(row, titles, strict=True):
        _dress(axes, x=x, y=y)
        axes.label_outer()
        axes.set_title(name, fontsize=10)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure, list(row)


def _dress(axes: Axes, *, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)


def _style(number: int, *, markers: bool = False) -> dict[str, Any]:
    # The eighth series has the first colour again, with another line and another marker beside that line.
    style = {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINES[(number + number // len(COLOURS)) % len(LINES)],
        "linewidth": 1.6,
    }
    return style | (
        {"marker": MARKERS[(number + 2 * (number // len(COLOURS))) % len(MARKERS)], "markersize": 4.5}
        if markers
        else {}
    )


def _label(name: str) -> str:
    """Return a name for a legend, in which matplotlib hides names like "_x" and reads "$" as maths."""
    return (" " if name.startswith("_") else "") + name.replace("$", r"\$")


def _check_filled(values: Mapping[Any, Any] | Sequence[Any], name: str) -> None:
    if not values:
        raise ValueError(f"`{name}` is empty; there is nothing to draw.")


def plot_class_weights(
    counts: ClassCounts,
    *,
    averages: Sequence[Average] | Mapping[str, Average] = tuple(NAMED_SCHEMES),
    title: str | None = None,
) -> Figure:
    """Return the normalised weight of each class under each scheme, classes by falling support.

    Args:
        counts: Counts whose supports (and N) give the weights.
        averages: Schemes as in `f1_family`; "micro" weighs no classes and is refused.
        title: Above the picture.

    Raises:
        ValueError: No class with support, or a scheme without class weights.

    Reference: [B] Harbecke et al. 2022, Figure 1.
    """
    support = np.sort(np.asarray(counts.support, dtype=np.float64))[::-1]
    support = support[support > 0]
    _check_filled(support.tolist(), "counts.support")
    figure, axes = _figure(x="classes by falling support", y="class weight (%)", title=title)
    places = np.arange(1, len(support) + 1)
    for number, (name, average) in enumerate(named_averages(averages).items()):
        weights = class_weights(support, average, total=np.asarray(float(counts.total)))
        share = 100 * weights / weights.sum() if weights.sum() else weights
        axes.plot(places, share, label=name, **_style(number, markers=len(support) <= 60))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    _whole_ticks(axes.xaxis)
    axes.legend(title="scheme", frameon=False)
    return figure


def plot_f1_by_support(
    counts: Mapping[str, ClassCounts], *, title: str | None = None, max_names: int = 25
) -> Figure:
    """Return the F1 of each class against its support on a log axis, a marker per system.

    Args:
        counts: Name of a system -> its counts.
        title: Above the picture.
        max_names: Writes the class names (the last part of a path) at the points of a single system with at
            most so many classes; a name for which there is no free place is left out.

    Raises:
        ValueError: Nothing to draw.
    """
    _check_filled(counts, "counts")
    figure, axes = _figure(x="support of the class (log scale)", y="F1", title=title)
    axes.set_xscale("log")
    names: list[tuple[str, float, float]] = []
    for number, (system, own) in enumerate(counts.items()):
        supported = np.asarray(own.support) > 0
        support = np.asarray(own.support, dtype=np.float64)[supported]
        _check_filled(support.tolist(), f"counts[{system!r}].support")
        f1 = class_scores(true_positives=own.true_positives, predicted=own.predicted, support=own.support)[2]
        line = _style(number, markers=True) | {"linestyle": "none", "markersize": 6}
        fill = "none" if number % 2 else line["color"]
        axes.plot(support, f1[supported], label=_label(system), markerfacecolor=fill, **line)
        labels = [label for label, has in zip(own.labels, supported, strict=True) if has]
        short = [str(label).rsplit("/", 1)[-1] for label in labels]
        names = list(zip(short, support.tolist(), f1[supported].tolist(), strict=True))
    axes.set_ylim(-0.03, 1.05)
    if len(counts) > 1:
        axes.legend(frameon=False, loc="best")
    elif len(names) <= max_names:
        write_names(axes, names)
    return figure


def plot_exponent_curve(
    curve: ExponentCurve, *, name_a: str = "a", name_b: str = "b", title: str | None = None
) -> Figure:
    """Return the averages of two systems under n^a, their crossings and where the named averages lie.

    Args:
        curve: From `exponent_curve`.
        name_a: Name of system a.
        name_b: Name of system b.
        title: Above the picture.
    """
    measure = {"f1": "F1", "fbeta": "F-beta"}.get(curve.measure, curve.measure)
    figure, axes = _figure(x=r"exponent $a$ of the class weight $n^a$", y=f"averaged {measure}", title=title)
    for number, (name, scores) in enumerate(((name_a, curve.scores_a), (name_b, curve.scores_b))):
        axes.plot(curve.exponents, scores, label=_label(name), **_style(number + 1))
    for exponent, name in ((0.0, "macro"), (0.75, "dodrans"), (1.0, "weighted")):
        axes.axvline(exponent, color="0.8", linewidth=1, zorder=0)
        axes.annotate(
            name, (exponent, 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", ha="center", fontsize=8, color="0.35",
        )  # fmt: skip
    for crossing in curve.crossings:
        height = float(np.interp(crossing, curve.exponents, curve.scores_a))
        axes.plot([crossing], [height], marker="o", markersize=8, markerfacecolor="none", color="0.1")
        axes.annotate(
            f"a = {crossing:.2f}", (crossing, height), xytext=(0, 9), textcoords="offset points",
            ha="center", fontsize=9,
        )  # fmt: skip
    axes.set_xlim(0, 1.02)
    axes.margins(y=0.15)
    axes.legend(frameon=False, loc="best")
    return figure


def _whole_ticks(axis: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))
