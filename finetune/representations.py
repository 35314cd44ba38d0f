"""How the encoder's states become one vector per sentence: tensor functions; the encoder and the head.

[C] is Baldini Soares et al. (2019), "Matching the Blanks", Figure 3; [D] is Zhou and Chen (2021), "An
Improved Baseline for Sentence-level Relation Extraction", section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import nn
from transformers import AutoModel, AutoModelForMaskedLM, PreTrainedConfig, PreTrainedModel

from .ranking import RankingHead
from .type_relations import TypeRelations
from .type_restriction import TypeRestrictionHead

CLASSIFIER_HEADS = ("linear", "mlp", "ranking", "type_restriction")


def bare_encoder(config: PreTrainedConfig, *, language_model: bool = False) -> PreTrainedModel:
    """An encoder of this config without a pooling layer, where the architecture lets one leave it away.

    With `language_model` it has the head of the masked language model too.
    """
    if language_model:
        return AutoModelForMaskedLM.from_config(config)
    try:
        return AutoModel.from_config(config, add_pooling_layer=False)
    except TypeError:
        return AutoModel.from_config(config)


def at_starts(states: torch.Tensor, entity_starts: torch.Tensor) -> torch.Tensor:
    """The states where head and tail start, one after another: (rows, 2 * hidden).

    Args:
        states: Final states, shape (rows, width, hidden).
        entity_starts: Token positions, shape (rows, 2); -1 is read as 0.
    """
    rows = torch.arange(len(states), device=states.device).unsqueeze(1)
    return states[rows, entity_starts.clamp(min=0)].flatten(start_dim=1)


def mention_maximum(states: torch.Tensor, entity_spans: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """The maximum over the head's own tokens and over the tail's, one after another: (rows, 2 * hidden).

    Args:
        states: Final states, shape (rows, width, hidden).
        entity_spans: Half-open token positions head first, head end, tail first, tail end, shape (rows, 4);
            a row of -1 gives zeros.
        counted: bool, shape (rows, width); False where a marker of a nested entity stands.

    Reference: [C] variants b, c and e ("mention pooling").

    >>> states = torch.tensor([[[1.0], [5.0], [2.0], [3.0]]])
    >>> spans = torch.tensor([[0, 3, 3, 4]])
    >>> mention_maximum(states, spans, torch.tensor([[True, False, True, True]])).tolist()
    [[2.0, 3.0]]
    """
    pooled = []
    for own in own_tokens(entity_spans, states.shape[1]):
        own = own & counted
        best = states.masked_fill(~own.unsqueeze(2), -torch.inf).amax(dim=1)
        pooled.append(torch.where(own.any(dim=1, keepdim=True), best, torch.zeros_like(best)))
    return torch.cat(pooled, dim=1)


def own_tokens(entity_spans: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Which tokens lie in the head's span and which in the tail's: two bool tensors (rows, width)."""
    columns = torch.arange(width, device=entity_spans.device)
    firsts, ends = entity_spans[:, ::2], entity_spans[:, 1::2]
    inside = (columns >= firsts.unsqueeze(2)) & (columns < ends.unsqueeze(2))
    return inside[:, 0], inside[:, 1]


def segment_ids(entity_spans: torch.Tensor, width: int) -> torch.Tensor:
    """0 for other tokens, 1 for the head's and 2 for the tail's: int64, (rows, width).

    Where the two share tokens the shorter entity, which would be hidden otherwise, has them (the tail when
    both are as long).

    Reference: [C] variant c ("positional embeddings").

    >>> segment_ids(torch.tensor([[1, 2, 3, 5], [1, 2, 0, 3]]), 6).tolist()
    [[0, 1, 0, 2, 2, 0], [2, 1, 2, 0, 0, 0]]
    """
    head, tail = own_tokens(entity_spans, width)
    sizes = entity_spans[:, 1::2] - entity_spans[:, ::2]
    tail_is_longer = (sizes[:, 1] > sizes[:, 0]).unsqueeze(1)
    segments = torch.where(tail, 2, 0)
    return torch.where(head & (~tail | tail_is_longer), 1, segments)


def classifier_head(
    kind: str,
    *,
    width: int,
    hidden_size: int,
    num_labels: int,
    negative_id: int,
    dropout: float,
    type_relations: Iterable[Sequence] | None = None,
) -> nn.Module:
    """The layers from a representation to label scores.

    "linear" is one layer ([C]; the caller's dropout stands in front); "mlp" is Linear-ReLU-Dropout-Linear
    with `hidden_size` units in between ([D]); "ranking" is one layer in which the negative relation has no
    vector (see `ranking`); "type_restriction" has those of the `type_relations` (see `type_restriction`).

    Raises:
        ValueError: An unknown kind.
    """
    if kind == "linear":
        return nn.Linear(width, num_labels)
    if kind == "ranking":
        return RankingHead(width=width, num_labels=num_labels, negative_id=negative_id)
    if kind == "type_restriction":
        relations = TypeRelations.of(type_relations or ())
        return TypeRestrictionHead(
            width=width, relations=relations, num_labels=num_labels, negative_id=negative_id
        )
    if kind == "mlp":
        return nn.Sequential(
            nn.Linear(width, hidden_size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_size, num_labels),
        )
    raise ValueError(f"`classifier_head` must be one of {', '.join(CLASSIFIER_HEADS)}; got {kind!r}.")


def dropout_of(config: object) -> float:
    """The dropout in front of a classifier, under the name that the architecture gives it; else 0.1."""
    for name in ("classifier_dropout", "hidden_dropout_prob", "hidden_dropout", "dropout"):
        value = getattr(config, name, None)
        if value is not None:
            return float(value)
    return 0.1
