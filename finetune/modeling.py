"""The classifier: a pretrained encoder, the states at the entity markers, one linear layer.

This file and what it imports are flat and use relative imports only, because they travel with a saved model.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from .losses import unit_losses
from .markers import HEAD_START, TAIL_START, MarkerTokens

# Added to the logit of the negative relation of a row that has no usable entities; exp(-1e4) is 0 in float32.
CERTAIN = 1e4


class RelationClassifierConfig(PreTrainedConfig):
    """What a saved classifier needs: its encoder's config, label names, negative relation, markers.

    Attributes:
        encoder: Config of the encoder (a config object or its dict).
        id2label: Relation names by id, the negative relation included.
        negative_relation: The name that means "none of the relations".
        marker_tokens: The four strings in the order of MarkerTokens.
        representation: How a row becomes one vector; "entity_start" is variant f of Baldini Soares et al.
            (2019).
        input_format: How the entities are shown to the encoder; "markers" puts the four tokens around them.
        max_length: Most tokens per row that encoding keeps.
    """

    model_type = "relation_classifier"
    has_no_defaults_at_init = True

    encoder: dict | PreTrainedConfig | None = None
    negative_relation: str = "NA"
    marker_tokens: list[str] | None = None
    representation: str = "entity_start"
    input_format: str = "markers"
    max_length: int = 512

    def __post_init__(self, **kwargs):
        """Complete the values and check them.

        Raises:
            ValueError: No encoder config, or a negative relation that no label has.
        """
        if self.encoder is None:
            raise ValueError("`encoder` must be the config of the pretrained encoder.")
        if isinstance(self.encoder, dict):
            self.encoder = AutoConfig.for_model(**self.encoder)
        if self.marker_tokens is None:
            self.marker_tokens = list(MarkerTokens().tokens)
        if self.id2label is not None:
            self.label2id = {name: int(index) for index, name in self.id2label.items()}
            if self.negative_relation not in self.label2id:
                raise ValueError(
                    f"`negative_relation` is {self.negative_relation!r}, none of the {len(self.label2id)} "
                    f"labels: {', '.join(sorted(self.label2id))}."
                )
        attention = self.encoder._attn_implementation
        super().__post_init__(**kwargs)
        if self._attn_implementation is None:  # the base class has just passed its own None on to the encoder
            self.encoder._attn_implementation = attention

    @property
    def sub_configs(self) -> dict[str, type]:
        """The encoder's config belongs to this one."""
        return {"encoder": AutoConfig}


class RelationClassifier(PreTrainedModel):
    """Relation scores for marked sentences.

    Reference: Baldini Soares et al. (2019), "Matching the Blanks", section 3.2, variant f ("entity markers
        - entity start"): the final states at the two start markers, concatenated, then a linear layer and a
        softmax. Dropout in front of the layer is the encoder's `hidden_dropout_prob`.
    """

    config_class = RelationClassifierConfig
    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    # Without **kwargs in `forward` the Trainer divides the loss itself, also over several processes.
    accepts_loss_kwargs = False

    def __init__(self, config: RelationClassifierConfig, encoder: PreTrainedModel | None = None) -> None:
        """Build the model; `encoder` is the pretrained one, None when weights are loaded afterwards."""
        super().__init__(config)
        of_encoder: Any = config.encoder
        self.encoder = encoder if encoder is not None else bare_encoder(of_encoder)
        self.dropout = nn.Dropout(getattr(of_encoder, "hidden_dropout_prob", 0.1))
        self.classifier = nn.Linear(2 * of_encoder.hidden_size, len(config.id2label or ()))
        self.negative_id = int((config.label2id or {})[config.negative_relation])
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor,
        attention_mask: torch.LongTensor,
        marker_positions: torch.LongTensor,
        labels: torch.LongTensor | None = None,
        return_dict: bool = True,
    ) -> SequenceClassifierOutput | tuple:
        """Logits over all labels, and the loss when labels are given.

        A row without usable entities (marker position -1) gets a probability of exactly 1 for the negative
        relation and does not count in the loss.

        Args:
            input_ids: Token ids, shape (batch, length).
            attention_mask: 1 for tokens, 0 for padding, same shape.
            marker_positions: Positions of the four markers in each row, shape (batch, 4).
            labels: Label ids, shape (batch,).
            return_dict: False gives a plain tuple.

        Returns:
            `logits` float32, shape (batch, num_labels); `loss` the mean cross-entropy.
        """
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        starts = marker_positions[:, [HEAD_START, TAIL_START]]
        rows = torch.arange(len(starts), device=starts.device).unsqueeze(1)
        pooled = states[rows, starts.clamp(min=0)].flatten(start_dim=1)
        # The scores stay in float32 under autocast: 16-bit scores would tie where the model does not.
        with torch.autocast(device_type=pooled.device.type, enabled=False):
            logits = self.classifier(self.dropout(pooled.to(self.classifier.weight.dtype)))
        usable = (starts >= 0).all(dim=1)
        certain = torch.full_like(logits, -CERTAIN)
        certain[:, self.negative_id] = CERTAIN
        logits = torch.where(usable.unsqueeze(1), logits, certain)
        loss = None
        if labels is not None:
            counted = labels.masked_fill(~usable, -100)
            loss = unit_losses(logits, counted).sum() / usable.sum().clamp(min=1)
        output = SequenceClassifierOutput(loss=loss, logits=logits)
        return output if return_dict else output.to_tuple()


def bare_encoder(config: PreTrainedConfig) -> PreTrainedModel:
    """An encoder of this config without a pooling layer, where the architecture lets one leave it away."""
    try:
        return AutoModel.from_config(config, add_pooling_layer=False)
    except TypeError:
        return AutoModel.from_config(config)


AutoConfig.register(RelationClassifierConfig.model_type, RelationClassifierConfig, exist_ok=True)
AutoModel.register(RelationClassifierConfig, RelationClassifier, exist_ok=True)
AutoModelForSequenceClassification.register(RelationClassifierConfig, RelationClassifier, exist_ok=True)
