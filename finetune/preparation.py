"""Everything that is the same for all seeds: data, tokenizer, encoded rows, and what the plan line says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .arguments import DataArguments, ModelArguments, RunArguments, check_track
from .bag_batches import BagBatches
from .bag_threshold import DEFAULT_THRESHOLD
from .bag_units import UnitBatches, evaluated_units, scored_track, training_units
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
from .trainer_arguments import RelationTrainingArguments, global_batch_size

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
    if model_arguments.classifier_head == "ranking" and training_arguments.label_smoothing_factor:
        raise ValueError(
            "`--label_smoothing_factor` does not go with `--classifier_head ranking`, whose loss has no "
            "target to smooth; leave it out."
        )
    source = pretrained_source(model_arguments) if model_arguments.encoder == "pretrained" else None
    data = read_data(data_arguments) if data is None else data
    source = source or word_source(model_arguments, data.splits["train"])
    shown = entity_input(model_arguments.input, types=data.splits["train"].types, data=data.name)
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
    batches, counts = _encode(data, row_encoder, track=data_arguments.track, arguments=model_arguments)
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


def _encode(
    data: RelationData, row_encoder: RowEncoder, *, track: str, arguments: ModelArguments
) -> tuple[dict[str, UnitBatches], dict[str, dict[str, int]]]:
    pad_id = row_encoder.tokenizer.pad_token_id
    batches: dict[str, UnitBatches] = {}
    counts, first_id = {}, 0
    for split in ("train", *EVALUATED, NEGATIVE_ROWS):
        if split not in data.splits:
            continue
        rows = data.splits[split]
        encoded = row_encoder.encode(
            sentences=rows.sentences, spans=rows.spans, row_names=rows.row_names, types=rows.types
        )
        counts[split] = encoded.counts()
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


def plan_lines(prepared: Prepared, arguments: RelationTrainingArguments, num_seeds: int) -> list[str]:
    """What is about to happen: rows, steps, tokens, what truncation cost, selection, arithmetic."""
    train = prepared.batches["train"]
    batch = global_batch_size(arguments)
    steps = arguments.max_steps
    if steps <= 0:
        steps = math.ceil(math.ceil(len(train) / batch) * arguments.num_train_epochs)
    tokens = int(train.lengths.mean() * batch)
    rows = ", ".join(f"{split} {counts['num_rows']:,}" for split, counts in prepared.counts.items())
    bf16 = "on" if arguments.bf16 else "off"
    if arguments.bf16_decided_here:
        bf16 += (
            " (the processor has it built in)"
            if arguments.bf16
            else " (the processor does not have it built in)"
        )
    processes = f" over {arguments.world_size} processes" if arguments.world_size > 1 else ""
    seeds = "1 seed" if num_seeds == 1 else f"{num_seeds} seeds one after another"
    unit = "bags" if isinstance(train, BagBatches) else "rows"
    lines = [
        f"plan: {rows} rows; {steps:,} steps of {batch} {unit}{processes} (about {tokens:,} tokens); "
        f"{seeds}; bf16 {bf16}",
    ]
    lines += [f"data: {note}" for note in prepared.data.notes]
    for split, counts in prepared.counts.items():
        unusable = counts["num_cannot_be_kept"] + counts["num_not_found"]
        if counts["num_windowed"] or unusable:
            fate = "scored as the negative relation"
            if split == "train":
                fate = "left out of training"
            elif scored_track(prepared.track, split) == "bag2bag":
                fate = "without a say in their bags"
            lines.append(
                f"{split}: {counts['num_windowed']:,} rows cut to a window "
                f"({counts['num_tokens_cut']:,} tokens), {unusable:,} {fate} ({counts['num_not_found']:,} "
                f"with an entity not found, {counts['num_cannot_be_kept']:,} whose entities do not fit)"
            )
        if counts["num_unseen_types"]:
            lines.append(
                f"{split}: {counts['num_unseen_types']:,} entities have a type that no training row has, and "
                "get the token for untyped ones"
            )
    if isinstance(train, BagBatches):
        lines.append(bag_line(train))
    if prepared.multi_label and "validation" not in prepared.batches:
        lines.append(
            f"a relation is predicted from a score of {DEFAULT_THRESHOLD} on: there is no validation split "
            "to choose a threshold on"
        )
    chosen = (
        f"the epoch with the best validation {prepared.select_by}"
        if prepared.select_by
        else "the final weights"
    )
    lines.append(f"used for the test scores: {chosen}")
    return lines


def bag_line(train: BagBatches) -> str:
    """How many bags are trained on, how large they are, and how much of them an epoch reads."""
    sizes = train.bags.sizes
    line = (
        f"train: {len(sizes):,} bags from {sizes.sum():,} rows, {sizes.mean():.1f} on average, "
        f"{sizes.max():,} at most"
    )
    if train.draws and sizes.max() > train.bag_size:
        read = np.minimum(sizes, train.bag_size).sum()
        line += f"; each epoch reads {read:,} rows, {train.bag_size:,} of a bag at most"
    return line
