"""Figures of the metric; each function takes plain values and returns a matplotlib Figure.

Needs the extra `plots`. Nothing touches pyplot or a display: save with `figure.savefig("x.png")`. Colours are
the palette of Okabe and Ito, which the colour-blind can tell apart; line styles and markers tell series apart
in greyscale.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..counts import ClassCounts
from ..exponent_curve import ExponentCurve
from ..fscore import class_scores
from ..units import truth_name
from ..weighting import AVERAGES, NAMED_SCHEMES, Average, class_weights, named_averages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


# Places of a name in points (1/72 inch) from its dot, and which end of it is there, in order of preference.
_PLACES = [
    (across, up, "left" if across > 0 else "right") for up in (3, -9, 11, -17, 19) for across in (5, -5)
]


def write_names(axes: Axes, names: Sequence[tuple[str, float, float]]) -> None:
    """Write each name (text, x, y) beside its point, at the first of ten places that is free.

    A name without a free place is left out: unreadable text would cover its neighbours as well. Call it last,
    when the limits of the axes are set.
    """
    figure: Any = axes.figure
    figure.draw_without_rendering()
    inside = axes.get_window_extent()
    dots = [axes.transData.transform((x, y)) for _, x, y in names]
    taken: list[Any] = []
    style: dict[str, Any] = {
        "textcoords": "offset points",
        "fontsize": 7,
        "color": "0.35",
        "parse_math": False,
    }
    for text, x, y in names:
        for across, up, end in _PLACES:
            written = axes.annotate(text, (x, y), xytext=(across, up), ha=end, **style)
            box = written.get_window_extent()
            covers = any(box.overlaps(other) for other in taken) or any(box.contains(*dot) for dot in dots)
            if not covers and inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1):
                taken.append(box)
                break
            written.remove()


# Okabe and Ito (2008) without their yellow, which is too light for lines on white.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_WIDTH, _HEIGHT = 6.4, 4.2  # inches: one column and a half of a paper at 10 pt text
_PANEL_WIDTH = 4.2
_LEGEND_COLUMNS = 4
_COLUMN = 3.03  # inches: a column of the ACL's style


def _empty_figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Figures need matplotlib; install it with pip install "nyt-h[plots]".') from error
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def new_figure(*, x: str, y: str, title: str | None = None) -> tuple[Figure, Axes]:
    """Return a figure of one panel, dressed with its axis labels and title."""
    figure = _empty_figure(_WIDTH, _HEIGHT)
    axes = figure.add_subplot()
    _dress(axes, x=x, y=y)
    if title:
        axes.set_title(title, fontsize=11, pad=14)
    return figure, axes


def new_panels(
    titles: Sequence[str], *, x: str, y: str, title: str | None = None
) -> tuple[Figure, list[Axes]]:
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


def new_column(height: float, *, title: str) -> tuple[Figure, Axes]:
    """Return a figure of one panel as wide as a column of a paper, for names on an axis."""
    figure = _empty_figure(_COLUMN, height)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7)
    axes.set_axisbelow(True)
    return figure, axes


def _dress(axes: Axes, *, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)


def line_style(number: int, *, markers: bool = False) -> dict[str, Any]:
    """Return colour, line and marker of a series, different for each of the first dozens."""
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


def legend_below(figure: Figure, row: Sequence[Axes]) -> None:
    """Draw one legend for all panels below them, off the curves: a series looks alike in each."""
    named: dict[str, Any] = {}
    for axes in row:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    for columns in range(min(_LEGEND_COLUMNS, len(named)), 0, -1):
        legend = figure.legend(
            named.values(), named.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=9
        )
        if columns == 1 or sum(map(len, named)) < 40:  # fits in any figure; to measure is to draw
            return
        figure.draw_without_rendering()
        if legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def display_label(name: str) -> str:
    """Return a name for a legend, in which matplotlib hides names like "_x" and reads "$" as maths."""
    return (" " if name.startswith("_") else "") + name.replace("$", r"\$")


def check_filled(values: Mapping[Any, Any] | Sequence[Any], name: str) -> None:
    """Raise ValueError when there is nothing to draw."""
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
    check_filled(support.tolist(), "counts.support")
    figure, axes = new_figure(x="classes by falling support", y="class weight (%)", title=title)
    places = np.arange(1, len(support) + 1)
    for number, (name, average) in enumerate(named_averages(averages).items()):
        weights = class_weights(support, average, total=np.asarray(float(counts.total)))
        share = 100 * weights / weights.sum() if weights.sum() else weights
        axes.plot(places, share, label=name, **line_style(number, markers=len(support) <= 60))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    whole_ticks(axes.xaxis)
    legend_below(figure, [axes])
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
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    check_filled(counts, "counts")
    figure, axes = new_figure(x="support of the class (log scale)", y="F1", title=title)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    names: list[tuple[str, float, float]] = []
    for number, (system, own) in enumerate(counts.items()):
        supported = np.asarray(own.support) > 0
        support = np.asarray(own.support, dtype=np.float64)[supported]
        check_filled(support.tolist(), f"counts[{system!r}].support")
        f1 = class_scores(true_positives=own.true_positives, predicted=own.predicted, support=own.support)[2]
        line = line_style(number, markers=True) | {"linestyle": "none", "markersize": 6}
        fill = "none" if number % 2 else line["color"]
        axes.plot(support, f1[supported], label=display_label(system), markerfacecolor=fill, **line)
        labels = [label for label, has in zip(own.labels, supported, strict=True) if has]
        short = [drawable(str(label).rsplit("/", 1)[-1], "") for label in labels]
        names = list(zip(short, support.tolist(), f1[supported].tolist(), strict=True))
    axes.set_ylim(-0.03, 1.05)
    if len(counts) > 1:
        legend_below(figure, [axes])
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
    figure, axes = new_figure(
        x=r"exponent $a$ of the class weight $n^a$", y=f"averaged {measure}", title=title
    )
    for number, (name, scores) in enumerate(((name_a, curve.scores_a), (name_b, curve.scores_b))):
        axes.plot(curve.exponents, scores, label=display_label(name), **line_style(number + 1))
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
    legend_below(figure, [axes])
    return figure


def drawable(name: str, instead: str) -> str:
    """Return the name, or `instead` where the font of the figures lacks one of its characters.

    >>> drawable("bert é", "place 1"), drawable("模型", "place 2")
    ('bert é', 'place 2')
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(family=["sans-serif"])))
    return name if all(font.get_char_index(ord(one)) for one in name) else instead


def whole_ticks(axis: Axis) -> None:
    """Put ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def plot_averages(
    scores: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    title: str | None = None,
    measure: str = "f1",
    bounds: Mapping[str, Mapping[str, Any]] | None = None,
) -> Figure:
    """Return the F scores under each average, a series per truth or system, over its runs.

    Args:
        scores: Truth prefix or name -> what `f1_family` or `family_from_counts` returns for each run (keys
            `{average}_{measure}`). The point is the mean over the runs, the bar one standard deviation (ddof
            = 1) to both sides; one run has no bar.
        title: Above the picture.
        measure: "f1", or "fbeta" for a family with another beta.
        bounds: Series -> `{average}_{measure}` -> (low, high), what `magt_bounds` returns; drawn as a thin
            line behind the points.

    Raises:
        ValueError: Nothing to draw, or runs without a score of the measure.
    """
    if not scores or not all(scores.values()):
        raise ValueError("`scores` is empty, or has a name without runs; there is nothing to draw.")
    first = next(iter(scores.values()))[0]
    named = [str(key).removesuffix(f"_{measure}") for key in first if str(key).endswith(f"_{measure}")]
    names = [name for name in AVERAGES if name in named] + [name for name in named if name not in AVERAGES]
    if not names:
        raise ValueError(f"`scores` hold no key that ends in _{measure}; they hold {', '.join(first)}.")
    figure, axes = new_figure(x="average", y="F1" if measure == "f1" else "F-beta", title=title)
    for number, (series, runs) in enumerate(scores.items()):
        values = [[float(run[f"{name}_{measure}"]) for run in runs] for name in names]
        sd = [statistics.stdev(own) if len(own) > 1 else 0.0 for own in values]
        # Series stand side by side, or their bars would hide each other.
        places = [place + 0.12 * (number - (len(scores) - 1) / 2) for place in range(len(names))]
        line = line_style(number, markers=True) | {"linestyle": "none"}
        means = [statistics.fmean(own) for own in values]
        label = display_label(f"{truth_name(series)} (n = {len(runs)})")
        axes.plot(places, means, label=label, **line)
        ends = [(bounds or {}).get(series, {}).get(f"{name}_{measure}") for name in names]
        for place, whisker in zip(places, ends, strict=True):
            if whisker is not None:
                axes.plot([place] * 2, whisker, color=line["color"], linewidth=1, marker="_", zorder=1)
        if len(runs) > 1:
            axes.errorbar(places, means, yerr=sd, fmt="none", ecolor=line["color"], capsize=3)
    axes.set_xticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.set_ylim(0, 1.02)
    legend_below(figure, [axes])
    return figure
