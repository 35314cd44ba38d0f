"""The config of the classifier: what a saved one needs to be built and used again.

This file and what it imports are flat and use relative imports only, because they travel with a saved model.
"""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig, PretrainedConfig

from .bag_pooling import TOKENS_PER_CHUNK, check_pooling, score_activation
from .entity_inputs import OLD_HEADS, SENTENCE, check_combination, check_head
from .relation_pipeline import CUSTOM_PIPELINES
from .word_encoders import WordEncoderConfig

# All in one module: each that is named here is loaded with a copy of its own of what it imports.
AUTO_MAP = {
    "AutoConfig": "modeling.RelationClassifierConfig",
    "AutoModel": "modeling.RelationClassifier",
    "AutoModelForSequenceClassification": "modeling.RelationClassifier",
}


class RelationClassifierConfig(PretrainedConfig):
    """What a saved classifier needs: its encoder's config, label names, negative relation, input format.

    It has an `__init__` of its own because transformers makes dataclasses of configs only since 5.2 or so.

    Attributes:
        encoder: Config of the encoder (a config object or its dict).
        id2label: Relation names by id, the negative relation included.
        negative_relation: The name that means "none of the relations".
        representation: How a row becomes one vector: "cls", "mention_pooling", "entity_start" or
            "last_token"; "sentence" with a word encoder, which makes it itself; "masks" with the input
            "prompt", a vector each.
        input_format: How the entities are shown to the encoder, see `entity_inputs`.
        entity_types: Head types and tail types that have tokens of their own.
        marker_ids: Ids of the new tokens, which mention pooling leaves out.
        classifier_head: "linear", "mlp", "crcnn" or "type_restriction"; "label_words" with the
            representation "masks".
        label_word_ids: Token ids of the words that a label has at the masks, shape (num_labels, 5).
        mask_id: Id of the mask token, with `label_word_ids`.
        type_relations: [head type, tail type, label ids] of the pairs of types that training has with
            relations, for the head "type_restriction".
        classifier_dropout: Dropout in front of the scores (in [D]'s "mlp", inside); None for that of the
            encoder's own classifiers.
        max_row_tokens: Most tokens per row that encoding keeps; `max_length` in configs of before, which
            transformers takes for a setting of generation.
        bag_pooling: How the rows of a bag become one decision, see `bag_pooling`; None for a model of
            sentences.
        multi_label: Whether relations are predicted separately, by a sigmoid each.
        threshold: The score from which a relation is predicted, with `multi_label`.
        tokens_per_chunk: Most tokens of a bag's rows that are encoded at once; it sets the memory that is
            needed, not the result.
    """

    model_type = "relation_classifier"
    has_no_defaults_at_init = True
    encoder: Any

    def __init__(
        self,
        *,
        encoder: dict | PretrainedConfig | None = None,
        negative_relation: str = "NA",
        representation: str = "entity_start",
        input_format: str = "markers",
        entity_types: list[list[str]] | None = None,
        marker_ids: list[int] | None = None,
        classifier_head: str = "linear",
        label_word_ids: list[list[int]] | None = None,
        mask_id: int | None = None,
        type_relations: list[list] | None = None,
        classifier_dropout: float | None = None,
        max_row_tokens: int = 512,
        bag_pooling: str | None = None,
        multi_label: bool = False,
        threshold: float | None = None,
        tokens_per_chunk: int = TOKENS_PER_CHUNK,
        **kwargs: Any,
    ) -> None:
        """Complete the values and check them.

        Raises:
            ValueError: No encoder config, a negative relation that no label has, a representation that
                does not go with the input, the encoder or the head, an unknown pooling, or ranked labels or
                labels of words that are predicted separately.
        """
        self.encoder = AutoConfig.for_model(**encoder) if isinstance(encoder, dict) else encoder
        self.negative_relation = negative_relation
        self.representation = representation
        self.input_format = input_format
        self.entity_types = entity_types
        self.marker_ids = marker_ids
        self.classifier_head = OLD_HEADS.get(classifier_head, classifier_head)
        self.label_word_ids = label_word_ids
        self.mask_id = mask_id
        self.type_relations = type_relations
        self.classifier_dropout = classifier_dropout
        self.max_row_tokens = kwargs.pop("max_length", max_row_tokens)
        self.bag_pooling = bag_pooling
        self.multi_label = multi_label
        self.threshold = threshold
        self.tokens_per_chunk = tokens_per_chunk
        self._check()
        if not __name__.startswith("transformers_modules"):
            kwargs.pop("custom_pipelines", None)  # the pipeline of the installed package needs no trust
        attention = self.encoder._attn_implementation
        super().__init__(**kwargs)
        if self._attn_implementation is None:  # the base class has just passed its own None on to the encoder
            self.encoder._attn_implementation = attention
        if kwargs.get("id2label") is not None:
            ids = {name: int(index) for index, name in kwargs["id2label"].items()}
            if self.negative_relation not in ids:
                raise ValueError(
                    f"`negative_relation` is {self.negative_relation!r}, none of the {len(ids)} labels: "
                    f"{', '.join(sorted(ids))}."
                )
            self.label2id = ids

    def _check(self) -> None:
        if self.encoder is None:
            raise ValueError("`encoder` must be the config of the pretrained encoder.")
        if self.bag_pooling is not None:
            check_pooling(self.bag_pooling)
        check_combination(input_format=self.input_format, representation=self.representation)
        # By name: the class may be that of another copy of this code, one that came with a saved model.
        on_words = self.encoder.model_type == WordEncoderConfig.model_type
        if on_words != (self.representation == SENTENCE):
            raise ValueError(
                f"the representation {self.representation!r} does not go with an encoder of the kind "
                f"{self.encoder.model_type!r}: {SENTENCE!r} belongs to word encoders, and the others do not."
            )
        check_head(self.classifier_head, representation=self.representation, multi_label=self.multi_label)
        if self.classifier_head == "label_words" and None in (self.label_word_ids, self.mask_id):
            raise ValueError("the classifier head 'label_words' needs `label_word_ids` and `mask_id`.")
        if self.classifier_head == "type_restriction" and not self.type_relations:
            raise ValueError("the classifier head 'type_restriction' needs `type_relations`.")

    def to_dict(self) -> dict[str, Any]:
        """Return the values, and where the saved folder has the code for them (`trust_remote_code=True`)."""
        return super().to_dict() | {"auto_map": AUTO_MAP, "custom_pipelines": CUSTOM_PIPELINES}

    @property
    def score_activation(self) -> str:
        """What makes scores of the model's output: "softmax", "sigmoid", or "identity" (scores already)."""
        return score_activation(bag_pooling=self.bag_pooling, multi_label=self.multi_label)

    @property
    def sub_configs(self) -> dict[str, type]:
        """The encoder's config belongs to this one."""
        return {"encoder": AutoConfig}
