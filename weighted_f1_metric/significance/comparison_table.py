"""Tables and sentences of a comparison: systems against a reference, and how measures order systems."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from ..table import MISSING, Table, number, percent
from ..units import truth_name
from .comparison import Comparison, f1_measure
from .rank_agreement import RankAgreement

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
    """Return the table that `reference_table` writes."""
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
    """Return the table that `agreement_table` writes."""
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
