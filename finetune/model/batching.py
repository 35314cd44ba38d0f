"""Encoded rows as batches of padded tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from .encoding import EncodedRows

# Rows are padded to a multiple of this: wider ones pad more and are no faster (`benchmarks.training`).
WIDTH_MULTIPLE = 2


class RowBatches(torch.utils.data.Dataset):
    """A dataset read a batch at a time: `__getitems__` gives the padded tensors of the rows asked for.

    Batches hold `input_ids`, `attention_mask` (int64, (batch, width)), `entity_starts` (int64, (batch, 2)),
    `entity_spans` (int64, (batch, 4)), `labels` and `row_ids` (int64, (batch,)); and, where the rows have
    them, `type_pairs` (int64, (batch, most pairs), -1 behind). The data live in flat arrays, so memory does
    not grow with epochs.
    """

    def __init__(self, *, rows: EncodedRows, labels: np.ndarray, row_ids: np.ndarray, pad_id: int) -> None:
        """Keep the arrays.

        Args:
            rows: The encoded rows.
            labels: Label ids, shape (num_rows,), or label sets (`bag_examples.label_sets`).
            row_ids: Positions in the metric's references, shape (num_rows,).
            pad_id: The tokenizer's padding id.
        """
        self.rows, self.labels, self.row_ids, self.pad_id = rows, labels, row_ids, pad_id

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.rows)

    # A row is read the same way in every epoch.
    samples_rows = False

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per row, int64, shape (num_rows,)."""
        return self.rows.lengths

    def for_seed(self, seed: int) -> RowBatches:
        """Return the same batches for every seed."""
        return self

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        """One row as a batch of one, without padding beyond the width multiple."""
        return self.__getitems__([index])

    def __getitems__(self, indices: list[int]) -> dict[str, torch.Tensor]:
        """Return the batch of these rows; of none, one with a row of id -1, which does not count."""
        if not indices:
            return self.__getitems__([0]) | {"row_ids": torch.tensor([-1])}
        chosen = np.asarray(indices, dtype=np.int64)
        starts = self.rows.row_starts[chosen]
        lengths = self.rows.row_starts[chosen + 1] - starts
        width = -(-int(lengths.max()) // WIDTH_MULTIPLE) * WIDTH_MULTIPLE
        columns = np.arange(width)
        mask = columns < lengths[:, None]
        places = np.where(mask, starts[:, None] + columns, 0)
        ids = np.where(mask, self.rows.token_ids[places], self.pad_id)
        batch = {
            "input_ids": torch.from_numpy(ids.astype(np.int64)),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
            "entity_starts": torch.from_numpy(self.rows.entity_starts[chosen].astype(np.int64)),
            "entity_spans": torch.from_numpy(self.rows.entity_spans[chosen].astype(np.int64)),
            "labels": label_tensor(self.labels[chosen]),
            "row_ids": torch.from_numpy(self.row_ids[chosen].astype(np.int64)),
        }
        if self.rows.type_pairs is not None:
            batch["type_pairs"] = torch.from_numpy(self.rows.type_pairs.padded(chosen))
        return batch

    def usable_only(self) -> RowBatches:
        """Return the rows that can be trained on: those with both entities in the window."""
        keep = np.flatnonzero(self.rows.usable)
        lengths = self.rows.lengths[keep]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.repeat(self.rows.usable, self.rows.lengths)
        rows = replace(
            self.rows,
            token_ids=self.rows.token_ids[tokens],
            row_starts=starts,
            entity_starts=self.rows.entity_starts[keep],
            entity_spans=self.rows.entity_spans[keep],
            status=self.rows.status[keep],
            type_pairs=None if self.rows.type_pairs is None else self.rows.type_pairs.select(keep),
        )
        return RowBatches(rows=rows, labels=self.labels[keep], row_ids=self.row_ids[keep], pad_id=self.pad_id)


def label_tensor(labels: np.ndarray) -> torch.Tensor:
    """Return label ids as int64, label sets as float32."""
    return torch.from_numpy(labels.astype(np.int64 if labels.ndim == 1 else np.float32))


def as_is(batch: Any) -> dict[str, torch.Tensor]:
    """Return the batch itself: `RowBatches` has collated it already."""
    return batch
