"""Which rows make which bag: flat arrays, made once from the rows of a split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bags:
    """Bags of the rows of a split.

    Attributes:
        names: The bag's id (the row's id for bags of one), shape (num_bags,).
        rows: Row numbers, int64, all bags one after another.
        starts: int64, shape (num_bags + 1,); bag i has the rows rows[starts[i]:starts[i + 1]].
        labels: int64, shape (num_bags,): the bag's relation, the first where there are several; or the
            `label_sets` of its rows.

    >>> Bags(names=["b0"], rows=np.array([4, 7]), starts=np.array([0, 2]), labels=np.array([1])).sizes
    array([2])
    """

    names: Sequence[str]
    rows: np.ndarray
    starts: np.ndarray
    labels: np.ndarray

    def __post_init__(self) -> None:
        """Refuse an empty bag.

        Raises:
            ValueError: A bag has no rows.
        """
        empty = np.flatnonzero(self.sizes <= 0)
        if len(empty):
            name = self.names[int(empty[0])]
            raise ValueError(
                f"bag {name!r} has no sentences ({len(empty)} such bags); leave it out or give some."
            )

    def __len__(self) -> int:
        """Number of bags."""
        return len(self.names)

    @property
    def sizes(self) -> np.ndarray:
        """Rows per bag, int64, shape (num_bags,)."""
        return np.diff(self.starts)

    def restricted_to(self, usable: np.ndarray) -> Bags:
        """The bags with these rows only, less those that have none of them; `usable` is bool by row."""
        bag_of_row = np.repeat(np.arange(len(self)), self.sizes)
        kept = usable[self.rows]
        sizes = np.bincount(bag_of_row[kept], minlength=len(self))
        bags = np.flatnonzero(sizes)
        return Bags(
            names=[self.names[bag] for bag in bags.tolist()],
            rows=self.rows[kept],
            starts=_starts(sizes[bags]),
            labels=self.labels[bags],
        )


def pair_bags(*, pair_names: Sequence[str], labels: np.ndarray) -> Bags:
    """A bag for each entity pair, in order of first appearance, with all of its rows.

    Args:
        pair_names: The bag of each row.
        labels: Label ids, shape (num_rows,).

    >>> bags = pair_bags(pair_names=["a", "b", "a"], labels=np.array([3, 0, 5]))
    >>> bags.names, bags.rows.tolist(), bags.labels.tolist()
    (['a', 'b'], [0, 2, 1], [3, 0])
    """
    return _grouped(_codes(pair_names), pair_names, labels)


def relation_bags(*, pair_names: Sequence[str], labels: np.ndarray) -> Bags:
    """A bag for each entity pair and relation, the negative one too, in order of first appearance.

    >>> bags = relation_bags(pair_names=["a", "b", "a"], labels=np.array([3, 0, 5]))
    >>> bags.names, bags.rows.tolist(), bags.labels.tolist()
    (['a', 'b', 'a'], [0, 1, 2], [3, 0, 5])
    """
    pairs = _codes(pair_names)
    return _grouped(pairs * (int(labels.max(initial=0)) + 1) + labels, pair_names, labels)


def bags_of_one(*, row_names: Sequence[str], labels: np.ndarray) -> Bags:
    """A bag for each row, named like the row."""
    rows = np.arange(len(row_names))
    return Bags(names=row_names, rows=rows, starts=_starts(np.ones_like(rows)), labels=labels)


def label_sets(bags: Bags, *, labels: np.ndarray, num_labels: int, negative_id: int) -> np.ndarray:
    """The relations of each bag's rows, int8, shape (num_bags, num_labels): 1 or 0, the negative one -100.

    The negative relation has no score of its own: it is what remains where all others are 0.

    >>> bags = pair_bags(pair_names=["a", "b", "a"], labels=np.array([2, 0, 1]))
    >>> label_sets(bags, labels=np.array([2, 0, 1]), num_labels=3, negative_id=0).tolist()
    [[-100, 1, 1], [-100, 0, 0]]
    """
    sets = np.zeros((len(bags), num_labels), dtype=np.int8)
    sets[np.repeat(np.arange(len(bags)), bags.sizes), labels[bags.rows]] = 1
    sets[:, negative_id] = -100
    return sets


def labels_there(labels: np.ndarray) -> set[int]:
    """The label ids that occur in labels or label sets; in sets the negative one always does.

    >>> labels_there(np.array([2, 0, 2])), labels_there(np.array([[-100, 0, 1]]))
    ({0, 2}, {0, 2})
    """
    return set(np.unique(labels if labels.ndim == 1 else np.flatnonzero((labels != 0).any(axis=0))).tolist())


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _codes(names: Sequence[str]) -> np.ndarray:
    """A number for each name, int64, shape (num_rows,)."""
    number = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.fromiter((number[name] for name in names), dtype=np.int64, count=len(names))


def _grouped(keys: np.ndarray, names: Sequence[str], labels: np.ndarray) -> Bags:
    """Rows with the same key together, groups in order of first appearance, rows in theirs."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    group = rank[group]
    rows = np.argsort(group, kind="stable")
    first = np.sort(first)
    return Bags(
        names=[names[row] for row in first],
        rows=rows,
        starts=_starts(np.bincount(group)),
        labels=labels[first],
    )
