"""Why a system scored what it scored: distant labels against people, parts of the test set, confusions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import factorial
from typing import Any

import numpy as np

from ..fscore import averaged_scores, class_scores
from ..row_sources import REFERENCE_KEYS, read_columns
from ..significance.bag_counts import BagCounts, kinds_of_bags, track_matrix
from ..significance.resampling import UNDEFINED_LIMIT, FamilyOptions, drawn_bags, interval_of
from ..track_statistics import PairEvents, TrackStatistics, TruthStatistics
from ..tracks import ScoredTrack
from ..validation import check_choice
from ..weighting import AVERAGES
from .label_breakdown import PARTS, parts_by_support

# What changes from the counts of DSGT to those of MAGT, in the order of tables.
GAP_PARTS = {
    "refused": "predicted, and a human said no: right under DSGT, wrong under MAGT",
    "missed": "not predicted, and a human said no: missing it is an error under DSGT only",
    "unjudged": "distant labels that nobody judged (unk), which MAGT leaves out",
    "added": "relations that judgments add to the gold of MAGT",
}


def gap_of_scored(scored: ScoredTrack) -> dict[str, dict[str, dict[str, float]]]:
    """Return where the difference of F1 under DSGT and MAGT comes from, in all and for each relation.

    Each part is a set of (unit, relation) pairs that the two truths count differently. A part's share is its
    mean effect on the score over all orders in which the parts can be changed (Shapley value), so that the
    parts sum to the difference, whatever the average.

    Returns:
        "all": average (macro over all relations as `macro_all`) -> `dsgt`, `magt`, `difference` and the parts
        of `GAP_PARTS`; "relations": relation -> the same for its own F1, relations without support or
        prediction left out. The difference is dsgt - magt.

    Raises:
        ValueError: The track has no human answers.
    """
    statistics = scored.statistics
    if not {"dsgt", "magt"} <= set(statistics.truths):
        raise ValueError("The gap between DSGT and MAGT needs human answers (bag_label yes or no).")
    units, predicted = statistics.units, statistics.predictions.predicted
    refused = units.distant & ~units.confirmed & ~units.unjudged
    changed = {
        "refused": refused & predicted,
        "missed": refused & ~predicted,
        "unjudged": units.unjudged,
        "added": units.confirmed & ~units.distant,
    }
    # Counts of DSGT, and what each part changes in them: true positives, predicted, gold, (num_relations,).
    start = np.stack([(predicted & units.distant).sum(0), predicted.sum(0), units.distant.sum(0)])
    steps = {
        "refused": (-1, 0, -1),
        "missed": (0, 0, -1),
        "unjudged": (-1, -1, -1),
        "added": (1, 0, 1),
    }
    change = np.stack(
        [
            np.stack(
                [
                    effect * (pairs & predicted if place < 2 else pairs).sum(0)
                    for place, effect in enumerate(steps[part])
                ]
            )
            for part, pairs in changed.items()
        ]
    )
    coalitions = np.array(list(product((0, 1), repeat=len(changed))))
    counts = start + np.einsum("cp,pkr->ckr", coalitions, change)
    parts = {"true_positives": counts[:, 0], "predicted": counts[:, 1], "support": counts[:, 2]}
    total = np.full(len(coalitions), statistics.unit_total.sum())
    values = averaged_scores(**parts, total=total, averages=AVERAGES).values
    values |= averaged_scores(
        **parts, total=total, averages={"macro_all": "macro"}, macro_over="labels"
    ).values
    of_class = class_scores(**parts)[2]
    shown = np.flatnonzero(counts[:, 1:].any(axis=(0, 1)))
    return {
        "all": {
            name: _shares(values[f"{name}_f1"], coalitions, changed) for name in (*AVERAGES, "macro_all")
        },
        "relations": {
            units.relations[relation]: _shares(of_class[:, relation], coalitions, changed)
            for relation in shown
        },
    }


def _shares(value: np.ndarray, coalitions: np.ndarray, parts: Iterable[str]) -> dict[str, float]:
    """Shapley values of the parts, from the score of each coalition."""
    number = coalitions.shape[1]
    place = {tuple(row): index for index, row in enumerate(coalitions.tolist())}
    result = {"dsgt": float(value[0]), "magt": float(value[-1]), "difference": float(value[0] - value[-1])}
    for part, name in enumerate(parts):
        share = 0.0
        for index, row in enumerate(coalitions.tolist()):
            if row[part]:
                continue
            size = sum(row)
            weight = factorial(size) * factorial(number - size - 1) / factorial(number)
            with_part = (*row[:part], 1, *row[part + 1 :])
            share += weight * float(value[index] - value[place[with_part]])
        result[name] = share
    return result


@dataclass(frozen=True)
class Rows:
    """What slices are made of: for each row of the references its unit, and columns by name."""

    statistics: TrackStatistics
    columns: Mapping[str, Sequence[Any]]
    seen_pairs: frozenset[tuple[str, str]] | None

    def column(self, name: str, why: str) -> Sequence[Any]:
        """Return a column.

        Raises:
            ValueError: The references lack it.
        """
        if name not in self.columns:
            raise ValueError(f"The breakdown by {why} needs {name!r} in the references; they lack it.")
        return self.columns[name]

    def lowest(self, values: Sequence[float]) -> np.ndarray:
        """Return the lowest value among the rows of each unit, (num_units,)."""
        units = self.statistics.units
        lowest = np.full(units.num_units, np.inf)
        np.minimum.at(lowest, units.row_unit, np.asarray(values, dtype=np.float64))
        return lowest


def _named(numbers: np.ndarray, edges: Sequence[float], names: Sequence[str]) -> list[str]:
    """The name of the interval that each number lies in; edges belong to the interval below."""
    return [names[place] for place in np.searchsorted(edges, numbers, side="left")]


def _bag_size(rows: Rows) -> list[str]:
    units = rows.statistics.units
    row_bag = units.unit_bag[units.row_unit]
    size = np.bincount(row_bag, minlength=len(units.bag_ids))
    return _named(size[units.unit_bag], (1, 2, 3, 4), ("1", "2", "3", "4", "5 and more"))


def _yes_share(rows: Rows) -> list[str]:
    units, labels = rows.statistics.units, [row[3] for row in rows.statistics.units.rows]
    bag = units.unit_bag[units.row_unit]
    judged = np.array([label != "unk" for label in labels])
    yes = np.array([label == "yes" for label in labels])
    number = np.bincount(bag[judged], minlength=len(units.bag_ids))
    share = np.bincount(bag[yes], minlength=len(units.bag_ids)) / np.maximum(number, 1)
    names = _named(share, (0, 0.5, 0.9999), ("none", "up to half", "more than half", "all"))
    return ["not judged" if not number[bag] else names[bag] for bag in units.unit_bag]


def _support(rows: Rows) -> list[str]:
    """Head: the commonest relations that hold half of the pairs; tail: the rarest that hold a tenth."""
    units = rows.statistics.units
    support = dict(zip(units.relations, units.distant.sum(axis=0).tolist(), strict=True))
    parts = parts_by_support({name: number for name, number in support.items() if number})
    rank = np.array([PARTS.index(parts.get(name, PARTS[0])) for name in units.relations])
    rarest = np.where(units.distant, rank, -1).max(axis=1)
    return [("no relation", *PARTS)[place + 1] for place in rarest]


def _pair(head: Any, tail: Any) -> tuple[str, str]:
    """The ids of two entities, or their words where they have none."""
    return _entity(head), _entity(tail)


def _entity(entity: Any) -> str:
    if not isinstance(entity, Mapping):
        return str(entity)
    return str(entity.get("guid") or entity.get("id") or entity.get("word")).lower()


def _seen(rows: Rows) -> list[str]:
    if rows.seen_pairs is None:
        raise ValueError("The breakdown by seen pairs needs the training rows (`train`, --train FILE).")
    heads, tails = rows.column("head", "seen pairs"), rows.column("tail", "seen pairs")
    unseen = [_pair(*pair) not in rows.seen_pairs for pair in zip(heads, tails, strict=True)]
    return _named(rows.lowest(unseen), (0,), ("seen", "unseen"))


def _mention_status(rows: Rows) -> list[str]:
    status = rows.column("mention_status", "mention_status")
    names = sorted(set(map(str, status)), key=lambda name: (name != "unique", name))
    return [names[int(place)] for place in rows.lowest([names.index(str(one)) for one in status])]


def _words_between(sentence: str, head: Any, tail: Any) -> float:
    spans = []
    for entity in (head, tail):
        start, end = (entity.get("start"), entity.get("end")) if isinstance(entity, Mapping) else (None, None)
        if start is None or end is None or start < 0:
            return np.inf
        spans.append((start, end))
    (_, end), (start, _) = sorted(spans)
    return len(sentence[end:start].split())


def _distance(rows: Rows) -> list[str]:
    columns = [rows.column(name, "distance") for name in ("sentence", "head", "tail")]
    words = rows.lowest([_words_between(*row) for row in zip(*columns, strict=True)])
    return _named(
        words, (3, 8, 15, 1e9), ("0 to 3 words", "4 to 8", "9 to 15", "16 and more", "without places")
    )


def _sentence_length(rows: Rows) -> list[str]:
    words = rows.lowest([len(text.split()) for text in rows.column("sentence", "sentence_length")])
    return _named(words, (20, 40, 60), ("up to 20 words", "21 to 40", "41 to 60", "61 and more"))


SLICES: dict[str, Callable[[Rows], list[str]]] = {
    "bag_size": _bag_size,
    "yes_share": _yes_share,
    "support": _support,
    "seen": _seen,
    "mention_status": _mention_status,
    "distance": _distance,
    "sentence_length": _sentence_length,
}


def slices_of_scored(
    scored: ScoredTrack,
    names: Sequence[str],
    *,
    references: Any,
    train: Any = None,
    seed: int = 0,
    n_resamples: int = 1000,
    confidence: float = 0.95,
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the scores of parts of the test set, with intervals over bags.

    A unit lies in one slice of each name; on bag2bag a bag goes by its nearest, shortest, best located or
    seen row. `support` cuts the relations into head (the commonest, which hold half of the pairs), tail (the
    rarest, which hold a tenth) and middle; a unit goes by its rarest relation.

    Args:
        scored: The system.
        names: Of `SLICES`.
        references: Those that were scored; `seen`, `distance`, `mention_status` and `sentence_length` need
            more of their columns.
        train: Training rows, with `head` and `tail`, for `seen`.
        seed, n_resamples, confidence: Of the bootstrap.

    Returns:
        name -> slice -> `num_units`, `scores` (the keys of `score_track`: the five averages and macro over
        all relations under each truth, equal to those of the slice's rows alone), `intervals` (the same keys
        -> low and high; None where undefined in more than 5 % of the resamples) and `confusions` (see
        `confusions_of_scored`, the costliest).

    Raises:
        ValueError: Another name; a column that the references lack; `seen` without training rows.
    """
    for name in names:
        check_choice("breakdown", name, tuple(SLICES))
    wanted = ("sentence", "head", "tail", "mention_status")
    columns = read_columns(references, required=REFERENCE_KEYS, optional=wanted, name="references")
    pairs = None
    if train is not None:
        training = read_columns(train, required=["head", "tail"], optional=[], name="train")
        pairs = frozenset(map(_pair, training["head"], training["tail"]))
    rows = Rows(scored.statistics, columns, pairs)
    result: dict[str, dict[str, dict[str, Any]]] = {}
    for name in names:
        labels = np.array(SLICES[name](rows))
        result[name] = {
            str(label): _slice(scored.statistics, labels == label, seed, n_resamples, confidence)
            for label in dict.fromkeys(sorted(labels, key=_natural))
        }
    return result


_ORDER = ("none", "up to half", "more than half", "all", "head", "middle", "tail", "seen", "unseen")


def _natural(label: str) -> tuple[int, float, str]:
    """The order of slices: by number where they begin with one, "up to" first."""
    numbers = [int(word) for word in label.split() if word.isdigit()]
    known = _ORDER.index(label) if label in _ORDER else len(_ORDER)
    return known, (numbers[0] if numbers else 1e9) - 0.5 * label.startswith("up to"), label


def _inside(events: PairEvents, units: np.ndarray) -> PairEvents:
    keep = units[events.unit]
    return PairEvents(events.unit[keep], events.relation[keep])


def _slice(
    statistics: TrackStatistics, units: np.ndarray, seed: int, n_resamples: int, confidence: float
) -> dict[str, Any]:
    part = replace(
        statistics,
        unit_total=np.where(units, statistics.unit_total, 0),
        truths={
            prefix: TruthStatistics(
                _inside(truth.gold, units),
                _inside(truth.predicted, units),
                _inside(truth.true_positives, units),
            )
            for prefix, truth in statistics.truths.items()
        },
    )
    num_bags = len(statistics.units.bag_ids)
    ones = np.ones(num_bags, dtype=np.int64)
    kinds = kinds_of_bags(track_matrix(part), ones, np.zeros(num_bags, dtype=np.int64), drop_empty=True)
    counts = BagCounts(statistics.units.relations, tuple(statistics.truths), *kinds)
    options = FamilyOptions()
    estimates = options.scores(counts, counts.totals())
    drawn = [
        options.scores(counts, counts.sums(times))
        for times in drawn_bags(counts, n_resamples, np.random.default_rng(seed), stratify=False)
    ]
    intervals = {}
    for key, value in estimates.values.items():
        values, undefined = (
            np.concatenate([getattr(scores, field)[key] for scores in drawn])
            for field in ("values", "undefined")
        )
        found = interval_of(float(value[0]), values, undefined, confidence=confidence)
        intervals[key] = None if found.undefined_share > UNDEFINED_LIMIT else (found.low, found.high)
    return {
        "num_units": int(units.sum()),
        "scores": {key: float(value[0]) for key, value in estimates.values.items()},
        "intervals": intervals,
        "confusions": confusions(part, truth=truth_of_people(statistics), units=units)[:1],
    }


def truth_of_people(statistics: TrackStatistics) -> str:
    """Return the truth that says what is wrong: people where there are answers, else the distant labels."""
    return "magt" if "magt" in statistics.truths else "dsgt"


def confusions(
    statistics: TrackStatistics, *, truth: str, units: np.ndarray | None = None
) -> list[dict[str, Any]]:
    """Return what the system says in place of what is right, the most frequent first.

    A wrong prediction stands for each missed gold relation of its unit, or for the negative relation where
    none is missed; a missed relation without a wrong prediction was taken for the negative one.

    Args:
        statistics: The system.
        truth: The prefix of a truth.
        units: (num_units,) bool, those that count; None: all.

    Returns:
        Records with `gold`, `predicted` and `units`, the positions of the units where it happens.
    """
    shape = statistics.predictions.predicted.shape
    gold, said, right = (np.zeros(shape, dtype=bool) for _ in range(3))
    events = statistics.truths[truth]
    for matrix, pairs in ((gold, events.gold), (said, events.predicted), (right, events.true_positives)):
        matrix[pairs.unit, pairs.relation] = True
    wrong, missed = said & ~right, gold & ~right
    names, negative = statistics.units.relations, statistics.units.negative_relation
    found: dict[tuple[str, str], list[int]] = {}
    where = np.flatnonzero((wrong | missed).any(axis=1) & (True if units is None else units))
    for unit in where.tolist():
        golds = [names[code] for code in np.flatnonzero(missed[unit])] or [negative]
        answers = [names[code] for code in np.flatnonzero(wrong[unit])] or [negative]
        for pair in product(golds, answers):
            found.setdefault(pair, []).append(unit)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [{"gold": pair[0], "predicted": pair[1], "units": places} for pair, places in ordered]
