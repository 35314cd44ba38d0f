"""Uncertainty of one system and the difference of two on the same data, by resampling whole bags.

Sentences of one entity pair are not independent, so it is the bag that is drawn (bootstrap) or exchanged
between systems (randomization test), on every track; data without bags are resampled by rows. Bags of the
same counts are exchangeable, so the number of times each kind is drawn is multinomial (the number exchanged,
binomial): exactly the distribution of drawing single bags, at a cost that hardly grows with the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns import Label
from ..family import depends_on_predictions
from ..fscore import AveragedScores, averaged_scores
from ..table import Table, number, percent
from ..track_statistics import track_statistics
from ..validation import check_choice, check_flag, check_real, is_integer
from ..weighting import AVERAGES, Average
from .bag_counts import (
    BagCounts,
    counts_by_bag,
    differences_by_bag,
    split_counts,
    track_counts_by_bag,
    track_differences_by_bag,
)

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_CHUNK_CELLS = 1 << 20  # resamples x kinds (or x columns of counts) held at once: 8 MB an array
_RARE = 5  # kinds of fewer bags are drawn bag by bag, which then costs less than a binomial draw for each


def drawn_bags(
    counts: BagCounts, n_resamples: int, rng: np.random.Generator, *, stratify: bool
) -> Iterator[IntArray]:
    """Yield how often each kind of bag is drawn, arrays (chunk, num_kinds) that make up all resamples.

    Every resample draws as many bags as there are, with replacement; with `stratify`, as many of each stratum
    as it has.
    """
    for size in _chunks(n_resamples, counts):
        if not stratify:
            yield _multinomial(rng, counts.multiplicity, size)
            continue
        drawn = np.empty((size, len(counts.multiplicity)), dtype=np.int64)
        for part in np.unique(counts.stratum):
            kinds = np.flatnonzero(counts.stratum == part)
            drawn[:, kinds] = _multinomial(rng, counts.multiplicity[kinds], size)
        yield drawn


def exchanged_bags(counts: BagCounts, n_resamples: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield how many bags of each kind are exchanged, each with probability 1/2, arrays (chunk,
    num_kinds)."""
    for size in _chunks(n_resamples, counts):
        yield rng.binomial(counts.multiplicity, 0.5, size=(size, len(counts.multiplicity)))


def _chunks(n_resamples: int, counts: BagCounts) -> Iterator[int]:
    size = max(1, _CHUNK_CELLS // max(1, *counts.counts.shape))
    for start in range(0, n_resamples, size):
        yield min(size, n_resamples - start)


def _multinomial(rng: np.random.Generator, multiplicity: IntArray, size: int) -> IntArray:
    """Return draws of sum(multiplicity) bags with replacement, by kind, (size, num_kinds).

    Frequent kinds are drawn by number, together with how many draws fall on any rare kind; those draws are
    then made bag by bag.
    """
    total = int(multiplicity.sum())
    rare = multiplicity < _RARE
    num_rare_bags = int(multiplicity[rare].sum())
    drawn = np.empty((size, len(multiplicity)), dtype=np.int64)
    common = np.append(multiplicity[~rare], num_rare_bags)
    by_number = rng.multinomial(total, common / total, size=size)
    drawn[:, ~rare] = by_number[:, :-1]
    if num_rare_bags:
        kind_of_bag = np.repeat(np.arange(rare.sum()), multiplicity[rare])
        times = by_number[:, -1]
        cell = kind_of_bag[rng.integers(0, num_rare_bags, size=int(times.sum()))]
        cell += np.repeat(np.arange(size) * int(rare.sum()), times)
        drawn[:, rare] = np.bincount(cell, minlength=size * int(rare.sum())).reshape(size, -1)
    return drawn


@dataclass(frozen=True)
class FamilyOptions:
    """The options of `f1_family` that choose what is computed from counts."""

    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES
    beta: float = 1.0
    zero_division: float = 0.0
    macro_over: str = "supported"
    entropy_total: str = "all"

    def scores(self, counts: BagCounts, sums: FloatArray) -> AveragedScores:
        """Return measure -> its values and where they are undefined, both (num_resamples,).

        On a track the keys carry the prefix of the truth, and macro over all relations is among them.

        Args:
            counts: The bags.
            sums: Sums of their counts, (num_resamples, num_columns).

        Raises:
            ValueError: An option out of its range.
        """
        values: dict[str, FloatArray] = {}
        undefined: dict[str, npt.NDArray[np.bool_]] = {}
        for place, truth in enumerate(counts.truths):
            parts = split_counts(sums, len(counts.labels), place)
            scores = self.scores_of_truth(truth, parts)
            values |= scores.values
            undefined |= scores.undefined
        return AveragedScores(values, undefined)

    def scores_of_truth(self, truth: str, parts: Mapping[str, FloatArray]) -> AveragedScores:
        """Return the measures of one truth from counts (..., num_classes) and N (...).

        Args:
            truth: The prefix of the keys, "" without tracks.
            parts: `true_positives`, `predicted`, `support` and `total`.

        Raises:
            ValueError: An option out of its range.
        """
        check_choice("entropy_total", self.entropy_total, ("all", "positive"))
        total = parts["support"].sum(axis=-1) if self.entropy_total == "positive" else parts["total"]
        families: list[tuple[Any, str]] = [(self.averages, self.macro_over)]
        if truth:
            families.append(({"macro_all": "macro"}, "labels"))
        prefix = f"{truth}_" if truth else ""
        values: dict[str, FloatArray] = {}
        undefined: dict[str, npt.NDArray[np.bool_]] = {}
        for averages, macro_over in families:
            scores = averaged_scores(
                **{**parts, "total": total},
                averages=averages,
                beta=self.beta,
                zero_division=self.zero_division,
                macro_over=macro_over,
            )
            values |= {f"{prefix}{name}": value for name, value in scores.values.items()}
            undefined |= {f"{prefix}{name}": absent for name, absent in scores.undefined.items()}
        return AveragedScores(values, undefined)


@dataclass(frozen=True)
class Interval:
    """A score and its bootstrap distribution over the resamples in which the measure is defined.

    Attributes:
        estimate: The score on the data.
        low, high: Percentile bounds; None when the measure is defined in no resample.
        sd: Standard deviation (ddof = 1); 0 for a single defined resample, None for none.
        undefined_share: Share of resamples, in [0, 1], in which the measure is undefined (its weights sum to
            0; micro: 0 / 0). They are left out, since no number stands for them.
    """

    estimate: float
    low: float | None
    high: float | None
    sd: float | None
    undefined_share: float = 0.0

    def __repr__(self) -> str:
        """The estimate and its bounds.

        >>> Interval(estimate=0.5, low=0.4, high=0.625, sd=0.06)
        0.5000 (0.4000 to 0.6250)
        """
        low, high = number(self.low, ".4f"), number(self.high, ".4f")
        return f"{self.estimate:.4f} ({low} to {high})"


def interval_of(
    estimate: float, values: FloatArray, undefined: npt.NDArray[np.bool_], *, confidence: float
) -> Interval:
    """Return the percentile interval of resampled values, those that are undefined left out.

    Args:
        estimate: The score on the data.
        values: Its values in the resamples, (n_resamples,).
        undefined: Where they are undefined, (n_resamples,).
        confidence: Coverage, in (0, 1).

    >>> drawn = np.array([1.0, 0.0, 1.0, 1.0])
    >>> interval_of(1.0, drawn, drawn == 0, confidence=0.9)
    1.0000 (1.0000 to 1.0000)
    """
    defined, share = values[~undefined], float(undefined.mean())
    if not len(defined):
        return Interval(estimate, None, None, None, share)
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    spread = float(defined.std(ddof=1)) if len(defined) > 1 else 0.0
    return Interval(estimate, float(low), float(high), spread, share)


def warn_undefined(shares: Mapping[str, float]) -> None:
    """Warn about measures that are undefined in more than 5 % of the resamples.

    Args:
        shares: Measure -> share of resamples, in [0, 1], in which it is undefined.
    """
    often = {name: share for name, share in shares.items() if share > UNDEFINED_LIMIT}
    if often:
        worst = max(often, key=often.__getitem__)
        warnings.warn(
            f"{len(often)} measures are undefined in more than {UNDEFINED_LIMIT:.0%} of the resamples, most "
            f"often {worst!r} ({often[worst]:.1%}). These resamples are left out, so the intervals are those "
            "of test sets in which the measure is defined. More data, or stratify=True, makes it defined.",
            stacklevel=3,
        )


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

    def table(self) -> Table:
        """Return the intervals in percent; a row a measure."""
        rows = [
            [name, *map(percent, (interval.estimate, interval.low, interval.high))]
            for name, interval in self.intervals.items()
        ]
        drawn = f"{self.n_resamples:,} resamples of {self.num_bags:,} bags, seed {self.seed}"
        return Table(
            ["in percent", "estimate", "low", "high"], rows, [f"{100 * self.confidence:g} %: {drawn}."]
        )

    def __repr__(self) -> str:
        """As the table."""
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, a row a measure: `estimate`, `low`, `high`, `sd`, `undefined_share`."""
        import pandas as pd

        return pd.DataFrame({name: asdict(own) for name, own in self.intervals.items()}).T


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

    def table(self) -> Table:
        """Return differences in percent and p-values; a row a measure."""
        rows = [
            [name, percent(value), number(self.p_values[name], ".2g")]
            for name, value in self.differences.items()
        ]
        drawn = f"{self.n_resamples:,} random exchanges, seed {self.seed}."
        return Table(["in percent", "a - b", "p"], rows, [drawn])

    def __repr__(self) -> str:
        """As the table."""
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, a row a measure: `difference` and `p_value`."""
        import pandas as pd

        return pd.DataFrame({"difference": self.differences, "p_value": self.p_values})


UNDEFINED_LIMIT = 0.05  # above this share of undefined resamples an interval comes with a warning
_TOLERANCE = 1e-12  # statistics that differ by less are equal: sums in another order differ by rounding


def bootstrap_interval(
    *,
    predictions: Any,
    references: Any,
    seed: int,
    bags: Any = None,
    track: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    stratify: bool = False,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
    entropy_total: str = "all",
    **options: Any,
) -> BootstrapResult:
    """Return percentile intervals of every average by drawing bags with replacement.

    The class weights are those of each resample, not of the data, as a new test set would have its own.
    Resamples in which a measure is undefined are left out of its interval, which tells their share; above 5 %
    a warning says so.

    Args:
        predictions, references: Labels as in `f1_family`; with `track`, records as in `score_track`.
        seed: The same seed gives the same intervals; 0 is a seed.
        bags: Without `track`: one bag id per row. None draws rows.
        track: "sent2sent", "bag2sent" or "bag2bag": bags come from the records, and the result has the keys
            of `score_track`, `{prefix}_macro_all_*` included.
        n_resamples: Number of resamples.
        confidence: Coverage, in (0, 1).
        stratify: Draws within strata, so that each keeps its size: the set of reference labels of a bag
            (without bags: the label of a row; with `track`: the set of its DS relations).
        averages, beta, zero_division, macro_over, entropy_total: As in `f1_family`.
        options: Without `track` `labels`, `negative_label`, `groups`, `outside` of `f1_family`; with it
            `relations`, `negative_relation`, `truths`, `unk`, `by` of `score_track`.

    Raises:
        TypeError: A seed or count that is not an int; as `f1_family` or `score_track`.
        ValueError: A number out of its range, `bags` together with `track`; as `f1_family` or `score_track`.

    >>> result = bootstrap_interval(
    ...     predictions=["a", "a", "b", "b"], references=["a", "b", "b", "b"], seed=0, n_resamples=200
    ... )
    >>> interval = result.intervals["micro_f1"]
    >>> interval.estimate, 0 <= interval.low < 0.75 < interval.high <= 1
    (0.75, True)
    >>> result.lost_support[""] > 0.2  # no "a" in (3/4)^4 = 32% of the resamples
    True

    Reference: Efron 1979 (percentile bootstrap), with bags as clusters.
    """
    check_resampling(seed, n_resamples)
    check_flag("stratify", stratify)
    if check_real("confidence", confidence, low=0.0, high=1.0) in (0.0, 1.0):
        raise ValueError(f"`confidence` must lie between 0 and 1; got {confidence!r}. Write 0.95 for 95%.")
    family = FamilyOptions(averages, beta, zero_division, macro_over, entropy_total)
    if track is None:
        remark = depends_on_predictions(macro_over, options.get("labels"), options.get("groups"))
        if remark:  # the systems would be averaged over classes of each other
            raise ValueError(remark)
        counts = counts_by_bag(predictions=predictions, references=references, bags=bags, **options)
    else:
        check_no_bags(bags)
        statistics = track_statistics(track=track, references=references, predictions=predictions, **options)
        counts = track_counts_by_bag(statistics)
    rng = np.random.default_rng(seed)
    drawn: dict[str, list[FloatArray]] = {}
    absent: dict[str, list[npt.NDArray[np.bool_]]] = {}
    lost = [np.zeros(len(counts.labels) + 1) for _ in counts.truths]
    totals = counts.totals()
    supported = [split_counts(totals, len(counts.labels), i)["support"][0] > 0 for i in range(len(lost))]
    for times in drawn_bags(counts, n_resamples, rng, stratify=stratify):
        resampled = counts.sums(times)
        scores = family.scores(counts, resampled)
        for name, values in scores.values.items():
            drawn.setdefault(name, []).append(values)
            absent.setdefault(name, []).append(scores.undefined[name])
        for place, own in enumerate(supported):
            gone = (split_counts(resampled, len(counts.labels), place)["support"] == 0) & own
            lost[place] += np.append(gone.sum(axis=0), gone.any(axis=1).sum())
    intervals = {
        name: interval_of(
            float(estimate[0]),
            np.concatenate(drawn[name]),
            np.concatenate(absent[name]),
            confidence=confidence,
        )
        for name, estimate in family.scores(counts, totals).values.items()
    }
    warn_undefined({name: interval.undefined_share for name, interval in intervals.items()})
    shares = {truth: (gone / n_resamples).tolist() for truth, gone in zip(counts.truths, lost, strict=True)}
    return BootstrapResult(
        intervals=intervals,
        lost_support={truth: share[-1] for truth, share in shares.items()},
        lost_support_by_class={
            truth: {label: part for label, part in zip(counts.labels, share[:-1], strict=True) if part}
            for truth, share in shares.items()
        },
        num_bags=counts.num_bags,
        n_resamples=n_resamples,
        confidence=confidence,
        seed=seed,
        stratify=stratify,
    )


def randomization_test(
    *,
    predictions_a: Any,
    predictions_b: Any,
    references: Any,
    seed: int,
    bags: Any = None,
    track: str | None = None,
    n_resamples: int = 10_000,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
    entropy_total: str = "all",
    **options: Any,
) -> RandomizationResult:
    """Return p-values of the difference of two systems on the same data, by exchanging whole bags at random.

    Under the null hypothesis it does not matter which system made which of the two predictions for a bag.
    With R random exchanges, p = (1 + number with |difference*| >= |difference|) / (1 + R), so a system
    against itself gives 1 and no p-value is 0. Differences equal up to rounding count as equal.

    Args:
        predictions_a, predictions_b: The systems' predictions of the same rows or units, as `predictions` of
            `bootstrap_interval`.
        references, seed, bags, track, options: As in `bootstrap_interval`.
        n_resamples: R.
        averages, beta, zero_division, macro_over, entropy_total: As in `f1_family`.

    Raises:
        TypeError: As `bootstrap_interval`.
        ValueError: As `bootstrap_interval`.

    >>> result = randomization_test(
    ...     predictions_a=["a", "b"], predictions_b=["a", "b"], references=["a", "a"], seed=0
    ... )
    >>> set(result.p_values.values())
    {1.0}

    Reference: Noreen 1989, "Computer-intensive methods for testing hypotheses" (approximate randomization).
    """
    check_resampling(seed, n_resamples)
    family = FamilyOptions(averages, beta, zero_division, macro_over, entropy_total)
    if track is None:
        remark = depends_on_predictions(macro_over, options.get("labels"), options.get("groups"))
        if remark:  # the systems would be averaged over classes of each other
            raise ValueError(remark)
        changes, own = differences_by_bag(
            predictions_a=predictions_a,
            predictions_b=predictions_b,
            references=references,
            bags=bags,
            **options,
        )
    else:
        check_no_bags(bags)
        shared = {"track": track, "references": references, **options}
        changes, own = track_differences_by_bag(
            track_statistics(predictions=predictions_a, **shared),
            track_statistics(predictions=predictions_b, **shared),
        )

    whole = changes.totals()

    def differences(exchanged: FloatArray) -> dict[str, FloatArray]:
        # An undefined measure counts as `zero_division` here, on the data and in every exchange alike: the
        # test is exact for any statistic that is defined everywhere.
        first = family.scores(changes, own + exchanged).values
        second = family.scores(changes, own + whole - exchanged).values
        return {name: first[name] - second[name] for name in first}

    observed = {name: float(value[0]) for name, value in differences(np.zeros_like(own)).items()}
    as_large = dict.fromkeys(observed, 0)
    for times in exchanged_bags(changes, n_resamples, np.random.default_rng(seed)):
        for name, values in differences(changes.sums(times)).items():
            as_large[name] += int(np.count_nonzero(np.abs(values) >= abs(observed[name]) - _TOLERANCE))
    return RandomizationResult(
        differences=observed,
        p_values={name: (1 + number) / (1 + n_resamples) for name, number in as_large.items()},
        num_different_bags=changes.num_bags,
        n_resamples=n_resamples,
        seed=seed,
    )


def check_resampling(seed: Any, n_resamples: Any) -> None:
    """Check the seed and the number of resamples.

    Raises:
        TypeError: One of them is no int.
        ValueError: A negative seed, no resample.
    """
    if not is_integer(seed):
        raise TypeError(
            f"`seed` must be an int, so that the result can be repeated; got {seed!r}. 0 is a seed."
        )
    if seed < 0:
        raise ValueError(f"`seed` must be at least 0; got {seed}.")
    if not is_integer(n_resamples):
        raise TypeError(f"`n_resamples` must be an int; got {n_resamples!r}.")
    if n_resamples < 1:
        raise ValueError(f"`n_resamples` must be at least 1; got {n_resamples}.")


def check_no_bags(bags: Any) -> None:
    """Check that no bags are given beside a track, which has its own.

    Raises:
        ValueError: They are.
    """
    if bags is not None:
        raise ValueError(
            "`bags` goes with label columns; on a track the bags are the bag_ids of the references."
        )
