"""Several systems: how every F1 average of every truth ranks them, and how far the rankings agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .comparison import f1_measure
from .run_measures import Run, check_comparable, measures_of_system

_DIGITS = 12


@dataclass(frozen=True)
class RankAgreement:
    """Rankings of systems by several measures.

    Attributes:
        systems: Names of the systems, in the order given.
        measures: The measures that rank them, e.g. `magt_dodrans_f1`.
        means: measure -> mean over the runs of each system, in the order of `systems`.
        ranks: measure -> rank of each system, 1 the best; tied systems share the mean of their ranks. Means
            that agree to 12 digits are a tie.
        kendall_tau: (measure, measure) -> Kendall's tau-b between the two rankings, in [-1, 1], one entry per
            pair of different measures; None where a measure ties all systems.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    means: dict[str, tuple[float, ...]]
    ranks: dict[str, tuple[float, ...]]
    kendall_tau: dict[tuple[str, str], float | None]

    def best(self, measure: str) -> tuple[str, ...]:
        """Return the systems that share the first place under a measure."""
        first = min(self.ranks[measure])
        return tuple(
            name for name, rank in zip(self.systems, self.ranks[measure], strict=True) if rank == first
        )

    def swapped_pairs(self, one: str, other: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs of systems that two measures order in opposite ways, the better under `one`
        first."""
        places = range(len(self.systems))
        return tuple(
            (self.systems[i], self.systems[j])
            for i, j in itertools.permutations(places, 2)
            if self.ranks[one][i] < self.ranks[one][j] and self.ranks[other][i] > self.ranks[other][j]
        )


def rank_systems(
    systems: Mapping[str, Sequence[Run]], *, measures: Sequence[str] | None = None
) -> RankAgreement:
    """Return how each F1 average of each truth ranks the systems, and Kendall's tau between the rankings.

    Args:
        systems: name -> runs, as `compare_runs` takes them; at least two systems. Systems are ranked by their
            mean over runs.
        measures: Rank them by these, e.g. `magt_macro_all_f1`; None: by every `{truth}_{average}_f1` that all
            of them report without None.

    Raises:
        TypeError: As `compare_runs`.
        ValueError: As `compare_runs`; fewer than two systems; no F1 average in common; a measure asked for
            that a run does not report.

    >>> agreement = rank_systems({
    ...     "x": [{"micro_f1": 0.9, "macro_f1": 0.4}],
    ...     "y": [{"micro_f1": 0.8, "macro_f1": 0.5}],
    ...     "z": [{"micro_f1": 0.7, "macro_f1": 0.3}],
    ... })
    >>> agreement.ranks
    {'micro_f1': (1.0, 2.0, 3.0), 'macro_f1': (2.0, 1.0, 3.0)}
    >>> {pair: round(tau, 3) for pair, tau in agreement.kendall_tau.items()}  # 2 pairs agree, 1 does not
    {('micro_f1', 'macro_f1'): 0.333}
    >>> agreement.swapped_pairs("micro_f1", "macro_f1")
    (('x', 'y'),)

    Reference: Kendall 1945 (tau-b), as `scipy.stats.kendalltau`.
    """
    if not isinstance(systems, Mapping):
        raise TypeError(f"`systems` must be a mapping name -> runs; got {type(systems).__name__}.")
    if len(systems) < 2:
        raise ValueError(f"A ranking needs at least two systems; got {len(systems)}.")
    values = {name: measures_of_system(runs, name) for name, runs in systems.items()}
    check_comparable(systems)
    if measures is None:
        first = next(iter(values.values()))
        measures = [measure for measure in first if f1_measure(measure) and not _lacking(values, measure)]
    for measure in measures:
        lacking = _lacking(values, measure)
        if lacking:
            raise ValueError(
                f"The systems cannot be ranked by {measure!r}: not every run of {lacking[0]!r} has a number "
                "for it."
            )
    if not measures:
        raise ValueError(
            "The systems have no F1 average in common, so nothing ranks them; the keys are "
            "'{truth}_{average}_f1', e.g. 'magt_dodrans_f1'."
        )
    means = {measure: tuple(_mean(own[measure]) for own in values.values()) for measure in measures}
    # What sums in another order leave in the last digits is no difference.
    ranked = {measure: tuple(round(mean, _DIGITS) for mean in own) for measure, own in means.items()}
    return RankAgreement(
        systems=tuple(systems),
        measures=tuple(measures),
        means=means,
        ranks={measure: _ranks(ranked[measure]) for measure in measures},
        kendall_tau={
            (one, other): _kendall_tau(ranked[one], ranked[other])
            for one, other in itertools.combinations(measures, 2)
        },
    )


def _lacking(values: Mapping[str, Mapping[str, list[float | None]]], measure: str) -> list[str]:
    """Return the systems that do not report a number for the measure in every run."""
    return [name for name, own in values.items() if None in own.get(measure, [None])]


def _mean(values: list[float | None]) -> float:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers)


def _ranks(means: tuple[float, ...]) -> tuple[float, ...]:
    """Return ranks by falling value; ties share the mean of the ranks they fill."""
    array = np.array(means)
    better = (array[:, None] < array).sum(axis=1)
    tied = (array[:, None] == array).sum(axis=1)
    return tuple((better + (tied + 1) / 2).tolist())


def _kendall_tau(one: tuple[float, ...], other: tuple[float, ...]) -> float | None:
    from scipy.stats import kendalltau

    if len(set(one)) == 1 or len(set(other)) == 1:
        return None
    return float(kendalltau(one, other).statistic)
