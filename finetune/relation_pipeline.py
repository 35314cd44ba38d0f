"""The pipeline "relation-classification": texts with two entities in, relations with scores out.

This file and what it imports are flat and use relative imports only, because they travel with a saved model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, Pipeline
from transformers.pipelines import PIPELINE_REGISTRY

from .bag_threshold import DEFAULT_THRESHOLD
from .batching import RowBatches
from .encoded_rows import EncodedRows, RowStatus
from .encoding import RowEncoder
from .entity_inputs import EntityInput, short_type
from .prediction_input import Unit, read_unit
from .prediction_records import prediction_records
from .type_relations import TypeRelations, check_types

TASK = "relation-classification"
# What a saved config says of the pipeline.
CUSTOM_PIPELINES = {
    TASK: {
        "impl": "relation_pipeline.RelationPipeline",
        "pt": ["AutoModelForSequenceClassification"],
        "type": "text",
    }
}
BATCH_SIZE = 32
# Batches that are read at once, so that units of similar length stand together.
BATCHES_PER_CHUNK = 16


class RelationPipeline(Pipeline):
    """Predictions of a saved classifier, encoded as in its training.

    Call it with a record (see `prediction_input.read_unit`), a list of records or any iterable of them; a
    prediction, a list or an iterator comes back. A prediction holds the record's id where it has one, `pred`
    (a relation, or with `multi_label` a list of them), `scores` (relation -> score) and `status`: "whole",
    "windowed" (cut around the entities), "cannot_be_kept" or "not_found" (both are predicted as the negative
    relation); for a bag how many of its sentences are which. `batch_size` counts records.
    """

    _load_tokenizer = True  # type: ignore[assignment]
    _load_feature_extractor = False  # type: ignore[assignment]
    _load_image_processor = False  # type: ignore[assignment]
    _load_video_processor = False  # type: ignore[assignment]
    _load_processor = False  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Prepare the model for prediction, and the encoding that its config names.

        Raises:
            ValueError: The tokenizer is not the one that the model was trained with.
        """
        super().__init__(*args, **kwargs)
        self.model.eval()
        config: Any = self.model.config
        heads, tails = config.entity_types or ((), ())
        entity_input = EntityInput(config.input_format, tuple(heads), tuple(tails))
        new = list(entity_input.new_tokens)
        tokenizer: Any = self.tokenizer
        if config.marker_ids is not None and tokenizer.convert_tokens_to_ids(new) != config.marker_ids:
            raise ValueError(
                f"the tokenizer lacks the tokens {new[:2]}... of this model, or has other ids for them; use "
                "the tokenizer that was saved with the model."
            )
        self.row_encoder = RowEncoder(tokenizer, entity_input=entity_input, max_length=config.max_length)
        restricted = config.classifier_head == "type_restriction"
        self.type_relations = TypeRelations.of(config.type_relations) if restricted else None
        self.label_names = [config.id2label[label] for label in range(len(config.id2label))]

    def __call__(  # type: ignore[override]
        self, inputs: Any, *, batch_size: int | None = None, **kwargs: Any
    ) -> Any:
        """The prediction of a record, a list of them for a list, an iterator for any other iterable.

        Raises:
            ValueError: A record is broken (its number is named), or `batch_size` is not positive.
            TypeError: An argument that the pipeline does not have.
        """
        self._sanitize_parameters(**kwargs)
        batch_size = BATCH_SIZE if batch_size is None else batch_size
        if isinstance(inputs, Mapping):
            return next(self.stream([("the record", inputs)], batch_size=batch_size))
        named = ((f"record {number}", record) for number, record in enumerate(inputs, start=1))
        predictions = self.stream(named, batch_size=batch_size)
        return list(predictions) if isinstance(inputs, (list, tuple)) else predictions

    def stream(self, named: Iterable[tuple[str, Any]], *, batch_size: int) -> Iterator[dict[str, Any]]:
        """The predictions in order, a chunk of records in memory at a time.

        Args:
            named: What each record is called in messages, and the record.
            batch_size: Records that the model sees at once.

        Raises:
            ValueError: As `__call__`.
        """
        if batch_size < 1:
            raise ValueError(f"`batch_size` must be a positive integer; got {batch_size}.")
        for chunk in batched(named, batch_size * BATCHES_PER_CHUNK):
            units = [self._checked(read_unit(record, where=where), where) for where, record in chunk]
            rows = self.preprocess(units)
            sizes = np.array([len(unit.sentences) for unit in units])
            ends = np.cumsum(sizes)
            order = np.argsort(-np.maximum.reduceat(rows.lengths, ends - sizes), kind="stable")
            outputs = np.zeros((len(units), len(self.label_names)), dtype=np.float32)
            for chosen in batched(order.tolist(), batch_size):
                places = [row for unit in chosen for row in range(ends[unit] - sizes[unit], ends[unit])]
                inputs = rows.__getitems__(places)
                del inputs["labels"], inputs["row_ids"]
                if self.model.config.bag_pooling is not None:
                    inputs["bag_sizes"] = torch.from_numpy(sizes[list(chosen)])
                outputs[list(chosen)] = self.forward(inputs).logits.float().numpy()
            yield from self.postprocess(outputs, units=units, rows=rows.rows)

    def _checked(self, unit: Unit, where: str) -> Unit:
        if unit.is_bag and self.model.config.bag_pooling is None:
            raise ValueError(
                f"{where}: this model was trained on sentences and has no pooling for a bag; give one "
                "sentence per record."
            )
        if self.row_encoder.entity_input.needs_types and any(one.types is None for one in unit.sentences):
            raise ValueError(
                f"{where}: this model was trained with the input {self.row_encoder.entity_input.name!r}, so "
                "head and tail must be objects with a 'type'."
            )
        if self.type_relations is not None:
            types = [one.types for one in unit.sentences]
            check_types(types, row_names=[one.text[:40] for one in unit.sentences], where=where)
        return unit

    def _sanitize_parameters(self, **parameters: Any) -> tuple[dict, dict, dict]:
        if parameters:
            raise TypeError(f"the pipeline has no argument {next(iter(parameters))!r}; it has `batch_size`.")
        return {}, {}, {}

    def preprocess(self, units: Sequence[Unit], **_: Any) -> RowBatches:  # type: ignore[override]
        """The sentences of all units, encoded."""
        sentences = [sentence for unit in units for sentence in unit.sentences]
        spans = [[*sentence.head, *sentence.tail] for sentence in sentences]
        types = [sentence.types or ("", "") for sentence in sentences]
        rows = self.row_encoder.encode(
            sentences=[sentence.text for sentence in sentences],
            spans=np.array(spans, dtype=np.int64),
            row_names=[sentence.text[:40] for sentence in sentences],
            types=[(short_type(head), short_type(tail)) for head, tail in types],
        )
        if self.type_relations is not None:
            rows = replace(rows, type_pairs=self.type_relations.pairs_of(types))
        tokenizer: Any = self.tokenizer
        nothing = np.zeros(len(sentences), dtype=np.int64)
        return RowBatches(rows=rows, labels=nothing, row_ids=nothing, pad_id=tokenizer.pad_token_id or 0)

    def _forward(self, inputs: dict[str, torch.Tensor], **_: Any) -> Any:  # type: ignore[override]
        return self.model(**inputs)

    def postprocess(  # type: ignore[override]
        self, outputs: np.ndarray, *, units: Sequence[Unit], rows: EncodedRows
    ) -> Iterator[dict[str, Any]]:
        """One prediction per unit."""
        config: Any = self.model.config
        threshold = config.threshold
        records = prediction_records(
            names=[""] * len(units),
            outputs=outputs,
            label_names=self.label_names,
            negative_relation=config.negative_relation,
            activation=config.score_activation,
            threshold=(DEFAULT_THRESHOLD if threshold is None else threshold) if config.multi_label else None,
        )
        status = iter(rows.status.tolist())
        for unit, record in zip(units, records, strict=True):
            statuses = [RowStatus(next(status)).name.lower() for _ in unit.sentences]
            name = {} if unit.name is None else {"bag_id" if unit.is_bag else "instance_id": unit.name}
            counts = {one: statuses.count(one) for one in dict.fromkeys(statuses)}
            yield {
                **name,
                "pred": record["pred"],
                "scores": record["scores"],
                "status": counts if unit.is_bag else statuses[0],
            }


def batched(values: Iterable[Any], size: int) -> Iterator[tuple[Any, ...]]:
    """The values in tuples of `size`, the last one shorter (`itertools.batched` of Python 3.12)."""
    rest = iter(values)
    while batch := tuple(islice(rest, size)):
        yield batch


if TASK not in PIPELINE_REGISTRY.get_supported_tasks():
    PIPELINE_REGISTRY.register_pipeline(
        TASK, pipeline_class=RelationPipeline, pt_model=AutoModelForSequenceClassification, type="text"
    )
