"""Units of a track: rows or bags of them, the bags as batches, and what is trained on and evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from weighted_f1_metric import unit_id_key

from ..arguments import ModelArguments
from ..model.batching import RowBatches, label_tensor
from .relation_rows import RelationData, RelationRows


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
        """Return the bags with these rows only, without bags that lose all; `usable` is bool by row."""
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
    """Return a bag for each entity pair, in order of first appearance, with all of its rows.

    Args:
        pair_names: The bag of each row.
        labels: Label ids, shape (num_rows,).

    >>> bags = pair_bags(pair_names=["a", "b", "a"], labels=np.array([3, 0, 5]))
    >>> bags.names, bags.rows.tolist(), bags.labels.tolist()
    (['a', 'b'], [0, 2, 1], [3, 0])
    """
    return _grouped(_codes(pair_names), pair_names, labels)


def relation_bags(*, pair_names: Sequence[str], labels: np.ndarray) -> Bags:
    """Return a bag for each entity pair and relation, the negative one too, in order of first appearance.

    >>> bags = relation_bags(pair_names=["a", "b", "a"], labels=np.array([3, 0, 5]))
    >>> bags.names, bags.rows.tolist(), bags.labels.tolist()
    (['a', 'b', 'a'], [0, 1, 2], [3, 0, 5])
    """
    pairs = _codes(pair_names)
    return _grouped(pairs * (int(labels.max(initial=0)) + 1) + labels, pair_names, labels)


def bags_of_one(*, row_names: Sequence[str], labels: np.ndarray) -> Bags:
    """Return a bag for each row, named like the row."""
    rows = np.arange(len(row_names))
    return Bags(names=row_names, rows=rows, starts=_starts(np.ones_like(rows)), labels=labels)


def label_sets(bags: Bags, *, labels: np.ndarray, num_labels: int, negative_id: int) -> np.ndarray:
    """Return the relations of each bag's rows, int8, shape (num_bags, num_labels): 1 or 0, the negative one
    -100.

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
    """Return the label ids that occur in labels or label sets; in sets the negative one always does.

    >>> labels_there(np.array([2, 0, 2])), labels_there(np.array([[-100, 0, 1]]))
    ({0, 2}, {0, 2})
    """
    return set(np.unique(labels if labels.ndim == 1 else np.flatnonzero((labels != 0).any(axis=0))).tolist())


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _codes(names: Sequence[str]) -> np.ndarray:
    """Return a number for each name, int64, shape (num_rows,)."""
    number = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.fromiter((number[name] for name in names), dtype=np.int64, count=len(names))


def _grouped(keys: np.ndarray, names: Sequence[str], labels: np.ndarray) -> Bags:
    """Return rows with the same key together, groups in order of first appearance, rows in theirs."""
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


class BagBatches(torch.utils.data.Dataset):
    """A dataset of bags, read a batch at a time.

    Batches hold the tensors of `RowBatches` for all rows of the bags, and one entry a bag of `bag_sizes`,
    `labels` (ids, or label sets) and `row_ids`. The data live in flat
    arrays, so memory does not grow with epochs.

    In training at most `bag_size` rows of a bag are read, drawn anew in every epoch: an index asked for is
    `epoch * len(self) + bag`, so that what is drawn follows from seed, epoch and bag alone, whichever process
    or worker reads it. Evaluation asks for epoch 0 and has `bag_size` 0: all rows, always.
    """

    def __init__(
        self, *, rows: RowBatches, bags: Bags, row_ids: np.ndarray, bag_size: int = 0, seed: int = 0
    ) -> None:
        """Keep the arrays.

        Args:
            rows: The encoded rows of the split.
            bags: Which of them make which bag.
            row_ids: Positions of the bags among the metric's units, int64, shape (num_bags,).
            bag_size: Most rows that are read of a bag; 0 for all.
            seed: Decides, with the epoch, which rows are drawn.

        Raises:
            ValueError: `bag_size` is negative.
        """
        if bag_size < 0:
            raise ValueError(f"`bag_size` must be 0 (all sentences) or a positive integer; got {bag_size}.")
        self.encoded, self.bags, self.row_ids, self.bag_size, self.seed = rows, bags, row_ids, bag_size, seed

    def __len__(self) -> int:
        """Number of bags."""
        return len(self.bags)

    @property
    def labels(self) -> np.ndarray:
        """Labels of the bags, see `Bags`."""
        return self.bags.labels

    @property
    def samples_rows(self) -> bool:
        """Whether an epoch may read other rows than another."""
        return self.bag_size > 0

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per bag, int64, shape (num_bags,); of a bag that is drawn from, the number to expect."""
        tokens = np.add.reduceat(self.encoded.lengths[self.bags.rows], self.bags.starts[:-1])
        if self.bag_size:
            tokens = tokens * np.minimum(self.bags.sizes, self.bag_size) // self.bags.sizes
        return tokens

    def for_seed(self, seed: int) -> BagBatches:
        """Return the same bags, from which this seed draws."""
        return BagBatches(
            rows=self.encoded, bags=self.bags, row_ids=self.row_ids, bag_size=self.bag_size, seed=seed
        )

    def members(self, index: int) -> np.ndarray:
        """Return the rows that are read for an index, in their order, int64."""
        epoch, bag = divmod(index, len(self))
        rows = self.bags.rows[self.bags.starts[bag] : self.bags.starts[bag + 1]]
        if not 0 < self.bag_size < len(rows):
            return rows
        random = np.random.default_rng([self.seed, epoch, bag])
        return rows[np.sort(random.choice(len(rows), self.bag_size, replace=False))]

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        """One bag as a batch of one."""
        return self.__getitems__([index])

    def __getitems__(self, indices: list[int]) -> dict[str, torch.Tensor]:
        """Return the batch of these bags; of none, as in `RowBatches`."""
        if not indices:
            return self.__getitems__([0]) | {"row_ids": torch.tensor([-1])}
        members = [self.members(index) for index in indices]
        batch = self.encoded.__getitems__(np.concatenate(members).tolist())
        bags = np.asarray(indices, dtype=np.int64) % len(self)
        batch["bag_sizes"] = torch.tensor([len(rows) for rows in members])
        batch["labels"] = label_tensor(self.bags.labels[bags])
        batch["row_ids"] = torch.from_numpy(self.row_ids[bags].astype(np.int64))
        return batch


UnitBatches = RowBatches | BagBatches


def scored_track(track: str, split: str) -> str:
    """Return the track by which a split is scored: bag2sent selects on validation bags.

    >>> scored_track("bag2sent", "validation"), scored_track("bag2sent", "test")
    ('bag2bag', 'bag2sent')
    """
    return "bag2bag" if track == "bag2sent" and split == "validation" else track


def id_key(track: str, split: str) -> str:
    """Return what a prediction names its unit by: "bag_id" or "instance_id"."""
    return unit_id_key(scored_track(track, split))


def training_units(
    rows: RowBatches, data: RelationData, *, track: str, arguments: ModelArguments
) -> UnitBatches:
    """Return the training examples, without what has no usable row.

    Sentences, or bags: one for each entity pair and relation, the negative relation too, as OpenNRE has them;
    with `multi_label` one for each pair, with all of its relations.

    Args:
        rows: All encoded rows of the training split.
        data: The data as read.
        track: The track.
        arguments: Say whether bags, of what size, and whether with several labels.
    """
    of_split = data.splits["train"]
    if track == "sent2sent" or arguments.train_on == "sentences":
        if arguments.multi_label:
            rows = _with_label_sets(rows, of_split, data)
        return rows.usable_only()
    make = pair_bags if arguments.multi_label else relation_bags
    bags = make(pair_names=of_split.pair_names, labels=of_split.labels)
    if arguments.multi_label:
        bags = _with_sets(bags, of_split.labels, data)
    bags = bags.restricted_to(rows.rows.usable)
    return BagBatches(rows=rows, bags=bags, row_ids=np.arange(len(bags)), bag_size=arguments.bag_size)


def evaluated_units(
    rows: RowBatches, data: RelationData, split: str, *, track: str, multi_label: bool, first_id: int
) -> UnitBatches:
    """Return the units of an evaluated split, none left out; their ids count on from `first_id`.

    Rows on sent2sent; entity pairs with all of their rows on bag2bag and, for selection, on the validation
    split of bag2sent; on its test split bags of one.
    """
    of_split = data.splits[split]
    if track == "sent2sent":
        if multi_label:
            rows = _with_label_sets(rows, of_split, data)
        row_ids = first_id + np.arange(len(of_split))
        return RowBatches(rows=rows.rows, labels=rows.labels, row_ids=row_ids, pad_id=rows.pad_id)
    if scored_track(track, split) == "bag2bag":
        bags = pair_bags(pair_names=of_split.pair_names, labels=of_split.labels)
    else:
        bags = bags_of_one(row_names=of_split.row_names, labels=of_split.labels)
    if multi_label:
        bags = _with_sets(bags, of_split.labels, data)
    return BagBatches(rows=rows, bags=bags, row_ids=first_id + np.arange(len(bags)))


def unit_names(units: UnitBatches, rows: RelationRows) -> Sequence[str]:
    """Return the ids of the units of an evaluated split: `bag_id`s of bags, row names of rows."""
    return units.bags.names if isinstance(units, BagBatches) else rows.row_names


def _with_sets(bags: Bags, labels: np.ndarray, data: RelationData) -> Bags:
    sets = label_sets(bags, labels=labels, num_labels=len(data.label_names), negative_id=data.negative_id)
    return Bags(names=bags.names, rows=bags.rows, starts=bags.starts, labels=sets)


def _with_label_sets(rows: RowBatches, of_split: RelationRows, data: RelationData) -> RowBatches:
    bags = _with_sets(
        bags_of_one(row_names=of_split.row_names, labels=of_split.labels), of_split.labels, data
    )
    return RowBatches(rows=rows.rows, labels=bags.labels, row_ids=rows.row_ids, pad_id=rows.pad_id)
