"""The input of every seed: settings checked, data read, the encoder found, rows encoded as units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arguments import ModelArguments, RunArguments, Settings, check_track
from ..data.bag_units import UnitBatches, evaluated_units, training_units
from ..data.readers import check_data_flags, read_data
from ..data.relation_rows import RelationData
from ..encoders.encoder_sources import (
    EncoderSource,
    add_entity_tokens,
    check_label_words,
    check_labels,
    pretrained_source,
    word_source,
)
from ..encoders.label_words import label_word_ids, read_label_words
from ..model.batching import RowBatches
from ..model.encoding import RowEncoder
from ..model.entity_inputs import EntityInput, entity_input
from ..model.type_restriction import TypeRelations, check_types
from ..report.evaluation import is_scored_by_track
from ..trainer_arguments import RelationTrainingArguments

EVALUATED = ("validation", "test")
# Predicted, and counted apart: rows of the negative relation.
NEGATIVE_ROWS = "na"


@dataclass(frozen=True)
class Prepared:
    """Input of every seed.

    Attributes:
        data: The rows as read.
        source: The encoder and its tokenizer, which has the new tokens of the input.
        entity_input: How the entities are shown.
        track: What is trained on and scored.
        multi_label: Whether relations are predicted separately.
        batches: Split -> encoded rows, or bags of them; "train" without those that cannot be trained on. Row
            ids count the units of the evaluated splits in the order of EVALUATED.
        counts: Split -> what encoding did to its rows.
        select_by: The validation measure that chooses the epoch, or None.
        label_words: Relation -> its words at the masks, for the input "prompt".
        label_word_ids: Their token ids, in the order of the labels.
        type_relations: What the pairs of types have in training, for the head "type_restriction".
    """

    data: RelationData
    source: EncoderSource
    entity_input: EntityInput
    track: str
    multi_label: bool
    batches: Mapping[str, UnitBatches]
    counts: Mapping[str, dict[str, int]]
    select_by: str | None
    label_words: Mapping[str, Sequence[str]] | None = None
    label_word_ids: list[list[int]] | None = None
    type_relations: TypeRelations | None = None


def prepare(settings: Settings, *, data: RelationData | None = None) -> Prepared:
    """Read, unless `data` are given, and encode; every fault of the input shows here, before any training.

    Raises:
        FileNotFoundError: `data_dir` or a file in it is not there.
        ValueError: A broken record, an empty split, an encoder that does not load, label words that it does
            not know, no row left to train on.
    """
    check_settings(settings)
    model = settings.model
    source = pretrained_source(model) if model.encoder == "pretrained" else None
    data = read_data(settings.data) if data is None else data
    source = source or word_source(model, data.splits["train"])
    shown = _entity_input(settings, data, source)
    add_entity_tokens(source.tokenizer, shown)
    row_encoder = RowEncoder(source.tokenizer, entity_input=shown, max_length=source.max_length)
    if model.representation == "cls" and not row_encoder.prefix:
        raise ValueError(
            "`--representation cls` takes the state at the token in front of a sentence, and this encoder's "
            "tokenizer puts none there; use entity_start or last_token."
        )
    words, word_ids = _label_words(settings, data, source) if shown.is_prompt else (None, None)
    if source.trained is not None:
        check_label_words(source.trained, name=str(model.model_name_or_path), label_word_ids=word_ids)
    relations = _type_relations(data, source) if model.classifier_head == "type_restriction" else None
    batches, counts = _encode(
        data, row_encoder, track=settings.data.track, arguments=model, relations=relations
    )
    return Prepared(
        data=data,
        source=source,
        entity_input=shown,
        track=settings.data.track,
        multi_label=model.multi_label,
        batches=batches,
        counts=counts,
        select_by=_selection(settings, data),
        label_words=words,
        label_word_ids=word_ids,
        type_relations=relations,
    )


def check_settings(settings: Settings) -> None:
    """Raise ValueError for flags that do not go together, whatever the data."""
    check_data_flags(settings.data)
    check_track(settings.data, settings.model)
    if settings.model.multi_label:
        _check_multi_label(settings.run, settings.training)
    head = settings.model.classifier_head
    if head in ("crcnn", "type_restriction") and settings.training.label_smoothing_factor:
        raise ValueError(
            f"`--label_smoothing_factor` does not go with `--classifier_head {head}`, whose loss has no "
            "target to smooth; leave it out."
        )


def _entity_input(settings: Settings, data: RelationData, source: EncoderSource) -> EntityInput:
    """Return how the entities are shown, with tokens for the types that training has."""
    shown = entity_input(settings.model.input, types=data.splits["train"].short_types, data=data.name)
    if source.trained is None:
        return shown
    check_labels(
        source.trained,
        name=str(settings.model.model_name_or_path),
        label_names=data.label_names,
        negative_relation=data.negative_relation,
    )
    return EntityInput(shown.name, *map(tuple, source.trained.entity_types or ()))


def _label_words(
    settings: Settings, data: RelationData, source: EncoderSource
) -> tuple[dict[str, tuple[str, ...]], list[list[int]]]:
    """Return relation -> its words at the masks, and their token ids."""
    words = read_label_words(settings.model.label_words, label_names=data.label_names, data=data.name)
    return words, label_word_ids(source.tokenizer, words)


def _check_multi_label(run: RunArguments, training: RelationTrainingArguments) -> None:
    for name, value, plain in (
        ("loss_weighting", run.loss_weighting, "none"),
        ("label_smoothing_factor", training.label_smoothing_factor, 0),
    ):
        if value != plain:
            raise ValueError(
                f"`--{name}` is for examples with one relation; with `--multi_label` they have any number. "
                "Leave one of them out."
            )


def _type_relations(data: RelationData, source: EncoderSource) -> TypeRelations:
    """What pairs of types have in training: of the classifier that goes on, else of the training rows."""
    for split, rows in data.splits.items():
        check_types(rows.types, row_names=rows.row_names, where=f"{data.name}, {split}")
    if source.trained is not None:
        return TypeRelations.of(source.trained.type_relations or ())
    train = data.splits["train"]
    return TypeRelations.learnt(types=train.types or (), labels=train.labels, negative_id=data.negative_id)


def _encode(
    data: RelationData,
    row_encoder: RowEncoder,
    *,
    track: str,
    arguments: ModelArguments,
    relations: TypeRelations | None,
) -> tuple[dict[str, UnitBatches], dict[str, dict[str, int]]]:
    pad_id = row_encoder.tokenizer.pad_token_id
    batches: dict[str, UnitBatches] = {}
    counts, first_id = {}, 0
    for split in ("train", *EVALUATED, NEGATIVE_ROWS):
        if split not in data.splits:
            continue
        rows = data.splits[split]
        encoded = row_encoder.encode(
            sentences=rows.sentences, spans=rows.spans, row_names=rows.row_names, types=rows.short_types
        )
        counts[split] = encoded.counts()
        if relations is not None:
            types = rows.types or []
            encoded = replace(encoded, type_pairs=relations.pairs_of(types))
            counts[split] |= relations.counts(types, labels=rows.labels, negative_id=data.negative_id)
        every = RowBatches(rows=encoded, labels=rows.labels, row_ids=np.arange(len(rows)), pad_id=pad_id or 0)
        if split != "train":
            units = evaluated_units(
                every, data, split, track=track, multi_label=arguments.multi_label, first_id=first_id
            )
            first_id += len(units)
        elif encoded.usable.any():
            units = training_units(every, data, track=track, arguments=arguments)
        else:
            raise ValueError(
                f"none of the {counts['train']['num_rows']} training rows can be used: "
                f"{counts['train']['num_not_found']} without both entities found, "
                f"{counts['train']['num_cannot_be_kept']} whose entities do not fit in `max_length`."
            )
        batches[split] = units
    return batches, counts


def _selection(settings: Settings, data: RelationData) -> str | None:
    """Return the validation measure that chooses the epoch; None where none can."""
    given = settings.run.select_by
    has_validation = "validation" in data.splits
    if not has_validation or settings.training.eval_strategy == "no":
        if given is not None:
            why = "`--eval_strategy no` scores none" if has_validation else f"{data.name} has none"
            raise ValueError(f"`--select_by` needs a validation split, and {why}; leave it out.")
        return None
    by_track = is_scored_by_track(data, track=settings.data.track, multi_label=settings.model.multi_label)
    return given or ("dsgt_macro_all_f1" if by_track else "macro_f1")
