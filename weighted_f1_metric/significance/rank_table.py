"""Ranks in words and tables: what was asked, what may be concluded, and what more seeds or bags would do."""

from __future__ import annotations

from ..table import Table, percent
from ..tables import RANKING_NAMES
from ..units import TRUTHS, truth_name
from .comparison import f1_measure
from .rank_intervals import Ranking, RankIntervals

QUESTION_TEXTS = {
    "runs": "Question: same runs, new test bags: would these runs keep their order? Nothing is said of other "
    "seeds.",
    "seeds": "Question: new seeds and new test bags: would the systems keep their order?",
}


def rank_table(ranking: Ranking) -> Table:
    """Return the table of one measure, a row per system, the best first; groups are letters."""
    rows = [
        [
            system.name,
            str(system.num_runs),
            percent(system.score),
            str(system.rank),
            f"{system.rank_low}-{system.rank_high}",
            system.group,
        ]
        for system in ranking.systems
    ]
    return Table([measure_title(ranking.measure), "runs", "score (%)", "rank", "rank set", "group"], rows)


def measure_title(measure: str) -> str:
    """Return the key of a measure as people write it.

    >>> measure_title("magt_dodrans_f1"), measure_title("dsgt_macro_all_f1"), measure_title("magt_auc")
    ('MAGT dodrans F1', 'DSGT macro F1 over all relations', 'MAGT AUC')
    >>> measure_title("magt_precision_at_50"), measure_title("micro_recall")
    ('MAGT P@50', 'micro_recall')
    """
    truth, rest = _split(measure)
    if rest.startswith("precision_at_"):
        name = f"P@{rest.removeprefix('precision_at_')}"
    elif rest == "macro_all_f1":
        name = "macro F1 over all relations"
    else:
        found = f1_measure(rest)
        name = f"{found[1]} F1" if found and not found[0] else RANKING_NAMES.get(rest, "")
    return " ".join(filter(None, [truth and truth_name(truth), name])) if name else measure


def _split(measure: str) -> tuple[str, str]:
    """Return the truth of a key, "" for none, and the rest of it."""
    for truth in sorted(TRUTHS, key=len, reverse=True):
        if measure.startswith(f"{truth}_"):
            return truth, measure.removeprefix(f"{truth}_")
    return "", measure


def rank_notes(result: RankIntervals) -> list[str]:
    """Return what was asked, the family of the comparisons, and what can and cannot be concluded."""
    return [*question_notes(result), *measure_notes(result)]


def question_notes(result: RankIntervals) -> list[str]:
    """Return what was asked, the family of the comparisons, and what must be known of the systems."""
    return [
        f"{QUESTION_TEXTS[result.question]} {result.n_resamples} draws of {result.num_bags} bags (seed "
        f"{result.seed}); with probability {result.confidence:g} all rank sets of one measure hold at once: "
        "the family is all pairs of its systems, measures are not corrected for each other. Systems that "
        "share a letter cannot be told apart, which does not show them to be equal.",
        *result.notes,
    ]


def measure_notes(result: RankIntervals) -> list[str]:
    """Return for each measure who can be told apart, and what more seeds or bags would do."""
    return [
        " ".join([f"{measure_title(measure)}:", told_apart(ranking), needed(ranking)]).strip()
        for measure, ranking in result.rankings.items()
    ]


def told_apart(ranking: Ranking) -> str:
    """Return how many neighbours can be told apart, and from which difference on a typical pair could be."""
    last = len(ranking.systems) - 1
    told = sum(bool(ranking.separated[place, place + 1]) for place in range(last))
    text = f"{told} of {last} neighbours can be told apart"
    threshold = ranking.typical_threshold
    if threshold is None:
        return f"{text}; no number of points would be enough on so few bags."
    return f"{text}; a typical pair can from a difference of {100 * threshold:.1f} points on."


def needed(ranking: Ranking) -> str:
    """Return the parts of the variance and what would halve the interval; nothing without seeds."""
    parts = ranking.variance
    if parts is None:
        return ""
    runs = f"{parts.runs_for_half} seeds a system" if parts.runs_for_half else "no number of seeds"
    bags = f"{parts.bags_for_half} test bags" if parts.bags_for_half else "no number of test bags"
    shown = ", ".join(
        f"{name} {100 * part.estimate**0.5:.2f} ({100 * part.low**0.5:.2f} to {100 * part.high**0.5:.2f})"
        for name, part in (
            ("seeds", parts.seeds),
            ("bags", parts.bags),
            ("seeds x bags", parts.seeds_x_bags),
        )
    )
    return (
        f"The sd of one run's score, in points, with its 95% interval: {shown}. Half the width takes {runs}, "
        f"or {bags}."
    )


def rank_overview(result: RankIntervals, truth: str) -> Table | None:
    """Return the table of a truth: a row per system, a column per F1 average: rank (its set) letters.

    Args:
        result: From `rank_intervals`.
        truth: Its prefix, "" without tracks.

    Returns:
        The table, its rows by the ranks under the first average; None when no F1 of the truth was ranked.
    """
    columns = {}
    for measure in result.rankings:
        own, name = _split(measure)
        if own == truth and name.endswith(("_f1", "_fbeta")) and name != "max_f1":
            columns[name.rpartition("_")[0].replace("_", " ")] = measure
    if not columns:
        return None
    cells: dict[str, list[str]] = {}
    for measure in columns.values():
        for one in result.rankings[measure].systems:
            place = f"{one.rank} ({one.rank_low}-{one.rank_high}) {one.group}"
            cells.setdefault(one.name, []).append(place)
    heading = " ".join(filter(None, [truth and truth_name(truth), "F: rank (set) group"]))
    return Table([heading, *columns], [[name, *own] for name, own in cells.items()])
