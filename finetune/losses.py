"""The loss of each unit, a sentence or a bag: the one place where it is computed.

This file travels with a saved model: flat, relative imports only.
"""

from __future__ import annotations

import torch
from torch import nn

from .prompt import SlotWords
from .ranking import ranking_loss
from .type_restriction import restricted_loss


def unit_losses(
    logits: torch.Tensor,
    labels: torch.Tensor,
    *,
    label_weights: torch.Tensor | None = None,
    label_smoothing: float = 0.0,
    ranked_over: int | None = None,
    slots: SlotWords | None = None,
    restricted_over: int | None = None,
) -> torch.Tensor:
    """Cross-entropy of each unit, float32, shape (num_units,); 0 where the label is -100.

    Labels with a column for each label belong to separate sigmoids: the loss of a unit is then the sum of the
    binary cross-entropies of its labels, less those that are -100.

    Args:
        logits: Shape (num_units, num_labels).
        labels: Label ids, shape (num_units,); or 0 and 1, float, shape (num_units, num_labels), which go with
            neither weights nor smoothing. -100 does not count.
        label_weights: Factor of a unit by its label, float32, shape (num_labels,); None is 1 for each.
        label_smoothing: Share e of the target that is spread evenly over all labels: the loss of a unit is
            (1 - e) * its cross-entropy + e * the mean over the labels of -log p, as in the Trainer.
        ranked_over: The negative relation's id where the others are ranked over it: the loss is then
            `ranking_loss`, without smoothing.
        slots: Where relations are words at masks: the loss is then `SlotWords.losses`, and the logits are
            those of the labels and of the masks' words, shape (num_units, slots.num_columns).
        restricted_over: The negative relation's id where a detector decides about it: the loss is then
            `restricted_loss`, without smoothing, and the logits have the detector's behind the labels'.

    >>> unit_losses(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([1, -100])).tolist()  # log 2
    [0.6931471824645996, 0.0]
    >>> unit_losses(torch.zeros(1, 2), torch.tensor([1]), label_weights=torch.tensor([1.0, 3.0])).tolist()
    [2.079441547393799]
    >>> unit_losses(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, -100.0]])).tolist()  # 2 log 2
    [1.3862943649291992]
    """
    if labels.ndim == 2:
        counted = labels >= 0
        each = nn.functional.binary_cross_entropy_with_logits(
            logits.float(), labels.clamp(min=0), reduction="none"
        )
        return (each * counted).sum(dim=1)
    if slots is not None:
        losses = slots.losses(logits, labels, label_smoothing=label_smoothing)
    elif restricted_over is not None:
        losses = restricted_loss(logits.float(), labels, restricted_over)
    elif ranked_over is None:
        losses = nn.functional.cross_entropy(
            logits.float(), labels, reduction="none", label_smoothing=label_smoothing
        )
    else:
        losses = ranking_loss(logits.float(), labels, ranked_over)
    if label_weights is None:
        return losses
    return losses * label_weights.to(losses)[labels.clamp(min=0)]
