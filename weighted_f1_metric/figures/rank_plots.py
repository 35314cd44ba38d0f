"""Figures of ranks for a paper: one column wide, in greys, read without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..significance.rank_intervals import Ranking
from ..significance.rank_table import measure_title
from .plots import display_label, drawable, new_column, whole_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST_NAME = 26  # characters of 7 points
_MOST_NUMBERS = 12  # of more systems the numbers in the cells could not be read


def plot_ranks(ranking: Ranking, *, asked: str = "") -> Figure:
    """Return the rank set of each system as a line with its rank as a dot, the best on top; letters beside.

    Args:
        ranking: From `rank_intervals`.
        asked: What the sets are over, e.g. "new test bags"; written below the axis.
    """
    systems, size = ranking.systems, _text_size(len(ranking.systems))
    figure, axes = new_column(0.17 * len(systems) * size / 7 + 0.7, title=measure_title(ranking.measure))
    for place, system in enumerate(systems):
        ends = [system.rank_low, system.rank_high]
        axes.plot(ends, [place] * 2, color="0.55", linewidth=2, solid_capstyle="butt", zorder=1)
        axes.plot([system.rank], [place], marker="o", markersize=size / 2, color="black", zorder=2)
        axes.annotate(
            system.group, (1, place), xycoords=("axes fraction", "data"), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=size,
        )  # fmt: skip
    axes.set_yticks(range(len(systems)), _names(ranking, size), fontsize=size)
    axes.set_ylim(len(systems) - 0.5, -0.5)
    axes.set_xlim(0.5, len(systems) + 0.5)
    axes.set_xlabel("\n".join(filter(None, ["rank and its set", asked and f"({asked})"])), fontsize=7)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    whole_ticks(axes.xaxis)
    return figure


def plot_probability_better(ranking: Ranking, *, asked: str = "") -> Figure:
    """Return the matrix of P(the row's system is better than the column's), the best first.

    A dot marks pairs that can be told apart; in small matrices the probability stands in the cell.

    Args:
        ranking: As in `plot_ranks`.
        asked: As in `plot_ranks`.
    """
    number = len(ranking.systems)
    # A name has the height of a cell: the cells of a column share about 130 points.
    size, values = min(7.0, 130 / number), ranking.probability_better
    figure, axes = new_column(3.0, title=measure_title(ranking.measure))
    shown = axes.imshow(values, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
    for i, j in np.argwhere(~np.eye(number, dtype=bool)):
        colour = "white" if values[i, j] > 0.5 else "black"
        if ranking.separated[i, j]:
            place = i + 0.32 * (number <= _MOST_NUMBERS)
            axes.plot([j], [place], marker=".", markersize=size / 3, color=colour, markeredgewidth=0)
        if number <= _MOST_NUMBERS:
            text = f"{values[i, j]:.2f}".lstrip("0")
            axes.text(j, i, text, ha="center", va="center", fontsize=min(size, 5.5), color=colour)
    names = [f"{name}  {place}" for place, name in enumerate(_names(ranking, size), start=1)]
    axes.set_yticks(range(number), names, fontsize=size)
    columns = range(0, number, 1 if number <= 25 else 5)
    axes.set_xticks(columns, [str(place + 1) for place in columns], fontsize=max(size, 5))
    bar = figure.colorbar(shown, ax=axes, orientation="horizontal", aspect=30)
    bar.set_label("\n".join(filter(None, ["P(row > column)", asked and f"({asked})"])), fontsize=7)
    bar.ax.tick_params(labelsize=6)
    return figure


def _names(ranking: Ranking, size: float) -> list[str]:
    """Return the names as the font can draw them, cut to what fits in that size."""
    longest = int(_LONGEST_NAME * 7 / size)
    names = [drawable(system.name, f"system {n}") for n, system in enumerate(ranking.systems, start=1)]
    short = [name if len(name) <= longest else f"{name[: longest - 3]}..." for name in names]
    return [display_label(name) for name in short]


def _text_size(number: int) -> float:
    """Return the size of the names in points: 7, less where more than 25 systems share a page."""
    return max(2.0, min(7.0, 7.0 * 25 / number))
