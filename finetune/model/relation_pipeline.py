"""Records with two entities, checked, and the pipeline "relation-classification" that predicts them.

This file and what it imports are flat and use relative imports only, because they travel with a saved model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, Pipeline
from transformers.pipelines import PIPELINE_REGISTRY

from .bag_pooling import CERTAIN  # noqa: F401  # see the imports of modeling.py
from .batching import RowBatches
from .encoding import EncodedRows, RowEncoder, RowStatus
from .entity_inputs import EntityInput, short_type
from .markers import NOT_FOUND, Span, check_span
from .prediction_records import DEFAULT_THRESHOLD, prediction_records
from .prompt import prompt_ids  # noqa: F401
from .type_restriction import TypeRelations, check_types

SIDES = ("head", "tail")
HOW = "[start, end], the entity's words, or an object with 'start' and 'end' or with 'word'"


class Sentence(NamedTuple):
    """A text with two spans, and the types of both entities where they were given."""

    text: str
    head: Span
    tail: Span
    types: tuple[str, str] | None


@dataclass(frozen=True)
class Unit:
    """One thing to predict.

    Attributes:
        name: The `instance_id` of the record, of a bag its `bag_id`; None when it has none.
        sentences: The sentence, or those of a bag.
        is_bag: Whether the record is a bag.
    """

    name: str | None
    sentences: tuple[Sentence, ...]
    is_bag: bool


def read_unit(record: Any, *, where: str) -> Unit:
    """Return a record as a unit.

    A sentence is an object with `sentence` (or `text`), `head` and `tail`; each entity is [start, end]
    (half-open characters), or its words, or an object as in NYT-H's files and columns, where `start` and
    `end` of -1 say that it was not found. A bag is an object with `instances`, a list of sentences; what they
    lack of `head` and `tail` the bag has.

    Args:
        record: The object, as JSON gives it.
        where: What the record is called in messages, such as file and line.

    Raises:
        ValueError: The record is broken; the message says where, what, and what to give.

    >>> unit = read_unit({"text": "Ann sees Bob.", "head": [0, 3], "tail": [9, 12]}, where="line 1")
    >>> unit.sentences[0].tail
    Span(start=9, end=12)
    """
    if not isinstance(record, Mapping):
        raise ValueError(
            f"{where}: expected an object with 'sentence', 'head' and 'tail'; got {type(record).__name__}."
        )
    is_bag = "instances" in record
    name = record.get("bag_id" if is_bag else "instance_id")
    name = None if name is None else str(name)
    if not is_bag:
        return Unit(name, (_sentence(record, where),), is_bag=False)
    instances = record["instances"]
    if not isinstance(instances, list) or not instances:
        raise ValueError(f"{where}: 'instances' must be a list with the sentences of the bag, at least one.")
    of_bag = {side: record[side] for side in SIDES if side in record}
    sentences = []
    for number, instance in enumerate(instances, start=1):
        here = f"{where}, instance {number}"
        if not isinstance(instance, Mapping):
            raise ValueError(f"{here}: expected an object with 'sentence'; got {type(instance).__name__}.")
        sentences.append(_sentence({**of_bag, **instance}, here))
    return Unit(name, tuple(sentences), is_bag=True)


def _sentence(record: Mapping[str, Any], where: str) -> Sentence:
    text = record.get("sentence", record.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{where}: 'sentence' (or 'text') must be a text; got {text!r}.")
    spans: dict[str, Span] = {}
    words: dict[str, str] = {}
    for side in SIDES:
        found = _span(record, side, where)
        if isinstance(found, Span):
            check_span(found, name=side, length=len(text), row=where)
            _check_word(record.get(side), text, found, side, where)
            spans[side] = found
        else:
            words[side] = found
    if words and spans:
        raise ValueError(
            f"{where}: {next(iter(words))!r} is given by its words and {next(iter(spans))!r} by its span; "
            "give both in the same way."
        )
    if words:
        spans = _located(text, words, where)
    elif spans["head"].found and spans["head"] == spans["tail"]:
        raise ValueError(
            f"{where}: head and tail are the same span {tuple(spans['head'])}; a relation is between two "
            "mentions."
        )
    kinds = [record[side].get("type") if isinstance(record.get(side), Mapping) else None for side in SIDES]
    for side, kind in zip(SIDES, kinds, strict=True):
        if kind is not None and not isinstance(kind, str):
            raise ValueError(f"{where}: the type of {side!r} must be a text; got {kind!r}.")
    types = None if None in kinds else (str(kinds[0]), str(kinds[1]))
    return Sentence(text, spans["head"], spans["tail"], types)


def _span(record: Mapping[str, Any], side: str, where: str) -> Span | str:
    """Return the span of an entity, or its words."""
    value = record.get(side)
    if f"{side}_start" in record:
        value = [record[f"{side}_start"], record.get(f"{side}_end")]
    elif isinstance(value, Mapping):
        value = [value["start"], value.get("end")] if "start" in value else value.get("word")
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(type(end) is int for end in value):
        return Span(*value)
    got = f"got {record[side]!r}" if side in record else f"{side!r} is missing"
    raise ValueError(f"{where}: {side!r} must be {HOW}; {got}.")


def _check_word(given: Any, text: str, span: Span, side: str, where: str) -> None:
    """Refuse a span at which another text stands than the word given beside it."""
    word = given.get("word", given.get("name")) if isinstance(given, Mapping) else given
    there = text[span.start : span.end]
    if span.found and isinstance(word, str) and word.strip() and _letters(word) != _letters(there):
        raise ValueError(
            f"{where}: {side!r} is {word!r}, but {there!r} stands at its place, {span.start} to {span.end}; "
            "spans are half-open offsets in characters."
        )


def _letters(text: str) -> str:
    """As `nyt_h_dataset.same_words` compares, which a saved model goes without."""
    plain = unicodedata.normalize("NFKD", re.sub("(?i)-[lr][rsc]b-", " ", text)).casefold()
    return "".join(char for char in plain if char.isalnum()) or "".join(plain.split())


def _located(text: str, words: Mapping[str, str], where: str) -> dict[str, Span]:
    """Return the mentions of both entities; (-1, -1) where there is none."""
    try:
        from nyt_h_dataset import locate
    except ImportError as error:
        raise ValueError(
            f"{where}: to search for the entities' words the package nyt-h must be installed; give character "
            "spans instead."
        ) from error
    found = locate(text, words["head"], words["tail"])
    if not all(start != NOT_FOUND for start, _ in (found.head, found.tail)):
        return {"head": Span(NOT_FOUND, NOT_FOUND), "tail": Span(NOT_FOUND, NOT_FOUND)}
    return {"head": Span(*found.head), "tail": Span(*found.tail)}


TASK = "relation-classification"
# What a saved config says of the pipeline.
CUSTOM_PIPELINES = {
    TASK: {
        "impl": "relation_pipeline.RelationPipeline",
        "pt": ["AutoModelForSequenceClassification"],
        "type": "text",
    }
}
# Tokens that the model sees at once, padding included, unless `batch_size` says how many records
# (`benchmarks.training`: 2,048 and 8,192 are slower).
TOKENS_PER_BATCH = 4096
# Records that are read at once, so that units of similar length stand together.
CHUNK = 2048


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
        self.modelcard = getattr(
            self, "modelcard", None
        )  # transformers 5.0 saves it and does not always set it
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
        self.row_encoder = RowEncoder(tokenizer, entity_input=entity_input, max_length=config.max_row_tokens)
        restricted = config.classifier_head == "type_restriction"
        self.type_relations = TypeRelations.of(config.type_relations) if restricted else None
        self.label_names = [config.id2label[label] for label in range(len(config.id2label))]

    def __call__(  # type: ignore[override]
        self, inputs: Any, *, batch_size: int | None = None, **kwargs: Any
    ) -> Any:
        """The prediction of a record, a list of them for a list, an iterator for any other iterable.

        Raises:
            ValueError: A record is broken (its number is named), or `batch_size` is not positive.
            TypeError: An argument that the pipeline does not have, or `inputs` that are no record: a bare
                text says nothing of where the two entities are.
        """
        self._sanitize_parameters(**kwargs)
        if isinstance(inputs, (str, bytes)) or not isinstance(inputs, Iterable):
            raise TypeError(
                'the pipeline takes a record, {"sentence": ..., "head": [start, end], "tail": [start, end]}, '
                f"or several; got {inputs!r:.60}. A text alone does not say where the two entities are."
            )
        if isinstance(inputs, Mapping):
            return next(self.stream([("the record", inputs)], batch_size=batch_size))
        named = ((f"record {number}", record) for number, record in enumerate(inputs, start=1))
        predictions = self.stream(named, batch_size=batch_size)
        return list(predictions) if isinstance(inputs, (list, tuple)) else predictions

    @contextmanager
    def bfloat16(self) -> Iterator[None]:
        """Compute the encoder in bfloat16 and scores in float32; weights are cast once, and stay so."""
        model: Any = self.model
        if model.cast_encoder():
            yield
            return
        with torch.autocast(self.device.type, torch.bfloat16):
            yield

    def get_inference_context(self) -> Any:
        """Return what the model runs in; nothing here asks for gradients afterwards."""
        return torch.inference_mode

    def stream(
        self, named: Iterable[tuple[str, Any]], *, batch_size: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the predictions in order, a chunk of records in memory at a time.

        Args:
            named: What each record is called in messages, and the record.
            batch_size: Records that the model sees at once; None is as many as have TOKENS_PER_BATCH tokens.

        Raises:
            ValueError: As `__call__`.
        """
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"`batch_size` must be a positive integer; got {batch_size}.")
        for chunk in batched(named, CHUNK):
            units = [self._checked(read_unit(record, where=where), where) for where, record in chunk]
            rows = self.preprocess(units)
            sizes = np.array([len(unit.sentences) for unit in units])
            ends = np.cumsum(sizes)
            longest = np.maximum.reduceat(rows.lengths, ends - sizes)
            order = np.argsort(-longest, kind="stable").tolist()
            outputs = np.zeros((len(units), len(self.label_names)), dtype=np.float32)
            groups = by_tokens(order, sizes, longest) if batch_size is None else batched(order, batch_size)
            for chosen in groups:
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
        """Return the sentences of all units, encoded."""
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
        """Yield one prediction per unit."""
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


def by_tokens(order: Sequence[int], sizes: np.ndarray, longest: np.ndarray) -> Iterator[list[int]]:
    """Yield units in order, as many at once as have TOKENS_PER_BATCH tokens when padded, and at least one.

    Args:
        order: The units, longest first.
        sizes: Rows of each unit, shape (num_units,).
        longest: Tokens of each unit's longest row, shape (num_units,).
    """
    group: list[int] = []
    num_rows = 0
    for unit in order:
        if group and (num_rows + sizes[unit]) * longest[group[0]] > TOKENS_PER_BATCH:
            yield group
            group, num_rows = [], 0
        group.append(unit)
        num_rows += sizes[unit]
    if group:
        yield group


def batched(values: Iterable[Any], size: int) -> Iterator[tuple[Any, ...]]:
    """Yield the values in tuples of `size`, the last one shorter (`itertools.batched` of Python 3.12)."""
    rest = iter(values)
    while batch := tuple(islice(rest, size)):
        yield batch


if TASK not in PIPELINE_REGISTRY.get_supported_tasks():
    PIPELINE_REGISTRY.register_pipeline(
        TASK, pipeline_class=RelationPipeline, pt_model=AutoModelForSequenceClassification, type="text"
    )
