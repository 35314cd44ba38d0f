"""The figure of the averages: one scheme beside the other, a series per truth or system."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .comparison_table import truth_name
from .plots import _figure, _label, _style
from .weighting import AVERAGES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_averages(
    scores: Mapping[str, Sequence[Mapping[str, Any]]], *, title: str | None = None, measure: str = "f1"
) -> Figure:
    """Return the F scores under each average, a series per truth or system, over its runs.

    Args:
        scores: Truth prefix or name -> what `f1_family` or `family_from_counts` returns for each run (keys
            `{average}_{measure}`). The point is the mean over the runs, the bar one standard deviation (ddof
            = 1) to both sides; one run has no bar.
        title: Above the picture.
        measure: "f1", or "fbeta" for a family with another beta.

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
    figure, axes = _figure(x="average", y="F1" if measure == "f1" else "F-beta", title=title)
    for number, (series, runs) in enumerate(scores.items()):
        values = [[float(run[f"{name}_{measure}"]) for run in runs] for name in names]
        sd = [statistics.stdev(own) if len(own) > 1 else 0.0 for own in values]
        # Series stand side by side, or their bars would hide each other.
        places = [place + 0.12 * (number - (len(scores) - 1) / 2) for place in range(len(names))]
        line = _style(number, markers=True) | {"linestyle": "none"}
        means = [statistics.fmean(own) for own in values]
        label = _label(f"{truth_name(series)} (n = {len(runs)})")
        axes.plot(places, means, label=label, **line)
        if len(runs) > 1:
            axes.errorbar(places, means, yerr=sd, fmt="none", ecolor=line["color"], capsize=3)
    axes.set_xticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False, loc="best")
    return figure
