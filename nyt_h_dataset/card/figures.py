"""The pictures of the card: labels in train against test, and bag sizes. matplotlib, the extra `plots`."""

from __future__ import annotations

import os
from pathlib import Path

from .corpus_statistics import CardStatistics, RelationRow, shares

LABELS_FILE, BAGS_FILE = "label_distribution.png", "bag_sizes.png"
# Okabe and Ito's colours, told apart by colour-blind people; the marks differ in shape or hatching besides.
_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#E69F00", "#009E73", "#BBBBBB"


def draw_figures(statistics: CardStatistics, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write label_distribution.png and bag_sizes.png into `folder` and return their paths.

    The first has a line per positive relation with its share of the positive rows of train, of test, and of
    the test rows with a yes, on a logarithmic axis. The second has the share of bags by number of sentences.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
    except ImportError as error:
        raise ImportError(
            'The pictures need matplotlib: pip install "nyt-h[plots]", or leave them out (--no_figures).'
        ) from error
    root = Path(folder)
    rows = [row for row in statistics.relations if row.train or row.test][::-1]
    rows = [row for row in rows if row is not statistics.relations[-1]]
    figure = Figure(figsize=(9, 1.6 + 0.29 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(rows))
    series = [
        ("train, distant labels", shares([row.train for row in rows]), _BLUE, "o"),
        ("test, distant labels", shares([row.test for row in rows]), _ORANGE, "s"),
        ("test, rows with yes", shares([row.yes for row in rows]), _GREEN, "D"),
    ]
    for place in places:
        there = [shown[place] for _, shown, _, _ in series if shown[place]]
        axes.plot([min(there), max(there)], [place, place], color=_GREY, linewidth=1.5, zorder=1)
    for title, values, color, marker in series:
        points = [(value, place) for value, place in zip(values, places, strict=True) if value]
        x, y = zip(*points, strict=True) if points else ((), ())
        axes.scatter(x, y, s=38, color=color, marker=marker, edgecolor="white", linewidth=0.6, label=title)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(list(places), [_label(row) for row in rows], fontsize=8)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel("share of the positive rows (logarithmic; no mark: no row)")
    axes.grid(axis="x", color="#E5E5E5")
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", frameon=True, fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    divergence = (
        ""
        if statistics.divergence is None
        else (f"; train and test differ by {statistics.divergence:.3f} bits (Jensen-Shannon)")
    )
    axes.set_title(f"Relations in train and test{divergence}", fontsize=10, loc="left")
    figure.savefig(root / LABELS_FILE, dpi=120, metadata={"Software": None})
    _draw_bag_sizes(statistics, root / BAGS_FILE)
    return root / LABELS_FILE, root / BAGS_FILE


def _draw_bag_sizes(statistics: CardStatistics, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.add_subplot()
    styles = {"train": (_BLUE, ""), "test": (_ORANGE, "//"), "na": (_GREEN, "..")}
    shown = {name: style for name, style in styles.items() if name in statistics.bag_sizes}
    width = 0.8 / max(len(shown), 1)
    for index, (name, (color, hatch)) in enumerate(shown.items()):
        sizes = statistics.bag_sizes[name]
        places = [place + (index - (len(shown) - 1) / 2) * width for place in range(len(sizes))]
        bars = axes.bar(
            places,
            [100 * share for share in shares(list(sizes.values()))],
            width * 0.92,
            color=color,
            hatch=hatch,
            edgecolor="white",
            label=f"{name} ({statistics.num_bags[name]:,} bags)",
        )
        axes.bar_label(bars, [f"{count:,}" for count in sizes.values()], fontsize=7, padding=2)
        axes.set_xticks(range(len(sizes)), list(sizes))
    axes.margins(y=0.1)
    axes.set_xlabel("rows in a bag (an entity pair)")
    axes.set_ylabel("share of the bags, %")
    axes.set_title("Bag sizes; above each bar the number of bags", fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def _label(row: RelationRow) -> str:
    """The name as it is, cut when it is very long; a dollar sign would start a formula."""
    name = row.name if len(row.name) <= 60 else row.name[:57] + "..."
    return name.replace("$", r"\$")
