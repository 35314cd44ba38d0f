"""MAGT of a test set of which people judged a sample only: an estimate with a 95 % interval.

The distant label of every pair is known, the answer of people for the drawn ones. The measure on the
weighted sample is corrected by what the labels say of the draw: theta_w(Y) + lambda (theta_N(DS) -
theta_w(DS)), a difference estimator on the measure itself. The error is that of the draw (finite population),
by the bootstrap of Rao and Wu.

Reference: Särndal, Swensson and Wretman 1992, "Model Assisted Survey Sampling", chapter 6; Angelopoulos et
al. 2023, "Prediction-powered inference"; Zrnic 2024, "A note on the prediction-powered bootstrap"; Rao and Wu
1988, "Resampling inference with complex survey data".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..fscore import averaged_scores
from ..row_sources import read_columns
from ..unit_predictions import read_unit_predictions
from ..units import Units, read_units
from ..validation import check_choice, check_real, is_integer, quoted
from ..weighting import AVERAGES, Average, class_weights, named_averages

HUMAN = ("verdict", "relation")
REVISED_KEY = "revised_relation"
NORMAL_QUANTILE = 1.96
MIN_JUDGED = 5  # of a relation, unless all its pairs are judged
MAX_THIN_WEIGHT = 0.1
MAX_UNSEEN_WEIGHT = 0.01  # of relations of which no judged pair is a yes
COUNTS = ("predicted", "human_gold", "human_hits", "ds_gold", "ds_hits")


@dataclass(frozen=True)
class Estimate:
    """One measure of the whole test set, from a judged sample.

    Attributes:
        value, low, high: the estimate and its 95 % interval, in [0, 1].
        se: its standard error.
        alone, alone_se: the estimate from the judged sample alone, without the labels of the rest.
        label_weight: lambda in [0, 1], how far the distant labels are trusted.
        worth: how many judged pairs the sample alone would need for the same error; None where the sample
            alone has none.
        undefined_share: the share of resamples in which the measure is 0 / 0, left out of the error.
    """

    value: float
    low: float
    high: float
    se: float
    alone: float
    alone_se: float
    label_weight: float
    worth: float | None
    undefined_share: float


@dataclass(frozen=True)
class MagtEstimate:
    """What `estimate_magt` returns.

    Attributes:
        measures: `magt_{average}_{precision|recall|f1}` (human="relation": `revised_...`) -> its estimate.
        not_estimable: the averages that the sample says too little about -> why.
        num_judged, num_population: pairs (units for human="relation") drawn and judged, and all.
    """

    measures: dict[str, Estimate]
    not_estimable: dict[str, str]
    num_judged: int
    num_population: int

    def rows_for(self, half_width: float = 0.02) -> dict[str, int]:
        """Return how many judged pairs make the interval of each measure the estimate plus or minus
        `half_width`.

        The error falls with 1 / n - 1 / N, so this sample's own error tells that of another size, drawn the
        same way.

        Raises:
            ValueError: a width that is not above 0.
        """
        if not check_real("half_width", half_width, low=0.0, high=1.0):
            raise ValueError("`half_width` must be above 0; 0.02 is plus or minus 2 points.")
        unseen = 1 / self.num_judged - 1 / self.num_population
        needed = {}
        for name, estimate in self.measures.items():
            needed[name] = self.num_judged  # whose error is 0 already
            if estimate.se:
                rest = (half_width / NORMAL_QUANTILE) ** 2 * unseen / estimate.se**2
                needed[name] = max(1, math.ceil(1 / (1 / self.num_population + rest) - 1e-9))
        return needed

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return asdict(self)


def estimate_magt(
    *,
    track: str,
    references: Any,
    predictions: Any,
    relations: Any = None,
    negative_relation: str = "NA",
    by: str = "rows",
    judgments: Any = None,
    design: Mapping[str, Any] | None = None,
    human: str = "verdict",
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    n_resamples: int = 2000,
    seed: int = 0,
) -> MagtEstimate:
    """Return MAGT of the whole test set with a 95 % interval, from a judged sample and the DS labels of all.

    human="verdict": people say yes or no to DS relations (`bag_label`, or `judgments`; unk where nobody was
    asked). The population is every (unit, DS relation) pair; the truth is MAGT, in which a true relation that
    is no DS relation stays unseen. human="relation": people name the relations of the drawn units anew, in
    `revised_relation` of each reference row (a name or a list of names, None where nobody was asked). The
    population is every unit; the truth is that of these relations.

    Args:
        track, references, predictions, relations, negative_relation, by, judgments, averages, beta,
            zero_division: as in `score_track`.
        design: what was drawn, from `nyt_h_dataset sheet --sample`: `strata` (a list of {name, size, drawn})
            and `drawn` (a list of [id of the unit, relation], where the relation is the stratum). None: every
            pair must be judged, and the estimate is the score.
        human: "verdict" or "relation".
        n_resamples, seed: of the bootstrap.

    Warns:
        UserWarning: answers to pairs that were not drawn; they are left out.

    Raises:
        TypeError: arguments of another type.
        ValueError: as `score_track`; no design though pairs are not judged; a design of other data; drawn
            pairs without an answer; a stratum of which nothing was drawn.

    >>> rows = [
    ...     {"instance_id": f"i{n}", "bag_id": f"b{n}", "relation": "born_in", "bag_label": label}
    ...     for n, label in enumerate(["yes", "no", "yes", "no", "yes", "no", *["unk"] * 6])
    ... ]
    >>> drawn = {
    ...     "strata": [{"name": "born_in", "size": 12, "drawn": 6}],
    ...     "drawn": [[f"i{n}", "born_in"] for n in range(6)],
    ... }
    >>> predictions = [{"instance_id": f"i{n}", "pred": "born_in"} for n in range(12)]
    >>> found = estimate_magt(
    ...     track="sent2sent", references=rows, relations=["born_in"], predictions=predictions, design=drawn
    ... )
    >>> found.measures["magt_micro_precision"].value, found.num_judged, found.num_population
    (0.5, 6, 12)
    """
    check_choice("human", human, HUMAN)
    _check_draws(n_resamples, seed)
    named = named_averages(averages)
    options = {
        "beta": check_real("beta", beta, low=0.0, high=np.inf),
        "zero_division": check_real("zero_division", zero_division, low=0.0, high=1.0),
    }
    units = read_units(
        track=track,
        references=references,
        relations=relations,
        negative_relation=negative_relation,
        by=by,
        judgments=judgments,
    )
    predicted = read_unit_predictions(predictions, units).predicted
    population = (
        pair_population(units, predicted)
        if human == "verdict"
        else unit_population(units, predicted, _revised(references, units))
    )
    sample = read_design(design, population)
    return estimate(population, sample, averages=named, n_resamples=n_resamples, seed=seed, **options)


def _check_draws(n_resamples: Any, seed: Any) -> None:
    for name, value, least in (("n_resamples", n_resamples, 2), ("seed", seed, 0)):
        if not is_integer(value):
            raise TypeError(f"`{name}` must be an int; got {value!r}.")
        if value < least:
            raise ValueError(f"`{name}` must be at least {least}; got {value}.")


@dataclass(frozen=True)
class Population:
    """What can be drawn, N items: pairs (unit, DS relation), or units.

    Attributes:
        truth: "magt" or "revised".
        ids: what a design calls each item: (id of the unit, name of the stratum).
        judged: (N,) bool.
        counts: the names of COUNTS -> (N, num_classes) bool, hits are true positives; what people say of
            items that are not judged is not used.
        also_predicted: (num_classes,), predictions outside the population, all of them wrong.
        total: N of the entropy weights.
        tells: (N, num_classes) bool, the items that tell about a class once they are judged.
    """

    truth: str
    ids: list[tuple[Any, str]]
    judged: np.ndarray
    counts: dict[str, np.ndarray]
    also_predicted: np.ndarray
    total: int
    tells: np.ndarray

    @cached_property
    def sums(self) -> np.ndarray:
        """The counts of all items, (num_counts * num_classes,) float64, in the order of COUNTS."""
        return np.concatenate([self.counts[name].sum(axis=0) for name in COUNTS]).astype(np.float64)

    @cached_property
    def num_telling(self) -> np.ndarray:
        """How many items tell about each class, (num_classes,) int64."""
        return self.tells.sum(axis=0)


def pair_population(units: Units, predicted: np.ndarray) -> Population:
    """Return every (unit, DS relation) pair, with the yes or no of people."""
    unit, relation = np.nonzero(units.distant)
    here = np.zeros((len(unit), len(units.relations)), dtype=bool)
    here[np.arange(len(unit)), relation] = True
    yes = here & units.confirmed[unit, relation][:, None]
    said = here & predicted[unit, relation][:, None]
    names = _unit_names(units)
    return Population(
        truth="magt",
        ids=[(names[u], units.relations[r]) for u, r in zip(unit.tolist(), relation.tolist(), strict=True)],
        judged=~units.unjudged[unit, relation],
        counts={
            "predicted": said,
            "human_gold": yes,
            "human_hits": yes & said,
            "ds_gold": here,
            "ds_hits": said,
        },
        also_predicted=(predicted & ~units.distant).sum(axis=0),
        total=int(np.maximum(units.distant.sum(axis=1), 1).sum()),
        tells=here,
    )


def unit_population(
    units: Units, predicted: np.ndarray, revised: tuple[np.ndarray, np.ndarray]
) -> Population:
    """Return every unit, with the relations that people gave it; its stratum is its rarest DS relation."""
    gold, judged = revised
    rarity = np.argsort(np.argsort(units.distant.sum(axis=0), kind="stable"), kind="stable")
    order = np.where(units.distant, rarity, len(units.relations))
    rarest = order.argmin(axis=1)
    names = _unit_names(units)
    strata = [
        units.relations[column] if any_ else units.negative_relation
        for column, any_ in zip(rarest.tolist(), np.any(units.distant, axis=1).tolist(), strict=True)
    ]
    return Population(
        truth="revised",
        ids=list(zip(names, strata, strict=True)),
        judged=judged,
        counts={
            "predicted": predicted,
            "human_gold": gold,
            "human_hits": gold & predicted,
            "ds_gold": units.distant,
            "ds_hits": units.distant & predicted,
        },
        also_predicted=np.zeros(len(units.relations), dtype=np.int64),
        total=int(np.maximum(units.distant.sum(axis=1), 1).sum()),
        tells=units.distant | gold,
    )


def _unit_names(units: Units) -> list[Any]:
    """The id of each unit; of joined twins the first one's."""
    names: list[Any] = [None] * units.num_units
    for number, unit in zip(reversed(units.ids), reversed(units.unit_of_id.tolist()), strict=True):
        names[unit] = number
    return names


def _revised(references: Any, units: Units) -> tuple[np.ndarray, np.ndarray]:
    """The relations that people gave the units, bool (num_units, num_relations), and which they judged."""
    columns = read_columns(references, required=["instance_id"], optional=[REVISED_KEY], name="references")
    if REVISED_KEY not in columns:
        raise ValueError(
            f"human='relation' needs {REVISED_KEY!r} in the references: a relation, a list of them, or None "
            "where nobody was asked."
        )
    place = {units.negative_relation: -1, **{name: code for code, name in enumerate(units.relations)}}
    gold = np.zeros((units.num_units, len(units.relations)), dtype=bool)
    judged = np.ones(units.num_units, dtype=bool)
    for number, unit, value in zip(
        columns["instance_id"], units.row_unit.tolist(), columns[REVISED_KEY], strict=True
    ):
        if value is None:
            judged[unit] = False
            continue
        for name in [value] if isinstance(value, str) else value:
            if name not in place:
                raise ValueError(f"{REVISED_KEY} of {number!r} is {name!r}, which `relations` lacks.")
            if place[name] >= 0:
                gold[unit, place[name]] = True
    return gold, judged


@dataclass(frozen=True)
class Sample:
    """What was drawn of a population.

    Attributes:
        item: (n,) positions in the population.
        stratum: (n,) number of the stratum of each.
        size: (num_strata,) items of the population in each stratum.
    """

    item: np.ndarray
    stratum: np.ndarray
    size: np.ndarray


def read_design(design: Mapping[str, Any] | None, population: Population) -> Sample:
    """Return the drawn items, checked against the population; without a design all of it.

    Warns:
        UserWarning: judged items that were not drawn.

    Raises:
        TypeError: a design that is no mapping.
        ValueError: a missing key, other data, items that were drawn and not judged, an empty stratum.
    """
    if design is None:
        missing = int(np.count_nonzero(~population.judged))
        if missing:
            raise ValueError(
                f"{missing} of {len(population.judged)} pairs are not judged and there is no `design`; give "
                "the design file that `nyt_h_dataset sheet --sample` wrote, or judge all of them."
            )
        whole = np.arange(len(population.judged))
        return Sample(whole, np.zeros(len(whole), dtype=np.int64), np.array([len(whole)]))
    if not isinstance(design, Mapping):
        raise TypeError(f"`design` must be a mapping, as in the design file; got {type(design).__name__}.")
    drawn = _checked_design(design)
    place = {key: position for position, key in enumerate(population.ids)}
    strange = [pair for pair in drawn if pair not in place]
    if strange or len(set(drawn)) < len(drawn) or not drawn:
        raise ValueError(
            f"`design` was drawn from other data: {len(strange)} of its {len(drawn)} pairs are not in the "
            f"references ({quoted(strange)})."
            if strange
            else "`design` must list each drawn pair once, and at least one."
        )
    item = np.sort(np.array([place[pair] for pair in drawn], dtype=np.int64))
    unanswered = [population.ids[position] for position in item[~population.judged[item]].tolist()]
    if unanswered:
        raise ValueError(
            f"{len(unanswered)} of {len(drawn)} drawn pairs have no answer: {quoted(unanswered)}. Judge "
            "them: an estimate without them is biased."
        )
    outside = int(np.count_nonzero(population.judged)) - len(item)
    if outside:
        warnings.warn(
            f"{outside} judged pairs were not drawn by the design; they are left out, {len(item)} are used.",
            UserWarning,
            stacklevel=3,
        )
    return _stratified(design["strata"], item, population)


def _checked_design(design: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """Return the drawn (id, stratum) pairs; raises when the design is not of its form."""
    lacking = [key for key in ("strata", "drawn") if key not in design]
    if lacking:
        raise ValueError(f"`design` lacks {quoted(lacking)}; it has {quoted(design)}.")
    for key in ("strata", "drawn"):
        if not isinstance(design[key], (list, tuple)):
            raise TypeError(f"`design` must have a list of {key}; got {type(design[key]).__name__}.")
    for number, part in enumerate(design["strata"]):
        if not isinstance(part, Mapping) or not {"name", "size", "drawn"} <= part.keys():
            raise ValueError(
                f"`design` needs 'name', 'size' and 'drawn' in each of its strata; number {number} is "
                f"{part!r:.80}."
            )
    for number, pair in enumerate(design["drawn"]):
        is_pair = isinstance(pair, (list, tuple)) and len(pair) == 2
        if not is_pair or not isinstance(pair[0], (str, int)) or not isinstance(pair[1], str):
            raise ValueError(
                f"`design` must list what was drawn as pairs [id, relation]; number {number} is {pair!r:.80}."
            )
    names = [part["name"] for part in design["strata"]]
    if len(set(map(repr, names))) < len(names):
        raise ValueError(f"`design` has a stratum more than once; its strata are {quoted(names)}.")
    return [(pair[0], pair[1]) for pair in design["drawn"]]


def _stratified(strata: Any, item: np.ndarray, population: Population) -> Sample:
    """The sample with its strata; one stratum named None or "" holds the whole population."""
    sizes = {part["name"]: part["size"] for part in strata}
    whole = len(sizes) == 1 and next(iter(sizes)) in (None, "")
    names = [None if whole else name for _, name in population.ids]
    found: dict[Any, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    stated = {None if whole else name: size for name, size in sizes.items()}
    wrong = sorted(str(name) for name in found.keys() | stated.keys() if found.get(name) != stated.get(name))
    if wrong:
        raise ValueError(f"`design` was drawn from other data: the sizes of strata {quoted(wrong)} differ.")
    place = {name: number for number, name in enumerate(found)}
    stratum = np.array([place[names[position]] for position in item.tolist()], dtype=np.int64)
    times = np.bincount(stratum, minlength=len(place))
    told = {None if whole else part["name"]: part["drawn"] for part in strata}
    other = [name for name, number in place.items() if told[name] != times[number]]
    if other:
        raise ValueError(
            f"`design` says of {len(other)} strata another number than it lists as drawn: {quoted(other)} "
            f"({told[other[0]]}, and {times[place[other[0]]]} are listed). Give the file as it was written."
        )
    empty = [name for name, number in place.items() if not times[number]]
    if empty:
        raise ValueError(
            f"Nothing was drawn of {len(empty)} strata: {quoted(empty)}. Without an answer about them there "
            "is no estimate of the whole; draw at least two of each."
        )
    return Sample(item, stratum, np.array(list(found.values()), dtype=np.int64))


def estimate(
    population: Population,
    sample: Sample,
    *,
    averages: Mapping[str, Any],
    beta: float = 1.0,
    zero_division: float = 0.0,
    n_resamples: int = 2000,
    seed: int = 0,
) -> MagtEstimate:
    """Return `estimate_magt` of a population and what was drawn of it."""
    columns = np.concatenate([population.counts[name][sample.item] for name in COUNTS], axis=1)
    first, times = _kinds(columns, sample.stratum)
    features, stratum = columns[first].astype(np.float64), sample.stratum[first]
    drawn = np.bincount(sample.stratum, minlength=len(sample.size))
    weight = (sample.size / np.maximum(drawn, 1))[stratum]
    rng = np.random.default_rng(seed)
    draws = np.concatenate([times[None, :], rescaled_draws(times, stratum, sample.size, n_resamples, rng)])

    def measures(sums: np.ndarray, kind: str) -> dict[str, np.ndarray]:
        blocks = dict(zip(COUNTS, np.split(sums, len(COUNTS), axis=-1), strict=True))
        return _measures(
            {
                "true_positives": blocks[f"{kind}_hits"],
                "predicted": blocks["predicted"] + population.also_predicted,
                "support": blocks[f"{kind}_gold"],
            },
            population.total,
            averages,
            beta,
            zero_division,
        )

    sums = (draws * weight) @ features
    of_people, of_labels = measures(sums, "human"), measures(sums, "ds")
    whole = measures(population.sums[None, :], "ds")
    refused = _not_estimable(population, sample, averages)
    found = {
        f"{population.truth}_{name}": _combined(
            of_people[name],
            of_labels[name],
            float(whole[name][0]),
            labels_alone=name.rsplit("_", 1)[0] in ("macro", "macro_all"),
            unseen=1 / len(sample.item) - 1 / len(population.ids),
            num_population=len(population.ids),
        )
        for name in of_people
        if name.rsplit("_", 1)[0] not in refused
    }
    return MagtEstimate(found, refused, len(sample.item), len(population.ids))


def _kinds(columns: np.ndarray, stratum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of the items that count alike in one stratum, and how many there are of each kind."""
    packed = np.packbits(columns, axis=1)
    lines = np.concatenate([stratum.astype(np.int64)[:, None].view(np.uint8), packed], axis=1)
    keys = np.ascontiguousarray(lines).view(np.dtype((np.void, lines.shape[1]))).ravel()
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    return first, times


def rescaled_draws(
    times: np.ndarray, stratum: np.ndarray, size: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Return how often each kind of item counts in a resample, (n_resamples, num_kinds) float64.

    In a stratum with n of N drawn, n - 1 are drawn again with replacement, r times each item, which then
    counts 1 - s + s r n / (n - 1) times with s = sqrt(1 - n / N): the variance is that of drawing without
    replacement, and a stratum that was drawn whole has none. Strata of one drawn item are joined for this.

    Args:
        times: (num_kinds,), drawn items of each kind.
        stratum: (num_kinds,), the stratum of each kind.
        size: (num_strata,), N of each stratum.

    Reference: Rao, Wu and Yue 1992, "Some recent work on resampling methods for complex surveys".
    """
    drawn = np.bincount(stratum, weights=times, minlength=len(size)).astype(np.int64)
    single = (drawn == 1) & (size > 1)
    group = np.where(single[stratum], len(size), stratum)
    if np.count_nonzero(single) == 1:  # alone: it joins the smallest other stratum that is not whole
        others = np.flatnonzero((drawn > 1) & (drawn < size))
        group[group == len(size)] = others[np.argmin(drawn[others])] if len(others) else len(size)
    result = np.tile(times.astype(np.float64), (n_resamples, 1))
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        count = int(times[members].sum())
        scale = np.sqrt(1 - drawn[stratum[members]] / size[stratum[members]])
        if count < 2 or not scale.any():
            continue
        again = rng.multinomial(count - 1, times[members] / count, size=n_resamples)
        result[:, members] += scale * (again * count / (count - 1) - times[members])
    return result


def _measures(
    counts: dict[str, np.ndarray],
    total: int,
    averages: Mapping[str, Any],
    beta: float,
    zero_division: float,
) -> dict[str, np.ndarray]:
    """`{average}_{measure}` and `macro_all_{measure}` -> (num_resamples,), NaN where it is 0 / 0."""
    result = {}
    largest = np.maximum(counts["support"].max(axis=-1), total)
    families: list[dict[str, Any]] = [
        {"averages": averages},
        {"averages": {"macro_all": "macro"}, "macro_over": "labels"},
    ]
    for family in families:
        scores = averaged_scores(
            true_positives=counts["true_positives"],
            predicted=counts["predicted"],
            support=counts["support"],
            total=largest,
            beta=beta,
            zero_division=zero_division,
            **family,
        )
        for name, value in scores.values.items():
            result[name] = value
            value[1:][scores.undefined[name][1:]] = np.nan
    return result


def _combined(
    people: np.ndarray,
    labels: np.ndarray,
    whole: float,
    *,
    labels_alone: bool,
    unseen: float,
    num_population: int,
) -> Estimate:
    """The estimate of a measure: first its value in the sample, then those in the resamples."""
    defined = np.isfinite(people[1:]) & np.isfinite(labels[1:])
    again, proxy = people[1:][defined], labels[1:][defined]
    if len(again) < 2:
        again = proxy = np.zeros(2)
    variance = proxy.var(ddof=1)
    covariance = ((again - again.mean()) * (proxy - proxy.mean())).sum() / (len(again) - 1)
    trust = 1.0 if labels_alone else float(np.clip(covariance / variance, 0, 1)) if variance > 1e-18 else 0.0
    value = float(people[0] + trust * (whole - labels[0]))
    spread = float((again - trust * proxy).std(ddof=1))
    alone_spread = float(again.std(ddof=1))
    spread, alone_spread = (error if error > 1e-12 else 0.0 for error in (spread, alone_spread))
    worth = None
    if alone_spread:
        worth = 1 / (1 / num_population + unseen * (spread / alone_spread) ** 2)
    low, high = (min(max(value + side * NORMAL_QUANTILE * spread, 0.0), 1.0) for side in (-1, 1))
    return Estimate(
        value=min(max(value, 0.0), 1.0),
        low=low,
        high=high,
        se=spread,
        alone=float(people[0]),
        alone_se=alone_spread,
        label_weight=trust,
        worth=worth,
        undefined_share=float(1 - defined.mean()),
    )


def _not_estimable(population: Population, sample: Sample, averages: Mapping[str, Any]) -> dict[str, str]:
    """The averages that lean on relations of which too little is known -> the reason.

    Micro sums counts over the relations, so it leans on none of them, only on all together. Beside relations
    with few judged pairs there are those without a yes so far: whether they have support is not known, which
    matters where even a support of 1 has weight (macro), or a score (macro_all: the sample says 0, without an
    error, and of one system of nyt_h_shaped only 62 % of the intervals then held the value). Where units are
    drawn, few means a support below that of five units of the stratum with the greatest weight.
    """
    support = np.split(population.sums, len(COUNTS))[COUNTS.index("ds_gold")]
    judged = population.tells[sample.item].sum(axis=0)
    if population.truth == "magt":
        complete = judged == population.num_telling
    else:
        complete = np.full(len(judged), len(sample.item) == len(population.ids))
    thin = (judged < MIN_JUDGED) & ~complete
    if population.truth == "revised":
        # Any drawn unit can turn out to have a rare relation, with the weight of its own stratum.
        drawn = np.bincount(sample.stratum, minlength=len(sample.size))
        thin |= (support < MIN_JUDGED * (sample.size / np.maximum(drawn, 1)).max()) & ~complete
    unseen = ~population.counts["human_gold"][sample.item].any(axis=0) & ~complete
    total = np.array(max(population.total, support.max()))
    result = {}
    for name, average in {**averages, "macro_all": None}.items():
        if average == "micro":
            share = float(judged.sum() < MIN_JUDGED and not complete.all())
            unknown = 0.0
        elif average is None:
            share, unknown = float(thin.mean()), float((unseen & (support > 0)).mean())
        else:
            weights = class_weights(support, average, total=total)
            least = class_weights(np.minimum(support, 1), average, total=total)
            mass = weights.sum() or 1.0
            share, unknown = float(weights[thin].sum() / mass), float(least[unseen].sum() / mass)
        if share > MAX_THIN_WEIGHT:
            result[name] = (
                f"relations with fewer than {MIN_JUDGED} judged pairs hold {100 * share:.0f} % of the weight"
            )
        elif unknown > MAX_UNSEEN_WEIGHT:
            result[name] = (
                f"whether {np.count_nonzero(unseen & (support > 0))} relations have a yes is not known, and "
                f"they would hold at least {100 * unknown:.0f} % of the weight"
            )
    return result
