"""Which rows and relations of a distantly supervised corpus make a data set (pure; numbers in, numbers out).

The steps of Zhu et al. 2020, section 3, each a function: rows that repeat a row, relations that cannot be
evaluated, the part of train that becomes dev, the sample of NA rows.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

SPLIT_CHOICES = ("pair", "instance", "keep")


def joint_codes(*columns: Rows) -> Rows:
    """Return one number per row, the same exactly where all `columns` (non-negative numbers) are the same.

    >>> joint_codes(np.array([0, 0, 5]), np.array([1, 1, 1])).tolist()
    [0, 0, 1]
    """
    codes = columns[0]
    for column in columns[1:]:
        # Numbered anew each time, so that the product stays below the square of the number of rows.
        _, codes = np.unique(codes, return_inverse=True)
        _, column = np.unique(column, return_inverse=True)
        codes = codes * (int(column.max(initial=0)) + 1) + column
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def first_rows(codes: Rows) -> Rows:
    """Return for each row the first row with the same code; a row that is its own first repeats nothing.

    >>> first_rows(np.array([7, 8, 7, 7])).tolist()
    [0, 1, 0, 0]
    """
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return first[which]


def unfit_relations(
    *,
    train_rows: Mapping[str, int],
    test_rows: Mapping[str, int],
    test_yes_rows: Mapping[str, int],
    min_train: int,
    require_yes: bool = True,
) -> dict[str, str]:
    """Return the relations that cannot be learned or evaluated, each with the first reason that holds.

    The reasons, in this order: "missing in train", "missing in test", "fewer than <min_train> rows in train",
    "no yes in test" (with `require_yes`). A relation that a mapping lacks has no rows there.

    >>> unfit_relations(train_rows={"a": 9, "b": 2, "c": 9}, test_rows={"a": 3, "b": 3},
    ...                 test_yes_rows={"b": 1}, min_train=5)
    {'a': 'no yes in test', 'b': 'fewer than 5 rows in train', 'c': 'missing in test'}

    Reference: Zhu et al. 2020, section 3.
    """
    unfit = {}
    for name in sorted({*train_rows, *test_rows}):
        if not train_rows.get(name):
            unfit[name] = "missing in train"
        elif not test_rows.get(name):
            unfit[name] = "missing in test"
        elif train_rows[name] < min_train:
            unfit[name] = f"fewer than {min_train} rows in train"
        elif require_yes and not test_yes_rows.get(name):
            unfit[name] = "no yes in test"
    return unfit


def dev_rows(pairs: Rows, *, fraction: float, split_by: str, seed: int) -> Mask:
    """Return which rows become dev, shape (rows,); `pairs` says which entity pair each row is about.

    "instance" draws rows one by one, as Zhu et al. did, so that a pair can be on both sides; exactly
    ``round(fraction * rows)`` of them. "pair" draws whole pairs until there are at least so many rows.

    >>> dev_rows(np.array([0, 0, 1, 1]), fraction=0.5, split_by="pair", seed=0).tolist() in (
    ...     [True, True, False, False], [False, False, True, True])
    True
    """
    rng = random.Random(seed)
    target = round(fraction * len(pairs))
    chosen = np.zeros(len(pairs), bool)
    if split_by == "instance":
        chosen[rng.sample(range(len(pairs)), target)] = True
        return chosen
    _, which, sizes = np.unique(pairs, return_inverse=True, return_counts=True)
    order = rng.sample(range(len(sizes)), len(sizes))
    num_pairs = int(np.searchsorted(np.cumsum(sizes[order]), target)) + 1 if target else 0
    return np.isin(which, order[:num_pairs])


def needless_na_rows(content: Rows, *, negative: Mask) -> Mask:
    """Return which rows are NA rows whose `content` (sentence and pair) another row has already.

    That is a row with a relation, wherever it stands, or an earlier NA row.

    >>> needless_na_rows(np.array([4, 4, 5, 5]), negative=np.array([True, False, True, True])).tolist()
    [True, False, False, True]
    """
    order = np.argsort(negative, kind="stable")
    repeats = np.empty(len(content), bool)
    repeats[order] = first_rows(content[order]) != np.arange(len(content))
    return repeats & negative


def na_sample(rows: Rows, *, size: int, seed: int) -> Rows:
    """Return `size` of the `rows` (all where there are fewer), drawn at random, in their order.

    >>> na_sample(np.array([3, 5, 8]), size=7, seed=0).tolist()
    [3, 5, 8]
    """
    drawn = random.Random(seed).sample(range(len(rows)), min(size, len(rows)))
    return rows[np.sort(np.array(drawn, np.int64))]
