"""Bags through the encoder a chunk of rows at a time, so that memory does not grow with the bags.

This file is flat and uses torch only, because it travels with a saved model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from .bag_pooling import deciding_rows, prediction_scores, training_logits

# `input_ids`, `attention_mask` (num_rows, width), `entity_starts`, `entity_spans`, perhaps `type_pairs`.
Rows = tuple[torch.Tensor, ...]
RowScorer = Callable[..., torch.Tensor]

# A batch of 32 sentences of 256 tokens needs as much memory.
TOKENS_PER_CHUNK = 8192

# Chunks are as wide as their longest row, rounded up to the width of a tile of matrix units.
WIDTH_MULTIPLE = 8


def score_in_chunks(
    score_rows: RowScorer, rows: Rows, *, tokens_per_chunk: int, recompute: bool
) -> torch.Tensor:
    """The logits of the rows in their order, shape (num_rows, num_labels).

    Rows of similar length share a chunk. With `recompute` and several chunks only the logits of a chunk are
    kept for the backward pass, which encodes the chunk again (with the same dropout): memory is that of one
    chunk, whatever the number of rows, for a third more time.

    Args:
        score_rows: Takes the tensors of some rows and gives their logits.
        rows: The tensors of all rows.
        tokens_per_chunk: Most tokens of a chunk, padding included; a single row may be longer.
        recompute: Whether a backward pass follows.
    """
    lengths = rows[1].sum(dim=1)
    order = lengths.argsort(descending=True, stable=True)
    slices = chunk_slices(lengths[order].tolist(), tokens_per_chunk=tokens_per_chunk)
    logits = []
    for first, end, width in slices:
        input_ids, attention_mask, *others = (part[order[first:end]] for part in rows)
        chunk = (input_ids[:, :width], attention_mask[:, :width], *others)
        if recompute and len(slices) > 1:
            logits.append(checkpoint(score_rows, *chunk, use_reentrant=False))
        else:
            logits.append(score_rows(*chunk))
    return torch.cat(logits)[order.argsort()]


def chunk_slices(lengths: list[int], *, tokens_per_chunk: int) -> list[tuple[int, int, int]]:
    """First row, end and width of each chunk of rows that are sorted by falling length.

    >>> chunk_slices([16, 9, 8, 8, 3], tokens_per_chunk=32)
    [(0, 2, 16), (2, 5, 8)]
    >>> chunk_slices([0, 0], tokens_per_chunk=32)  # rows without entities have no words
    [(0, 2, 8)]
    """
    slices, first = [], 0
    while first < len(lengths):
        width = max(1, -(-lengths[first] // WIDTH_MULTIPLE)) * WIDTH_MULTIPLE
        end = min(len(lengths), first + max(1, tokens_per_chunk // width))
        slices.append((first, end, width))
        first = end
    return slices


def score_bags(
    score_rows: RowScorer,
    rows: Rows,
    *,
    usable: torch.Tensor,
    bag_sizes: torch.Tensor,
    labels: torch.Tensor | None,
    pooling: str,
    negative_id: int,
    multi_label: bool,
    tokens_per_chunk: int,
    num_labels: int | None = None,
) -> torch.Tensor:
    """Logits of the bags for the loss when `labels` are given, else outputs for prediction.

    Under `one` and `max` the rows that decide are found first, without gradients, and only those are encoded
    again with them: a row that does not decide costs a forward pass. Rows of a bag of one are not looked for.

    Args:
        score_rows, rows, tokens_per_chunk: As in `score_in_chunks`.
        usable, bag_sizes, labels, pooling, negative_id, multi_label: As in `bag_pooling.training_logits`.
        num_labels: As there; with `labels` only.
    """
    options: dict[str, Any] = {"pooling": pooling, "negative_id": negative_id, "multi_label": multi_label}
    # As the logits of rows: the products of `att` would be rounded to 16 bits under autocast, and tie.
    exact = torch.autocast(rows[0].device.type, enabled=False)
    if labels is None:
        row_logits = score_in_chunks(
            score_rows, rows, tokens_per_chunk=tokens_per_chunk, recompute=torch.is_grad_enabled()
        )
        with exact:
            return prediction_scores(row_logits=row_logits, usable=usable, bag_sizes=bag_sizes, **options)
    options["num_labels"] = num_labels
    if pooling in ("one", "max"):
        bags = torch.arange(len(bag_sizes), device=bag_sizes.device).repeat_interleave(bag_sizes)
        shared = usable & (torch.bincount(bags[usable], minlength=len(bag_sizes)) > 1)[bags]
        keep = usable
        if shared.any():
            with torch.no_grad():
                some = score_in_chunks(
                    score_rows,
                    tuple(part[shared] for part in rows),
                    tokens_per_chunk=tokens_per_chunk,
                    recompute=False,
                )
                found = some.new_zeros(len(usable), some.shape[1])
                found[shared] = some
            keep = deciding_rows(
                row_logits=found, usable=usable, bag_sizes=bag_sizes, labels=labels, **options
            )
        if keep.any():
            rows = tuple(part[keep] for part in rows)
            usable, bag_sizes = usable[keep], torch.bincount(bags[keep], minlength=len(bag_sizes))
    row_logits = score_in_chunks(score_rows, rows, tokens_per_chunk=tokens_per_chunk, recompute=True)
    with exact:
        return training_logits(
            row_logits=row_logits, usable=usable, bag_sizes=bag_sizes, labels=labels, **options
        )
