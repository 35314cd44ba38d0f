"""Ranks of systems with a confidence set each, that hold for all systems at once.

Two systems are separated when their difference is larger than drawing other test bags (and, if asked, other
seeds) makes the largest of all differences; a system's rank lies between one more than the number of systems
separated above it and S less the number separated below it.

Reference: Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference for Ranks with Applications to Mobility across
Neighbourhoods and Academic Achievement across Countries" (the step-down procedure; R package csranks); Piepho
2004, "An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns import Label, read_labels
from ..family import depends_on_predictions, f1_family
from ..track_statistics import resolve_truths, statistics_of_units
from ..tracks import track_signatures
from ..unit_predictions import read_unit_predictions
from ..units import read_units
from ..validation import check_choice, check_real, quoted
from ..weighting import AVERAGES, Average, named_averages
from .bag_counts import IntArray, label_matrices, track_matrix
from .joint_counts import FloatArray, JointCounts, RunCounts, mean_over_runs, runs_of
from .joint_rankings import asked_rankings, ranked_bags
from .resampling import FamilyOptions, check_no_bags, check_resampling, warn_undefined
from .variance_parts import VarianceParts, variance_parts

BoolArray = npt.NDArray[np.bool_]

QUESTIONS = ("runs", "seeds")
MIN_DIFFERENT_BAGS = 6  # fewer cannot be significant: their exchange has 2^5 outcomes at most
_EQUAL = 1e-12  # differences below this are rounding


@dataclass(frozen=True)
class RankedSystem:
    """One system under one measure.

    Attributes:
        name: The system.
        num_runs: Number of its runs.
        score: Mean over its runs, in [0, 1].
        rank: 1 + the number of systems with a higher score.
        rank_low, rank_high: Its confidence set of ranks, both included.
        group: Letters; two systems that share none are separated.
    """

    name: str
    num_runs: int
    score: float
    rank: int
    rank_low: int
    rank_high: int
    group: str


@dataclass(frozen=True, eq=False)
class Ranking:
    """All systems under one measure, the best first.

    Attributes:
        measure: The key of the measure.
        systems: The S systems by falling score.
        differences: Score of the row's system - score of the column's, (S, S), in the order of `systems`.
        standard_errors: Of the differences, (S, S).
        probability_better: P(the row's system is better than the column's), (S, S); 0.5 for no difference.
        separated: Whether the row's system is above the column's, (S, S).
        critical_value: What |difference| / its studentiser must exceed in the first step; inf where nothing
            can be separated, None where no two systems differ on enough bags.
        undefined_share: Share of the resamples, in [0, 1], in which the measure is undefined; left out.
        variance: Its parts where some system has several runs, else None.
    """

    measure: str
    systems: tuple[RankedSystem, ...]
    differences: FloatArray
    standard_errors: FloatArray
    probability_better: FloatArray
    separated: BoolArray
    critical_value: float | None
    undefined_share: float
    variance: VarianceParts | None

    @property
    def typical_threshold(self) -> float | None:
        """The difference that a pair of the median standard error must exceed to be told apart at first."""
        errors = self.standard_errors[np.triu_indices(len(self.systems), 1)]
        if self.critical_value is None or math.isinf(self.critical_value):
            return None
        return float(self.critical_value * np.median(errors))

    def interval(self, a: str, b: str) -> tuple[float, float]:
        """Return the 95 % interval of the difference a - b of this pair alone."""
        place = {system.name: number for number, system in enumerate(self.systems)}
        i, j = place[a], place[b]
        half = 1.96 * self.standard_errors[i, j]
        return float(self.differences[i, j] - half), float(self.differences[i, j] + half)

    def to_json(self) -> dict[str, Any]:
        """Return the ranking as plain dicts and lists."""
        critical = self.critical_value
        return {
            "measure": self.measure,
            "systems": [vars(system) for system in self.systems],
            "differences": self.differences.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "probability_better": self.probability_better.tolist(),
            "separated": self.separated.tolist(),
            "critical_value": None if critical is None or math.isinf(critical) else critical,
            "undefined_share": self.undefined_share,
            "variance": None if self.variance is None else self.variance.to_json(),
        }


@dataclass(frozen=True, eq=False)
class RankIntervals:
    """What `rank_intervals` returns.

    Attributes:
        rankings: Measure -> its ranking.
        question: "runs" or "seeds", as it was answered.
        notes: What a reader must know: systems whose seeds say nothing, systems that predict alike.
        signatures: Prefix of each truth ("" without tracks) -> signature line.
        num_bags, n_resamples, confidence, seed: How the bags were drawn.
    """

    rankings: dict[str, Ranking]
    question: str
    notes: tuple[str, ...]
    signatures: dict[str, str]
    num_bags: int
    n_resamples: int
    confidence: float
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain dicts and lists."""
        rankings = {measure: ranking.to_json() for measure, ranking in self.rankings.items()}
        return {**vars(self), "rankings": rankings, "notes": list(self.notes)}


def rank_intervals(
    *,
    systems: Mapping[str, Any],
    references: Any,
    seed: int,
    bags: Any = None,
    track: str | None = None,
    question: str = "runs",
    measures: Sequence[str] | None = None,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
    entropy_total: str = "all",
    **options: Any,
) -> RankIntervals:
    """Return the systems' ranks under every F1 average of every truth, with confidence sets.

    Args:
        systems: Name -> the predictions of one run, or a list of those of several runs (seeds): labels as in
            `f1_family`, or with `track` what `score_track` takes.
        references, seed, bags, track: As in `bootstrap_interval`.
        question: "runs": would these runs keep their order on new bags? "seeds": would the systems, with new
            seeds and new bags? A system with one run is then given the mean spread of the others' seeds; when
            no system has two runs the question is answered as "runs". `notes` says both.
        measures: Keys of `f1_family` or `score_track`, e.g. `magt_dodrans_f1`, `magt_macro_all_precision`;
            on a track, of predictions with scores, also `{truth}_auc`, `_average_precision`, `_max_f1` and
            `_precision_at_{k}`. None: F1 under every average, macro_all included.
        n_resamples: Number of resamples, the same bags for all systems.
        confidence: Probability with which all sets hold at once.
        averages, beta, zero_division, macro_over, entropy_total: As in `f1_family`.
        options: As in `bootstrap_interval`.

    Raises:
        TypeError: `systems` is no mapping; a seed that is no int; as `f1_family` or `score_track`.
        ValueError: Fewer than two systems, one without runs, a unit missing in a run, an unknown measure, one
            that hardly any resample defines, an option out of its range; with the system and the run.

    >>> gold = ["a", "b"] * 40
    >>> wrong = ["b", "a"] * 40
    >>> systems = {"good": gold, "middle": gold[:72] + wrong[:8], "poor": wrong[:60] + gold[:20]}
    >>> ranked = rank_intervals(systems=systems, references=gold, seed=0, averages="micro")
    >>> [(s.name, s.rank, s.rank_low, s.rank_high, s.group) for s in ranked.rankings["micro_f1"].systems]
    [('good', 1, 1, 1, 'a'), ('middle', 2, 2, 2, 'b'), ('poor', 3, 3, 3, 'c')]

    Reference: Mogstad, Romano, Shaikh and Wilhelm 2024 (step-down over ordered pairs).
    """
    _check_options(seed, n_resamples, question, confidence)
    family = FamilyOptions(named_averages(averages), beta, zero_division, macro_over, entropy_total)
    runs = runs_of(systems)
    if track is None:
        joint, signatures = _joint_labels(runs, references, bags, family, options)
    else:
        check_no_bags(bags)
        joint, signatures = _joint_track(runs, track, references, family, options, measures or ())
    return _ranked(
        list(runs), joint, signatures, family, seed, question=question, measures=measures,
        n_resamples=n_resamples, confidence=confidence,
    )  # fmt: skip


def rank_counts(
    *,
    systems: Mapping[str, Sequence[Any]],
    labels: Sequence[Label],
    truths: Sequence[str],
    seed: int,
    question: str = "runs",
    measures: Sequence[str] | None = None,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
) -> RankIntervals:
    """Return `rank_intervals` of systems of which the counts per bag are kept, and not the predictions.

    Args:
        systems: Name -> the counts of each run, sparse (num_bags, T (3 C + 1)): for each truth the true
            positives, predicted counts and supports of the classes, then what the bag adds to N. The bags are
            in one order, and the supports are the same, in all runs.
        labels: The C classes.
        truths: The T prefixes of the measures.
        seed, question, measures, n_resamples, confidence, averages: As in `rank_intervals`.

    Raises:
        ValueError: As `rank_intervals`; counts of another shape, or supports that differ.

    >>> from scipy.sparse import csr_array
    >>> right, wrong = csr_array([[1, 1, 1, 1]] * 20), csr_array([[0, 1, 1, 1]] * 20)
    >>> ranked = rank_counts(
    ...     systems={"right": [right], "wrong": [wrong]}, labels=["r"], truths=["magt"], seed=0,
    ...     averages="micro",
    ... )
    >>> [(s.name, s.rank_low, s.rank_high) for s in ranked.rankings["magt_micro_f1"].systems]
    [('right', 1, 1), ('wrong', 2, 2)]
    """
    _check_options(seed, n_resamples, question, confidence)
    runs = {name: list(systems[name]) for name in sorted(systems)}
    if len(runs) < 2 or not all(runs.values()):
        raise ValueError(f"A ranking needs at least two systems with a run each; got {len(runs)}.")
    block = 3 * len(labels) + 1
    first = next(iter(runs.values()))[0]
    gold = np.flatnonzero(np.arange(len(truths) * block) % block >= 2 * len(labels))
    for name, own in runs.items():
        for number, run in enumerate(own):
            if run.shape != first.shape or run.shape[1] != len(truths) * block:
                raise ValueError(
                    f"Run {number} of {name!r} (counted from 0) has counts of shape {run.shape}, not "
                    f"{(first.shape[0], len(truths) * block)}."
                )
            if (run[:, gold] != first[:, gold]).nnz:
                raise ValueError(f"Run {number} of {name!r} (counted from 0) has other supports.")
    joint = JointCounts.of_systems(
        [[RunCounts(run) for run in own] for own in runs.values()], tuple(labels), tuple(truths)
    )
    family = FamilyOptions(named_averages(averages), 1.0, 0.0, "supported", "all")
    return _ranked(
        list(runs), joint, {}, family, seed, question=question, measures=measures, n_resamples=n_resamples,
        confidence=confidence,
    )  # fmt: skip


def _check_options(seed: Any, n_resamples: Any, question: str, confidence: float) -> None:
    check_resampling(seed, n_resamples)
    check_choice("question", question, QUESTIONS)
    if check_real("confidence", confidence, low=0.0, high=1.0) in (0.0, 1.0):
        raise ValueError(f"`confidence` must lie between 0 and 1; got {confidence!r}. Write 0.95 for 95%.")


def _ranked(
    names: list[str],
    joint: JointCounts,
    signatures: dict[str, str],
    family: FamilyOptions,
    seed: int,
    *,
    question: str,
    measures: Sequence[str] | None,
    n_resamples: int,
    confidence: float,
) -> RankIntervals:
    """Return the ranks of systems from their joint counts; arguments as in `rank_intervals`."""
    question, notes = _answerable(question, names, joint)
    rng = np.random.default_rng(seed)
    estimates = joint.scores(family, joint.bags.totals())
    observed = estimates.values
    chosen = _chosen(measures, observed, family.beta)
    for measure in chosen:
        if asked_rankings([measure], joint.bags.truths) and estimates.undefined[measure].any():
            raise ValueError(
                f"{measure!r} is not defined here: no gold pair, or fewer candidates than its K asks for."
            )
    drawn = list(joint.resampled(family, n_resamples, rng))
    differ = joint.bags_that_differ()
    shocks = _Shocks.draw(joint, n_resamples, rng) if question == "seeds" else None
    rankings = {}
    for measure in chosen:
        truth = next(prefix for prefix in sorted(differ, key=len, reverse=True) if measure.startswith(prefix))
        values = np.concatenate([chunk.values[measure] for chunk in drawn], axis=1)
        undefined = [chunk.undefined[measure].any(axis=0) for chunk in drawn]
        absent = np.concatenate(undefined)
        if (~absent).sum() < 2:
            raise ValueError(f"{measure!r} is defined in fewer than two of the {n_resamples} resamples.")
        rankings[measure] = _ranking(
            measure,
            names,
            joint,
            observed[measure][:, 0],
            values,
            absent,
            (joint.rankings_that_differ if asked_rankings([measure], [truth]) else differ)[truth],
            shocks,
            confidence,
        )
    warn_undefined({measure: ranking.undefined_share for measure, ranking in rankings.items()})
    notes += _alike(names, [*differ.values(), *joint.rankings_that_differ.values()])
    return RankIntervals(
        rankings, question, tuple(notes), signatures, joint.bags.num_bags, n_resamples, confidence, seed
    )


def _joint_labels(
    runs: dict[str, list[Any]], references: Any, bags: Any, family: FamilyOptions, options: dict[str, Any]
) -> tuple[JointCounts, dict[str, str]]:
    remark = depends_on_predictions(family.macro_over, options.get("labels"), options.get("groups"))
    if remark:
        raise ValueError(remark)
    for name, own in runs.items():
        for number, run in enumerate(own):
            if len(run) != len(references):
                raise ValueError(
                    f"Run {number} of {name!r} (counted from 0) has {len(run)} predictions for "
                    f"{len(references)} references."
                )
    everything = [run for own in runs.values() for run in own]
    labels, matrices = label_matrices(predictions=everything, references=references, bags=bags, **options)
    rest = iter(matrices)
    joint = JointCounts.of_systems(
        [[RunCounts(next(rest)) for _ in own] for own in runs.values()], labels, ("",)
    )
    # The line depends on no system, but a negative class that the references lack must occur in it.
    negative = options.get("negative_label")
    holds = (run for run in everything if negative in read_labels(run, "predictions"))
    predictions = next(holds, everything[0])
    scores = f1_family(
        predictions=predictions, references=references, signature=True, **options, **vars(family)
    )
    return joint, {"": scores["signature"]}


def _joint_track(
    runs: dict[str, list[Any]],
    track: str,
    references: Any,
    family: FamilyOptions,
    options: dict[str, Any],
    measures: Sequence[str],
) -> tuple[JointCounts, dict[str, str]]:
    truths, unk = options.pop("truths", "auto"), options.pop("unk", "error")
    units = read_units(track=track, references=references, **options)
    prefixes = resolve_truths(truths, unk, units)

    rankings = asked_rankings(measures, prefixes)

    def counts(name: str, number: int, run: Any) -> RunCounts:
        where = f"Run {number} of {name!r} (counted from 0)"
        try:
            predictions = read_unit_predictions(run, units)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}: {error}") from error
        if rankings and predictions.scores is None:
            truth, names = next(iter(rankings.items()))
            raise ValueError(f"{where} has no scores, which '{truth}_{names[0]}' needs; rank by F1 instead.")
        statistics = statistics_of_units(units, predictions, prefixes)
        ranked = (ranked_bags(statistics, truth) for truth in rankings)
        return RunCounts(track_matrix(statistics), tuple(ranked))

    systems = [[counts(name, number, run) for number, run in enumerate(own)] for name, own in runs.items()]
    joint = JointCounts.of_systems(systems, units.relations, prefixes, rankings)
    chosen = {key: value for key, value in vars(family).items() if key != "macro_over"}
    return joint, track_signatures(units, prefixes, unk=unk, **chosen)


def _answerable(question: str, names: list[str], joint: JointCounts) -> tuple[str, list[str]]:
    """Return the question that the runs allow to answer, and what must be said about it."""
    single = [name for name, num in zip(names, joint.num_runs, strict=True) if num == 1]
    if question == "runs" or not single:
        return question, []
    if len(single) == len(names):
        return "runs", ["No system has two runs, so nothing is known of other seeds: new bags, these runs."]
    return question, [
        f"{', '.join(single)}: one run; the spread over seeds is taken to be the mean of the other systems'."
    ]


def _chosen(measures: Sequence[str] | None, observed: Mapping[str, Any], beta: float) -> list[str]:
    ending = "_f1" if beta == 1 else "_fbeta"
    if measures is None:
        return [key for key in observed if key.endswith(ending)]
    unknown = [key for key in measures if key not in observed]
    if unknown:
        raise ValueError(f"Nothing ranks by {unknown[0]!r}; measures are {', '.join(observed)}.")
    return list(dict.fromkeys(measures))


def _alike(names: list[str], differ: Sequence[IntArray]) -> list[str]:
    """Return a note for each group of systems that count alike on every bag, under every truth, and warn."""
    alike = np.asarray(sum(differ)) == 0
    groups = dict.fromkeys(tuple(np.flatnonzero(row).tolist()) for row in alike)
    notes = [
        f"{quoted((names[place] for place in group), limit=len(names))} count alike on every bag; are they "
        "the same file?"
        for group in groups
        if len(group) > 1
    ]
    for note in notes:
        warnings.warn(note, stacklevel=4)
    return notes


@dataclass(frozen=True, eq=False)
class _Shocks:
    """What other seeds would add: the standard normal draws and the chi-square draw of each resample.

    Attributes:
        normal: (num_systems, n_resamples).
        scale: df / chi2_df, (n_resamples,), one draw for all systems.
        freedom: df, the sum of K_j - 1.
    """

    normal: FloatArray
    scale: FloatArray
    freedom: int

    @classmethod
    def draw(cls, joint: JointCounts, n_resamples: int, rng: np.random.Generator) -> _Shocks:
        freedom = int((joint.num_runs - 1).sum())
        scale = freedom / rng.chisquare(freedom, n_resamples)
        return cls(rng.standard_normal((len(joint.num_runs), n_resamples)), scale, freedom)

    def added(
        self, joint: JointCounts, spread: FloatArray, interaction: float, defined: BoolArray
    ) -> FloatArray:
        """Return what to add to the resampled means: N(0, v_j / K_j), (num_systems, n_resamples).

        v_j = max(0, max(S_j^2, mean of S^2) df / chi2_df - mean of I): the variance over seeds is hardly
        known from few of them, and the part of it that other bags make is in the resamples already.
        """
        several = joint.num_runs > 1
        pooled = spread[several].mean()
        own = np.where(several, np.maximum(spread, pooled), pooled)
        variance = np.maximum(0.0, own[:, None] * self.scale[defined] - interaction)
        return self.normal[:, defined] * np.sqrt(variance / joint.num_runs[:, None])


def _ranking(
    measure: str,
    names: list[str],
    joint: JointCounts,
    observed: FloatArray,
    values: FloatArray,
    absent: BoolArray,
    differ: IntArray,
    shocks: _Shocks | None,
    confidence: float,
) -> Ranking:
    """Return the ranking by one measure.

    Args:
        observed: Score of each run, (num_runs,).
        values: Its scores in the resamples, (num_runs, n_resamples).
        absent: Resamples in which the measure is undefined for some run, (n_resamples,).
        differ: Bags on which two systems differ, (S, S).
    """
    defined = ~absent
    values = values[:, defined]
    scores, drawn = mean_over_runs(observed, joint), mean_over_runs(values, joint)
    several = joint.num_runs > 1
    variance = None
    if several.any():
        spread, interaction = _over_runs(observed, scores, values, drawn, joint)
        variance = variance_parts(
            spread=spread[several],
            interaction=interaction[several],
            of_mean=drawn[several].var(axis=1, ddof=1),
            num_runs=joint.num_runs[several],
            num_bags=joint.bags.num_bags,
        )
        if shocks is not None:
            drawn = drawn + shocks.added(joint, spread, float(interaction[several].mean()), defined)
    scores = np.where(
        np.abs(scores[:, None] - scores) < _EQUAL, np.minimum(scores[:, None], scores), np.inf
    ).min(axis=1)
    order = sorted(range(len(names)), key=lambda place: (-scores[place], names[place]))
    scores, drawn, differ = scores[order], drawn[order], differ[np.ix_(order, order)]
    differences = scores[:, None] - scores
    errors = _standard_errors(drawn)
    separated, critical = _separated(differences, drawn, errors, differ, joint.bags.num_bags, confidence)
    above, below = separated.sum(axis=0), separated.sum(axis=1)
    letters = group_letters(separated)
    ranked = tuple(
        RankedSystem(
            name=names[place],
            num_runs=int(joint.num_runs[place]),
            score=float(scores[i]),
            rank=int(1 + (scores > scores[i]).sum()),
            rank_low=int(1 + above[i]),
            rank_high=int(len(names) - below[i]),
            group=letters[i],
        )
        for i, place in enumerate(order)
    )
    return Ranking(
        measure=measure,
        systems=ranked,
        differences=differences,
        standard_errors=errors,
        probability_better=_probability_better(differences, errors),
        separated=separated,
        critical_value=critical,
        undefined_share=float(absent.mean()),
        variance=variance,
    )


def _over_runs(
    observed: FloatArray, scores: FloatArray, values: FloatArray, drawn: FloatArray, joint: JointCounts
) -> tuple[FloatArray, FloatArray]:
    """Return S_j^2, the variance over the runs, and I_j, what of it other bags change; 0 for one run."""
    runs, factor = joint.num_runs, joint.num_runs / np.maximum(joint.num_runs - 1, 1)
    spread = factor * mean_over_runs((observed - scores[joint.run_system]) ** 2, joint)
    own = (values - drawn[joint.run_system]).var(axis=1, ddof=1)
    interaction = factor * mean_over_runs(own, joint)
    return np.where(runs > 1, spread, 0.0), np.where(runs > 1, interaction, 0.0)


def _standard_errors(drawn: FloatArray) -> FloatArray:
    """Return the standard deviation (ddof = 1) of all differences of rows of (S, n_resamples), (S, S)."""
    covariance = np.atleast_2d(np.cov(drawn, ddof=1))
    variance = np.diag(covariance)
    squares = variance[:, None] + variance - 2 * covariance
    # Rows that are the same have no difference, whatever the sums round to.
    rounding = 1e-12 * (variance[:, None] + variance)
    return np.sqrt(np.where(squares <= rounding, 0.0, squares))


def _separated(
    differences: FloatArray,
    drawn: FloatArray,
    errors: FloatArray,
    differ: IntArray,
    num_bags: int,
    confidence: float,
) -> tuple[BoolArray, float | None]:
    """Return which systems are above which, by steps down over ordered pairs, and the first critical value.

    A step rejects the pairs whose difference exceeds the quantile of the largest studentised deviation of all
    pairs that are left; those that it rejects leave, and the quantile of the rest is lower.
    """
    num_systems = len(differences)
    separated = np.zeros((num_systems, num_systems), dtype=np.bool_)
    open_pairs = differ >= MIN_DIFFERENT_BAGS
    if not open_pairs.any():
        return separated, None
    half = np.median(errors[np.triu(open_pairs, 1)] ** 2) / 2
    # Not 0, where no resample changes any difference: what is left of it there is rounding.
    scale = np.maximum(np.sqrt(errors**2 / 2 + half), _EQUAL)
    centred = drawn - drawn.mean(axis=1, keepdims=True)
    # Centred at the estimate, as the definition wants: what the resampling is biased by stays in.
    shift = drawn.mean(axis=1)[:, None] - drawn.mean(axis=1) - differences
    first = None
    while open_pairs.any():
        quantile = float(np.quantile(_largest(centred, shift, scale, open_pairs), confidence))
        critical = _for_few_bags(quantile, num_bags)
        first = critical if first is None else first
        new = open_pairs & (differences > critical * scale)
        if not new.any():
            break
        separated |= new
        open_pairs &= ~new
    return separated, first


def _largest(centred: FloatArray, shift: FloatArray, scale: FloatArray, pairs: BoolArray) -> FloatArray:
    """Return max (d* - d) / s over ordered pairs in each resample, (n_resamples,)."""
    largest = np.full(centred.shape[1], -np.inf)
    for i in range(len(pairs) - 1):
        up, down = pairs[i, i + 1 :], pairs[i + 1 :, i]
        deviation = (centred[i] - centred[i + 1 :] + shift[i, i + 1 :, None]) / scale[i, i + 1 :, None]
        for chosen, sign in ((up, 1), (down, -1)):
            if chosen.any():
                np.maximum(largest, (sign * deviation[chosen]).max(axis=0), out=largest)
    return largest


def _for_few_bags(critical: float, num_bags: int) -> float:
    """Return the critical value corrected for the bags: a resample has n - 1 free ones, and outliers in it.

    cv sqrt(n / (n - 1)) / sqrt(1 - cv^2 / n); no difference of n bags can exceed it when cv^2 >= n.
    """
    if num_bags < 2 or critical**2 >= num_bags:
        return math.inf
    return critical * math.sqrt(num_bags / (num_bags - 1)) / math.sqrt(1 - critical**2 / num_bags)


def _probability_better(differences: FloatArray, errors: FloatArray) -> FloatArray:
    """Return Phi(d / se), 0.5 where there is no difference, 0 or 1 where it never changes."""
    from scipy.special import ndtr

    never = np.where(differences > 0, np.inf, -np.inf)
    ratios = np.divide(differences, errors, out=np.where(differences == 0, 0.0, never), where=errors > 0)
    probabilities: FloatArray = ndtr(ratios)
    return probabilities


def group_letters(separated: BoolArray) -> list[str]:
    """Return the letters of systems, best first: two share a letter unless one is above the other.

    Piepho's insert and absorb: each column of letters starts as all systems and is split at every separated
    pair; a column inside another says nothing new. Not to be separated is not transitive, so a system can
    carry several letters.

    Args:
        separated: (S, S), whether the row's system is above the column's.

    >>> above = np.zeros((3, 3), dtype=bool)
    >>> above[0, 2] = True
    >>> group_letters(above)
    ['a', 'ab', 'b']
    """
    num_systems = len(separated)
    columns = {(1 << num_systems) - 1}
    for i, j in np.argwhere(separated):
        pair = (1 << int(i)) | (1 << int(j))
        split = {column for column in columns if column & pair == pair}
        if not split:
            continue
        kept = columns - split
        halves = {column & ~(1 << int(place)) for column in split for place in (i, j)}
        for column in sorted(halves, key=int.bit_count, reverse=True):
            if not any(column & other == column for other in kept):
                kept.add(column)
        columns = kept
    ordered = sorted(columns, key=lambda column: [not column >> place & 1 for place in range(num_systems)])
    return [
        "".join(_letter(number) for number, column in enumerate(ordered) if column >> place & 1)
        for place in range(num_systems)
    ]


def _letter(number: int) -> str:
    """Return a, b, ..., z, (aa), (ab), ...

    >>> _letter(0), _letter(25), _letter(26)
    ('a', 'z', '(aa)')
    """
    letters = ""
    rest = number
    while rest >= 0:
        letters = chr(ord("a") + rest % 26) + letters
        rest = rest // 26 - 1
    return letters if len(letters) == 1 else f"({letters})"
