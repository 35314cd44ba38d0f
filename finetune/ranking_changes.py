"""Does the ranking of systems change between truths, as [A] says, and between averages, as [B] says?

Two measures are compared by the order of the systems' means. A pair of systems swaps when they order it in
opposite ways; it is a significant swap when both differences, each for itself, are significant.
"""

from __future__ import annotations

from dataclasses import dataclass

from hub_cards import as_text
from weighted_f1_metric import RankAgreement, rank_systems

from .comparison_runs import TrackRuns
from .comparison_significance import PairTest, PairTests
from .comparison_tables import Row


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
    """How the rankings by two measures, by key, differ."""
    swaps = []
    for better, worse in agreement.swapped_pairs(first, second):
        pair = (better, worse) if (better, worse) in tests else (worse, better)
        swaps.append(Swap(better, worse, tests[pair][first], tests[pair][second]))
    taus = agreement.kendall_tau
    tau = taus[first, second] if (first, second) in taus else taus[second, first]
    ties = not swaps and agreement.ranks[first] != agreement.ranks[second]
    return RankingChange(tau, tuple(swaps), ties)


def agreement_of(runs: TrackRuns) -> RankAgreement:
    """The rankings by every F1 of every truth."""
    keys = [key for truth in runs.truths for key in runs.f1_keys(truth).values()]
    return rank_systems({system: runs.seed_scores(system) for system in runs.systems}, measures=keys)


def swap_rows(
    runs: TrackRuns, first: tuple[str, str], second: tuple[str, str], change: RankingChange
) -> list[Row]:
    """CSV: a row for each swapped pair of two measures (truth, name), or one without names."""
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
