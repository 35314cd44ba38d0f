"""From the logits of a bag's rows to the scores of the bag: `one`, `att`, `avg` and `max`, as pure functions.

Everything here works on row logits (num_rows, num_labels), the last layer's W f_i + b of every row i, because
each pooling of representations is one of logits: the mean representation has the mean logits; the attention
of row i for relation r under the query W_r is softmax_i(W_r f_i), which is softmax_i of the logits, since b_r
is the same for all rows; and the attended representation has the attended logits. With an MLP head f_i is
what its last layer reads. The rows of one bag stand together, `bag_sizes` says how many each bag has, and
rows that are not usable take no part.

| pooling | training, gold relation g | prediction | with `multi_label` (both) |
| --- | --- | --- | --- |
| one | the row with the highest P(g) | see `prediction_scores` | the row with the highest logit (1) |
| att | rows weighted by softmax_i of logit g | score_r = P(r) of the rows weighted for r | logit_r of those |
| avg | the mean | the mean | the mean |
| max | as `one` | max_i P_i(r) | max_i logit_i(r) |

(1) In training over the bag's own relations; in prediction, and for a bag without any, over all positive
ones.

Reference: `one`, `att`: Lin et al. (2016), "Neural Relation Extraction with Selective Attention over
    Instances", and OpenNRE's BagOne and BagAttention, whose BagOne trains like `one` and predicts like `max`;
    `one` in prediction: Zhu et al. (2020), section 4. Differs from OpenNRE: dropout stands in front of the
    last layer of every row, not of the bag.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

POOLINGS = ("one", "att", "avg", "max")

# The logit of the negative relation of a unit without usable entities, and minus that of the others;
# exp(-1e4) is 0 in float32.
CERTAIN = 1e4


def check_pooling(pooling: str) -> None:
    """Raise ValueError for a name that is none of POOLINGS."""
    if pooling not in POOLINGS:
        raise ValueError(f"`bag_pooling` must be one of {', '.join(map(repr, POOLINGS))}; got {pooling!r}.")


def score_activation(*, bag_pooling: str | None, multi_label: bool) -> str:
    """Return what makes scores of a model's output: "softmax", "sigmoid", or "identity" (scores already).

    >>> score_activation(bag_pooling=None, multi_label=False), score_activation(
    ...     bag_pooling="att", multi_label=False)
    ('softmax', 'identity')
    """
    if multi_label:
        return "sigmoid"
    return "identity" if bag_pooling in ("att", "max") else "softmax"


def certain_negative(num_labels: int, *, negative_id: int, activation: str) -> torch.Tensor:
    """Return outputs that say P(negative relation) = 1, float32, shape (num_labels,).

    >>> certain_negative(3, negative_id=0, activation="identity").tolist()
    [1.0, 0.0, 0.0]
    """
    other, own = (0.0, 1.0) if activation == "identity" else (-CERTAIN, CERTAIN)
    outputs = torch.full((num_labels,), other)
    outputs[negative_id] = own
    return outputs


def with_negative_logit(logits: torch.Tensor, *, negative_id: int) -> torch.Tensor:
    """Return logits of separate sigmoids in which the negative relation is as likely as the best other one is
    not.

    >>> with_negative_logit(torch.tensor([[9.0, -2.0, 0.5]]), negative_id=0).tolist()
    [[-0.5, -2.0, 0.5]]
    """
    is_negative = torch.arange(logits.shape[-1], device=logits.device) == negative_id
    best = logits.masked_fill(is_negative, -torch.inf).amax(dim=-1, keepdim=True)
    return torch.where(is_negative, -best, logits)


def bags_with_rows(usable: torch.Tensor, bag_sizes: torch.Tensor) -> torch.Tensor:
    """Return which bags have a usable row, bool, shape (num_bags,).

    >>> bags_with_rows(torch.tensor([True, False, False]), torch.tensor([2, 1])).tolist()
    [True, False]
    """
    return _rows_by_bag(usable, bag_sizes) > 0


def training_logits(
    *,
    pooling: str,
    row_logits: torch.Tensor,
    usable: torch.Tensor,
    bag_sizes: torch.Tensor,
    labels: torch.Tensor,
    negative_id: int,
    multi_label: bool = False,
    num_labels: int | None = None,
) -> torch.Tensor:
    """Return logits of each bag for the loss, shape (num_bags, num_labels); 0 for a bag without usable rows.

    Args:
        pooling: "one", "att", "avg" or "max".
        row_logits: Shape (num_rows, num_labels).
        usable: Which rows have both entities, bool, shape (num_rows,).
        bag_sizes: Rows per bag, int64, shape (num_bags,); adds up to num_rows.
        labels: The gold relations: ids, shape (num_bags,); with `multi_label` 1 for each, shape (num_bags,
            num_labels).
        negative_id: The negative relation's label id.
        multi_label: Whether relations are predicted separately.
        num_labels: How many columns are labels, where others follow, which are pooled as the
            labels are; default: all. Not with `multi_label`.

    Raises:
        ValueError: An unknown pooling, or sizes that do not add up to the rows.

    >>> training_logits(pooling="one", row_logits=torch.tensor([[0.0, 1.0], [0.0, 3.0], [2.0, 0.0]]),
    ...     usable=torch.ones(3, dtype=torch.bool), bag_sizes=torch.tensor([3]), labels=torch.tensor([1]),
    ...     negative_id=0).tolist()
    [[0.0, 3.0]]
    """
    _check(pooling, row_logits, bag_sizes)
    values, there = _padded(row_logits, usable, bag_sizes)
    if multi_label:
        positive = (labels > 0) & (torch.arange(labels.shape[1], device=labels.device) != negative_id)
        return _separate(pooling, values, there, negative_id, positive)
    bags = torch.arange(len(values), device=values.device)
    if pooling == "avg":
        return _mean(values, there)
    if pooling == "att":
        weights = values[bags, :, labels].masked_fill(~there, -torch.inf).softmax(dim=1)
        return (weights.unsqueeze(1) @ values).squeeze(1)
    gold = values[:, :, :num_labels].log_softmax(dim=2)[bags, :, labels]
    return values[bags, gold.masked_fill(~there, -torch.inf).argmax(dim=1)]


def prediction_scores(
    *,
    pooling: str,
    row_logits: torch.Tensor,
    usable: torch.Tensor,
    bag_sizes: torch.Tensor,
    negative_id: int,
    multi_label: bool = False,
) -> torch.Tensor:
    """Return outputs of each bag, shape (num_bags, num_labels), to be read by `score_activation`.

    `one` is the row that decides: if the best relation of any row is positive, the row with the highest
    positive probability among those, else the row with the highest probability of the negative relation.
    `att` and `max` give probabilities that do not sum to one over the relations. A bag without usable rows
    is surely negative. Arguments and errors as in `training_logits`.

    >>> prediction_scores(pooling="max", row_logits=torch.tensor([[0.0, 0.0], [-99.0, 0.0]]),
    ...     usable=torch.ones(2, dtype=torch.bool), bag_sizes=torch.tensor([2]), negative_id=0).tolist()
    [[0.5, 1.0]]
    """
    _check(pooling, row_logits, bag_sizes)
    values, there = _padded(row_logits, usable, bag_sizes)
    if multi_label:
        nothing = torch.zeros_like(values[:, 0], dtype=torch.bool)
        outputs = _separate(pooling, values, there, negative_id, nothing)
        outputs = with_negative_logit(outputs, negative_id=negative_id)
    elif pooling == "avg":
        outputs = _mean(values, there)
    elif pooling == "att":
        # The logits of the rows weighted for r are row r of a (relations, relations) matrix.
        attended = _attention(values, there).transpose(1, 2) @ values
        outputs = attended.softmax(dim=2).diagonal(dim1=1, dim2=2)
    elif pooling == "max":
        outputs = values.softmax(dim=2).masked_fill(~there.unsqueeze(2), 0.0).amax(dim=1)
    else:
        best, relation = values.softmax(dim=2).max(dim=2)
        # Rows whose best relation is positive come first: a probability is at most 1.
        rank = (best + 2.0 * (relation != negative_id)).masked_fill(~there, -torch.inf)
        outputs = values[torch.arange(len(values), device=values.device), rank.argmax(dim=1)]
    activation = score_activation(bag_pooling=pooling, multi_label=multi_label)
    certain = certain_negative(values.shape[2], negative_id=negative_id, activation=activation)
    return torch.where(bags_with_rows(usable, bag_sizes).unsqueeze(1), outputs, certain.to(outputs))


def deciding_rows(
    *, pooling: str, row_logits: torch.Tensor, usable: torch.Tensor, **bags: Any
) -> torch.Tensor:
    """Return which rows `training_logits` is made of, bool, shape (num_rows,); the others get no gradient.

    All usable ones under `att` and `avg`; under `one` and `max` one a bag, and with `multi_label` under `max`
    one for every relation. Arguments as in `training_logits`.
    """
    if pooling not in ("one", "max"):
        return usable
    with torch.enable_grad():
        watched = row_logits.detach().requires_grad_()
        pooled = training_logits(pooling=pooling, row_logits=watched, usable=usable, **bags)
        (reached,) = torch.autograd.grad(pooled.sum(), watched)
    return (reached != 0).any(dim=1)


def _separate(
    pooling: str, values: torch.Tensor, there: torch.Tensor, negative_id: int, positive: torch.Tensor
) -> torch.Tensor:
    """Pooled logits of separate sigmoids; `positive` names the relations by which `one` chooses, if any."""
    if pooling == "avg":
        return _mean(values, there)
    if pooling == "att":
        return (_attention(values, there) * values).sum(dim=1)
    bags = torch.arange(len(values), device=values.device)
    if pooling == "max":
        chosen = values.masked_fill(~there.unsqueeze(2), -torch.inf).argmax(dim=1)
        return values.gather(1, chosen.unsqueeze(1)).squeeze(1)
    any_positive = torch.ones_like(positive)
    any_positive[:, negative_id] = False
    by = torch.where(positive.any(dim=1, keepdim=True), positive, any_positive)
    best = values.masked_fill(~by.unsqueeze(1), -torch.inf).amax(dim=2)
    return values[bags, best.masked_fill(~there, -torch.inf).argmax(dim=1)]


def _mean(values: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    return values.sum(dim=1) / there.sum(dim=1, keepdim=True)


def _attention(values: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """Return weights of the rows for every relation, same shape as `values`, summing to 1 over the rows."""
    return values.masked_fill(~there.unsqueeze(2), -torch.inf).softmax(dim=1)


def _rows_by_bag(usable: torch.Tensor, bag_sizes: torch.Tensor) -> torch.Tensor:
    """Usable rows per bag, int64, shape (num_bags,)."""
    bags = torch.arange(len(bag_sizes), device=bag_sizes.device).repeat_interleave(bag_sizes)
    return torch.bincount(bags[usable], minlength=len(bag_sizes))


def _padded(
    row_logits: torch.Tensor, usable: torch.Tensor, bag_sizes: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the usable rows by bag, (num_bags, width, num_labels) with zeros behind, and where there is one.

    A bag without usable rows has one row of zeros, so that nothing below divides by 0; it gets no gradient.
    """
    counts = _rows_by_bag(usable, bag_sizes)
    bags = torch.arange(len(bag_sizes), device=bag_sizes.device).repeat_interleave(bag_sizes)[usable]
    place = torch.arange(len(bags), device=bags.device) - (counts.cumsum(0) - counts)[bags]
    width = max(1, int(counts.max()))
    values = row_logits.new_zeros(len(bag_sizes), width, row_logits.shape[1])
    values = values.index_put((bags, place), row_logits[usable])
    return values, torch.arange(width, device=bags.device) < counts.clamp(min=1).unsqueeze(1)


def _check(pooling: str, row_logits: torch.Tensor, bag_sizes: torch.Tensor) -> None:
    check_pooling(pooling)
    if int(bag_sizes.sum()) != len(row_logits):
        raise ValueError(
            f"`bag_sizes` add up to {int(bag_sizes.sum())}, but there are {len(row_logits)} rows; each row "
            "belongs to one bag, and the rows of a bag stand together."
        )


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
    """Return the logits of the rows in their order, shape (num_rows, num_labels).

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
    """Return first row, end and width of each chunk of rows that are sorted by falling length.

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
    """Return logits of the bags for the loss when `labels` are given, else outputs for prediction.

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
