"""The classifier: an encoder, a representation of each row, a head, bags of rows, and the loss of units.

This file and what it imports are flat and use relative imports only, because they travel with a saved model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTextEncoding,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.dynamic_module_utils import custom_object_save
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING

from .bag_pooling import Rows, bags_with_rows, certain_negative, score_bags, with_negative_logit

# Not used here: transformers before 5.3 takes along from a folder only what this file itself names.
from .batching import RowBatches  # noqa: F401
from .configuration import RelationClassifierConfig
from .crcnn import CRCNNHead, crcnn_loss
from .encoding import RowEncoder  # noqa: F401
from .entity_inputs import LAST_TOKEN, SENTENCE
from .markers import Span  # noqa: F401
from .prediction_records import prediction_records  # noqa: F401
from .prompt import SlotWords, states_at_masks, vocabulary_logits
from .relation_pipeline import RelationPipeline  # noqa: F401
from .type_restriction import TypeRelations, TypeRestrictionHead, needed_pairs, restricted_loss
from .word_encoders import WordEncoder  # noqa: F401


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
    """Return cross-entropy of each unit, float32, shape (num_units,); 0 where the label is -100.

    Labels with a column for each label belong to separate sigmoids: the loss of a unit is then the sum of the
    binary cross-entropies of its labels, without those that are -100.

    Args:
        logits: Shape (num_units, num_labels).
        labels: Label ids, shape (num_units,); or 0 and 1, float, shape (num_units, num_labels), which go with
            neither weights nor smoothing. -100 does not count.
        label_weights: Factor of a unit by its label, float32, shape (num_labels,); None is 1 for each.
        label_smoothing: Share e of the target that is spread evenly over all labels: the loss of a unit is
            (1 - e) * its cross-entropy + e * the mean over the labels of -log p, as in the Trainer.
        ranked_over: The negative relation's id where the others are ranked over it: the loss is then
            `crcnn_loss`, without smoothing.
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
        losses = crcnn_loss(logits.float(), labels, ranked_over)
    if label_weights is None:
        return losses
    return losses * label_weights.to(losses)[labels.clamp(min=0)]


CLASSIFIER_HEADS = ("linear", "mlp", "crcnn", "type_restriction")


def make_encoder(
    config: PretrainedConfig, make: Callable[..., Any], *, language_model: bool = False
) -> tuple[PreTrainedModel, Any]:
    """Return an encoder of this config, and what else `make` returns beside it.

    It has no pooling layer, where the architecture lets one leave it away, and of a pair of encoder and
    decoder it is the encoder. With `language_model` it has the head of the masked language model too.

    Args:
        config: The encoder's config.
        make: Called with a class of transformers' Auto classes and keywords for the model; returns a model of
            it and anything else.
        language_model: Whether the language model's head is needed.
    """
    if language_model:
        return make(AutoModelForMaskedLM)
    half: Any = MODEL_FOR_TEXT_ENCODING_MAPPING.get(type(config), None)
    # T5 and its kin, whose encoder can also be a checkpoint of its own.
    if half is not None and half.__name__.endswith("EncoderModel"):
        return make(AutoModelForTextEncoding)
    if getattr(config, "is_encoder_decoder", False):
        pair, rest = make(AutoModel)
        return pair.get_encoder(), rest
    try:
        return make(AutoModel, add_pooling_layer=False)
    except TypeError:
        return make(AutoModel)


def bare_encoder(config: PretrainedConfig, *, language_model: bool = False) -> PreTrainedModel:
    """Return an encoder of this config with random weights; see `make_encoder`."""

    def make(auto: Any, **options: Any) -> tuple[PreTrainedModel, None]:
        return auto.from_config(config, **options), None

    return make_encoder(config, make, language_model=language_model)[0]


def at_starts(states: torch.Tensor, entity_starts: torch.Tensor) -> torch.Tensor:
    """Return the states where head and tail start, one after another: (rows, 2 * hidden).

    Args:
        states: Final states, shape (rows, width, hidden).
        entity_starts: Token positions, shape (rows, 2); -1 is read as 0.
    """
    rows = torch.arange(len(states), device=states.device).unsqueeze(1)
    return states[rows, entity_starts.clamp(min=0)].flatten(start_dim=1)


def mention_maximum(states: torch.Tensor, entity_spans: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """Return the maximum over the head's own tokens and over the tail's, one after another: (rows, 2 *
    hidden).

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
    """Return which tokens lie in the head's span and which in the tail's: two bool tensors (rows, width)."""
    columns = torch.arange(width, device=entity_spans.device)
    firsts, ends = entity_spans[:, ::2], entity_spans[:, 1::2]
    inside = (columns >= firsts.unsqueeze(2)) & (columns < ends.unsqueeze(2))
    return inside[:, 0], inside[:, 1]


def segment_ids(entity_spans: torch.Tensor, width: int) -> torch.Tensor:
    """Return 0 for other tokens, 1 for the head's and 2 for the tail's: int64, (rows, width).

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
    """Return the layers from a representation to label scores.

    "linear" is one layer ([C]; the caller's dropout stands in front); "mlp" is Linear-ReLU-Dropout-Linear
    with `hidden_size` units in between ([D]); "crcnn" is one layer in which the negative relation has no
    vector (see `crcnn`); "type_restriction" has those of the `type_relations` (see `type_restriction`).

    Raises:
        ValueError: An unknown kind.
    """
    if kind == "linear":
        return nn.Linear(width, num_labels)
    if kind == "crcnn":
        return CRCNNHead(width=width, num_labels=num_labels, negative_id=negative_id)
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
    """Return the dropout before a classifier, under the name that the architecture gives it; else 0.1."""
    for name in ("classifier_dropout", "hidden_dropout_prob", "hidden_dropout", "dropout"):
        value = getattr(config, name, None)
        if value is not None:
            return float(value)
    return 0.1


# Encoders that compute in float32 also under autocast: DeBERTa (the first) masks its attention with float32's
# lowest number, which bfloat16 cannot hold.
ONLY_FLOAT32 = ("deberta",)


def tied_names(model: RelationClassifier) -> set[str]:
    """Return the names of the encoder's weights that are others of it, under a second name."""
    if hasattr(model, "all_tied_weights_keys"):
        return set(model.all_tied_weights_keys)
    # transformers 4: each class names its own.
    encoder: Any = model.encoder
    is_tied = getattr(encoder.config, "tie_word_embeddings", False)
    return {f"encoder.{name}" for name in encoder._tied_weights_keys or ()} if is_tied else set()


class RelationClassifier(PreTrainedModel):
    """Relation scores for sentences with two entities.

    Reference: Baldini Soares et al. (2019), "Matching the Blanks", Figure 3: a = plain + cls, b = plain +
        mention_pooling, c = positions + mention_pooling, d = markers + cls, e = markers + mention_pooling,
        f = markers + entity_start; Zhou and Chen (2021) for the other inputs and the "mlp" head; `prompt` for
        the input "prompt"; `type_restriction` for that head. "cls" is the final state at the first token,
        without a pooling layer, "last_token" that at the last one, for encoders that read from left to right.
        Dropout in front of the linear layer is that of the encoder's own
        classifiers.
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
        with_words = config.classifier_head == "label_words"
        self.slots = SlotWords.of(config.label_word_ids or ()) if with_words else None
        self.encoder = encoder if encoder is not None else bare_encoder(of_encoder, language_model=with_words)
        self.negative_id = int((config.label2id or {})[config.negative_relation])
        dropout = config.classifier_dropout
        if dropout is None:
            dropout = dropout_of(of_encoder)
        # Zhou and Chen's network has its dropout inside.
        self.dropout = nn.Dropout(0.0 if config.classifier_head == "mlp" else dropout)
        # With label words the encoder is a language model, whose own head scores them.
        self.classifier: nn.Module | None = None
        if not with_words:
            self.classifier = classifier_head(
                config.classifier_head,
                width=of_encoder.hidden_size
                * (1 if config.representation in ("cls", LAST_TOKEN, SENTENCE) else 2),
                hidden_size=of_encoder.hidden_size,
                num_labels=len(config.id2label or ()),
                negative_id=self.negative_id,
                dropout=dropout,
                type_relations=config.type_relations,
            )
        self.segments = None
        words: Any = self.encoder.get_input_embeddings()
        if config.input_format == "positions" and (getattr(of_encoder, "type_vocab_size", None) or 0) < 3:
            self.segments = nn.Embedding(3, words.embedding_dim)
        self.post_init()
        # Tied weights are saved once; the Trainer would take the others for missing.
        self._keys_to_ignore_on_save = tied_names(self)

    @property
    def is_type_restricted(self) -> bool:
        """Whether the entities' types say which relations a row may have."""
        return self.config.classifier_head == "type_restriction"

    @property
    def own_loss(self) -> dict[str, Any]:
        """What `unit_losses` must know about the head, in training."""
        ranked = self.config.classifier_head == "crcnn"
        return {
            "ranked_over": self.negative_id if ranked else None,
            "slots": self.slots,
            "restricted_over": self.negative_id if self.is_type_restricted else None,
        }

    def save_pretrained(self, save_directory: Any, *args: Any, **kwargs: Any) -> None:
        """Write config, weights, and this file with those it imports, so that the folder loads anywhere."""
        super().save_pretrained(save_directory, *args, **kwargs)
        custom_object_save(self, save_directory)

    def cast_encoder(self) -> bool:
        """Keep the encoder's weights in bfloat16 from now on; scores stay float32. Return whether it could.

        Networks on words, language models behind masks and DeBERTa (the first) keep float32.
        """
        kind = self.config.encoder.model_type  # type: ignore[union-attr]
        if self.slots is not None or self.config.representation == SENTENCE or kind in ONLY_FLOAT32:
            return False
        self.encoder.to(dtype=torch.bfloat16)  # type: ignore[call-arg]
        return True

    def represent(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        entity_starts: torch.Tensor,
        entity_spans: torch.Tensor,
    ) -> torch.Tensor:
        """Return what a row is scored by.

        Returns:
            Shape (rows, hidden) for cls, last_token and sentence, (rows, 5, hidden) for masks, else
            (rows, 2 * hidden).
        """
        if self.config.representation == SENTENCE:
            return self.encoder(input_ids, attention_mask, entity_starts).pooler_output
        words: dict[str, torch.Tensor] = {"input_ids": input_ids}
        if self.config.input_format == "positions":
            segments = segment_ids(entity_spans, input_ids.shape[1])
            if self.segments is None:
                words["token_type_ids"] = segments
            else:
                embedded = self.encoder.get_input_embeddings()(input_ids)
                words = {"inputs_embeds": embedded + self.segments(segments).to(embedded.dtype)}
        precision: Any = nullcontext()
        if self.config.encoder.model_type in ONLY_FLOAT32:  # type: ignore[union-attr]
            precision = torch.autocast(device_type=input_ids.device.type, enabled=False)
        with precision:
            states = self.encoder.base_model(**words, attention_mask=attention_mask).last_hidden_state
        if self.config.representation == "masks":
            return states_at_masks(states, input_ids, self.config.mask_id)
        if self.config.representation == "cls":
            return states[:, 0]
        if self.config.representation == LAST_TOKEN:
            return states[torch.arange(len(states), device=states.device), attention_mask.sum(dim=1) - 1]
        if self.config.representation == "entity_start":
            return at_starts(states, entity_starts)
        counted = torch.ones_like(input_ids, dtype=torch.bool)
        for marker in self.config.marker_ids or ():
            counted &= input_ids != marker
        return mention_maximum(states, entity_spans, counted)

    def score_rows(self, *rows: torch.Tensor, for_loss: bool = False) -> torch.Tensor:
        """Return logits of single rows, float32, shape (rows, num_labels).

        Args:
            *rows: As in `represent`; behind them `type_pairs`, where types restrict the relations.
            for_loss: Whether columns that the loss needs follow: with label words the logits of the
                masks' words (`SlotWords.outputs`), with "type_restriction" that of the detector.
        """
        pooled = self.represent(*rows[:4])
        # The scores stay in float32 under autocast: 16-bit scores would tie where the model does not.
        with torch.autocast(device_type=pooled.device.type, enabled=False):
            if self.slots is not None:
                logits = vocabulary_logits(self.encoder, pooled.to(self.encoder.dtype)).float()
                return self.slots.outputs(logits, with_slots=for_loss)
            head: Any = self.classifier
            vectors = self.dropout(pooled.to(next(head.parameters()).dtype))
            if self.is_type_restricted:
                return head(vectors, rows[4], with_detector=for_loss).float()
            return head(vectors).float()

    def forward(
        self,
        input_ids: torch.LongTensor,
        attention_mask: torch.LongTensor,
        entity_starts: torch.LongTensor,
        entity_spans: torch.LongTensor,
        bag_sizes: torch.LongTensor | None = None,
        type_pairs: torch.LongTensor | None = None,
        labels: torch.Tensor | None = None,
        return_dict: bool = True,
    ) -> SequenceClassifierOutput | tuple:
        """Return outputs of the units over all labels, and the loss when labels are given.

        A unit is a row, or with `bag_sizes` a bag. A row without usable entities (entity start -1) is surely
        negative and does not count in the loss; in a bag it takes no part, and a bag of such rows is like
        such a row; so is, but in training, a row whose types allow no relation. In training with labels the
        outputs of bags are the logits of the loss, pooled for their labels, and what else the loss needs
        follows (see `score_rows`); otherwise `loss` is the cross-entropy of the relations alone.

        Args:
            input_ids: Token ids, shape (rows, length).
            attention_mask: 1 for tokens, 0 for padding, same shape.
            entity_starts: Token positions where head and tail start, shape (rows, 2).
            entity_spans: Half-open spans of the entities' own tokens, shape (rows, 4).
            bag_sizes: Rows of each bag, shape (units,); the rows of a bag stand together. Without it the
                units are the rows; a model with `bag_pooling` then predicts each as a bag of one.
            type_pairs: With "type_restriction" the known pairs of types of each row, -1 behind, shape (rows,
                most pairs).
            labels: Label ids, shape (units,); with `multi_label` 0 or 1, shape (units, num_labels), and -100
                for the negative relation.
            return_dict: False gives a plain tuple.

        Returns:
            `logits` float32, shape (units, num_labels), which `config.score_activation` makes scores of;
            `loss` the mean loss of the units.
        """
        rows: Rows = (input_ids, attention_mask, entity_starts, entity_spans)
        for_loss = self.training and labels is not None
        scores = partial(self.score_rows, for_loss=for_loss)
        usable = (entity_starts >= 0).all(dim=1)
        if self.is_type_restricted:
            rows = (*rows, needed_pairs(type_pairs))
            if not for_loss:
                head: Any = self.classifier
                usable &= head.candidates(rows[4]).any(dim=1)
        if bag_sizes is None and self.config.bag_pooling is not None and not self.training:
            bag_sizes = torch.ones_like(usable, dtype=torch.int64)  # type: ignore[assignment]
        if bag_sizes is None:
            logits = self._row_outputs(scores(*rows), usable)
        else:
            logits = score_bags(
                scores,
                rows,
                usable=usable,
                bag_sizes=bag_sizes,
                labels=labels if for_loss else None,
                pooling=str(self.config.bag_pooling),
                negative_id=self.negative_id,
                multi_label=self.config.multi_label,
                tokens_per_chunk=self.config.tokens_per_chunk,
                num_labels=self.config.num_labels,
            )
            usable = bags_with_rows(usable, bag_sizes)
        loss = None if labels is None else self._loss(logits, labels, usable)
        output = SequenceClassifierOutput(loss=loss, logits=logits)
        return output if return_dict else output.to_tuple()

    def _row_outputs(self, logits: torch.Tensor, usable: torch.Tensor) -> torch.Tensor:
        if self.config.multi_label and not self.training:
            logits = with_negative_logit(logits, negative_id=self.negative_id)
        certain = certain_negative(logits.shape[1], negative_id=self.negative_id, activation="softmax")
        return torch.where(usable.unsqueeze(1), logits, certain.to(logits))

    def _loss(self, logits: torch.Tensor, labels: torch.Tensor, usable: torch.Tensor) -> torch.Tensor:
        scores_are_given = self.config.score_activation == "identity"
        if self.training:
            own = self.own_loss
        elif scores_are_given or self.is_type_restricted:  # a score may be 0
            scores = logits if scores_are_given else logits.softmax(dim=1)
            logits, own = scores.clamp(min=torch.finfo(logits.dtype).tiny).log(), {}
        else:
            own = {"ranked_over": self.own_loss["ranked_over"]}
        unusable = ~usable if labels.ndim == 1 else ~usable.unsqueeze(1)
        losses = unit_losses(logits, labels.masked_fill(unusable, -100), **own)
        return losses.sum() / usable.sum().clamp(min=1)


AutoConfig.register(RelationClassifierConfig.model_type, RelationClassifierConfig, exist_ok=True)
AutoModel.register(RelationClassifierConfig, RelationClassifier, exist_ok=True)
AutoModelForSequenceClassification.register(RelationClassifierConfig, RelationClassifier, exist_ok=True)
