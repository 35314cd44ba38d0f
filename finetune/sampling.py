"""The order in which rows are trained on: one batch plan per (seed, epoch, global batch size).

The plan is a pure function of those values and the row lengths. A run that stops and goes on, or is split
over processes, therefore sees the same global batches; `train_sampling_strategy="group_by_length"` of the
Trainer does not give that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# Rows of this many batches are sorted by length together. More of them pad less and mix less.
BATCHES_PER_POOL = 50


def batch_plan(*, lengths: np.ndarray, seed: int, epoch: int, batch_size: int) -> np.ndarray:
    """Row numbers in training order, int64, shape (num_rows,), each row once.

    Cut into consecutive pieces of `batch_size` it gives batches of rows of similar length; only the last
    may be short, and which rows it holds is random. The batches come in random order.

    Args:
        lengths: Tokens per row, shape (num_rows,).
        seed: The run's seed; 0 is a seed.
        epoch: Number of the epoch, from 0.
        batch_size: Rows per optimizer step over all processes.

    Raises:
        ValueError: `batch_size` is not positive.

    >>> batch_plan(lengths=np.array([9, 1, 8, 2]), seed=0, epoch=0, batch_size=2).reshape(2, 2).tolist()
    [[3, 1], [0, 2]]
    """
    if batch_size <= 0:
        raise ValueError(f"`batch_size` must be a positive integer; got {batch_size}.")
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    full = len(order) - len(order) % batch_size
    pooled, rest = order[:full], order[full:]
    pool_size = batch_size * BATCHES_PER_POOL
    pools = [pooled[at : at + pool_size] for at in range(0, full, pool_size)]
    batches = [pool[np.argsort(-lengths[pool], kind="stable")].reshape(-1, batch_size) for pool in pools]
    if not batches:
        return rest
    stacked = np.concatenate(batches)
    return np.concatenate([stacked[random.permutation(len(stacked))].ravel(), rest])


class PlannedSampler:
    """Yields the row numbers of one epoch's plan; the Trainer tells it the epoch through `set_epoch`."""

    def __init__(self, *, lengths: np.ndarray, seed: int, batch_size: int, with_epoch: bool = False) -> None:
        """Keep what the plan depends on; see `batch_plan`.

        With `with_epoch` it yields epoch * num_rows + row, for a dataset that reads a row differently in each
        epoch (`BagBatches`).
        """
        self.lengths, self.seed, self.batch_size, self.epoch = lengths, seed, batch_size, 0
        self.with_epoch = with_epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose plan the next iteration follows."""
        self.epoch = epoch

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        """Row numbers in training order."""
        plan = batch_plan(lengths=self.lengths, seed=self.seed, epoch=self.epoch, batch_size=self.batch_size)
        return iter((plan + self.with_epoch * self.epoch * len(plan)).tolist())


class LongestFirstSampler:
    """Yields row numbers by falling length: little padding, and the largest batch comes first."""

    def __init__(self, lengths: np.ndarray) -> None:
        """Keep the tokens per row, shape (num_rows,)."""
        self.lengths = lengths

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        """Row numbers, longest row first, ties in input order."""
        return iter(np.argsort(-self.lengths, kind="stable").tolist())
