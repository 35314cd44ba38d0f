"""What a run prints: the plan, and warnings about its data and its scores. Values in, lines out."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..data.bag_units import BagBatches, labels_there, scored_track
from ..data.relation_rows import RelationData
from ..model.prediction_records import DEFAULT_THRESHOLD
from ..report.results import SeedResult
from ..trainer_arguments import RelationTrainingArguments, global_batch_size
from .preparation import EVALUATED, Prepared

MAX_LISTED = 3  # relations in a warning


def plan_lines(prepared: Prepared, arguments: RelationTrainingArguments, num_seeds: int) -> list[str]:
    """Return what is about to happen: rows, steps, tokens, what truncation cost, selection, arithmetic."""
    train = prepared.batches["train"]
    lines = [steps_line(prepared, arguments, num_seeds)]
    lines += [f"data: {note}" for note in prepared.data.notes]
    lines += _types_lines(prepared)
    for split, counts in prepared.counts.items():
        lines += split_lines(split, counts, track=scored_track(prepared.track, split))
    if isinstance(train, BagBatches):
        lines.append(bag_line(train))
    if prepared.multi_label and "validation" not in prepared.batches:
        lines.append(
            f"a relation is predicted from a score of {DEFAULT_THRESHOLD} on: there is no validation split "
            "to choose a threshold on"
        )
    chosen = "the final weights"
    if prepared.select_by:
        chosen = f"the epoch with the best validation {prepared.select_by}"
    return [*lines, f"used for the test scores: {chosen}"]


def steps_line(prepared: Prepared, arguments: RelationTrainingArguments, num_seeds: int) -> str:
    """Return how much is trained, in rows, steps and tokens, and in which arithmetic."""
    train, batch = prepared.batches["train"], global_batch_size(arguments)
    steps = arguments.max_steps
    if steps <= 0:
        steps = math.ceil(math.ceil(len(train) / batch) * arguments.num_train_epochs)
    rows = ", ".join(f"{split} {counts['num_rows']:,}" for split, counts in prepared.counts.items())
    unit = "bags" if isinstance(train, BagBatches) else "rows"
    processes = f" over {arguments.world_size} processes" if arguments.world_size > 1 else ""
    seeds = "1 seed" if num_seeds == 1 else f"{num_seeds} seeds one after another"
    bf16 = "on" if arguments.bf16 else "off"
    if arguments.bf16_decided_here:
        has = "has" if arguments.bf16 else "does not have"
        bf16 += f" (the processor {has} it built in)"
    return (
        f"plan: {rows} rows; {steps:,} steps of {batch} {unit}{processes} (about "
        f"{int(train.lengths.mean() * batch):,} tokens); {seeds}; bf16 {bf16}"
    )


def _types_lines(prepared: Prepared) -> list[str]:
    """Return how many pairs of types have relations of their own, where types restrict relations."""
    if prepared.type_relations is None:
        return []
    pairs = prepared.type_relations.relations
    whose = "training" if prepared.source.trained is None else "the training of the classifier that goes on"
    return [
        f"types: {len(pairs):,} pairs of entity types have relations in {whose}, {sum(map(len, pairs)):,} in "
        "all, each with weights of its own"
    ]


def split_lines(split: str, counts: Mapping[str, int], *, track: str) -> list[str]:
    """Return what encoding did to the rows of a split, where it did something.

    Args:
        split: Its name.
        counts: See `EncodedRows.counts`, and `TypeRelations.counts`.
        track: The track by which the split is scored.
    """
    lines = []
    unusable = counts["num_cannot_be_kept"] + counts["num_not_found"]
    if counts["num_windowed"] or unusable:
        fate = "scored as the negative relation"
        if split == "train":
            fate = "left out of training"
        elif track == "bag2bag":
            fate = "without a say in their bags"
        lines.append(
            f"{split}: {counts['num_windowed']:,} rows cut to a window "
            f"({counts['num_tokens_cut']:,} tokens), {unusable:,} {fate} "
            f"({counts['num_not_found']:,} with an entity not found, "
            f"{counts['num_cannot_be_kept']:,} whose entities do not fit)"
        )
    if counts["num_unseen_types"]:
        lines.append(
            f"{split}: {counts['num_unseen_types']:,} entities have a type that no training row has, and get "
            "the token for untyped ones"
        )
    if "num_by_rule" in counts:
        lines.append(type_line(split, counts))
    return lines


def bag_line(train: BagBatches) -> str:
    """Return how many bags are trained on, how large they are, and how much of them an epoch reads."""
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
    """Return how many relations the rows of a split can have by their types."""
    fate = "these train the detector alone" if split == "train" else "the negative relation for certain"
    line = (
        f"{split}: by their types {counts['num_several']:,} rows have several possible relations, "
        f"{counts['num_by_rule']:,} one (by rule) and {counts['num_without_relation']:,} none ({fate})"
    )
    if counts["num_ruled_out"]:
        line += f"; {counts['num_ruled_out']:,} have a relation that is none of these"
    return line


def data_warnings(prepared: Prepared) -> list[str]:
    """Return relations that training and evaluation do not share."""
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
    """Return only the negative relation predicted; or micro precision, recall and F1 that are one number."""
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
