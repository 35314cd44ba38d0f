"""The synthetic corpus at NYT-H's published sizes: which bags there are, before a sentence is written (pure).

Published are the numbers in `published`. Not published, and chosen here: train_nonna.json and na_train.json
are equally large, dev.json is a tenth of train_nonna.json, train bags have the sizes of test bags.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from .published import (
    NA_BAGS,
    NA_ROWS,
    TEST_BAG_SIZES,
    TEST_PAIRS,
    TEST_ROWS,
    TEST_YES_PAIRS,
    TEST_YES_ROWS,
    TRAIN_ROWS,
)
from .schema import DEV, NA_REST, NA_TRAIN, TEST, TRAIN

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
    """Return the bags of the test set; their counts are the published ones exactly."""
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
    for index in rng.sample(slots, TEST_YES_ROWS - TEST_YES_PAIRS):
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
