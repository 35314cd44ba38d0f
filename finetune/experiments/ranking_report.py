"""What the two papers say of rankings, asked of the data at hand: tables, and the answers in sentences."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hub_cards import as_text, markdown_table
from weighted_f1_metric import RankAgreement, agreement_table, number, rank_systems, truth_name

from ..report.report_tables import counted
from .run_results import ALL_RELATIONS, TrackRuns
from .significance import PairTest, PairTests, difference_text
from .tables import Row, Table, truth_title


@dataclass(frozen=True)
class Swap:
    """Two systems in opposite orders under two measures.

    Attributes:
        better: The better one under the first measure.
        worse: The other.
        first: The test of the first measure, of the pair in the order of the systems.
        second: That of the second.
    """

    better: str
    worse: str
    first: PairTest
    second: PairTest

    @property
    def name(self) -> str:
        """Both names."""
        return f"{as_text(self.better)}/{as_text(self.worse)}"

    @property
    def significant(self) -> str:
        """Under which of the two the order is significant: both, first, second, neither; or "not tested"."""
        one, two = self.first.significant, self.second.significant
        if one is None or two is None:
            return "not tested"
        if one and two:
            return "both"
        return "first" if one else "second" if two else "neither"


@dataclass(frozen=True)
class RankingChange:
    """Two rankings of the same systems: Kendall's tau-b (None where one ties all), swapped pairs, ties."""

    tau: float | None
    swaps: tuple[Swap, ...]
    differ_in_ties: bool

    @property
    def verdict(self) -> str:
        """What changes, in plain words.

        "does not change", "changes, and the swap A/B is significant in both", "changes, but not
        significantly" and, with one seed and no predictions, "changes, not tested".
        """
        if not self.swaps:
            return "does not change, but for ties" if self.differ_in_ties else "does not change"
        both = [swap.name for swap in self.swaps if swap.significant == "both"]
        if both:
            swaps, are = ("swap", "is") if len(both) == 1 else ("swaps", "are")
            return f"changes, and the {swaps} {', '.join(both)} {are} significant in both"
        if all(swap.significant == "not tested" for swap in self.swaps):
            return "changes, not tested"
        return "changes, but not significantly"


def ranking_change(agreement: RankAgreement, tests: PairTests, first: str, second: str) -> RankingChange:
    """Return how the rankings by two measures, by key, differ."""
    swaps = []
    for better, worse in agreement.swapped_pairs(first, second):
        pair = (better, worse) if (better, worse) in tests else (worse, better)
        swaps.append(Swap(better, worse, tests[pair][first], tests[pair][second]))
    taus = agreement.kendall_tau
    tau = taus[first, second] if (first, second) in taus else taus[second, first]
    ties = not swaps and agreement.ranks[first] != agreement.ranks[second]
    return RankingChange(tau, tuple(swaps), ties)


def agreement_of(runs: TrackRuns) -> RankAgreement:
    """Return the rankings by every F1 of every truth."""
    keys = [key for truth in runs.truths for key in runs.f1_keys(truth).values()]
    return rank_systems({system: runs.seed_scores(system) for system in runs.systems}, measures=keys)


def swap_rows(
    runs: TrackRuns, first: tuple[str, str], second: tuple[str, str], change: RankingChange
) -> list[Row]:
    """Return rows for CSV: one for each swapped pair of two measures (truth, name), or one without names."""
    shared = {
        "track": runs.track,
        "truth_1": first[0],
        "measure_1": first[1],
        "truth_2": second[0],
        "measure_2": second[1],
        "kendall_tau": change.tau,
        "verdict": change.verdict,
    }
    empty = dict.fromkeys(
        ("better_by_1", "better_by_2", "difference_1", "p_holm_1", "difference_2", "p_holm_2", "significant")
    )
    return [
        {
            **shared,
            "better_by_1": swap.better,
            "better_by_2": swap.worse,
            "difference_1": abs(swap.first.difference),
            "p_holm_1": swap.first.p_holm,
            "difference_2": abs(swap.second.difference),
            "p_holm_2": swap.second.p_holm,
            "significant": swap.significant,
        }
        for swap in change.swaps
    ] or [{**shared, **empty}]


def ranks_table(runs: TrackRuns, tests: PairTests) -> Table | None:
    """Return the rank of every system by every F1, 1 the best; None for a single system."""
    if not tests:
        return None
    agreement = agreement_of(runs)
    rows = [
        {
            "track": runs.track,
            "system": system,
            "truth": truth,
            "measure": name,
            "key": key,
            "rank": agreement.ranks[key][place],
            "mean": agreement.means[key][place],
        }
        for truth in runs.truths
        for name, key in runs.f1_keys(truth).items()
        for place, system in enumerate(agreement.systems)
    ]
    text = f"1 is the best; F1 in percent in brackets.\n\n{agreement_table(agreement)}"
    return Table(f"ranks_{runs.track}", "Ranks of the systems", text, rows)


def between_truths(runs: TrackRuns, tests: PairTests) -> tuple[Table, list[str]] | None:
    """Return [A]'s question: a table, and sentences for each convention of MAGT; None without both truths."""
    conventions = [truth for truth in runs.truths if truth != "dsgt"]
    if not tests or "dsgt" not in runs.truths or not conventions:
        return None
    agreement = agreement_of(runs)
    names = list(runs.f1_keys("dsgt"))
    keys = {truth: runs.f1_keys(truth) for truth in runs.truths}
    changes = {
        (convention, name): ranking_change(agreement, tests, keys["dsgt"][name], keys[convention][name])
        for convention in conventions
        for name in names
    }
    verdicts = [
        [truth_name(convention), name, change.verdict, number(change.tau, ".2f")]
        for (convention, name), change in changes.items()
    ]
    cells = []
    for name in names:
        own = {truth_name(convention): changes[convention, name] for convention in conventions}
        columns = [keys[truth][name] for truth in runs.truths]
        cells += [[name, *row] for row in _swap_rows(own, tests, columns)]
    parts = [markdown_table(["DSGT against", "F1", "the ranking", "Kendall's tau"], verdicts, left=3)]
    parts.append(_swaps_text(cells, ["F1"], list(map(truth_name, runs.truths)), "DSGT and"))
    rows = [
        row
        for (convention, name), change in changes.items()
        for row in swap_rows(runs, ("dsgt", name), (convention, name), change)
    ]
    title = "Does the ranking change between DSGT and MAGT?"
    sentences = [
        _truths_sentence(convention, {name: changes[convention, name] for name in names}, len(runs.systems))
        for convention in conventions
    ]
    sentences.append(_significant_sentence(runs, tests))
    return Table(f"ranking_truths_{runs.track}", title, "\n\n".join(parts), rows), sentences


def between_averages(runs: TrackRuns, tests: PairTests) -> tuple[Table, list[str]] | None:
    """Return [B]'s question: a table, and a sentence for each truth; None for a single system."""
    if not tests:
        return None
    agreement = agreement_of(runs)
    parts, rows, sentences = [], [], []
    for truth in runs.truths:
        keys = {name: key for name, key in runs.f1_keys(truth).items() if name != ALL_RELATIONS}
        changes = {
            (one, other): ranking_change(agreement, tests, keys[one], keys[other])
            for one, other in itertools.combinations(keys, 2)
        }
        for (one, other), change in changes.items():
            rows += swap_rows(runs, (truth, one), (truth, other), change)
        under = f"Under {truth_name(truth)} the" if truth else "The"
        named = {f"{one}/{other}": change for (one, other), change in changes.items()}
        sentences.append(f"{under} ranking {_averages_verdict(named)}.")
        heading = f"**{truth_title(truth)}**\n\n" if truth else ""
        taus = [[one, *(number(_tau(changes, one, other), ".2f") for other in keys)] for one in keys]
        parts.append(heading + markdown_table(["Kendall's tau", *keys], taus))
        parts.append(_swaps_text(_swap_rows(named, tests, list(keys.values())), [], list(keys), ""))
    table = Table(
        f"ranking_averages_{runs.track}",
        "Does the ranking change between the averages?",
        "\n\n".join(parts),
        rows,
    )
    return table, sentences


def _truths_sentence(convention: str, changes: Mapping[str, RankingChange], num_systems: int) -> str:
    main = changes[ALL_RELATIONS]
    by_verdict: dict[str, list[str]] = {}
    for name, change in changes.items():
        if name != ALL_RELATIONS:
            by_verdict.setdefault(change.verdict, []).append(name)
    others = "; ".join(f"by {', '.join(names)} it {verdict}" for verdict, names in by_verdict.items())
    tau = "" if main.tau is None else f" (Kendall's tau {main.tau:.2f})"
    return (
        f"Between DSGT and {truth_name(convention)}, by macro F1 over all relations ([A]'s F1), the ranking "
        f"of {num_systems} systems {main.verdict}{tau}; {others}."
    )


def _significant_sentence(runs: TrackRuns, tests: PairTests) -> str:
    """Return how many pairs differ significantly: the order of the others may be noise."""
    counts = []
    for truth in runs.truths:
        key = runs.f1_keys(truth)[ALL_RELATIONS]
        found = [own[key].significant for own in tests.values()]
        untested = found.count(None)
        without = f" ({untested} not tested)" if untested else ""
        counts.append(f"{found.count(True)} under {truth_name(truth)}{without}")
    return (
        f"Of {counted(len(tests), 'pair')} of systems, by macro F1 over all relations, these differ "
        f"significantly: {', '.join(counts)}. The order of the others may be noise."
    )


def _averages_verdict(changes: Mapping[str, RankingChange]) -> str:
    """Return the strongest verdict of all pairs of averages."""
    swaps = [(name, swap) for name, change in changes.items() for swap in change.swaps]
    if not swaps:
        ties = any(change.differ_in_ties for change in changes.values())
        return "does not change between the averages" + (", but for ties" if ties else "")
    found: dict[str, list[str]] = {}
    for name, swap in swaps:
        if swap.significant == "both":
            found.setdefault(_unordered(swap), []).append(name)
    if found:
        listed = "; ".join(f"{pair} ({', '.join(names)})" for pair, names in found.items())
        return f"changes between the averages, and these swaps are significant in both: {listed}"
    pairs = ", ".join(dict.fromkeys(_unordered(swap) for _, swap in swaps))
    untested = all(swap.significant == "not tested" for _, swap in swaps)
    how = "not tested" if untested else "but not significantly"
    return f"changes between the averages, {how} (swapped: {pairs})"


def _unordered(swap: Swap) -> str:
    return "/".join(sorted((as_text(swap.better), as_text(swap.worse))))


def _tau(changes: Mapping[tuple[str, str], RankingChange], one: str, other: str) -> float | None:
    if one == other:
        return 1.0
    return (changes.get((one, other)) or changes[other, one]).tau


def _swap_rows(
    changes: Mapping[str, RankingChange], tests: PairTests, columns: Sequence[str]
) -> list[list[str]]:
    """Return a row for each pair of systems that swaps: its tests by key, and where it is a significant swap.

    Args:
        changes: Name of what is compared -> its change.
        tests: Of all pairs.
        columns: The keys.
    """
    pairs = {
        frozenset((swap.better, swap.worse)): (swap.better, swap.worse)
        for change in reversed(list(changes.values()))
        for swap in change.swaps
    }
    rows = []
    for systems, (better, worse) in reversed(pairs.items()):
        pair, sign = ((better, worse), 1) if (better, worse) in tests else ((worse, better), -1)
        own = [
            (name, swap.significant)
            for name, change in changes.items()
            for swap in change.swaps
            if {swap.better, swap.worse} == systems
        ]
        both = [name for name, significant in own if significant == "both"]
        no = "not tested" if all(word == "not tested" for _, word in own) else "no"
        cells = [difference_text(tests[pair][key], sign) for key in columns]
        rows.append([f"{as_text(better)} - {as_text(worse)}", *cells, ", ".join(both) or no])
    return rows


def _swaps_text(
    rows: Sequence[Sequence[str]], heading: Sequence[str], columns: Sequence[str], between: str
) -> str:
    """Return the table of swapped pairs, or that there are none."""
    if not rows:
        return "No two systems swap."
    what = f"significant swap, {between}" if between else "significant swap"
    header = [*heading, "swapped systems", *columns, what]
    return (
        "Every pair of systems that swaps: the difference in points, with Holm's p, and between which "
        f"two the swap is significant.\n\n{markdown_table(header, rows, left=len(heading) + 1)}"
    )
