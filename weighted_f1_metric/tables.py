"""The table of a track: rows the averages, columns the ground truths, beside the reference line `echo`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .table import Table, percent
from .units import TRUTHS, truth_name
from .weighting import AVERAGES

MACRO_ALL_TITLE = "macro, all relations"
AUC_NOTE = (
    "The AUC of a perfect ranking is below 1 by definition: its curve begins at the first candidate, not at "
    "recall 0: 0 with one gold pair, 0.9 with ten. Average precision (AP) is 1 there."
)
RANKING_NAMES = {"auc": "AUC", "average_precision": "AP", "max_f1": "max F1 (optimistic)"}


def track_table(
    scores: Mapping[str, Any],
    *,
    echo: Mapping[str, Any] | None = None,
    sd: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
) -> str:
    """Return a Markdown table of the F scores in percent: one row an average, one column a ground truth.

    Args:
        scores: what `score_track` returns, or means over several runs under the same keys.
        echo: the scores of copying each unit's own DS relations, shown in columns of their own; default: what
            `scores` holds under "echo".
        sd: standard deviations under the same keys, shown behind the scores.
        bounds: what `magt_bounds` returns, shown behind the MAGT scores: "39.90 (38.8 to 71.5)".

    >>> keys = ["micro", "weighted", "dodrans", "entropy", "macro", "macro_all"]
    >>> scores, echo = [{f"dsgt_{key}_f1": value for key in keys} for value in (0.5, 1.0)]
    >>> print(track_table(scores, echo=echo))
    | F1 in percent | DSGT | DSGT of echo |
    | --- | ---: | ---: |
    | micro | 50.00 | 100.00 |
    | weighted | 50.00 | 100.00 |
    | dodrans | 50.00 | 100.00 |
    | entropy | 50.00 | 100.00 |
    | macro | 50.00 | 100.00 |
    | macro, all relations | 50.00 | 100.00 |

    Raises:
        ValueError: `scores` holds no F score under any prefix.
    """
    return averages_by_truth(scores, echo=echo, sd=sd, bounds=bounds).markdown()


def averages_by_truth(
    scores: Mapping[str, Any],
    *,
    echo: Mapping[str, Any] | None = None,
    sd: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
) -> Table:
    """Return the table that `track_table` writes."""
    reference = scores.get("echo") if echo is None else echo
    measure = "fbeta" if any(str(key).endswith("_fbeta") for key in scores) else "f1"
    prefixes = [prefix for prefix in TRUTHS if f"{prefix}_macro_all_{measure}" in scores]
    if not prefixes:
        raise ValueError(
            f"`scores` holds none of the prefixes {', '.join(TRUTHS)}; pass what score_track returns."
        )
    rows = {average: average for average in average_names(scores, prefixes[0], measure)}
    rows["macro_all"] = MACRO_ALL_TITLE
    unit = "F1" if measure == "f1" else "F-beta"
    titles = [truth_name(prefix) for prefix in prefixes]
    header = [f"{unit} in percent", *titles]
    if reference:
        header += [f"{title} of echo" for title in titles]
    table = []
    for average, title in rows.items():
        keys = [f"{prefix}_{average}_{measure}" for prefix in prefixes]
        cells = [percent(scores.get(key), None if sd is None else sd.get(key)) for key in keys]
        if "magt" in prefixes:
            cells[prefixes.index("magt")] += bounded(bounds, f"{average}_{measure}")
        if reference:
            cells += [percent(reference.get(key)) for key in keys]
        table.append([title, *cells])
    return Table(header, table)


def interval(ends: Sequence[float]) -> str:
    """Return both ends of an interval in percent.

    >>> interval((0.3875, 0.7154))
    '(38.8 to 71.5)'
    """
    low, high = (percent(end, digits=1) for end in ends)
    return f"({low} to {high})"


def bounded(bounds: Mapping[str, Any] | None, key: str) -> str:
    """Return the bounds of a MAGT score in brackets after a blank; nothing where there are none.

    >>> bounded({"micro_f1": (0.3875, 0.7154)}, "micro_f1"), bounded(None, "micro_f1")
    (' (38.8 to 71.5)', '')
    """
    return f" {interval(bounds[key])}" if bounds and key in bounds else ""


BOUNDS_NOTE = (
    "In brackets behind MAGT: the least and the greatest value that it can take once the predictions that "
    "nobody judged are answered; MAGT counts them as wrong. Intervals of two systems must not be subtracted."
)


def open_note(bounds: Mapping[str, Any]) -> str:
    """Return how many predictions the bounds of MAGT wait for, and for how many a twin holds the answer; a
    line.

    Args:
        bounds: what `magt_bounds` returns.
    """
    text, known = f"{bounds['num_open']} open pairs make the interval", bounds["num_judged_on_twin"]
    return (
        f"{text}; for {known} of them a twin has the answer, which by sentences counts."
        if known
        else f"{text}."
    )


def measures_table(
    scores: Mapping[str, Any],
    prefixes: Sequence[str] = ("",),
    *,
    bounds: Mapping[str, Any] | None = None,
) -> Table:
    """Return the table of precision, recall and F in percent, a row an average.

    Args:
        scores: what `f1_family` or `score_track` returns.
        prefixes: the truths of a track, whose measures stand in columns of their own; ("",) without tracks.
        bounds: as in `track_table`.

    >>> scores = {"micro_precision": 1.0, "micro_recall": 0.5, "micro_f1": 2 / 3}
    >>> print(measures_table(scores).aligned())
    in percent  precision  recall     F1
    micro          100.00   50.00  66.67
    """
    measure = "fbeta" if any(str(key).endswith("_fbeta") for key in scores) else "f1"
    titles = {"precision": "precision", "recall": "recall", measure: "F1" if measure == "f1" else "F-beta"}
    rows = {average: average for average in average_names(scores, prefixes[0], measure)}
    if prefixes[0]:
        rows["macro_all"] = MACRO_ALL_TITLE
    keys = [("_".join(filter(None, [prefix, "{}"])), name) for prefix in prefixes for name in titles]
    header = [
        "in percent",
        *(
            " ".join(filter(None, [truth_name(p) if p else "", title]))
            for p in prefixes
            for title in titles.values()
        ),
    ]
    cells = [
        [
            title,
            *(
                percent(scores.get(f"{key.format(average)}_{name}"))
                + (bounded(bounds, f"{average}_{name}") if key == "magt_{}" else "")
                for key, name in keys
            ),
        ]
        for average, title in rows.items()
    ]
    return Table(header, cells)


def classes_table(per_class: Mapping[Any, Mapping[str, Any]], *, title: str = "class") -> Table:
    """Return the table of the classes: precision, recall and F in percent, support, predictions; largest
    first.

    Args:
        per_class: `per_class` of `f1_family`.
        title: the title of the first column.
    """
    measures = [
        name for name in ("precision", "recall", "f1", "fbeta") if any(name in c for c in per_class.values())
    ]
    titles = {"f1": "F1", "fbeta": "F-beta"}
    rows = [
        [
            str(label),
            *(percent(one[name]) for name in measures),
            f"{one['support']:g}",
            f"{one['predicted']:g}",
        ]
        for label, one in sorted(per_class.items(), key=lambda item: (-item[1]["support"], str(item[0])))
    ]
    return Table([title, *(titles.get(name, name) for name in measures), "support", "predicted"], rows)


def average_names(scores: Mapping[str, Any], prefix: str, measure: str = "f1") -> list[str]:
    """Return the averages of a truth in `scores`, macro over all relations aside: [B]'s in its order, then
    others.

    >>> average_names({"magt_macro_f1": 0.5, "magt_micro_f1": 0.5, "magt_ds_scope_n^0_f1": 0.5}, "magt")
    ['micro', 'macro']
    """
    names = []
    for key in scores:
        text, start = str(key), f"{prefix}_" if prefix else ""
        if not (text.startswith(start) and text.endswith(f"_{measure}")):
            continue
        name = text[len(start) : -len(measure) - 1]
        # A longer prefix ("magt_ds_scope") and the measures that are no averages are left out.
        if name not in ("macro_all", "max") and not name.startswith("ds_scope_"):
            names.append(name)
    return [name for name in AVERAGES if name in names] + [name for name in names if name not in AVERAGES]


def track_notes(scores: Mapping[str, Any]) -> list[str]:
    """Return what is said under the table of a track: how many units and predictions there are, what is
    undefined.

    Args:
        scores: what `score_track` returns.
    """
    lines = [
        f"{scores['num_units']} units, {scores['num_pairs']} (unit, DS relation) pairs; predicted relations: "
        f"{scores['num_judged_no']} refused by a human, {scores['num_unjudged']} judged by nobody.",
    ]
    if scores["undefined"]:
        lines.append(f"Undefined, printed as 0: {', '.join(scores['undefined'])}.")
    if any(str(key).endswith("_auc") for key in scores):
        lines.append(AUC_NOTE)
    return lines


def twins_note(scores: Mapping[str, Any]) -> str:
    """Return how many rows are twins."""
    return (
        f"{scores['num_twins']} of {scores['num_units']} rows are twins: the same sentence of the same "
        "bag stands in more than one row."
    )
