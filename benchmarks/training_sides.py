"""The sides that `benchmarks.training` compares: this project's road, plain loops, and bare steps.

Each function does the work of one side and returns its seconds; data, model and the number of rows or steps
are given, so that all sides do the same.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import get_linear_schedule_with_warmup

from finetune.model.batching import WIDTH_MULTIPLE, as_is
from finetune.model.markers import MarkerTokens, Span, mark_sentence
from finetune.model.modeling import RelationClassifier
from finetune.model.relation_pipeline import RelationPipeline
from finetune.trainer_arguments import RelationTrainingArguments
from finetune.training.preparation import Prepared
from finetune.training.relation_trainer import batch_plan
from finetune.training.train import RelationTrainer, seed_arguments

BATCH = 32
LEARNING_RATE = 1e-4


class PlainBatches:
    """What many scripts do: mark the texts, tokenize them in the loop, find the markers by their ids."""

    def __init__(self, prepared: Prepared, *, split: str, width: int | None) -> None:
        """Keep the data; `width` pads every batch to so many tokens, None to the longest of the batch."""
        self.prepared, self.rows = prepared, prepared.data.splits[split]
        self.width = None if width is None else min(width, prepared.source.max_length)

    def __call__(self, chosen: Sequence[int]) -> dict[str, torch.Tensor]:
        """Tensors of the chosen rows, without labels."""
        rows, tokenizer = self.rows, self.prepared.source.tokenizer
        texts = []
        for row in chosen:
            head_start, head_end, tail_start, tail_end = rows.spans[row].tolist()
            spans = {"head": Span(head_start, head_end), "tail": Span(tail_start, tail_end)}
            texts.append(mark_sentence(rows.sentences[row], **spans))
        batch = tokenizer(
            texts,
            padding="longest" if self.width is None else "max_length",
            truncation=True,
            max_length=self.width or self.prepared.source.max_length,
            return_tensors="pt",
        )
        ids = tokenizer.convert_tokens_to_ids(list(MarkerTokens().tokens))
        places = torch.stack([(batch["input_ids"] == marker).int().argmax(dim=1) for marker in ids], dim=1)
        return {
            "input_ids": batch["input_ids"],
            "attention_mask": batch["attention_mask"],
            "entity_starts": places[:, [0, 2]],
            "entity_spans": places + torch.tensor([1, 0, 1, 0]),
        }


def plain_training(
    prepared: Prepared, model: RelationClassifier, *, steps: int, seed: int, width: int | None = None
) -> float:
    """Seconds for `steps` steps in float32, rows in random order, tokenized in the loop."""
    batches = PlainBatches(prepared, split="train", width=width)
    labels = torch.from_numpy(prepared.data.splits["train"].labels)
    order = np.random.default_rng(seed).permutation(len(labels))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    schedule = get_linear_schedule_with_warmup(optimizer, 0, steps)
    model.train()
    began = time.perf_counter()
    for step in range(steps):
        chosen = order[np.arange(step * BATCH, (step + 1) * BATCH) % len(order)]
        loss = model(**batches(chosen), labels=labels[chosen]).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        loss.item()
    return time.perf_counter() - began


def our_training(
    prepared: Prepared,
    model: RelationClassifier,
    arguments: RelationTrainingArguments,
    *,
    steps: int,
    seed: int,
) -> float:
    """Seconds for `steps` steps of `python -m finetune`."""
    with tempfile.TemporaryDirectory() as folder:
        values = seed_arguments(arguments, seed=seed, folder=Path(folder), select_by=None)
        values.max_steps = steps
        trainer = RelationTrainer(
            model=model, args=values, data_collator=as_is, train_dataset=prepared.batches["train"]
        )
        began = time.perf_counter()
        trainer.train()
        return time.perf_counter() - began


def our_shapes(prepared: Prepared, *, steps: int, seed: int) -> Iterator[tuple[int, int]]:
    """Width and number of real tokens of the batches that `our_training` sees."""
    lengths = prepared.batches["train"].rows.lengths
    rows: list[int] = []
    epoch = 0
    while len(rows) < steps * BATCH:
        plan = batch_plan(lengths=lengths, seed=seed, epoch=epoch, batch_size=BATCH)
        rows += plan[: len(plan) - len(plan) % BATCH].tolist()
        epoch += 1
    for step in range(steps):
        chosen = lengths[rows[step * BATCH : (step + 1) * BATCH]]
        yield -(-int(chosen.max()) // WIDTH_MULTIPLE) * WIDTH_MULTIPLE, int(chosen.sum())


def bare_training(
    prepared: Prepared, model: RelationClassifier, *, bf16: bool, shapes: Sequence[tuple[int, int]]
) -> float:
    """Seconds for forward, backward, clipping and fused optimizer step on batches without padding."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0, fused=True)
    num_labels = len(prepared.data.label_names)
    random = torch.Generator().manual_seed(0)
    batches = []
    for width, _ in shapes:
        batches.append(
            {
                "input_ids": torch.randint(len(prepared.source.tokenizer), (BATCH, width), generator=random),
                "attention_mask": torch.ones(BATCH, width, dtype=torch.int64),
                "entity_starts": torch.tensor([[1, 4]]).repeat(BATCH, 1),
                "entity_spans": torch.tensor([[2, 3, 5, 6]]).repeat(BATCH, 1),
                "labels": torch.randint(num_labels, (BATCH,), generator=random),
            }
        )
    model.train()
    began = time.perf_counter()
    for batch in batches:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return time.perf_counter() - began


def plain_prediction(
    prepared: Prepared, model: RelationClassifier, *, num_rows: int, width: int | None = None
) -> tuple[float, np.ndarray]:
    """Seconds for the first test rows in float32, in their order, tokenized in the loop; and their logits."""
    batches = PlainBatches(prepared, split="test", width=width)
    model.eval()
    logits = []
    began = time.perf_counter()
    with torch.no_grad():
        for first in range(0, num_rows, 2 * BATCH):
            chosen = range(first, min(first + 2 * BATCH, num_rows))
            logits.append(model(**batches(chosen)).logits.numpy())
    return time.perf_counter() - began, np.concatenate(logits)


def records_of(prepared: Prepared) -> list[dict[str, Any]]:
    """The test rows as `finetune.predict` reads them."""
    rows = prepared.data.splits["test"]
    return [
        {"sentence": sentence, "head": spans[:2], "tail": spans[2:]}
        for sentence, spans in zip(rows.sentences, rows.spans.tolist(), strict=True)
    ]


def our_prediction(pipeline: RelationPipeline, records: Sequence[dict[str, Any]], *, bf16: bool) -> float:
    """Seconds for all records by `python -m finetune.predict`, from text to predictions."""
    began = time.perf_counter()
    with pipeline.bfloat16() if bf16 else nullcontext():
        pipeline(records)
    return time.perf_counter() - began
