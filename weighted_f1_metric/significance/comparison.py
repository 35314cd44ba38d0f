"""Two systems over several runs: Welch's t-test, Cohen's d, Hedges' g, Holm's correction.

Reference: [B] Harbecke et al. 2022, "Why only Micro-F1? Class Weighting of Measures for Relation
Classification", section 4, Equation 4 and Tables 3 and 4; Sawilowsky 2009, "New effect size rules of thumb";
Hedges 1981, "Distribution theory for Glass's estimator of effect size"; Holm 1979.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..table import number
from ..validation import check_real
from ..weighting import AVERAGES
from .run_measures import Run, check_comparable, measures_of_system

# Sawilowsky (2009): the smallest |d| that carries the word.
EFFECT_WORDS = (
    (2.0, "huge"),
    (1.2, "very large"),
    (0.8, "large"),
    (0.5, "medium"),
    (0.2, "small"),
    (0.01, "very small"),
)

_ROUNDING_ULPS = 64
_F1_KEY = re.compile(rf"(?:(?P<truth>.+)_)?(?P<average>{'|'.join(AVERAGES)})_(?:f1|fbeta)")


@dataclass(frozen=True)
class Comparison:
    """One measure of system a against system b; what cannot be said is None, and `reason` says why.

    Attributes:
        measure: The key of the measure.
        mean_a, mean_b: Mean over the runs, in the unit of the measure.
        sd_a, sd_b: Sample standard deviation (ddof = 1); None for a single run.
        n_a, n_b: Number of runs.
        difference: `mean_a - mean_b`.
        p_value: Two-sided, of Welch's t-test.
        p_holm: `p_value` with Holm's correction over the F1 averages of the same truth; None for other
            measures.
        cohens_d: Difference / pooled standard deviation; positive when a scores higher.
        hedges_g: Cohen's d without its small-sample bias (exact correction).
        effect: Sawilowsky's word for |d|.
        reason: Why p and d are None.
    """

    measure: str
    mean_a: float | None
    sd_a: float | None
    n_a: int
    mean_b: float | None
    sd_b: float | None
    n_b: int
    difference: float | None
    p_value: float | None = None
    p_holm: float | None = None
    cohens_d: float | None = None
    hedges_g: float | None = None
    effect: str | None = None
    reason: str | None = None

    def __repr__(self) -> str:
        """The means, their difference, and how sure and large it is.

        >>> Comparison("micro_f1", 0.5, 0.01, 3, 0.625, 0.02, 3, -0.125, 0.004, cohens_d=-7.9, effect="huge")
        micro_f1: 0.5000 - 0.6250 = -0.1250, p 0.004, d -7.9 (huge)
        """
        means = " - ".join(number(mean, ".4f") for mean in (self.mean_a, self.mean_b))
        said = f"{self.measure}: {means} = {number(self.difference, '+.4f')}"
        if self.p_value is None and self.cohens_d is None:
            return f"{said} ({self.reason})" if self.reason else said
        return f"{said}, p {number(self.p_value, '.2g')}, d {number(self.cohens_d, '.2g')} ({self.effect})"

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a plain dict."""
        return asdict(self)


def compare_runs(*, runs_a: Sequence[Run], runs_b: Sequence[Run]) -> dict[str, Comparison]:
    """Return measure -> `Comparison` for every measure that both systems report.

    Args:
        runs_a: Runs of system a (say, one per seed): mappings measure -> number, as `f1_family` and
            `score_track` return them or as a results file holds them (nested mappings are joined with "/";
            texts and lists are passed over). All runs of a system hold the same measures; a value may be
            None.
        runs_b: Runs of system b.

    Cohen's d divides by the pooled standard deviation, which with equally many runs is [B]'s Equation 4,
    sqrt(2) (m_a - m_b) / sqrt(s_a^2 + s_b^2). With a single run of either system, with both variances zero
    (64 units in the last place are rounding, not variance), or with a value missing, p and d are None and
    `reason` says so. Holm's correction covers the averages of `{truth}_{average}_f1` (or `_fbeta`) of one
    truth that have a p-value.

    Raises:
        TypeError: A system is not a list of mappings.
        ValueError: No run, runs with different measures or none in common, NaN, or signatures that differ in
            more than the version.

    >>> runs_a = [{"macro_f1": value} for value in (0.60, 0.61, 0.62)]
    >>> runs_b = [{"macro_f1": value} for value in (0.57, 0.58, 0.59)]
    >>> result = compare_runs(runs_a=runs_a, runs_b=runs_b)["macro_f1"]
    >>> round(result.difference, 3), round(result.p_value, 4), round(result.cohens_d, 3), result.effect
    (0.03, 0.0213, 3.0, 'huge')
    >>> round(result.hedges_g, 3)  # 3 * gamma(2) / (sqrt(2) * gamma(1.5)) = 3 * 0.798
    2.394
    """
    values_a, values_b = measures_of_system(runs_a, "runs_a"), measures_of_system(runs_b, "runs_b")
    check_comparable({"a": runs_a, "b": runs_b})
    shared = [measure for measure in values_a if measure in values_b]
    if not shared:
        raise ValueError(
            f"The systems have no measure in common: a reports {_some(values_a)}, b {_some(values_b)}. "
            "Score both with the same command."
        )
    compared = {measure: _compare(measure, values_a[measure], values_b[measure]) for measure in shared}
    return _with_holm(compared)


def _some(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, list(names)[:3])) or "none"


def _compare(measure: str, a: list[float | None], b: list[float | None]) -> Comparison:
    missing = [
        f"run {number} of {name} has no value"
        for name, values in (("a", a), ("b", b))
        for number, value in enumerate(values)
        if value is None
    ]
    if missing:
        return Comparison(measure, None, None, len(a), None, None, len(b), None, reason=missing[0])
    (mean_a, sd_a), (mean_b, sd_b) = (_mean_and_sd([v for v in values if v is not None]) for values in (a, b))
    difference = 0.0 if _is_rounding([mean_a, mean_b]) else mean_a - mean_b
    result = Comparison(measure, mean_a, sd_a, len(a), mean_b, sd_b, len(b), difference)
    if sd_a is None or sd_b is None:
        single = " and ".join(name for name, sd in (("a", sd_a), ("b", sd_b)) if sd is None)
        return replace(result, reason=f"a single run of {single} has no standard deviation")
    if sd_a == 0 and sd_b == 0:
        return replace(result, reason="both variances are zero")
    freedom = len(a) + len(b) - 2
    # hypot, not squares: those would underflow for very small deviations.
    pooled = math.hypot(math.sqrt(len(a) - 1) * sd_a, math.sqrt(len(b) - 1) * sd_b) / math.sqrt(freedom)
    d = difference / pooled
    return replace(
        result,
        p_value=_welch_p(difference, sd_a / math.sqrt(len(a)), len(a), sd_b / math.sqrt(len(b)), len(b)),
        cohens_d=d,
        hedges_g=d * _hedges_correction(freedom),
        effect=effect_word(d),
    )


def _mean_and_sd(values: list[float]) -> tuple[float, float | None]:
    """Return mean and sample sd; values that are equal up to rounding have the sd 0."""
    if len(values) == 1:
        return values[0], None
    if _is_rounding(values):
        return values[0], 0.0
    mean = math.fsum(values) / len(values)
    return mean, math.hypot(*(value - mean for value in values)) / math.sqrt(len(values) - 1)


def _is_rounding(values: list[float]) -> bool:
    """Whether numbers differ by no more than sums in another order do: some units in the last place.

    >>> _is_rounding([0.1 + 0.2, 0.3]), _is_rounding([0.3, 0.3 + 1e-12])
    (True, False)
    """
    return max(values) - min(values) <= _ROUNDING_ULPS * math.ulp(max(map(abs, values)))


def _welch_p(difference: float, error_a: float, n_a: int, error_b: float, n_b: int) -> float:
    """Return the two-sided p-value of Welch's t-test; the errors are the standard errors of the means.

    Equal to `scipy.stats.ttest_ind(..., equal_var=False)`, from scipy's distribution function alone, because
    importing scipy.stats takes longer than everything else here.
    """
    from scipy.special import stdtr

    error = math.hypot(error_a, error_b)
    t = abs(difference) / error
    share_a, share_b = (error_a / error) ** 2, (error_b / error) ** 2
    freedom = 1 / (share_a**2 / (n_a - 1) + share_b**2 / (n_b - 1))
    return float(2 * stdtr(freedom, -t))


def _hedges_correction(freedom: int) -> float:
    """Return J = gamma(f / 2) / (sqrt(f / 2) gamma((f - 1) / 2)), exactly, not 1 - 3 / (4 f - 1)."""
    return math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom - 1) / 2)) / math.sqrt(freedom / 2)


def effect_word(d: float) -> str:
    """Return Sawilowsky's word for an effect size, the sign ignored.

    >>> [effect_word(d) for d in (2.8, -1.2, 0.3, 0.001)]
    ['huge', 'very large', 'small', 'negligible']
    """
    return next((word for least, word in EFFECT_WORDS if abs(d) >= least), "negligible")


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's step-down method, in the order given.

    Raises:
        TypeError: A p-value that is no number (leave out what was not tested).
        ValueError: A p-value that is NaN or outside [0, 1].

    >>> holm_adjusted([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p_values = [check_real(f"p_values[{i}]", p, low=0.0, high=1.0) for i, p in enumerate(p_values)]
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def smallest_effect(n_a: int, n_b: int, *, num_tests: int = 1, level: float = 0.05) -> float | None:
    """Return the least |d| that so many runs can show to be significant: the difference in sds of the runs.

    The t-test of two systems whose runs vary alike, with Bonferroni's correction, which is Holm's for the
    first of its tests. None where the runs have no spread to learn it from.

    Args:
        n_a, n_b: Number of runs.
        num_tests: Size of the family.
        level: In (0, 1).

    >>> round(smallest_effect(5, 5), 3), round(smallest_effect(3, 3, num_tests=190), 1)  # 2.306 sqrt(2 / 5)
    (1.458, 9.9)
    """
    from scipy.special import stdtrit

    if min(n_a, n_b) < 2:
        return None
    return float(-stdtrit(n_a + n_b - 2, level / (2 * num_tests)) * math.sqrt(1 / n_a + 1 / n_b))


def f1_measure(measure: str) -> tuple[str, str] | None:
    """Return (truth, average) of an F1 average's key, or None for any other measure.

    >>> f1_measure("magt_dodrans_f1"), f1_measure("micro_f1"), f1_measure("magt_macro_all_f1")
    (('magt', 'dodrans'), ('', 'micro'), None)
    """
    match = _F1_KEY.fullmatch(measure)
    return (match["truth"] or "", match["average"]) if match else None


def _with_holm(compared: dict[str, Comparison]) -> dict[str, Comparison]:
    families: dict[str, list[str]] = {}
    for measure, comparison in compared.items():
        found = f1_measure(measure)
        if found and comparison.p_value is not None:
            families.setdefault(found[0], []).append(measure)
    for family in families.values():
        p_values = [p for p in (compared[measure].p_value for measure in family) if p is not None]
        for measure, p_holm in zip(family, holm_adjusted(p_values), strict=True):
            compared[measure] = replace(compared[measure], p_holm=p_holm)
    return compared
