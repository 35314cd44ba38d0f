"""The table of a track: rows the averages, columns the ground truths, beside the reference line `echo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .weighting import AVERAGES

COLUMN_TITLES = {"dsgt": "DSGT", "magt": "MAGT", "magt_ds_scope": "MAGT (DS scope)"}
MACRO_ALL_TITLE = "macro, all relations"
RANKING_NAMES = {"auc": "AUC", "average_precision": "AP", "max_f1": "max F1 (optimistic)"}


def track_table(
    scores: Mapping[str, Any], *, echo: Mapping[str, Any] | None = None, sd: Mapping[str, Any] | None = None
) -> str:
    """A Markdown table of the F scores in percent: one row an average, one column a ground truth.

    Args:
        scores: what `score_track` returns, or means over several runs under the same keys.
        echo: the scores of copying each unit's own DS relations, shown in columns of their own; default: what
            `scores` holds under "echo".
        sd: standard deviations under the same keys, shown behind the scores.

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
    reference = scores.get("echo") if echo is None else echo
    measure = "fbeta" if any(str(key).endswith("_fbeta") for key in scores) else "f1"
    prefixes = [prefix for prefix in COLUMN_TITLES if f"{prefix}_macro_all_{measure}" in scores]
    if not prefixes:
        raise ValueError(
            f"`scores` holds none of the prefixes {', '.join(COLUMN_TITLES)}; pass what score_track returns."
        )
    rows = {average: average for average in _averages(scores, prefixes[0], measure)}
    rows["macro_all"] = MACRO_ALL_TITLE
    unit = "F1" if measure == "f1" else "F-beta"
    titles = [COLUMN_TITLES[prefix] for prefix in prefixes]
    header = [f"{unit} in percent", *titles]
    if reference:
        header += [f"{title} of echo" for title in titles]
    lines = [_line(header), "| --- | " + " | ".join(["---:"] * (len(header) - 1)) + " |"]
    for average, title in rows.items():
        keys = [f"{prefix}_{average}_{measure}" for prefix in prefixes]
        cells = [_percent(scores.get(key), None if sd is None else sd.get(key)) for key in keys]
        if reference:
            cells += [_percent(reference.get(key), None) for key in keys]
        lines.append(_line([title, *cells]))
    return "\n".join(lines)


def _averages(scores: Mapping[str, Any], prefix: str, measure: str) -> list[str]:
    """The averages in `scores`: those of [B] in its order, then others in theirs."""
    names = []
    for key in scores:
        text = str(key)
        if not (text.startswith(f"{prefix}_") and text.endswith(f"_{measure}")):
            continue
        name = text[len(prefix) + 1 : -len(measure) - 1]
        # A longer prefix ("magt_ds_scope") and the measures that are no averages are left out.
        if name not in ("macro_all", "max") and not name.startswith("ds_scope_"):
            names.append(name)
    return [name for name in AVERAGES if name in names] + [name for name in names if name not in AVERAGES]


def _percent(value: Any, deviation: Any) -> str:
    if value is None:
        return "-"
    text = f"{100 * float(value):.2f}"
    return text if deviation is None else f"{text} ± {100 * float(deviation):.2f}"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def track_notes(scores: Mapping[str, Any]) -> list[str]:
    """What is said under the table of a track: how many units and predictions there are, what is undefined.

    Args:
        scores: what `score_track` returns.
    """
    lines = [
        f"{scores['num_units']} units, {scores['num_pairs']} (unit, DS relation) pairs; predicted relations: "
        f"{scores['num_judged_no']} refused by a human, {scores['num_unjudged']} judged by nobody.",
    ]
    if scores["undefined"]:
        lines.append(f"Undefined, printed as 0: {', '.join(scores['undefined'])}.")
    return lines


def twins_note(scores: Mapping[str, Any]) -> str:
    """How many rows are twins."""
    return (
        f"{scores['num_twins']} of {scores['num_units']} rows are twins: the same sentence of the same "
        "bag under another relation."
    )
