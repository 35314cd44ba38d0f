"""Bounds: the least and greatest MAGT scores over every way in which unjudged predictions can be answered.

An open pair (unit, relation) is predicted and was judged by nobody; MAGT counts it wrong. If it is right, it
is a true positive and one more gold pair, so it changes the weights, too. Scores depend on how many open
pairs of each class are right, not on which. A weighted average is sum_c w_c(n_c) s_c / sum_c w_c(n_c), a
ratio in which each class is chosen apart: Dinkelbach's iteration finds its extreme exactly.

Reference: Dinkelbach 1967, "On Nonlinear Fractional Programming", Management Science 13(7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..fscore import class_scores, measure_names
from ..signature import parse_signature
from ..track_statistics import resolve_truths
from ..tracks import ScoredTrack
from ..unit_predictions import read_unit_predictions
from ..units import Units, read_units
from ..validation import check_choice, check_real
from ..weighting import AVERAGES, Average, class_weights, named_averages

Bounds = tuple[float, float]


def magt_bounds(
    *,
    track: str,
    references: Any,
    predictions: Any,
    relations: Any = None,
    negative_relation: str = "NA",
    unk: str = "error",
    by: str = "rows",
    judgments: Any = None,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
) -> dict[str, Any]:
    """Return the least and greatest MAGT scores that answers to a system's own open pairs can lead to.

    They bound MAGT given that nothing unpredicted is missing. The low end of an F1 need not be the present
    value (a right answer adds a gold pair to a class with a low score), and the intervals of two systems must
    not be subtracted: `order_bounds` answers shared pairs once.

    Args:
        track, references, predictions, relations, negative_relation, by, judgments: as in `score_track`.
        unk: what a DS relation without a yes and with an unk is: "error"; "exclude": outside the counts; or
            "open": to be answered, also where it is not predicted (a right one then adds a gold pair).
        averages: names and exponents "n^a". N of the entropy weights counts DS pairs and stays.
        beta, zero_division: as in `f1_family`.

    Returns:
        `{average}_{precision|recall|f1}` and `macro_all_{...}` -> (low, high), and

        - num_unjudged: predicted relations that nobody judged for their unit, as `score_track` counts them;
        - num_open: the pairs whose answers the bounds range over;
        - num_judged_on_twin: open pairs whose answer a row of the same sentence holds (by="sentences" uses
          it); None without sentences.

    >>> rows = [
    ...     {"instance_id": "i0", "bag_id": "b0", "relation": "born_in", "bag_label": "yes"},
    ...     {"instance_id": "i1", "bag_id": "b1", "relation": "NA", "bag_label": "unk"},
    ... ]
    >>> bounds = magt_bounds(
    ...     track="sent2sent", references=rows, relations=["born_in"],
    ...     predictions=[{"instance_id": "i0", "pred": "born_in"}, {"instance_id": "i1", "pred": "born_in"}],
    ... )
    >>> bounds["micro_precision"], bounds["num_unjudged"]  # 1 of 2 right, or both
    ((0.5, 1.0), 1)

    Raises:
        TypeError, ValueError: as `score_track`; a function among the averages, whose weights need not be one
            a class; nothing judged at all, unless unk="open".
    """
    units = read_units(
        track=track,
        references=references,
        relations=relations,
        negative_relation=negative_relation,
        by=by,
        judgments=judgments,
    )
    options = checked_options(averages=averages, beta=beta, zero_division=zero_division)
    check_unk(units, unk)
    return bounds_of_units(units, read_unit_predictions(predictions, units).predicted, unk=unk, **options)


def order_bounds(
    *,
    predictions_a: Any,
    predictions_b: Any,
    unk: str = "error",
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    **references: Any,
) -> dict[str, Any]:
    """Return the least and greatest F1 of system a minus F1 of system b over the answers to what either
    predicts.

    A pair that both predict is right for both or wrong for both. The order of the systems is certain where
    both ends have the same sign.

    Args:
        predictions_a, predictions_b: the systems' predictions, as `predictions` of `score_track`.
        unk, averages, beta, zero_division: as in `magt_bounds`.
        references: what `read_units` takes: track, references, relations, negative_relation, by, judgments.

    Returns:
        `{average}_f1` (`fbeta`) and `macro_all_f1` -> (low, high), and `num_open`, the pairs they range over.

    >>> rows = [{"instance_id": "i0", "bag_id": "b0", "relation": "born_in", "bag_label": "yes"},
    ...         {"instance_id": "i1", "bag_id": "b1", "relation": "NA", "bag_label": "unk"}]
    >>> said = [[{"instance_id": "i0", "pred": first}, {"instance_id": "i1", "pred": "born_in"}]
    ...         for first in ("born_in", "NA")]
    >>> order_bounds(  # i1 wrong: F1 2/3 and 0; right: 1 and 2/3
    ...     track="sent2sent", references=rows, relations=["born_in"],
    ...     predictions_a=said[0], predictions_b=said[1], averages="micro",
    ... )["micro_f1"]
    (0.33333333333333337, 0.6666666666666666)

    Raises:
        TypeError, ValueError: as `magt_bounds`.
    """
    units = read_units(**references)
    options = checked_options(averages=averages, beta=beta, zero_division=zero_division)
    check_unk(units, unk)
    a, b = (read_unit_predictions(side, units).predicted for side in (predictions_a, predictions_b))
    return order_of_units(units, a, b, unk=unk, **options)


def bounds_of_scored(scored: ScoredTrack) -> dict[str, Any] | None:
    """Return `magt_bounds` of a system that was scored already, with its options; None where MAGT was not
    scored.

    Averages that bounds cannot have are left out: functions, and entropy over the positive rows, whose N
    would change with the answers.
    """
    if "magt" not in scored.signatures:
        return None
    made = parse_signature(scored.signatures["magt"])
    pairs = [name.rsplit("=", 1) if "=" in name else [name, name] for name in made.averages]
    averages = {
        name: average
        for name, average in pairs
        if average != "function" and not (average == "entropy" and made.entropy == "positive")
    }
    return bounds_of_units(
        scored.units,
        scored.predictions.predicted,
        averages=averages,
        beta=made.beta,
        zero_division=made.zero,
        unk=made.unk or "error",
    )


def mean_bounds(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the ends of the intervals of several runs of one system, and their counts, averaged over the
    runs.

    The mean score of the runs lies between them; shared open pairs can make its own range narrower.

    >>> mean_bounds([{"micro_f1": (0.25, 0.5), "num_open": 3}, {"micro_f1": (0.5, 1.0), "num_open": 4}])
    {'micro_f1': (0.375, 0.75), 'num_open': 3.5}
    """
    result: dict[str, Any] = {}
    for name, first in runs[0].items():
        if first is None:
            result[name] = None
        elif isinstance(first, (tuple, list)):
            result[name] = tuple(sum(run[name][end] for run in runs) / len(runs) for end in (0, 1))
        else:
            mean = sum(run[name] for run in runs) / len(runs)
            result[name] = int(mean) if mean.is_integer() else mean
    return result


def checked_options(*, averages: Any, beta: float, zero_division: float) -> dict[str, Any]:
    """Return the options of the bounds, checked.

    Raises:
        TypeError: of another type.
        ValueError: out of range, unknown, or a function among the averages.
    """
    named = named_averages(averages)
    functions = [name for name, average in named.items() if callable(average)]
    if functions:
        raise ValueError(
            f"Bounds need weights that depend on one class alone; {functions[0]!r} is a function. Give names "
            "or exponents 'n^a'."
        )
    return {
        "averages": named,
        "beta": check_real("beta", beta, low=0.0, high=np.inf),
        "zero_division": check_real("zero_division", zero_division, low=0.0, high=1.0),
    }


def check_unk(units: Units, unk: str) -> None:
    """Check that MAGT can be asked of the units.

    Raises:
        ValueError: another choice; labels unk that neither are open nor excluded; nothing judged.
    """
    if check_choice("unk", unk, ("error", "exclude", "open")) != "open":
        resolve_truths("magt", unk, units)


def open_pairs(units: Units, predicted: np.ndarray, *, unk: str) -> np.ndarray:
    """Return the pairs that wait for an answer, bool (num_units, num_relations).

    Args:
        units: the units.
        predicted: (num_units, num_relations) bool; the union of several systems.
        unk: "open" adds the DS relations that are unk, predicted or not.
    """
    strange = predicted & ~units.distant & ~units.judged
    return strange | units.unjudged if unk == "open" else strange


def num_judged_on_twin(units: Units, pairs: np.ndarray) -> int | None:
    """Return how many of the open pairs another row of the same sentence answers; None without sentences."""
    if units.track == "bag2bag" or units.by == "sentences":
        return 0
    if units.num_twins is None:
        return None
    answered = np.zeros((int(units.row_sentence.max()) + 1, len(units.relations)), dtype=bool)
    np.logical_or.at(answered, units.row_sentence, units.distant & ~units.unjudged)
    return int(np.count_nonzero(pairs & answered[units.row_sentence] & ~units.distant))


def bounds_of_units(
    units: Units,
    predicted: np.ndarray,
    *,
    averages: Mapping[str, Any],
    beta: float = 1.0,
    zero_division: float = 0.0,
    unk: str = "error",
) -> dict[str, Any]:
    """Return `magt_bounds` of predictions (num_units, num_relations) that are aligned with the units."""
    choices = _choices(units, [predicted], unk)
    result = _bounds(choices, units, averages, beta, zero_division, measure_names(beta))
    waiting = open_pairs(units, predicted, unk=unk)
    nobody = predicted & ((~units.distant & ~units.judged) | units.unjudged)
    return result | {
        "num_unjudged": int(np.count_nonzero(nobody)),
        "num_open": int(np.count_nonzero(waiting)),
        "num_judged_on_twin": num_judged_on_twin(units, waiting),
    }


def order_of_units(
    units: Units,
    predicted_a: np.ndarray,
    predicted_b: np.ndarray,
    *,
    averages: Mapping[str, Any],
    beta: float = 1.0,
    zero_division: float = 0.0,
    unk: str = "error",
) -> dict[str, Any]:
    """Return `order_bounds` of predictions (num_units, num_relations) that are aligned with the units."""
    choices = _choices(units, [predicted_a, predicted_b], unk)
    result = _bounds(choices, units, averages, beta, zero_division, measure_names(beta)[2:])
    waiting = open_pairs(units, predicted_a | predicted_b, unk=unk)
    return result | {"num_open": int(np.count_nonzero(waiting))}


@dataclass(frozen=True)
class _Choices:
    """The counts of each class as they are, and its open pairs by who predicts them.

    Attributes:
        true_positives, predicted: (num_systems, num_classes) int64.
        support: (num_classes,) int64.
        only_a, both, only_b, neither: (num_classes,) int64, open pairs; with one system only_a and neither.
    """

    true_positives: np.ndarray
    predicted: np.ndarray
    support: np.ndarray
    only_a: np.ndarray
    both: np.ndarray
    only_b: np.ndarray
    neither: np.ndarray

    def summed(self) -> _Choices:
        """Return all classes as one, which is how micro counts."""
        return _Choices(
            **{name: getattr(self, name).sum(axis=-1, keepdims=True) for name in self.__dataclass_fields__}
        )


def _choices(units: Units, systems: Sequence[np.ndarray], unk: str) -> _Choices:
    candidates = np.ones_like(units.unjudged) if unk == "open" else ~units.unjudged
    counted = [system & candidates for system in systems]
    a, b = counted[0], counted[-1] if len(counted) > 1 else np.zeros_like(counted[0])
    waiting = open_pairs(units, a | b, unk=unk)
    return _Choices(
        true_positives=np.stack([(system & units.confirmed).sum(axis=0) for system in counted]),
        predicted=np.stack([system.sum(axis=0) for system in counted]),
        support=units.confirmed.sum(axis=0),
        only_a=(waiting & a & ~b).sum(axis=0),
        both=(waiting & a & b).sum(axis=0),
        only_b=(waiting & b & ~a).sum(axis=0),
        neither=(waiting & ~a & ~b).sum(axis=0),
    )


@dataclass(frozen=True)
class _Filled:
    """The options of all classes after one another: 0, 1, 2, ... right answers, given in the best order.

    Attributes:
        start: (num_classes,) int64, where the options of each class begin.
        support: (num_options,) int64.
        values: measure -> (num_options,) float64, of one system or the difference of two.
    """

    start: np.ndarray
    support: np.ndarray
    values: dict[str, np.ndarray]


def _filled(
    choices: _Choices, beta: float, zero_division: float, measures: Sequence[str], up: bool
) -> _Filled:
    """The options, with the right answers given first where they raise the value most (`up`) or least.

    With s right answers the support is fixed, so those of a alone raise a's F1, those of both raise both
    (more the one that predicts less), those of b alone raise b's.
    """
    num_classes = len(choices.support)
    gained: list[np.ndarray] = []
    for position in range(num_classes):
        blocks = [
            np.repeat([gain], choices_of[position], axis=0)
            for choices_of, gain in (
                (choices.only_a, (1, 0)),
                (choices.both, (1, 1)),
                (choices.neither, (0, 0)),
                (choices.only_b, (0, 1)),
            )
        ]
        if choices.predicted[0, position] > choices.predicted[-1, position]:
            blocks[1], blocks[2] = blocks[2], blocks[1]
        ordered = np.concatenate(blocks if up else blocks[::-1])
        gained.append(np.concatenate([np.zeros((1, 2), dtype=np.int64), ordered.cumsum(axis=0)]))
    length = np.array([len(part) for part in gained])
    start = np.cumsum(length) - length
    class_of = np.repeat(np.arange(num_classes), length)
    support = choices.support[class_of] + np.arange(len(class_of)) - start[class_of]
    gains = np.concatenate(gained)
    scores = [
        class_scores(
            true_positives=choices.true_positives[system][class_of] + gains[:, system],
            predicted=choices.predicted[system][class_of],
            support=support,
            beta=beta,
            zero_division=zero_division,
        )
        for system in range(len(choices.predicted))
    ]
    place = measure_names(beta)
    values = {}
    for name in measures:
        values[name] = scores[0][place.index(name)]
        if len(scores) > 1:
            values[name] = values[name] - scores[1][place.index(name)]
    return _Filled(start, support, values)


def _bounds(
    choices: _Choices,
    units: Units,
    averages: Mapping[str, Any],
    beta: float,
    zero_division: float,
    measures: Sequence[str],
) -> dict[str, Bounds]:
    """`{average}_{measure}` -> (low, high)."""
    total = int(np.maximum(units.distant.sum(axis=1), 1).sum())
    undefined = zero_division if len(choices.predicted) == 1 else 0.0
    ends: dict[str, list[float]] = {}
    for up in (False, True):
        sign = 1.0 if up else -1.0
        apart = _filled(choices, beta, zero_division, measures, up)
        together = _filled(choices.summed(), beta, zero_division, measures, up)
        for name, average in {**averages, "macro_all": None}.items():
            if average == "micro":
                best = {measure: (sign * value).max() for measure, value in together.values.items()}
            else:
                weights = _weights(apart.support, average, total)
                best = {
                    measure: _greatest_mean(weights, sign * value, apart.start, sign * undefined)
                    for measure, value in apart.values.items()
                }
            for measure, value in best.items():
                ends.setdefault(f"{name}_{measure}", []).append(float(sign * value) + 0.0)
    return {name: (low, high) for name, (low, high) in ends.items()}


def _weights(support: np.ndarray, average: Any, total: int) -> np.ndarray:
    """The weight of every option, (num_options,); None is the average over all relations."""
    if average is None:
        return np.ones(len(support))
    return class_weights(support[:, None], average, total=np.full(len(support), total))[:, 0]


def _greatest_mean(weights: np.ndarray, values: np.ndarray, start: np.ndarray, undefined: float) -> float:
    """The greatest sum(w v) / sum(w) over one option a class; `undefined` where all weights can be 0.

    Dinkelbach: given a mean m that some choice reaches, take in each class the option with the greatest
    w (v - m). Their mean is greater than m, or m is the greatest.

    Args:
        weights, values: (num_options,), weights >= 0, the options of the classes after one another.
        start: (num_classes,), where the options of each class begin.
        undefined: the mean of a choice whose weights are all 0.
    """
    chosen = _best_options(weights, start)
    if weights[chosen].sum() == 0:
        return undefined
    mean = float(weights[chosen] @ values[chosen] / weights[chosen].sum())
    while True:
        chosen = _best_options(weights * (values - mean), start)
        mass = weights[chosen].sum()
        greater = float(weights[chosen] @ values[chosen] / mass) if mass else mean
        if greater <= mean:
            break
        mean = greater
    if np.minimum.reduceat(weights, start).max() == 0:
        mean = max(mean, undefined)
    return mean


def _best_options(gains: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The option of each class with the greatest gain, the first of equals; (num_classes,) int64."""
    length = np.diff(np.append(start, len(gains)))
    at_best = np.flatnonzero(gains == np.repeat(np.maximum.reduceat(gains, start), length))
    class_of = np.repeat(np.arange(len(start)), length)[at_best]
    return at_best[np.unique(class_of, return_index=True)[1]]
