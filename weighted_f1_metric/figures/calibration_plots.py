"""Figures of what scores are worth: reliability, and risk against coverage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..systems.calibration import Calibration
from ..units import truth_name
from .plots import check_filled, legend_below, line_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_reliability(found: Mapping[str, Calibration], *, title: str | None = None) -> Figure:
    """Return the share of right predictions against their mean score, a line per truth; the diagonal is a
    system whose scores are probabilities.

    Args:
        found: Truth prefix -> its calibration, with bins (scores within [0, 1]).
        title: Above the picture.

    Raises:
        ValueError: Nothing to draw.
    """
    drawn = {prefix: one for prefix, one in found.items() if one.bins}
    check_filled(drawn, "found")
    figure, axes = new_figure(x="mean score of a bin", y="share of right predictions", title=title)
    axes.plot((0, 1), (0, 1), color="0.6", linewidth=1, linestyle=(0, (2, 2)))
    for number, (prefix, one) in enumerate(drawn.items()):
        means, shares, _ = zip(*one.bins, strict=True)
        label = f"{truth_name(prefix)} (ECE {one.ece:.3f})"
        axes.plot(means, shares, label=label, **line_style(number, markers=True))
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.02, 1.02)
    legend_below(figure, [axes])
    return figure


def plot_risk_coverage(found: Mapping[str, Calibration], *, title: str | None = None) -> Figure:
    """Return the share of wrong predictions against the share that is kept from the highest score on.

    Args:
        found: Truth prefix -> its calibration.
        title: Above the picture.

    Raises:
        ValueError: Nothing to draw.
    """
    check_filled(found, "found")
    figure, axes = new_figure(x="share of the predictions that is kept", y="share that is wrong", title=title)
    for number, (prefix, one) in enumerate(found.items()):
        coverage, risk = zip(*one.curve, strict=True)
        label = f"{truth_name(prefix)} (area {one.aurc:.3f})"
        axes.plot((0, *coverage), (risk[0], *risk), label=label, drawstyle="steps-pre", **line_style(number))
    axes.axhline(1 - next(iter(found.values())).wanted, color="0.6", linewidth=1, linestyle=(0, (2, 2)))
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.02, 1.02)
    legend_below(figure, [axes])
    return figure
