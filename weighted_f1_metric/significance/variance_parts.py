"""Where the variance of a mean over runs comes from: seeds, test bags, and seeds x bags."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class VariancePart:
    """A variance with its 95 % interval; the interval of seeds is wide: few seeds hardly know their own."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class VarianceParts:
    """The variance of one run's score, in parts, as the mean over the systems with several runs.

    Attributes:
        seeds: What other seeds change on the mean over all test sets.
        bags: What other test bags change for all seeds alike.
        seeds_x_bags: What other bags change for each seed on its own.
        of_mean: Variance of the mean over the runs that there are: (seeds + seeds_x_bags) / K + bags.
        runs_for_half: Number of runs that would halve the interval of the mean; None where no number of seeds
            would, since the bags alone make more.
        bags_for_half: Number of test bags that would; None where no number of bags would.
    """

    seeds: VariancePart
    bags: VariancePart
    seeds_x_bags: VariancePart
    of_mean: float
    runs_for_half: int | None
    bags_for_half: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the parts as plain dicts and numbers."""
        return asdict(self)


def variance_parts(
    *,
    spread: FloatArray,
    interaction: FloatArray,
    of_mean: FloatArray,
    num_runs: npt.NDArray[np.int64],
    num_bags: int,
) -> VarianceParts:
    """Return the parts of the variance, as means over systems with at least two runs each.

    The variance over seeds on one test set, S^2, holds seeds and seeds x bags; the variance over resamples of
    a mean over K runs holds bags and a K-th of seeds x bags. So seeds = S^2 - I and bags = V* - I / K, not
    below 0.

    Args:
        spread: S^2 of each system, (num_systems,).
        interaction: I of each system: the resampled variance of a run's deviation from the mean of the runs.
        of_mean: V*, the resampled variance of the mean over the runs.
        num_runs: K of each system, at least 2.
        num_bags: Number of bags n. V* and I have n - 1 degrees of freedom, S^2 the sum of K - 1.

    >>> parts = variance_parts(
    ...     spread=np.array([5.0]), interaction=np.array([1.0]), of_mean=np.array([2.5]),
    ...     num_runs=np.array([2]), num_bags=101,
    ... )
    >>> parts.seeds.estimate, parts.bags.estimate, parts.seeds_x_bags.estimate, parts.of_mean
    (4.0, 2.0, 1.0, 4.5)
    >>> parts.runs_for_half, parts.bags_for_half  # 4.5 / 4 < 2, the part of the bags; < 4 / 2, that of seeds
    (None, None)
    """
    mean_spread, mean_interaction = float(spread.mean()), float(interaction.mean())
    runs = 1 / float((1 / num_runs).mean())
    mean_bags = float(of_mean.mean()) - mean_interaction / runs
    freedom = int((num_runs - 1).sum())
    spread_low, spread_high = _chi2_interval(mean_spread, freedom)
    low, high = _chi2_interval(mean_interaction, freedom * max(num_bags - 1, 1))
    mean_low, mean_high = _chi2_interval(float(of_mean.mean()), max(num_bags - 1, 1))
    seeds = _part(mean_spread - mean_interaction, spread_low - high, spread_high - low)
    bags = _part(mean_bags, mean_low - high / runs, mean_high - low / runs)
    both = VariancePart(mean_interaction, low, high)
    whole = (seeds.estimate + both.estimate) / runs + bags.estimate
    of_seeds = whole / 4 - bags.estimate
    of_bags = whole / 4 - seeds.estimate / runs
    return VarianceParts(
        seeds=seeds,
        bags=bags,
        seeds_x_bags=both,
        of_mean=whole,
        runs_for_half=_number(seeds.estimate + both.estimate, of_seeds),
        bags_for_half=_number(num_bags * (both.estimate / runs + bags.estimate), of_bags),
    )


def _part(estimate: float, low: float, high: float) -> VariancePart:
    return VariancePart(max(0.0, estimate), max(0.0, low), max(0.0, high))


def _chi2_interval(variance: float, freedom: int) -> tuple[float, float]:
    from scipy.special import chdtri

    return (
        variance * freedom / float(chdtri(freedom, 0.025)),
        variance * freedom / float(chdtri(freedom, 0.975)),
    )


def _number(variance: float, wanted: float) -> int | None:
    """Return the least number by which a variance must be divided to be what is wanted."""
    if wanted <= 0:
        return None
    return max(1, math.ceil(variance / wanted - 1e-9))
