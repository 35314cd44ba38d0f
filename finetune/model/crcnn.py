"""Scores without a vector for the negative relation, and the loss that ranks them (CR-CNN)."""

from __future__ import annotations

import math

import torch
from torch import nn

MARGIN_POSITIVE, MARGIN_NEGATIVE, SCALE = 2.5, 0.5, 2.0


class CRCNNHead(nn.Module):
    """One vector a relation and no bias; the negative relation's vector is zero, so its score is 0.

    The best label is therefore the negative relation exactly where every other score is below 0.

    Reference: dos Santos et al. (2015), "Classifying Relations by Ranking with Convolutional Neural
        Networks", sections 2.4 to 2.6.
    """

    def __init__(self, *, width: int, num_labels: int, negative_id: int) -> None:
        """Draw the vectors of all labels but `negative_id`."""
        super().__init__()
        self.negative_id = negative_id
        bound = math.sqrt(6 / (num_labels - 1 + width))
        self.vectors = nn.Parameter(torch.empty(num_labels - 1, width).uniform_(-bound, bound))

    @property
    def weight(self) -> torch.Tensor:
        """The vectors of all labels by label id, shape (num_labels, width)."""
        before, behind = self.vectors[: self.negative_id], self.vectors[self.negative_id :]
        return torch.cat([before, self.vectors.new_zeros(1, self.vectors.shape[1]), behind])

    def forward(self, sentences: torch.Tensor) -> torch.Tensor:
        """Return scores, shape (rows, num_labels)."""
        return nn.functional.linear(sentences, self.weight)


def crcnn_loss(scores: torch.Tensor, labels: torch.Tensor, negative_id: int) -> torch.Tensor:
    """Return the loss of each row, shape (rows,): log(1 + e^(2 (2.5 - s+))) + log(1 + e^(2 (0.5 + s-))).

    A row with the label -100 has none.

    s+ is the score of the row's relation, s- the highest score of another one; the negative relation is
    neither, so that its rows have the second term only.

    Args:
        scores: Shape (rows, num_labels).
        labels: Label ids, shape (rows,).
        negative_id: The label without a vector.

    Reference: dos Santos et al. (2015), equation 1 and section 2.6, with their gamma and margins; the mean
        over a batch is the caller's.

    >>> crcnn_loss(torch.tensor([[0.0, 2.5, -0.5]]), torch.tensor([1]), 0)  # 2 log(2)
    tensor([1.3863])
    """
    counted, labels = labels >= 0, labels.clamp(min=0)
    own = nn.functional.one_hot(labels, scores.shape[1]).bool()
    excluded = own.clone()
    excluded[:, negative_id] = True
    best_other = scores.masked_fill(excluded, float("-inf")).max(dim=1).values
    softplus = nn.functional.softplus
    wrong = softplus(SCALE * (MARGIN_NEGATIVE + best_other))
    right = softplus(SCALE * (MARGIN_POSITIVE - scores.gather(1, labels.unsqueeze(1)).squeeze(1)))
    return (wrong + right.masked_fill(labels == negative_id, 0.0)).masked_fill(~counted, 0.0)
