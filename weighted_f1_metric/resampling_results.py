"""What resampling returns: intervals of scores, and p-values of differences."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .labels import Label

__all__ = ["BootstrapResult", "Interval", "RandomizationResult"]


@dataclass(frozen=True)
class Interval:
    """A score and its bootstrap distribution: percentile bounds and standard deviation (ddof = 1)."""

    estimate: float
    low: float
    high: float
    sd: float


@dataclass(frozen=True)
class BootstrapResult:
    """What `bootstrap_interval` returns.

    Attributes:
        intervals: Measure -> its interval.
        lost_support: Truth prefix ("" without tracks) -> share of resamples, in [0, 1], in which some class
            that has support in the data has none. There the class has weight 0, so a high share says that
            the averages of these resamples are over fewer classes.
        lost_support_by_class: Truth prefix -> class -> share of resamples in which it has no support, for
            classes that lose it at all.
        num_bags: Number of units drawn: bags, or rows where there are no bags.
        n_resamples: Number of resamples.
        confidence: Coverage of the intervals.
        seed: The seed.
        stratify: Whether bags were drawn within strata.
    """

    intervals: dict[str, Interval]
    lost_support: dict[str, float]
    lost_support_by_class: dict[str, dict[Label, float]]
    num_bags: int
    n_resamples: int
    confidence: float
    seed: int
    stratify: bool

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain dicts and numbers."""
        return asdict(self)


@dataclass(frozen=True)
class RandomizationResult:
    """What `randomization_test` returns.

    Attributes:
        differences: Measure -> a - b on the data.
        p_values: Measure -> two-sided p-value in (0, 1].
        num_different_bags: Bags on which the systems count differently (the others cannot matter).
        n_resamples: Number of random exchanges.
        seed: The seed.
    """

    differences: dict[str, float]
    p_values: dict[str, float]
    num_different_bags: int
    n_resamples: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain dicts and numbers."""
        return asdict(self)
