"""Figures as PNG files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..figures.track_figures import draw_track_figures
from ..tracks import ScoredTrack
from .files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_track_figures(folder: Path, scored: ScoredTrack, *more_runs: ScoredTrack) -> list[Path]:
    """Return the paths of the figures written; the runs are those of `draw_track_figures`."""
    return write_figures(folder, draw_track_figures(scored, *more_runs))


def write_figures(folder: Path, figures: Mapping[str, Figure]) -> list[Path]:
    """Return the paths of the figures written, <name>.png for each, there whole or not at all.

    Args:
        folder: Where to write; made when it is not there.
        figures: Name -> figure.
    """
    paths = []
    for name, figure in figures.items():
        path = folder / f"{name}.png"
        with atomic_path(path) as part:
            figure.savefig(part, format="png")
        paths.append(path)
    return paths
