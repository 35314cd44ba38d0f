"""The synthetic corpus at NYT-H's published sizes: which bags there are, before a sentence is written (pure).

The numbers are those in `published`, but for one row with a yes in test, so that counts tell the two apart.
Not published, and chosen here: train_nonna.json and na_train.json
are equally large, dev.json is a tenth of train_nonna.json, train bags have the sizes of test bags.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ..published import (
    NA_BAGS,
    NA_ROWS,
    TEST_BAG_SIZES,
    TEST_PAIRS,
    TEST_ROWS,
    TEST_YES_PAIRS,
    TEST_YES_ROWS,
    TRAIN_ROWS,
)
from ..schema import DEV, NA_REST, NA_TRAIN, NEGATIVE_RELATION, TEST, TRAIN
from .names import ENTAILED, RELATIONS, Entity
from .sentences import NEUTRAL, BagMaker, Row, Sentence, write_sentence

_NONNA_ROWS = TRAIN_ROWS // 2
FULL_SIZES = {
    TRAIN: _NONNA_ROWS,
    NA_TRAIN: TRAIN_ROWS - _NONNA_ROWS,
    NA_REST: NA_ROWS - (TRAIN_ROWS - _NONNA_ROWS),
    DEV: _NONNA_ROWS // 10,
    TEST: TEST_ROWS,
}


@dataclass(frozen=True)
class BagPlan:
    """A bag to write: a row per (sentence, relation).

    `yes[i]` says which of the relations (its position) sentence i expresses, -1 for none.
    """

    num_relations: int
    yes: tuple[int, ...]

    @property
    def num_rows(self) -> int:
        """Rows of the bag."""
        return self.num_relations * len(self.yes)


def long_tail_sizes(num_bags: int, num_rows: int) -> list[int]:
    """Return `num_bags` bag sizes with the sum `num_rows`, falling geometrically from 1 on, largest first.

    >>> long_tail_sizes(4, 7)
    [3, 2, 1, 1]
    """
    sizes, left, reach = [1] * num_bags, num_rows - num_bags, num_bags
    stay = left / num_rows
    while left:
        reach = min(max(1, round(reach * stay)), left)
        for index in range(reach):
            sizes[index] += 1
        left -= reach
    return sizes


def plan_test(rng: random.Random) -> list[BagPlan]:
    """Return the bags of the test set; their counts are the published ones, but for one yes."""
    sizes = [size for size in (1, 2, 3, 4) for _ in range(TEST_BAG_SIZES[str(size)])]
    large = TEST_BAG_SIZES["5+"]
    sizes += [4 + size for size in long_tail_sizes(large, TEST_ROWS - sum(sizes) - 4 * large)]
    rng.shuffle(sizes)
    # Pairs with two relations: each of their sentences is two rows, so these bags have an even size.
    even = [index for index, size in enumerate(sizes) if size % 2 == 0]
    double = set(rng.sample(even, TEST_PAIRS - len(sizes)))
    num_relations = [2 if index in double else 1 for index in range(len(sizes))]
    free = [size // number for size, number in zip(sizes, num_relations, strict=True)]
    # A pair with a yes has at least one sentence of its own; pairs with more sentences are drawn first more
    # often.
    pairs = [(index, relation) for index, number in enumerate(num_relations) for relation in range(number)]
    pairs.sort(key=lambda pair: rng.random() ** (1 / free[pair[0]]), reverse=True)
    expressed: list[list[int]] = [[] for _ in sizes]
    num_pairs = 0
    for index, relation in pairs:
        if num_pairs < TEST_YES_PAIRS and free[index]:
            expressed[index].append(relation)
            free[index] -= 1
            num_pairs += 1
    slots = [index for index, found in enumerate(expressed) if found for _ in range(free[index])]
    first = [tuple(found) for found in expressed]
    for index in rng.sample(slots, TEST_YES_ROWS - TEST_YES_PAIRS - 1):
        expressed[index].append(rng.choice(first[index]))
        free[index] -= 1
    plans = []
    for number, found, none in zip(num_relations, expressed, free, strict=True):
        yes = [*found, *[-1] * none]
        rng.shuffle(yes)
        plans.append(BagPlan(number, tuple(yes)))
    return plans


def plan_train(rng: random.Random, num_rows: int) -> Iterator[BagPlan]:
    """Yield bags of exactly `num_rows` rows, with the bag sizes and the share of double pairs of test."""
    large = TEST_BAG_SIZES["5+"]
    mean_large = (TEST_ROWS - sum(size * TEST_BAG_SIZES[str(size)] for size in range(1, 5))) / large
    weights = list(TEST_BAG_SIZES.values())
    double = (TEST_PAIRS - sum(weights)) / sum(weights[1::2])
    while num_rows:
        size = rng.choices(range(1, 6), weights)[0]
        if size == 5:
            size += int(rng.expovariate(1 / (mean_large - 4.5)))
        size = min(size, num_rows)
        number = 2 if size in (2, 4) and rng.random() < double else 1
        yield BagPlan(number, tuple(rng.choice((-1, *range(number))) for _ in range(size // number)))
        num_rows -= size


def plan_na(rng: random.Random) -> Iterator[tuple[str, int]]:
    """Yield the file and the number of rows of each NA bag; na_train.json and na_rest.json share no bag."""
    sizes = long_tail_sizes(NA_BAGS, NA_ROWS)
    rng.shuffle(sizes)
    left, later = FULL_SIZES[NA_TRAIN], []
    for size in sizes:
        if size <= left:
            left -= size
            yield NA_TRAIN, size
        else:
            later.append(size)
    for size in later:
        yield NA_REST, size


# The more entities, the rarer a pair is drawn that was drawn before.
_ENTITY_SCALE = 200_000


class FullCorpus:
    """Writes planned bags; what is kept in memory are the entities and which pairs were drawn."""

    def __init__(self, rng: random.Random) -> None:
        """Draw everything from `rng`."""
        self.rng = rng
        self.maker = BagMaker(rng, _ENTITY_SCALE)
        self.names = list(RELATIONS)
        self.weights = [1 / (rank + 1) for rank in range(len(RELATIONS))]

    def _rivals(self, relation: str) -> list[str]:
        """Other relations of the same kinds of entities, none of which says the same."""
        kinds = RELATIONS[relation].head, RELATIONS[relation].tail
        implied = (*ENTAILED.get(relation, ()), *(r for r, i in ENTAILED.items() if relation in i))
        return [r for r in self.maker.by_kinds[kinds] if r != relation and r not in implied]

    def bag(self, plan: BagPlan) -> list[Row]:
        """Return the rows of one bag of a related pair: its sentences express what `plan` says."""
        rng = self.rng
        relations = rng.choices(self.names, self.weights)
        if plan.num_relations == 2:
            while not (rivals := self._rivals(relations[0])):
                relations = rng.choices(self.names, self.weights)
            relations.append(rng.choice(rivals))
        pair = self.maker.pair(RELATIONS[relations[0]].head, RELATIONS[relations[0]].tail)
        others = [r for r in self._rivals(relations[0]) if r not in relations]
        rows: list[Row] = []
        texts: set[str] = set()
        for yes in plan.yes:
            expressed = relations[yes] if yes >= 0 else ""
            if not expressed and others and rng.random() < 0.5:
                expressed = rng.choice(others)
            sentence = self._sentence(pair, expressed, texts)
            rows += [
                Row(pair, r, "yes" if yes == number else "no", sentence) for number, r in enumerate(relations)
            ]
        return rows

    def _sentence(self, pair: tuple[Entity, Entity], expressed: str, texts: set[str]) -> Sentence:
        templates = RELATIONS[expressed].templates if expressed else NEUTRAL
        while True:
            sentence = None if expressed else self.maker.overlapping(pair)
            if sentence is None:
                sentence = write_sentence(self.rng, *pair, self.rng.choice(templates))
            if sentence.text not in texts:
                texts.add(sentence.text)
                return sentence

    def stream(self) -> Iterator[tuple[str, list[Row]]]:
        """Yield a data file and rows of one bag for it, until every file has its size.

        Dev is split off train by row, as the authors did: each row goes to dev with the chance that makes the
        sizes come out exactly.
        """
        rng = self.rng
        for plan in plan_test(rng):
            yield TEST, self.bag(plan)
        dev, left = FULL_SIZES[DEV], FULL_SIZES[TRAIN] + FULL_SIZES[DEV]
        for plan in plan_train(rng, left):
            parts: dict[str, list[Row]] = {TRAIN: [], DEV: []}
            for row in self.bag(plan):
                name = DEV if rng.random() * left < dev else TRAIN
                parts[name].append(row)
                dev -= name == DEV
                left -= 1
            yield from ((name, rows) for name, rows in parts.items() if rows)
        kinds = list(self.maker.by_kinds)
        for name, size in plan_na(rng):
            pair = self.maker.pair(*rng.choice(kinds))
            texts: set[str] = set()
            yield (
                name,
                [Row(pair, NEGATIVE_RELATION, "unk", self._sentence(pair, "", texts)) for _ in range(size)],
            )
