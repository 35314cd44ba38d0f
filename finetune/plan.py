"""What a run is about to do, a line each: rows, steps, what encoding cost, selection."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .bag_batches import BagBatches
from .bag_threshold import DEFAULT_THRESHOLD
from .bag_units import scored_track
from .preparation import Prepared
from .trainer_arguments import RelationTrainingArguments, global_batch_size


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
    if train.draws and sizes.max() > train.bag_size:
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
