"""Everything that is the same for all seeds: data, tokenizer, encoded rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .arguments import DataArguments, ModelArguments, RunArguments, check_track
from .bag_units import UnitBatches, evaluated_units, training_units
from .batching import RowBatches
from .encoder_sources import EncoderSource, pretrained_source, word_source
from .encoders import add_entity_tokens
from .encoding import RowEncoder
from .entity_inputs import EntityInput, entity_input
from .evaluation import is_scored_by_track
from .label_words import label_word_ids, read_label_words
from .readers import check_data_flags, read_data
from .relation_rows import RelationData
from .trained_source import check_label_words, check_labels
from .trainer_arguments import RelationTrainingArguments
from .type_relations import TypeRelations, check_types

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


def prepare(
    data_arguments: DataArguments,
    model_arguments: ModelArguments,
    run_arguments: RunArguments,
    training_arguments: RelationTrainingArguments,
    *,
    data: RelationData | None = None,
) -> Prepared:
    """Read, unless `data` are given, and encode; every fault of the input shows here, before any training.

    Raises:
        FileNotFoundError: `data_dir` or a file in it is not there.
        ValueError: A broken record, an empty split, an encoder that does not load, label words that it does
            not know, no row left to train on.
    """
    check_data_flags(data_arguments)
    check_track(data_arguments, model_arguments)
    if model_arguments.multi_label:
        _check_multi_label(run_arguments, training_arguments)
    head, own_losses = model_arguments.classifier_head, ("ranking", "type_restriction")
    if head in own_losses and training_arguments.label_smoothing_factor:
        raise ValueError(
            f"`--label_smoothing_factor` does not go with `--classifier_head {head}`, whose loss has no "
            "target to smooth; leave it out."
        )
    source = pretrained_source(model_arguments) if model_arguments.encoder == "pretrained" else None
    data = read_data(data_arguments) if data is None else data
    source = source or word_source(model_arguments, data.splits["train"])
    shown = entity_input(model_arguments.input, types=data.splits["train"].short_types, data=data.name)
    if source.trained is not None:
        check_labels(
            source.trained,
            name=str(model_arguments.model_name_or_path),
            label_names=data.label_names,
            negative_relation=data.negative_relation,
        )
        shown = EntityInput(shown.name, *map(tuple, source.trained.entity_types or ()))
    add_entity_tokens(source.tokenizer, shown)
    row_encoder = RowEncoder(source.tokenizer, entity_input=shown, max_length=source.max_length)
    if model_arguments.representation == "cls" and not row_encoder.prefix:
        raise ValueError(
            "`--representation cls` takes the state at the token in front of a sentence, and this encoder's "
            "tokenizer puts none there; use another representation."
        )
    words = None
    if shown.prompts:
        words = read_label_words(model_arguments.label_words, label_names=data.label_names, data=data.name)
    ids = None if words is None else label_word_ids(source.tokenizer, words)
    if source.trained is not None:
        check_label_words(source.trained, name=str(model_arguments.model_name_or_path), label_word_ids=ids)
    relations = _type_relations(data, source) if head == "type_restriction" else None
    batches, counts = _encode(
        data, row_encoder, track=data_arguments.track, arguments=model_arguments, relations=relations
    )
    by_track = is_scored_by_track(data, track=data_arguments.track, multi_label=model_arguments.multi_label)
    return Prepared(
        data=data,
        source=source,
        entity_input=shown,
        track=data_arguments.track,
        multi_label=model_arguments.multi_label,
        batches=batches,
        counts=counts,
        select_by=_selection(data, run_arguments, training_arguments, by_track=by_track),
        label_words=words,
        label_word_ids=ids,
        type_relations=relations,
    )


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
    negative_id = data.label_names.index(data.negative_relation)
    return TypeRelations.learnt(types=train.types or (), labels=train.labels, negative_id=negative_id)


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
            negative_id = data.label_names.index(data.negative_relation)
            counts[split] |= relations.counts(types, labels=rows.labels, negative_id=negative_id)
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


def _selection(
    data: RelationData, run: RunArguments, training: RelationTrainingArguments, *, by_track: bool
) -> str | None:
    possible = "validation" in data.splits and training.eval_strategy != "no"
    if run.select_by is not None and not possible:
        why = "`--eval_strategy no` scores none" if "validation" in data.splits else f"{data.name} has none"
        raise ValueError(f"`--select_by` needs a validation split, and {why}; leave it out.")
    if not possible:
        return None
    return run.select_by or ("dsgt_macro_all_f1" if by_track else "macro_f1")
