"""Everything that is the same for all seeds: data, tokenizer, encoded rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arguments import ModelArguments, RunArguments, Settings, check_track
from ..data.bag_units import (
    BagBatches,
    UnitBatches,
    evaluated_units,
    labels_there,
    scored_track,
    training_units,
)
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
from ..model.prediction_records import DEFAULT_THRESHOLD
from ..model.type_restriction import TypeRelations, check_types
from ..report.evaluation import is_scored_by_track
from ..report.results import SeedResult
from ..trainer_arguments import RelationTrainingArguments, global_batch_size

EVALUATED = ("validation", "test")
# Predicted, and counted apart: rows of the negative relation.
NEGATIVE_ROWS = "na"
MAX_LISTED = 3  # relations in a warning


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
    check_data_flags(settings.data)
    check_track(settings.data, settings.model)
    if settings.model.multi_label:
        _check_multi_label(settings.run, settings.training)
    head, own_losses = settings.model.classifier_head, ("crcnn", "type_restriction")
    if head in own_losses and settings.training.label_smoothing_factor:
        raise ValueError(
            f"`--label_smoothing_factor` does not go with `--classifier_head {head}`, whose loss has no "
            "target to smooth; leave it out."
        )
    source = pretrained_source(settings.model) if settings.model.encoder == "pretrained" else None
    data = read_data(settings.data) if data is None else data
    source = source or word_source(settings.model, data.splits["train"])
    shown = entity_input(settings.model.input, types=data.splits["train"].short_types, data=data.name)
    if source.trained is not None:
        check_labels(
            source.trained,
            name=str(settings.model.model_name_or_path),
            label_names=data.label_names,
            negative_relation=data.negative_relation,
        )
        shown = EntityInput(shown.name, *map(tuple, source.trained.entity_types or ()))
    add_entity_tokens(source.tokenizer, shown)
    row_encoder = RowEncoder(source.tokenizer, entity_input=shown, max_length=source.max_length)
    if settings.model.representation == "cls" and not row_encoder.prefix:
        raise ValueError(
            "`--representation cls` takes the state at the token in front of a sentence, and this encoder's "
            "tokenizer puts none there; use another representation."
        )
    words = None
    if shown.is_prompt:
        words = read_label_words(settings.model.label_words, label_names=data.label_names, data=data.name)
    ids = None if words is None else label_word_ids(source.tokenizer, words)
    if source.trained is not None:
        check_label_words(source.trained, name=str(settings.model.model_name_or_path), label_word_ids=ids)
    relations = _type_relations(data, source) if head == "type_restriction" else None
    batches, counts = _encode(
        data, row_encoder, track=settings.data.track, arguments=settings.model, relations=relations
    )
    by_track = is_scored_by_track(data, track=settings.data.track, multi_label=settings.model.multi_label)
    return Prepared(
        data=data,
        source=source,
        entity_input=shown,
        track=settings.data.track,
        multi_label=settings.model.multi_label,
        batches=batches,
        counts=counts,
        select_by=_selection(data, settings.run, settings.training, by_track=by_track),
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
    if prepared.type_relations is not None:
        pairs = prepared.type_relations.relations
        whose = (
            "training" if prepared.source.trained is None else "the training of the classifier that goes on"
        )
        lines.append(
            f"types: {len(pairs):,} pairs of entity types have relations in {whose}, "
            f"{sum(map(len, pairs)):,} in all, each with weights of its own"
        )
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
        if "num_by_rule" in counts:
            lines.append(type_line(split, counts))
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
    if train.samples_rows and sizes.max() > train.bag_size:
        read = np.minimum(sizes, train.bag_size).sum()
        line += f"; each epoch reads {read:,} rows, {train.bag_size:,} of a bag at most"
    return line


def type_line(split: str, counts: Mapping[str, int]) -> str:
    """How many relations the rows of a split can have by their types."""
    fate = "these train the detector alone" if split == "train" else "the negative relation for certain"
    line = (
        f"{split}: by their types {counts['num_several']:,} rows have several possible relations, "
        f"{counts['num_by_rule']:,} one (by rule) and {counts['num_without_relation']:,} none ({fate})"
    )
    if counts["num_ruled_out"]:
        line += f"; {counts['num_ruled_out']:,} have a relation that is none of these"
    return line


def data_warnings(prepared: Prepared) -> list[str]:
    """Relations that training and evaluation do not share."""
    data = prepared.data
    names = data.label_names
    trained = labels_there(prepared.batches["train"].labels)
    lines = []
    for split in EVALUATED:
        if split not in data.splits:
            continue
        labels = data.splits[split].labels
        there = set(np.unique(labels).tolist())
        unseen = sorted(there - trained)
        if unseen:
            num_rows = int(np.isin(labels, unseen).sum())
            lines.append(
                f"warning: {split} has {num_rows:,} rows of {_relations(unseen, names)}; train has none."
            )
        positive = trained - {data.negative_id}
        if split == "validation" and positive - there:
            lines.append(
                f"warning: validation has no row of {_relations(sorted(positive - there), names)} of train."
            )
    return lines


def _relations(labels: list[int], names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(names[label]) for label in labels[:MAX_LISTED])
    more = f" and {len(labels) - MAX_LISTED} more" if len(labels) > MAX_LISTED else ""
    return f"{'relation' if len(labels) == 1 else 'relations'} {shown}{more}"


def score_warnings(result: SeedResult, data: RelationData) -> list[str]:
    """Only the negative relation predicted; or micro precision, recall and F1 that are one number."""
    negative = data.negative_relation
    if result.only_negative:
        return [f"warning: seed {result.seed} predicts {negative} for every test row."]
    scores = result.scores["test"]
    for name, precision in scores.items():
        if name.endswith("micro_precision") and not name.startswith("magt"):
            prefix = name.removesuffix("precision")
            if precision and precision == scores[f"{prefix}recall"] == scores[f"{prefix}f1"]:
                return [
                    f"warning: seed {result.seed} has the same {prefix}precision, recall and f1 on test "
                    f"({100 * precision:.2f}): no row has or is given the negative relation ({negative}), so "
                    "they are the accuracy."
                ]
    return []
