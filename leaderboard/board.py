"""Records -> the board: models by measures, sorted, marked where averages disagree, and drawn."""

from __future__ import annotations

import html
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weighted_f1_metric import (
    BOUNDS_NOTE,
    COLOURS,
    TRUTH_NAMES,
    Ranking,
    RankIntervals,
    comparable,
    drawable,
    space,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The averages that are compared, then the other measures; key without the truth -> title.
AVERAGES = {
    "micro_f1": "micro F1",
    "weighted_f1": "weighted F1",
    "dodrans_f1": "dodrans F1",
    "entropy_f1": "entropy F1",
    "macro_f1": "macro F1",
    "macro_all_f1": "macro F1, all relations",
}
# What stands above the columns; the text below says that the averages are of F1.
_HEADS = {"macro_all_f1": "macro (all)", "micro_precision": "micro P", "micro_recall": "micro R"}
MEASURES = {
    **AVERAGES,
    "micro_precision": "micro precision",
    "micro_recall": "micro recall",
    "auc": "AUC",
}
# A rank that differs by more places than this is marked.
MAX_PLACES_APART = 2
MAX_DRAWN = 15
MAX_DRAWN_NAME = 28

Record = Mapping[str, Any]


def records_of(records: Sequence[Record], *, track: str, truth: str, signature: str) -> list[Record]:
    """Return the records of a track and truth that are comparable with `signature`, in their order."""
    return [
        record
        for record in records
        if record["track"] == track
        and truth in record["signatures"]
        and comparable(record["signatures"][truth], signature)
    ]


def places(values: Sequence[float | None]) -> list[int | None]:
    """Return the place of each value, 1 the largest; equal values share the better place, None has none.

    >>> places([0.5, None, 0.7, 0.5])
    [2, None, 1, 2]
    """
    known = sorted(value for value in values if value is not None)
    return [None if value is None else 1 + len(known) - bisect_right(known, value) for value in values]


def board_html(
    records: Sequence[Record],
    *,
    truth: str,
    sort_by: str,
    echo: Mapping[str, Any],
    digits: int = 2,
    ranks: RankIntervals | None = None,
) -> str:
    """Return the table of one track and truth, the best by `sort_by` first, copying the distant labels last.

    Places are those of the values as they are shown. A place under another average that differs by more than
    `MAX_PLACES_APART` is marked in its cell; the best value of a column is bold.

    Args:
        records: as `records_of` returns them.
        truth: "dsgt", "magt" or "magt_ds_scope".
        sort_by: a key of `MEASURES`.
        echo: what `GoldData.echo` returns.
        digits: decimals of the percentages.
        ranks: rank sets and groups of the systems, which stand beside their places.
    """
    columns = {key: [_value(record["scores"], truth, key, digits) for record in records] for key in MEASURES}
    placed = {key: places(column) for key, column in columns.items()}
    ranking = None if ranks is None else ranks.rankings.get(f"{truth}_{sort_by}")
    rank_heads = ["place"] if ranking is None else ["place", "rank set", "group"]
    order = sorted(
        range(len(records)), key=lambda row: (placed[sort_by][row] or len(records) + 1, records[row]["name"])
    )
    rows: list[list[object]] = []
    marks = 0
    for row in order:
        own = placed[sort_by][row]
        cells: list[object] = []
        for key, column in columns.items():
            sd = records[row].get("sd", {}).get(f"{truth}_{key}")
            cell = space.percent(column[row], sd, digits=digits)
            best = f"<strong>{cell}</strong>" if placed[key][row] == 1 else cell
            mark = _mark(own, placed[key][row]) if key in AVERAGES else ""
            marks += bool(mark)
            parts = [best, mark, bounds_html(records[row], truth, key)]
            cells.append(space.SafeHtml(" ".join(filter(None, parts))))
        place = "–" if own is None else own
        rows.append([_name(records[row]), place, *_rank_cells(records[row]["name"], ranking), *cells])
    copy = [
        "copy of the distant labels",
        *[""] * len(rank_heads),
        *(space.percent(_value(echo, truth, key, digits), digits=digits) for key in MEASURES),
    ]
    heads = {key: _HEADS.get(key, title.removesuffix(" F1")) for key, title in MEASURES.items()}
    header = ["model", *rank_heads, *("↓ " * (key == sort_by) + head for key, head in heads.items())]
    notes = (
        f"{len(records)} models under {TRUTH_NAMES[truth]}, sorted by {MEASURES[sort_by]}. All in percent: "
        "the averages are of F1, P is precision, R recall. Bold: the best of a column. A model of several "
        "runs (seeds) shows mean ± standard deviation. The last line is no model: it copies the distant "
        "labels."
    )
    if marks:
        notes += (
            " ▲ and ▼: so many places better or worse under that average than in this order "
            f"(more than {MAX_PLACES_APART})."
        )
    if any(record.get("bounds") for record in records) and truth == "magt":
        notes += f" {BOUNDS_NOTE}"
    if ranks is not None and ranking is not None:
        notes += f" {_ranks_note(ranks)}"
    caption = f"Models under {TRUTH_NAMES[truth]}"
    table = space.html_table(header, rows, caption=caption, name="board", sortable=True, reference=[copy])
    search = (
        '<label class="search">Search models <input class="search" type="search" autocomplete="off"></label>'
    )
    text = _csv([records[row] for row in order], truth, digits, ranking)
    link = space.download_link(text, f"board-{truth}.csv", "text/csv")
    return f'<div class="nyt-page board">{search}{table}<p>{html.escape(notes)}</p>{link}</div>'


def bounds_html(record: Record, truth: str, key: str) -> str:
    """Return the bounds of a MAGT score, small below it; "" where there are none."""
    ends = record.get("bounds", {}).get(key) if truth == "magt" else None
    return f'<span class="more">{space.interval(ends)}</span>' if ends else ""


def _rank_cells(name: str, ranking: Ranking | None) -> list[object]:
    """The rank set and the letters of a system; dashes for one that is not ranked."""
    if ranking is None:
        return []
    for system in ranking.systems:
        if system.name == name:
            low, high = system.rank_low, system.rank_high
            return [str(low) if low == high else f"{low}–{high}", system.group]
    return ["–", "–"]


def _ranks_note(ranks: RankIntervals) -> str:
    """What rank sets and groups mean, and what was asked."""
    asked = {"runs": "on other bags", "seeds": "on other bags and with other seeds"}[ranks.question]
    lines = [
        f"Rank set: the places that a model can have {asked}; all sets of a column hold at once with "
        f"{ranks.confidence:.0%} probability ({ranks.n_resamples:,} draws of {ranks.num_bags:,} bags). "
        "Models that share a letter in their group cannot be told apart.",
        *ranks.notes,
    ]
    return " ".join(lines)


def _csv(records: Sequence[Record], truth: str, digits: int, ranking: Ranking | None) -> str:
    """The board as it is shown, with the bounds and the signature of each line."""
    bounded = [key for key in MEASURES if any(key in record.get("bounds", {}) for record in records)]
    bounded = bounded if truth == "magt" else []
    header = [
        "model", "version", "runs", "submitted", *(["rank set", "group"] if ranking else []), *MEASURES,
        *(f"{key}_{end}" for key in bounded for end in ("low", "high")), "signature",
    ]  # fmt: skip
    rows = [
        [
            record["name"],
            record.get("revision", 1),
            record.get("num_runs", 1),
            record.get("submitted", ""),
            *_rank_cells(record["name"], ranking),
            *(_value(record["scores"], truth, key, digits) for key in MEASURES),
            *(
                None if end is None else round(end, digits + 2)
                for key in bounded
                for end in record.get("bounds", {}).get(key, (None, None))
            ),
            record["signatures"].get(truth, ""),
        ]
        for record in records
    ]
    return space.csv_text(header, rows)


def _value(scores: Mapping[str, Any], truth: str, key: str, digits: int = 2) -> float | None:
    """A score as it is shown: rounded to so many decimals of a percent, so that places tell no more."""
    value = scores.get(f"{truth}_{key}")
    return None if value is None else round(value, digits + 2)


def _mark(own: int | None, other: int | None) -> str:
    """How many places better or worse `other` is, as HTML; empty when that is little."""
    if own is None or other is None or abs(own - other) <= MAX_PLACES_APART:
        return ""
    arrow, apart = ("▲", own - other) if other < own else ("▼", other - own)
    return f'<span class="mark" title="place {other} under this average">{arrow}{apart}</span>'


def _name(record: Record) -> object:
    """The name with its link, and below it the version and the number of runs where there are several."""
    parts = [
        f"version {record['revision']}" if record.get("revision", 1) > 1 else "",
        f"{record['num_runs']} runs" if record.get("num_runs", 1) > 1 else "",
    ]
    more = ", ".join(part for part in parts if part)
    name = html.escape(record["name"])
    if record["link"]:
        address = html.escape(record["link"])
        name = f'<a href="{address}" rel="nofollow noopener noreferrer" target="_blank">{name}</a>'
    return space.SafeHtml(f'{name} <span class="more">{more}</span>' if more else name)


def rank_figure(records: Sequence[Record], *, truth: str, sort_by: str, digits: int = 2) -> Figure | None:
    """Return rank against average, a line for each model; None with fewer than two models.

    Ranks are those among all records; the first `MAX_DRAWN` by `sort_by` are drawn.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    if len(records) < 2:
        return None
    ranks = {
        key: places([_value(record["scores"], truth, key, digits) for record in records]) for key in MEASURES
    }
    order = sorted(range(len(records)), key=lambda row: ranks[sort_by][row] or len(records) + 1)[:MAX_DRAWN]
    figure = Figure(figsize=(8.4, 1.6 + 0.34 * len(order)), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    across = list(range(len(AVERAGES)))
    for number, row in enumerate(order):
        heights = [place for key in AVERAGES if (place := ranks[key][row]) is not None]
        if len(heights) < len(AVERAGES):
            continue
        colour = COLOURS[number % len(COLOURS)]
        style = ("-", "--", ":")[number // len(COLOURS) % 3]
        axes.plot(across, heights, color=colour, linestyle=style, marker="o", linewidth=2, markersize=6)
        name = drawable(records[row]["name"], f"place {ranks[sort_by][row]} in the table")
        short = name if len(name) <= MAX_DRAWN_NAME else f"{name[: MAX_DRAWN_NAME - 1]}…"
        # Models that share a place there share the line of text.
        shared = sum(1 for other in order[:number] if ranks["macro_all_f1"][other] == heights[-1])
        axes.annotate(
            short, (across[-1], heights[-1]), xytext=(9, -10 * shared), textcoords="offset points",
            va="center", fontsize=9, color=colour, parse_math=False, annotation_clip=False,
        )  # fmt: skip
    axes.set_xticks(across, [title.replace(" F1", "").replace(", ", ",\n") for title in AVERAGES.values()])
    axes.set_ylabel(f"place under {TRUTH_NAMES[truth]}")
    axes.set_ylim(max(place for places_of in ranks.values() for place in places_of if place) + 0.5, 0.5)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="x", color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
