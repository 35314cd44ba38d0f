"""Figures as PNG files, and as PDF for a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..figures.rank_plots import plot_probability_better, plot_ranks
from ..figures.track_figures import draw_track_figures
from ..significance.rank_intervals import RankIntervals
from ..tracks import ScoredTrack
from .files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_track_figures(folder: Path, scored: ScoredTrack, *more_runs: ScoredTrack) -> list[Path]:
    """Return the paths of the figures written; the runs are those of `draw_track_figures`."""
    return write_figures(folder, draw_track_figures(scored, *more_runs))


def write_figures(
    folder: Path, figures: Mapping[str, Figure], *, forms: Sequence[str] = ("png",)
) -> list[Path]:
    """Return the paths of the figures written, <name>.<form> for each, there whole or not at all.

    Args:
        folder: Where to write; made when it is not there.
        figures: Name -> figure.
        forms: png, or pdf: its fonts are TrueType, as publishers ask, and it holds no date, so that the same
            figure gives the same file.
    """
    paths = []
    for name, figure in figures.items():
        for form in forms:
            path = folder / f"{name}.{form}"
            with atomic_path(path) as part:
                _save(figure, part, form)
            paths.append(path)
    return paths


def _save(figure: Figure, path: Path, form: str) -> None:
    from matplotlib import rc_context

    with rc_context({"pdf.fonttype": 42}):
        figure.savefig(path, format=form, metadata={"CreationDate": None} if form == "pdf" else None)


def write_rank_figures(folder: Path, result: RankIntervals) -> list[Path]:
    """Return the paths of the figures of each ranking written: the rank sets, and P(a > b) of all pairs."""
    figures = {}
    for measure, ranking in result.rankings.items():
        name = re.sub(r"[^\w.-]", "_", measure)
        asked = "new test bags, these runs" if result.question == "runs" else "new seeds, new test bags"
        figures[f"ranks_{name}"] = plot_ranks(ranking, asked=asked)
        figures[f"better_{name}"] = plot_probability_better(ranking, asked=asked)
    return write_figures(folder, figures, forms=("pdf", "png"))
