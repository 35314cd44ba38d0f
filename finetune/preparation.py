"""Everything that is the same for all seeds: data, tokenizer, encoded rows, and what the plan line says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .arguments import DataArguments, ModelArguments, RunArguments
from .batching import RowBatches
from .encoders import add_entity_tokens, load_config, load_encoder, load_tokenizer, max_sequence_length
from .encoding import RowEncoder
from .entity_inputs import EntityInput, entity_input
from .readers import check_data_flags, read_data
from .relation_rows import RelationData
from .trainer_arguments import RelationTrainingArguments, global_batch_size

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

EVALUATED = ("validation", "test")


@dataclass(frozen=True)
class Prepared:
    """Input of every seed.

    Attributes:
        data: The rows as read.
        tokenizer: With the new tokens of the input.
        entity_input: How the entities are shown.
        max_length: Most tokens per row.
        batches: Split -> encoded rows; "train" without the rows that cannot be trained on. Row ids count
            through the evaluated splits in the order of EVALUATED, as the metric's references do.
        counts: Split -> what encoding did to its rows.
        select_by: The validation measure that chooses the epoch, or None.
    """

    data: RelationData
    tokenizer: PreTrainedTokenizerBase
    entity_input: EntityInput
    max_length: int
    batches: Mapping[str, RowBatches]
    counts: Mapping[str, dict[str, int]]
    select_by: str | None


def prepare(
    data_arguments: DataArguments,
    model_arguments: ModelArguments,
    run_arguments: RunArguments,
    training_arguments: RelationTrainingArguments,
) -> Prepared:
    """Read and encode; every fault of the input shows here, before any training.

    Raises:
        FileNotFoundError: `data_dir` or a file in it is not there.
        ValueError: A broken record, an empty split, an encoder that does not load, no row left to train on.
    """
    check_data_flags(data_arguments)
    if model_arguments.model_name_or_path is None:
        raise ValueError("`--model_name_or_path` is needed; see `python -m finetune --help`.")
    encoder_path = str(model_arguments.model_name_or_path)
    config = load_config(encoder_path)
    tokenizer = load_tokenizer(encoder_path)
    load_encoder(encoder_path)
    max_length = max_sequence_length(tokenizer=tokenizer, config=config, requested=model_arguments.max_length)
    data = read_data(data_arguments)
    shown = entity_input(model_arguments.input, types=data.splits["train"].types, data=data.name)
    add_entity_tokens(tokenizer, shown)
    row_encoder = RowEncoder(tokenizer, entity_input=shown, max_length=max_length)
    if model_arguments.representation == "cls" and not row_encoder.prefix:
        raise ValueError(
            "`--representation cls` takes the state at the token in front of a sentence, and this encoder's "
            "tokenizer puts none there; use another representation."
        )
    batches, counts = _encode(data, row_encoder)
    return Prepared(
        data=data,
        tokenizer=tokenizer,
        entity_input=shown,
        max_length=max_length,
        batches=batches,
        counts=counts,
        select_by=_selection(data, run_arguments, training_arguments),
    )


def _encode(
    data: RelationData, row_encoder: RowEncoder
) -> tuple[dict[str, RowBatches], dict[str, dict[str, int]]]:
    pad_id = row_encoder.tokenizer.pad_token_id
    batches, counts, first_id = {}, {}, 0
    for split in ("train", *EVALUATED):
        if split not in data.splits:
            continue
        rows = data.splits[split]
        encoded = row_encoder.encode(
            sentences=rows.sentences, spans=rows.spans, row_names=rows.row_names, types=rows.types
        )
        counts[split] = encoded.counts()
        row_ids = np.arange(len(rows)) + (0 if split == "train" else first_id)
        first_id += 0 if split == "train" else len(rows)
        batches[split] = RowBatches(
            rows=encoded, labels=rows.labels, row_ids=row_ids, pad_id=0 if pad_id is None else pad_id
        )
    batches["train"] = batches["train"].usable_only()
    if not len(batches["train"]):
        raise ValueError(
            f"none of the {counts['train']['num_rows']} training rows can be used: "
            f"{counts['train']['num_not_found']} without both entities found, "
            f"{counts['train']['num_cannot_be_kept']} whose entities do not fit in `max_length`."
        )
    return batches, counts


def _selection(data: RelationData, run: RunArguments, training: RelationTrainingArguments) -> str | None:
    possible = "validation" in data.splits and training.eval_strategy != "no"
    if run.select_by is not None and not possible:
        why = "`--eval_strategy no` scores none" if "validation" in data.splits else f"{data.name} has none"
        raise ValueError(f"`--select_by` needs a validation split, and {why}; leave it out.")
    if not possible:
        return None
    return run.select_by or ("dsgt_macro_all_f1" if data.has_human_labels else "macro_f1")


def plan_lines(prepared: Prepared, arguments: RelationTrainingArguments, num_seeds: int) -> list[str]:
    """What is about to happen: rows, steps, tokens, what truncation cost, selection, arithmetic."""
    train = prepared.batches["train"]
    batch = global_batch_size(arguments)
    steps = arguments.max_steps
    if steps <= 0:
        steps = math.ceil(math.ceil(len(train) / batch) * arguments.num_train_epochs)
    tokens = int(train.rows.lengths.mean() * batch)
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
    lines = [
        f"plan: {rows} rows; {steps:,} steps of {batch} rows{processes} (about {tokens:,} tokens); "
        f"{seeds}; bf16 {bf16}",
    ]
    lines += [f"data: {note}" for note in prepared.data.notes]
    for split, counts in prepared.counts.items():
        unusable = counts["num_cannot_be_kept"] + counts["num_not_found"]
        if counts["num_windowed"] or unusable:
            fate = "left out of training" if split == "train" else "scored as the negative relation"
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
    chosen = (
        f"the epoch with the best validation {prepared.select_by}"
        if prepared.select_by
        else "the final weights"
    )
    lines.append(f"used for the test scores: {chosen}")
    return lines
