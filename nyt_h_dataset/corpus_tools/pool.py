"""The pool: which predictions that nobody judged to judge first, so that few answers settle most.

A pair (unit, relation) is open when a system predicts it and no answer covers it, or when its bag_label is
unk. First come pairs that only one of two systems predicts whose order is not certain yet, then those that
shrink most intervals; both by how far an answer moves micro F1 and the macro F1 over all relations. F1 is
2 tp / (gold + predicted), so a pair moves micro by about 2 / (gold + predicted) of all relations, and macro
by that of its own relation over the number of relations: an answer about a rare relation moves macro more. A
bag is settled by a yes for one of its sentences or a no for all, so its pair costs an answer per sentence.

The order of two systems is certain by the same counts; the exact bounds of every average are the metric's
(`order_bounds`), which this package does not import.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

MEASURES = ("micro F1", "macro F1 over all relations")


@dataclass(frozen=True)
class Order:
    """Two systems under one measure, before and after the chosen pairs are judged.

    Attributes:
        systems: Their names.
        measure: One of MEASURES.
        low, high: The range of the first system's F1 minus the second's over all answers.
        can_be_settled: Whether some answers to the chosen pairs make the order certain; None where it is so
            already.
    """

    systems: tuple[str, str]
    measure: str
    low: float
    high: float
    can_be_settled: bool | None


@dataclass(frozen=True)
class Pool:
    """The pairs to judge.

    Attributes:
        pairs: (instance_id, relation), the most useful first.
        num_open: Open pairs of the units in all.
        num_answers: Answers that would be needed for all of them.
        orders: Each two systems under each measure.
    """

    pairs: tuple[tuple[str, str], ...]
    num_open: int
    num_answers: int
    orders: tuple[Order, ...]


@dataclass(frozen=True)
class _Counts:
    """Counts by relation: gold (C,), predicted and right (systems, C); and of each open pair its relation,
    who predicts it (num_open, systems), and whether it is a DS relation, gold also for those who do not.
    """

    gold: np.ndarray
    predicted: np.ndarray
    right: np.ndarray
    relation: np.ndarray
    said: np.ndarray
    distant: np.ndarray


@dataclass(frozen=True)
class _Unit:
    """A sentence (twins are one) or a bag: its DS answers and the rows that show its sentences."""

    answers: dict[str, str]
    rows: tuple[str, ...]


def choose_pairs(
    *,
    records: Sequence[Mapping[str, Any]],
    systems: Mapping[str, Mapping[str, Iterable[str]]],
    relations: Sequence[str],
    budget: int,
    by_bag: bool = False,
    judgments: Sequence[Mapping[str, str]] = (),
) -> Pool:
    """Return the pairs whose answers tell most about the systems, at most `budget`.

    Args:
        records: The test rows.
        systems: Name -> id of each instance (`by_bag`: of each bag) -> the positive relations it predicts.
        relations: The positive relations.
        budget: How many (sentence, relation) pairs can be judged.
        by_bag: The predictions are of bags.
        judgments: Answers so far ({instance_id, relation, answer}), which are not asked again.

    Raises:
        ValueError: A budget below 1, no systems, a judgment of an unknown row, nothing open.
    """
    if budget < 1:
        raise ValueError(f"`budget` must be at least 1; got {budget}.")
    if not systems:
        raise ValueError("there are no predictions; the pool is made of what systems predict.")
    shown_by = _first_rows(records)
    unknown = [j["instance_id"] for j in judgments if j["instance_id"] not in shown_by]
    if unknown:
        raise ValueError(
            f"{len(unknown)} judgments are about rows that test lacks, the first {unknown[0]!r}."
        )
    answered = {(shown_by[j["instance_id"]], j["relation"]): j["answer"] for j in judgments}
    units = _units(records, shown_by, answered, by_bag)
    counts, waiting = _counted(units, systems, relations, answered)
    if not waiting:
        raise ValueError("there is nothing to judge: every prediction has its answer.")
    chosen, pairs = _chosen(counts, waiting, budget)
    return Pool(
        pairs=tuple(pairs),
        num_open=len(waiting),
        num_answers=sum(len(rows) for _, rows in waiting),
        orders=tuple(_orders(counts, list(systems), chosen)),
    )


def _first_rows(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Instance id -> the first row of the same bag and sentence; without a sentence the row itself."""
    first: dict[Any, str] = {}
    return {
        record["instance_id"]: first.setdefault(
            (record["bag_id"], text) if (text := record["sentence"].strip()) else record["instance_id"],
            record["instance_id"],
        )
        for record in records
    }


def _units(
    records: Sequence[Mapping[str, Any]],
    shown_by: Mapping[str, str],
    answered: Mapping[tuple[str, str], str],
    by_bag: bool,
) -> dict[str, _Unit]:
    """Id of each instance or bag -> its unit."""
    members: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        key = record["bag_id"] if by_bag else shown_by[record["instance_id"]]
        members.setdefault(key, []).append(record)
    units: dict[str, _Unit] = {}
    for key, rows in members.items():
        answers: dict[str, str] = {}
        for row in rows:
            label = answered.get((shown_by[row["instance_id"]], row["relation"]), row["bag_label"])
            known = answers.get(row["relation"], "no")
            answers[row["relation"]] = max(known, label, key=("no", "unk", "yes").index)
        unit = _Unit(answers, tuple(dict.fromkeys(shown_by[row["instance_id"]] for row in rows)))
        units.update({key: unit} if by_bag else {row["instance_id"]: unit for row in rows})
    return units


def _counted(
    units: Mapping[str, _Unit],
    systems: Mapping[str, Mapping[str, Iterable[str]]],
    relations: Sequence[str],
    answered: Mapping[tuple[str, str], str],
) -> tuple[_Counts, list[tuple[str, tuple[str, ...]]]]:
    """The counts, and of each open pair the relation and the rows that wait for an answer."""
    place = {name: column for column, name in enumerate(relations)}
    ids: dict[int, list[str]] = {}
    for number, unit in units.items():
        ids.setdefault(id(unit), []).append(number)
    gold = np.zeros(len(relations), dtype=np.int64)
    predicted, right = (np.zeros((len(systems), len(relations)), dtype=np.int64) for _ in range(2))
    relation, said, distant, waiting = [], [], [], []
    for numbers in ids.values():
        unit = units[numbers[0]]
        by_system = [
            {name for number in numbers for name in system.get(number, ())} for system in systems.values()
        ]
        for name in relations:
            who = np.array([name in names for names in by_system])
            known = [answered[(row, name)] for row in unit.rows if (row, name) in answered]
            answer = unit.answers.get(name)
            if "yes" in known:
                answer = "yes"
            elif answer is None and len(known) == len(unit.rows):
                answer = "no"
            predicted[:, place[name]] += who
            if answer == "yes":
                gold[place[name]] += 1
                right[:, place[name]] += who
            elif answer == "unk" or (answer is None and who.any()):
                relation.append(place[name])
                said.append(who)
                distant.append(answer is not None)
                waiting.append((name, tuple(row for row in unit.rows if (row, name) not in answered)))
    columns = np.array(relation, dtype=np.int64), np.array(said), np.array(distant)
    return _Counts(gold, predicted, right, *columns), waiting


def _chosen(
    counts: _Counts, waiting: Sequence[tuple[str, tuple[str, ...]]], budget: int
) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Which open pairs are asked for whole, (num_open,) bool, and the rows to ask about in order."""
    cost = np.array([len(rows) for _, rows in waiting])
    effect = _effects(counts)
    contested = np.zeros(len(waiting))
    for a, b in combinations(range(len(counts.right)), 2):
        ranges = _ranges(counts, a, b, np.ones(len(waiting), dtype=bool))
        uncertain = [low <= 0 <= high and low < high for low, high in ranges]
        contested += (counts.said[:, a] != counts.said[:, b]) * (effect @ uncertain)
    width = counts.said.sum(axis=1) * effect.sum(axis=1)
    order = np.lexsort((np.arange(len(waiting)), -width / cost, -contested / cost))
    chosen = np.zeros(len(waiting), dtype=bool)
    pairs: list[tuple[str, str]] = []
    for position in order:
        name, rows = waiting[position]
        if len(pairs) + len(rows) <= budget:
            chosen[position] = True
            pairs += [(row, name) for row in rows]
    return chosen, pairs


def _effects(counts: _Counts) -> np.ndarray:
    """How far one answer about each open pair moves the two measures, (num_open, 2)."""
    sizes = counts.gold + counts.predicted.mean(axis=0)
    micro = np.full(len(counts.relation), 2 / max(sizes.sum(), 1))
    macro = 2 / np.maximum(sizes[counts.relation], 1) / len(sizes)
    return np.stack([micro, macro], axis=1)


def _ranges(counts: _Counts, a: int, b: int, still_open: np.ndarray) -> list[tuple[float, float]]:
    """The range of F1 of a minus F1 of b over the answers to the open pairs, under MEASURES."""
    num_relations = len(counts.gold)
    kinds = []
    for in_a, in_b in ((True, False), (True, True), (False, False), (False, True)):
        here = still_open & (counts.said[:, a] == in_a) & (counts.said[:, b] == in_b)
        here &= in_a | in_b | counts.distant
        kinds.append(np.bincount(counts.relation[here], minlength=num_relations))
    table = np.stack(
        [counts.right[a], counts.right[b], counts.predicted[a], counts.predicted[b], counts.gold, *kinds]
    )
    micro = _difference_range(*table.sum(axis=1).tolist())
    by_relation = np.array([_difference_range(*column) for column in table.T.tolist()])
    low, high = by_relation.mean(axis=0).tolist()
    return [micro, (low, high)]


def _difference_range(
    right_a: int,
    right_b: int,
    predicted_a: int,
    predicted_b: int,
    gold: int,
    only_a: int,
    both: int,
    neither: int,
    only_b: int,
) -> tuple[float, float]:
    """The range of F1 of a minus F1 of b: with s right answers, those of a alone raise it most.

    >>> _difference_range(1, 1, 2, 1, 1, 1, 0, 0, 0)  # 2/3 - 1, or with the open pair of a right 1 - 2/3
    (-0.33333333333333337, 0.33333333333333337)
    """
    blocks = [(only_a, 1, 0), (both, 1, 1), (neither, 0, 0), (only_b, 0, 1)]
    if predicted_a > predicted_b:
        blocks[1], blocks[2] = blocks[2], blocks[1]
    ends = []
    for ordered in (blocks[::-1], blocks):
        gains = np.repeat([block[1:] for block in ordered], [block[0] for block in ordered], axis=0)
        gained = np.concatenate([np.zeros((1, 2)), gains.cumsum(axis=0)])
        support = gold + np.arange(len(gained))
        f1_a = 2 * (right_a + gained[:, 0]) / np.maximum(support + predicted_a, 1)
        f1_b = 2 * (right_b + gained[:, 1]) / np.maximum(support + predicted_b, 1)
        ends.append(f1_a - f1_b)
    return float(ends[0].min()), float(ends[1].max())


def _orders(counts: _Counts, names: Sequence[str], chosen: np.ndarray) -> Iterable[Order]:
    """Each two systems: their range now, and whether answers to the chosen pairs can settle their order."""
    for a, b in combinations(range(len(names)), 2):
        now = _ranges(counts, a, b, np.ones(len(chosen), dtype=bool))
        ahead, behind = (
            _ranges(_answered(counts, side, other, chosen), a, b, ~chosen) for side, other in ((a, b), (b, a))
        )
        for place, (measure, (low, high)) in enumerate(zip(MEASURES, now, strict=True)):
            certain = low > 0 or high < 0
            settled = ahead[place][0] > 0 or behind[place][1] < 0
            yield Order((names[a], names[b]), measure, low, high, None if certain else settled)


def _answered(counts: _Counts, ahead: int, behind: int, chosen: np.ndarray) -> _Counts:
    """The counts when the answers to the chosen pairs favour one system as much as they can."""
    yes = chosen & counts.said[:, ahead] & ~counts.said[:, behind]
    added = np.bincount(counts.relation[yes], minlength=len(counts.gold))
    right = counts.right.copy()
    for system in range(len(right)):
        right[system] += np.bincount(
            counts.relation[yes & counts.said[:, system]], minlength=len(counts.gold)
        )
    return _Counts(counts.gold + added, counts.predicted, right, counts.relation, counts.said, counts.distant)
