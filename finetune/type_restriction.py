"""Relations that the types of the two entities allow: the head and the loss of RECENT.

A detector says whether there is a relation; which one is decided among those that training has for the types
of head and tail. Which these are is learnt from the training rows alone (`type_relations`).

Reference: Lyu and Chen (2021), "Relation Classification with Entity Type Restriction", Findings of ACL, and
its code (github Saintfe/RECENT). Differs: the published system has an encoder for the detector and one for
every pair of types, ours has one for all. Its evaluation reads labels of the test set at two places, ours
does not: it takes the one relation of a pair from the test labels (`prepare_data.py`), and leaves rows of the
negative relation out of the second stage, so that they come out right whatever the detector says
(`recent_eval.py`).

This file travels with a saved model: flat, relative imports only.
"""

from __future__ import annotations

import torch
from torch import nn

from .bag_pooling import CERTAIN
from .type_relations import TypeRelations


class TypeRestrictionHead(nn.Module):
    """A detector, and a weight row for every relation that a pair of types has in training.

    With f the vector of a row and d = sigmoid(its detector's logit): the score of relation r is the mean of
    w . f + b over the row's pairs that have r, and p(r) the softmax of the scores of its candidates, the
    relations that any of its pairs has. The logits are

        log d + log p(r)              of a candidate,
        log(1 - d) + max_r log p(r)   of the negative relation,
        -CERTAIN                      of the others,

    so that the best label is the decision in two stages, the negative relation exactly where d < 1/2 and else
    the best candidate, and the odds of the negative relation against that one are those of the detector. One
    candidate is the relation by rule. A row without candidates is surely negative, see
    `RelationClassifier.forward`.

    Bags are pooled by these logits: `avg` is the mean of logarithms, so that a relation which the types of
    one row rule out is out; `att` weighs a row by d p(r).
    """

    entry_of: torch.Tensor

    def __init__(self, *, width: int, relations: TypeRelations, num_labels: int, negative_id: int) -> None:
        """Draw the weights; the biases are 0.

        Args:
            width: Numbers in the vector of a row.
            relations: What the pairs of types have in training.
            num_labels: All labels, the negative relation included.
            negative_id: The negative relation's label id.
        """
        super().__init__()
        self.negative_id = negative_id
        self.detector = nn.Linear(width, 1)
        table = torch.from_numpy(relations.entries(num_labels))
        num_entries = int(table.max()) + 1
        self.weight = nn.Parameter(torch.empty(num_entries, width).normal_(0.0, 0.02))
        self.bias = nn.Parameter(torch.zeros(num_entries))
        # Pair and label -> its row of `weight`, or -1. In the weights' file, because buffers that are not are
        # lost when a model is loaded.
        self.register_buffer("entry_of", table)

    def candidates(self, type_pairs: torch.Tensor) -> torch.Tensor:
        """The relations that the rows may have, bool, shape (rows, num_labels).

        Args:
            type_pairs: Known pairs of types of each row, behind them -1, int64, shape (rows, most pairs).
        """
        return (self._entries(type_pairs) >= 0).any(dim=1)

    def forward(
        self, vectors: torch.Tensor, type_pairs: torch.Tensor, *, with_detector: bool = False
    ) -> torch.Tensor:
        """The logits of the labels, shape (rows, num_labels).

        With `with_detector` the detector's logit stands behind them. A row without candidates has -CERTAIN
        for every relation and log(1 - d) for the negative one.

        Args:
            vectors: Shape (rows, width).
            type_pairs: As in `candidates`.
        """
        entries = self._entries(type_pairs).transpose(1, 2)
        known = entries >= 0
        counts = known.sum(dim=2)
        flat, ends = entries[known].long(), counts.flatten().cumsum(0)

        def means(values: torch.Tensor) -> torch.Tensor:
            own = nn.functional.embedding_bag(flat, values, ends - counts.flatten(), mode="mean")
            return own.view(*counts.shape, -1)

        scores = (means(self.weight) @ vectors.unsqueeze(2) + means(self.bias.unsqueeze(1))).squeeze(2)
        scores, detected = scores.float(), self.detector(vectors).float()
        logits = label_logits(scores, counts > 0, detected.squeeze(1), negative_id=self.negative_id)
        return torch.cat([logits, detected], dim=1) if with_detector else logits

    def _entries(self, type_pairs: torch.Tensor) -> torch.Tensor:
        """Rows of `weight`, or -1, shape (rows, most pairs, num_labels)."""
        return self.entry_of[type_pairs.clamp(min=0)].masked_fill((type_pairs < 0).unsqueeze(2), -1)


def label_logits(
    scores: torch.Tensor, candidates: torch.Tensor, detected: torch.Tensor, *, negative_id: int
) -> torch.Tensor:
    """The logits of the labels, shape (rows, num_labels), as `TypeRestrictionHead` says.

    Args:
        scores: Of relations, shape (rows, num_labels).
        candidates: Which of them count, bool, same shape.
        detected: The detector's logits, shape (rows,).
        negative_id: The negative relation's label id, no candidate.

    >>> candidates = torch.tensor([[False, True, True, False], [False, False, False, True]])
    >>> logits = label_logits(torch.zeros(2, 4), candidates, torch.tensor([0.0, 2.0]), negative_id=0)
    >>> (100 * logits.exp()).int().tolist()  # 1/2 * 1/2; sigmoid(2) = 0.88
    [[25, 25, 25, 0], [11, 0, 0, 88]]
    """
    lowest = torch.finfo(scores.dtype).min
    shares = scores.masked_fill(~candidates, lowest).log_softmax(dim=1)
    best = shares.amax(dim=1).masked_fill(~candidates.any(dim=1), 0.0)
    detected = detected.unsqueeze(1)
    relations = (nn.functional.logsigmoid(detected) + shares).masked_fill(~candidates, -CERTAIN)
    none = nn.functional.logsigmoid(-detected) + best.unsqueeze(1)
    is_negative = torch.arange(scores.shape[1], device=scores.device) == negative_id
    return torch.where(is_negative, none, relations)


def restricted_loss(outputs: torch.Tensor, labels: torch.Tensor, negative_id: int) -> torch.Tensor:
    """The loss of each unit, shape (units,); 0 where the label is -100.

    It is the binary cross-entropy of the detector, and for a unit with a relation the cross-entropy of its
    candidates added to it. A relation that is no candidate (of a model that goes on with other data) has the
    detector's part only.

    Args:
        outputs: The logits of the labels with the detector's behind them, shape (units, num_labels + 1).
        labels: Label ids, shape (units,).
        negative_id: The negative relation's label id.

    >>> outputs = torch.tensor([[-1.0, -2.0, -2.0, 0.0], [-1.0, -2.0, -2.0, 0.0]])
    >>> restricted_loss(outputs, torch.tensor([0, 2]), 0).tolist()  # log 2; 2 log 2
    [0.6931471824645996, 1.3862943649291992]
    """
    logits, detected = outputs[:, :-1], outputs[:, -1]
    positive = (labels >= 0) & (labels != negative_id)
    found = nn.functional.binary_cross_entropy_with_logits(detected, positive.float(), reduction="none")
    is_negative = torch.arange(logits.shape[1], device=logits.device) == negative_id
    shares = logits.masked_fill(is_negative, torch.finfo(logits.dtype).min).log_softmax(dim=1)
    own = labels.clamp(min=0).unsqueeze(1)
    counted = positive & (logits.gather(1, own).squeeze(1) > -CERTAIN / 2)
    chosen = -shares.gather(1, own).squeeze(1).masked_fill(~counted, 0.0)
    return (found + chosen).masked_fill(labels < 0, 0.0)


def needed_pairs(type_pairs: torch.Tensor | None) -> torch.Tensor:
    """The pairs of types that were given.

    Raises:
        ValueError: None were.
    """
    if type_pairs is None:
        raise ValueError(
            "a model with the head 'type_restriction' needs `type_pairs`, the known pairs of types of each "
            "row; see `TypeRelations.pairs_of`."
        )
    return type_pairs
