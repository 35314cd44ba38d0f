"""The table of a track: rows the averages, columns the ground truths, beside the reference line `echo`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from .significance.comparison import Comparison, f1_measure
from .significance.rank_agreement import RankAgreement
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


SIGNIFICANCE_LEVEL = 0.05

# What readers call a truth; the empty prefix is a score without tracks.
TRUTH_NAMES = {"": "", "dsgt": "DSGT", "magt": "MAGT", "magt_ds_scope": "MAGT (DS scope)"}


def truth_name(truth: str) -> str:
    """Return what tables call a truth prefix.

    >>> truth_name("magt_ds_scope"), truth_name("test_magt")
    ('MAGT (DS scope)', 'test_magt')
    """
    return TRUTH_NAMES.get(truth, truth)


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
    return reference_table({name_b: compared}, reference=name_a, truth=truth)


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
    lines = [f"| {label} | {' | '.join(averages)} |", f"| --- |{' ---: |' * len(averages)}"]
    lines.append(
        _row(f"{reference} (n = {first.n_a})", [_mean_and_sd(c.mean_a, c.sd_a) for c in averages.values()])
    )
    notes = []
    for name, columns in blocks.items():
        n = next(iter(columns.values())).n_b
        rows: list[tuple[str, Callable[[Comparison], str]]] = [
            (f"{name} (n = {n})", lambda c: _mean_and_sd(c.mean_b, c.sd_b)),
            ("difference", lambda c: "–" if c.difference is None else f"{100 * c.difference:+.1f}"),
            ("p (Welch)", lambda c: p_text(c.p_value)),
            ("p (Holm)", lambda c: p_text(c.p_holm)),
            ("Cohen's d", lambda c: "–" if c.cohens_d is None else f"{c.cohens_d:.1f} ({c.effect})"),
            ("Hedges' g", lambda c: "–" if c.hedges_g is None else f"{c.hedges_g:.1f}"),
        ]
        lines += [_row(title, [text(columns[average]) for average in averages]) for title, text in rows]
        note = _reasons(columns)
        if note:
            notes.append(f"– : {note} (a is {_cell(reference)}, b is {_cell(name)}).")
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _row(title: str, cells: list[str]) -> str:
    return f"| {_cell(title)} | {' | '.join(cells)} |"


def _reasons(columns: Mapping[str, Comparison]) -> str:
    """Return why values are missing, with the averages where not all share one reason; or nothing."""
    reasons: dict[str, list[str]] = {}
    for average, comparison in columns.items():
        if comparison.reason:
            reasons.setdefault(comparison.reason, []).append(average)
    whole = len(reasons) == 1 and len(next(iter(reasons.values()))) == len(columns)
    texts = [reason if whole else f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return "; ".join(texts)


def _cell(text: str) -> str:
    """Return text for a cell: one line, bars (and the escapes of bars) escaped."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def _f1_averages(compared: Mapping[str, Comparison], truth: str) -> dict[str, Comparison]:
    found = {measure: f1_measure(measure) for measure in compared}
    return {pair[1]: compared[measure] for measure, pair in found.items() if pair and pair[0] == truth}


def _mean_and_sd(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "–"
    return f"{100 * mean:.1f}" + ("" if sd is None else f" ± {100 * sd:.1f}")


def p_text(p: float | None) -> str:
    """Return a p-value with two digits; powers of ten below 0.001, as in the paper."""
    if p is None:
        return "–"
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
    lines = [f"| rank by | {' | '.join(map(_cell, agreement.systems))} |"]
    lines.append(f"| --- |{' ---: |' * len(agreement.systems)}")
    for measure in agreement.measures:
        pairs = zip(agreement.ranks[measure], agreement.means[measure], strict=True)
        lines.append(f"| {measure} | {' | '.join(f'{rank:g} ({100 * mean:.1f})' for rank, mean in pairs)} |")
    return "\n".join(lines)


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
