"""The table of a track: rows the averages, columns the ground truths, beside the reference line `echo`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from .significance.comparison import Comparison, f1_measure
from .significance.rank_agreement import RankAgreement
from .table import MISSING, Table, number, percent
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
    """A Markdown table of the F scores in percent: one row an average, one column a ground truth.

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
    """The table that `track_table` writes."""
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
    """Both ends of an interval in percent.

    >>> interval((0.3875, 0.7154))
    '(38.8 to 71.5)'
    """
    low, high = (percent(end, digits=1) for end in ends)
    return f"({low} to {high})"


def bounded(bounds: Mapping[str, Any] | None, key: str) -> str:
    """What stands behind a MAGT score: a blank and its bounds, or nothing where there are none.

    >>> bounded({"micro_f1": (0.3875, 0.7154)}, "micro_f1"), bounded(None, "micro_f1")
    (' (38.8 to 71.5)', '')
    """
    return f" {interval(bounds[key])}" if bounds and key in bounds else ""


BOUNDS_NOTE = (
    "In brackets behind MAGT: the least and the greatest value that it can take once the predictions that "
    "nobody judged are answered; MAGT counts them as wrong. Intervals of two systems must not be subtracted."
)


def open_note(bounds: Mapping[str, Any]) -> str:
    """How many predictions the bounds of MAGT wait for, and for how many a twin holds the answer; a line.

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
    """The table of precision, recall and F in percent, a row an average.

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
    """The table of the classes: precision, recall and F in percent, support, predictions; largest first.

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
    """The averages of a truth in `scores`, macro over all relations aside: [B]'s in its order, then others.

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
    if any(str(key).endswith("_auc") for key in scores):
        lines.append(AUC_NOTE)
    return lines


def twins_note(scores: Mapping[str, Any]) -> str:
    """How many rows are twins."""
    return (
        f"{scores['num_twins']} of {scores['num_units']} rows are twins: the same sentence of the same "
        "bag stands in more than one row."
    )


SIGNIFICANCE_LEVEL = 0.05


def comparison_table(
    compared: Mapping[str, Comparison], *, name_a: str = "a", name_b: str = "b", truth: str = ""
) -> str:
    """Return a Markdown table of the F1 averages of one truth: both systems in percent, p, d and g.

    Args:
        compared: What `compare_runs` returns.
        name_a: Name of system a for the table.
        name_b: Name of system b.
        truth: The prefix of the measures, e.g. "magt"; "" for measures without prefix.

    Raises:
        ValueError: `compared` holds no F1 average of this truth.

    >>> from weighted_f1_metric.significance.comparison import compare_runs
    >>> runs_a, runs_b = [{"micro_f1": 0.60}, {"micro_f1": 0.62}], [{"micro_f1": 0.57}, {"micro_f1": 0.59}]
    >>> print(comparison_table(compare_runs(runs_a=runs_a, runs_b=runs_b), name_a="PTR", name_b="RECENT"))
    | F1 (%) | micro |
    | --- | ---: |
    | PTR (n = 2) | 61.0 ± 1.4 |
    | RECENT (n = 2) | 58.0 ± 1.4 |
    | difference | +3.0 |
    | p (Welch) | 0.17 |
    | p (Holm) | 0.17 |
    | Cohen's d | 2.1 (huge) |
    | Hedges' g | 1.2 |
    """
    return against_reference({name_b: compared}, reference=name_a, truth=truth).markdown()


def reference_table(
    others: Mapping[str, Mapping[str, Comparison]], *, reference: str, truth: str = ""
) -> str:
    """Return the table of `comparison_table` for one system, a, against several: a block of rows for each b.

    Args:
        others: Name of a system b -> what `compare_runs` returns for a and b, a the same in all.
        reference: Name of system a.
        truth: The prefix of the measures, e.g. "magt"; "" for measures without prefix.

    Raises:
        ValueError: A comparison holds no F1 average of this truth, or there is none.
    """
    return against_reference(others, reference=reference, truth=truth).markdown()


def against_reference(
    others: Mapping[str, Mapping[str, Comparison]], *, reference: str, truth: str = ""
) -> Table:
    """The table that `reference_table` writes."""
    blocks = {name: _f1_averages(compared, truth) for name, compared in others.items()}
    for name, columns in blocks.items():
        if not columns:
            compared = others[name]
            truths = {repr(found[0]) for measure in compared if (found := f1_measure(measure))}
            raise ValueError(
                f"No F1 average of the truth {truth!r} was compared; truths present: "
                f"{', '.join(sorted(truths)) or 'none'}."
            )
    if not blocks:
        raise ValueError(f"`others` is empty; {reference!r} is compared with nothing.")
    averages = next(iter(blocks.values()))
    first = next(iter(averages.values()))
    label = " ".join(filter(None, [truth_name(truth), "F1 (%)"]))
    rows = [
        [
            f"{reference} (n = {first.n_a})",
            *(percent(c.mean_a, c.sd_a, digits=1) for c in averages.values()),
        ]
    ]
    notes = []
    for name, columns in blocks.items():
        own = [columns[average] for average in averages]
        rows += [
            [f"{name} (n = {own[0].n_b})", *(percent(c.mean_b, c.sd_b, digits=1) for c in own)],
            ["difference", *(MISSING if c.difference is None else f"{100 * c.difference:+.1f}" for c in own)],
            ["p (Welch)", *(p_text(c.p_value) for c in own)],
            ["p (Holm)", *(p_text(c.p_holm) for c in own)],
            ["Cohen's d", *(number(c.cohens_d, ".1f") + (f" ({c.effect})" if c.effect else "") for c in own)],
            ["Hedges' g", *(number(c.hedges_g, ".1f") for c in own)],
        ]
        note = _reasons(columns)
        if note:
            notes.append(f"{MISSING}: {note} (a is {reference}, b is {name}).")
    return Table([label, *averages], rows, notes)


def _reasons(columns: Mapping[str, Comparison]) -> str:
    """Return why values are missing, with the averages where not all share one reason; or nothing."""
    reasons: dict[str, list[str]] = {}
    for average, comparison in columns.items():
        if comparison.reason:
            reasons.setdefault(comparison.reason, []).append(average)
    whole = len(reasons) == 1 and len(next(iter(reasons.values()))) == len(columns)
    texts = [reason if whole else f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return "; ".join(texts)


def _f1_averages(compared: Mapping[str, Comparison], truth: str) -> dict[str, Comparison]:
    found = {measure: f1_measure(measure) for measure in compared}
    return {pair[1]: compared[measure] for measure, pair in found.items() if pair and pair[0] == truth}


def p_text(p: float | None) -> str:
    """Return a p-value with two digits; powers of ten below 0.001, as in the paper."""
    if p is None:
        return MISSING
    return f"{p:.2g}" if p >= 0.001 else f"{p:.1e}".replace("e-0", "e-")


def disagreements(compared: Mapping[str, Comparison], *, name_a: str = "a", name_b: str = "b") -> list[str]:
    """Return sentences on where averages of one truth, or truths under one average, prefer different systems.

    An empty list says that every F1 average of every truth prefers the same system (or finds no difference).
    Each sentence states the difference in points and whether it is significant at 0.05 after Holm's
    correction.

    >>> runs_a, runs_b = [{"micro_f1": 0.60, "macro_f1": 0.30}], [{"micro_f1": 0.57, "macro_f1": 0.35}]
    >>> from weighted_f1_metric.significance.comparison import compare_runs
    >>> for text in disagreements(compare_runs(runs_a=runs_a, runs_b=runs_b), name_a="X", name_b="Y"):
    ...     print(text)
    The averages disagree on who is better: X by micro (+3.0, not tested); Y by macro (+5.0, not tested).
    """
    by_truth: dict[str, dict[str, Comparison]] = {}
    by_average: dict[str, dict[str, Comparison]] = {}
    for measure, comparison in compared.items():
        found = f1_measure(measure)
        if found:
            by_truth.setdefault(found[0], {})[found[1]] = comparison
            by_average.setdefault(found[1], {})[truth_name(found[0])] = comparison
    sentences = []
    for truth, averages in by_truth.items():
        sides = _sides(averages, name_a, name_b)
        if sides:
            under = f"Under {truth_name(truth)} the" if truth else "The"
            sentences.append(f"{under} averages disagree on who is better: {sides}.")
    for average, truths in by_average.items():
        sides = _sides(truths, name_a, name_b)
        if sides:
            sentences.append(f"By {average} F1 the truths disagree on who is better: {sides}.")
    return sentences


def _sides(comparisons: Mapping[str, Comparison], name_a: str, name_b: str) -> str | None:
    """Return who is better by what, or None when nobody is contradicted."""
    sides: dict[str, list[str]] = {name_a: [], name_b: []}
    for name, comparison in comparisons.items():
        if comparison.difference:
            winner = name_a if comparison.difference > 0 else name_b
            sides[winner].append(f"{name} (+{100 * abs(comparison.difference):.1f}, {_verdict(comparison)})")
    if not (sides[name_a] and sides[name_b]):
        return None
    return "; ".join(f"{winner} by {', '.join(reasons)}" for winner, reasons in sides.items())


def _verdict(comparison: Comparison) -> str:
    if comparison.p_holm is None:
        return "not tested"
    return "significant" if comparison.p_holm <= SIGNIFICANCE_LEVEL else "not significant"


def agreement_table(agreement: RankAgreement) -> str:
    """Return a Markdown table of the systems' ranks: measures in rows, systems in columns, 1 the best.

    >>> from weighted_f1_metric.significance.rank_agreement import rank_systems
    >>> print(agreement_table(rank_systems({"x": [{"micro_f1": 0.9}], "y": [{"micro_f1": 0.95}]})))
    | rank by | x | y |
    | --- | ---: | ---: |
    | micro_f1 | 2 (90.0) | 1 (95.0) |
    """
    return ranks_by_measure(agreement).markdown()


def ranks_by_measure(agreement: RankAgreement) -> Table:
    """The table that `agreement_table` writes."""
    rows = [
        [
            measure,
            *(
                f"{rank:g} ({percent(mean, digits=1)})"
                for rank, mean in zip(agreement.ranks[measure], agreement.means[measure], strict=True)
            ),
        ]
        for measure in agreement.measures
    ]
    return Table(["rank by", *agreement.systems], rows)


def rank_disagreements(agreement: RankAgreement) -> list[str]:
    """Return a sentence for each pair of measures that order some systems in opposite ways, with Kendall's
    tau.

    >>> from weighted_f1_metric.significance.rank_agreement import rank_systems
    >>> x, y = {"micro_f1": 0.9, "macro_f1": 0.4}, {"micro_f1": 0.8, "macro_f1": 0.5}
    >>> rank_disagreements(rank_systems({"x": [x], "y": [y]}))
    ['micro_f1 and macro_f1 (tau = -1.00): x before y by the first, after it by the second.']
    """
    sentences = []
    for one, other in itertools.combinations(agreement.measures, 2):
        swapped = agreement.swapped_pairs(one, other)
        if swapped:
            tau = agreement.kendall_tau[one, other]
            shown = ", ".join(f"{better} before {worse}" for better, worse in swapped[:3])
            more = f" and {len(swapped) - 3} more pairs" if len(swapped) > 3 else ""
            tau_text = "undefined" if tau is None else f"{tau:.2f}"
            sentences.append(
                f"{one} and {other} (tau = {tau_text}): {shown}{more} by the first, after it by the second."
            )
    return sentences
