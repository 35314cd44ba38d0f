"""Encoded bags as batches of padded tensors, with the rows of each bag together."""

from __future__ import annotations

import numpy as np
import torch

from .bag_examples import Bags
from .batching import RowBatches, label_tensor


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
    def draws(self) -> bool:
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
        """The same bags, from which this seed draws."""
        return BagBatches(
            rows=self.encoded, bags=self.bags, row_ids=self.row_ids, bag_size=self.bag_size, seed=seed
        )

    def members(self, index: int) -> np.ndarray:
        """The rows that are read for an index, in their order, int64."""
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
        """The batch of these bags."""
        members = [self.members(index) for index in indices]
        batch = self.encoded.__getitems__(np.concatenate(members).tolist())
        bags = np.asarray(indices, dtype=np.int64) % len(self)
        batch["bag_sizes"] = torch.tensor([len(rows) for rows in members])
        batch["labels"] = label_tensor(self.bags.labels[bags])
        batch["row_ids"] = torch.from_numpy(self.row_ids[bags].astype(np.int64))
        return batch
