"""Names beside the points of a figure, moved so that they do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["write_names"]

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
