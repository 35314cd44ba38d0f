"""Chunks of rows: the same scores and gradients as all rows at once, whatever the size of a chunk."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from finetune.model.bag_pooling import (
    POOLINGS,
    chunk_slices,
    prediction_scores,
    score_bags,
    score_in_chunks,
    training_logits,
)

NEGATIVE = 0


class Scorer(nn.Module):
    """A stand-in for encoder and last layer that counts the rows it is given."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.layer = nn.Embedding(50, 8), nn.Linear(8, 4)
        self.widths: list[tuple[int, int, bool]] = []

    def forward(self, input_ids, attention_mask, entity_starts, entity_spans, more) -> torch.Tensor:
        assert len(input_ids) == len(entity_starts) == len(entity_spans)
        assert torch.equal(more, input_ids[:, :2]), "what a row has besides stays with it"
        self.widths.append((*input_ids.shape, torch.is_grad_enabled()))
        return self.layer((self.embedding(input_ids).tanh() * attention_mask.unsqueeze(2)).sum(dim=1))


def rows_and_bags() -> tuple[tuple[torch.Tensor, ...], torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    sizes = torch.tensor([1, 7, 2, 30, 2])
    num_rows = int(sizes.sum())
    lengths = torch.randint(2, 30, (num_rows,), generator=random)
    mask = (torch.arange(32) < lengths.unsqueeze(1)).long()
    ids = torch.randint(1, 50, (num_rows, 32), generator=random) * mask
    starts = torch.where(torch.rand(num_rows, 1, generator=random) < 0.8, 0, -1).expand(-1, 2).clone()
    starts[0] = 0
    starts[-2:] = -1  # the last bag has no usable row
    return (ids, mask, starts, torch.zeros(num_rows, 4), ids[:, :2]), sizes, torch.tensor([1, 0, 2, 3, 1])


def test_slices() -> None:
    assert chunk_slices([40, 3], tokens_per_chunk=10) == [(0, 1, 40), (1, 2, 8)]
    assert chunk_slices([], tokens_per_chunk=10) == []


@pytest.mark.parametrize("tokens", [1, 64, 100, 10**6])
def test_the_size_of_a_chunk_changes_nothing(tokens: int) -> None:
    rows, _, _ = rows_and_bags()
    scorer = Scorer()
    expected = scorer(*rows)
    gradients = torch.autograd.grad(expected.pow(2).sum(), list(scorer.parameters()))
    scorer.widths.clear()
    ours = score_in_chunks(scorer, rows, tokens_per_chunk=tokens, recompute=True)
    torch.testing.assert_close(ours, expected)
    forward = list(scorer.widths)
    assert sum(count for count, _, _ in forward) == len(rows[0])
    assert all(count == 1 or count * width <= tokens for count, width, _ in forward)
    assert sum(count * width for count, width, _ in forward) < 0.8 * rows[0].numel() or tokens == 10**6
    ours.pow(2).sum().backward()
    assert len(scorer.widths) == len(forward) * (2 if len(forward) > 1 else 1)
    for parameter, gradient in zip(scorer.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


@pytest.mark.parametrize("multi_label", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_bags_in_chunks_equal_bags_at_once(pooling: str, multi_label: bool) -> None:
    rows, sizes, labels = rows_and_bags()
    if multi_label:
        labels = nn.functional.one_hot(labels, 4).float()
    scorer = Scorer()
    usable = (rows[2] >= 0).all(dim=1)
    options = {"pooling": pooling, "negative_id": NEGATIVE, "multi_label": multi_label}
    given = {"row_logits": scorer(*rows), "usable": usable, "bag_sizes": sizes, **options}
    expected = training_logits(labels=labels, **given)
    gradients = torch.autograd.grad(expected.pow(2).sum(), list(scorer.parameters()), retain_graph=True)
    scores = prediction_scores(**given)
    scorer.widths.clear()
    shared = {"usable": usable, "bag_sizes": sizes, "tokens_per_chunk": 100, **options}
    ours = score_bags(scorer, rows, labels=labels, **shared)
    torch.testing.assert_close(ours, expected)
    scored = {grad: sum(count for count, _, g in scorer.widths if g == grad) for grad in (True, False)}
    if pooling in ("one", "max"):
        assert scored[True] <= (4 if not multi_label or pooling == "one" else 12)
        assert scored[False] == usable.sum() - 1, "rows of bags of one need not be looked for"
    else:
        assert scored == {True: len(usable), False: 0}
    ours.pow(2).sum().backward()
    for parameter, gradient in zip(scorer.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)
    with torch.no_grad():
        outputs = score_bags(scorer, rows, labels=None, **shared)
    torch.testing.assert_close(outputs, scores)


def test_a_batch_of_which_no_row_is_usable_gives_zeros() -> None:
    rows, sizes, labels = rows_and_bags()
    rows[2].fill_(-1)
    for pooling in POOLINGS:
        ours = score_bags(
            Scorer(),
            rows,
            usable=torch.zeros(len(rows[2]), dtype=torch.bool),
            bag_sizes=sizes,
            labels=labels,
            tokens_per_chunk=100,
            pooling=pooling,
            negative_id=NEGATIVE,
            multi_label=False,
        )
        assert not ours.any()
        ours.sum().backward()


def test_the_same_dropout_in_both_passes() -> None:
    """The backward pass encodes again: its dropout must be that of the forward pass."""
    rows, _, _ = rows_and_bags()
    scorer = Scorer()
    dropout: Callable[[torch.Tensor], torch.Tensor] = nn.Dropout(0.5)
    seen: list[torch.Tensor] = []

    def dropped(*parts: torch.Tensor) -> torch.Tensor:
        logits = dropout(scorer(*parts))
        seen.append(logits.detach())
        return logits**2  # its gradient needs the logits, so they are made again

    score_in_chunks(dropped, rows, tokens_per_chunk=100, recompute=True).sum().backward()
    first, again = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert len(first) == len(chunk_slices(sorted(rows[1].sum(dim=1).tolist())[::-1], tokens_per_chunk=100))
    assert all(any(torch.equal(part, other) for other in again) for part in first)
