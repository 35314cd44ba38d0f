"""A relation as words at masks: the prompt behind a sentence, its scores and its loss (PTR).

Behind the sentence stands "the [MASK] head [MASK] [MASK] [MASK] the [MASK] tail", and every relation has a
label word for each of the five masks: the types of head and tail, and three words for what is between them.

Reference: Han et al. (2021), "PTR: Prompt Tuning with Rules for Text Classification", with the unreversed
prompt. Differs from the released code, which multiplies the states at the masks with the word vectors: here
they pass through the language model's own head, as in the paper. A long sentence is cut to a window around
the entities; the released code cuts its beginning.

This file travels with a saved model: flat, relative imports only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from transformers import PreTrainedModel

NUM_MASKS = 5


def prompt_ids(*, the: list[int], mask: int, head: list[int], tail: list[int]) -> list[int]:
    """Return the token ids behind the sentence.

    >>> prompt_ids(the=[1], mask=0, head=[7, 8], tail=[9])
    [1, 0, 7, 8, 0, 0, 0, 1, 0, 9]
    """
    return [*the, mask, *head, mask, mask, mask, *the, mask, *tail]


@dataclass(frozen=True)
class SlotWords:
    """The label words of each mask.

    Attributes:
        ids: Mask -> the different token ids that relations have there, rising.
        places: Label -> the place of its word in `ids`, for each mask.
    """

    ids: list[list[int]]
    places: list[list[int]]

    @classmethod
    def of(cls, label_word_ids: Sequence[Sequence[int]]) -> SlotWords:
        """Return one from the token ids of each label's words, shape (num_labels, 5).

        >>> SlotWords.of([[4, 9], [4, 2]])
        SlotWords(ids=[[4], [2, 9]], places=[[0, 1], [0, 0]])
        """
        ids = [sorted(set(column)) for column in zip(*label_word_ids, strict=True)]
        places = [[ids[slot].index(word) for slot, word in enumerate(words)] for words in label_word_ids]
        return cls(ids, places)

    @property
    def num_columns(self) -> int:
        """Scores of a row: one for each label, then those of the masks' words."""
        return len(self.places) + sum(map(len, self.ids))

    def outputs(self, vocabulary_logits: torch.Tensor, *, with_slots: bool) -> torch.Tensor:
        """Return scores of each row: a label's is the sum of the logits of its words.

        Args:
            vocabulary_logits: What the language model says at the masks, shape (rows, 5, num_tokens).
            with_slots: Whether the logits of the masks' words follow, mask after mask.

        Returns:
            Shape (rows, num_labels), or with slots (rows, num_columns).
        """
        slots = [vocabulary_logits[:, slot, words] for slot, words in enumerate(self.ids)]
        relations = torch.stack(
            [slots[slot][:, list(column)] for slot, column in enumerate(zip(*self.places, strict=True))]
        ).sum(dim=0)
        return torch.cat([relations, *slots], dim=1) if with_slots else relations

    def losses(
        self, outputs: torch.Tensor, labels: torch.Tensor, *, label_smoothing: float = 0.0
    ) -> torch.Tensor:
        """Return the loss of each row, float32, shape (rows,); 0 where the label is -100.

        It is the mean of the masks' cross-entropies, each over the words that relations have at the mask,
        and the cross-entropy of the relations' scores added to it.

        Args:
            outputs: Shape (rows, num_columns), as `outputs` gives them with slots.
            labels: Label ids, shape (rows,).
            label_smoothing: Share of every target that is spread over the words of the mask, or the labels.

        Reference: Han et al. (2021), section 3.4.
        """

        def cross_entropy(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            return nn.functional.cross_entropy(
                scores.float(), targets, reduction="none", label_smoothing=label_smoothing
            )

        relations, *slots = outputs.split([len(self.places), *map(len, self.ids)], dim=1)
        counted = labels >= 0
        targets = torch.tensor(self.places, device=labels.device)[labels.clamp(min=0)]
        targets = targets.masked_fill(~counted.unsqueeze(1), -100)
        of_slots = [cross_entropy(scores, targets[:, slot]) for slot, scores in enumerate(slots)]
        return torch.stack(of_slots).mean(dim=0) + cross_entropy(relations, labels)


def states_at_masks(states: torch.Tensor, input_ids: torch.Tensor, mask_id: int) -> torch.Tensor:
    """Return the states at the five masks, shape (rows, 5, hidden); any five states of a row without masks.

    >>> states_at_masks(torch.arange(7.0).reshape(1, 7, 1), torch.tensor([[0, 9, 0, 9, 9, 9, 9]]), 9).tolist()
    [[[1.0], [3.0], [4.0], [5.0], [6.0]]]
    """
    places = (input_ids == mask_id).int().argsort(dim=1, descending=True, stable=True)[:, :NUM_MASKS]
    places = nn.functional.pad(places, (0, NUM_MASKS - places.shape[1]))  # a short batch of such rows only
    return states.gather(1, places.unsqueeze(2).expand(-1, -1, states.shape[2]))


def vocabulary_logits(model: PreTrainedModel, states: torch.Tensor) -> torch.Tensor:
    """Return what a masked language model's head makes of final states: its layers behind the encoder, in
    turn.
    """
    for layer in model.children():
        if layer is not model.base_model:
            states = layer(states)
    return states


def check_language_model(model: PreTrainedModel) -> None:
    """Raise ValueError when the model's head is not a chain of layers behind its encoder."""
    ids = torch.arange(4, device=model.device).unsqueeze(0)
    training = model.training
    model.eval()
    with torch.no_grad():
        expected = model(input_ids=ids).logits
        try:
            found = vocabulary_logits(model, model.base_model(input_ids=ids).last_hidden_state)
        except (TypeError, RuntimeError):
            found = torch.zeros(0)
    model.train(training)
    if found.shape != expected.shape or not torch.allclose(found, expected, rtol=1e-3, atol=1e-4):
        raise ValueError(
            f"`--input prompt` cannot use the head of a {type(model).__name__}, which is not a chain of "
            "layers behind the encoder; those of BERT and RoBERTa are."
        )
