"""Training speed: this project's road against a plain loop of the same recipe, in one run.

The peer is what many scripts do: float32, rows in random order, tokenized in the loop, padded to the longest
of the batch. The recipe is the same on both sides: batch 32, AdamW 1e-4 without weight decay, linear decay,
gradients clipped at 1.0. The two sides take turns, a fifth of the steps each time, so that a machine that
slows down slows both; the ratio is also given for each turn.

    python -m benchmarks.training --data_dir SEMEVAL_FOLDER --model_name_or_path ENCODER
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import torch
from transformers import get_linear_schedule_with_warmup

from finetune.arguments import DataArguments, ModelArguments, RunArguments
from finetune.batching import as_is
from finetune.markers import MarkerTokens, Span, mark_sentence
from finetune.modeling import RelationClassifier
from finetune.preparation import Prepared, prepare
from finetune.train import RelationTrainer, build_model, seed_arguments
from finetune.trainer_arguments import RelationTrainingArguments

BATCH = 32
LEARNING_RATE = 1e-4
TURNS = 5


def plain_loop(prepared: Prepared, model: RelationClassifier, *, steps: int, seed: int) -> float:
    """Seconds for `steps` steps of the plain loop."""
    rows, tokenizer = prepared.data.splits["train"], prepared.tokenizer
    ids = tokenizer.convert_tokens_to_ids(list(MarkerTokens().tokens))
    order = np.random.default_rng(seed).permutation(len(rows))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    schedule = get_linear_schedule_with_warmup(optimizer, 0, steps)
    model.train()
    began = time.perf_counter()
    for step in range(steps):
        chosen = order[np.arange(step * BATCH, (step + 1) * BATCH) % len(order)]
        texts = []
        for row in chosen:
            head_start, head_end, tail_start, tail_end = rows.spans[row].tolist()
            spans = {"head": Span(head_start, head_end), "tail": Span(tail_start, tail_end)}
            texts.append(mark_sentence(rows.sentences[row], **spans))
        batch = tokenizer(
            texts, padding=True, truncation=True, max_length=prepared.max_length, return_tensors="pt"
        )
        places = torch.stack([(batch["input_ids"] == marker).int().argmax(dim=1) for marker in ids], dim=1)
        loss = model(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            entity_starts=places[:, [0, 2]],
            entity_spans=places + torch.tensor([1, 0, 1, 0]),
            labels=torch.from_numpy(rows.labels[chosen]),
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        loss.item()
    return time.perf_counter() - began


def our_road(
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


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="semeval2010")
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--model_name_or_path", required=True)
    parser.add_argument("--steps", type=int, default=150, help="steps a side")
    parser.add_argument("--bf16", choices=("auto", "true", "false"), default="auto")
    options = parser.parse_args(words)
    arguments = RelationTrainingArguments(
        output_dir="unused",
        per_device_train_batch_size=BATCH,
        learning_rate=LEARNING_RATE,
        disable_tqdm=True,
        logging_strategy="no",
        bf16=None if options.bf16 == "auto" else options.bf16 == "true",
    )
    model_arguments = ModelArguments(model_name_or_path=options.model_name_or_path)
    # SemEval-2010 has no validation split, and speed needs none.
    fraction = 0.0 if options.data == "semeval2010" else None
    data_arguments = DataArguments(data=options.data, data_dir=options.data_dir, validation_fraction=fraction)
    prepared = prepare(data_arguments, model_arguments, RunArguments(), arguments)

    def plain(steps: int, seed: int) -> float:
        return plain_loop(prepared, build_model(prepared, model_arguments, seed), steps=steps, seed=seed)

    def ours(steps: int, seed: int) -> float:
        return our_road(
            prepared, build_model(prepared, model_arguments, seed), arguments, steps=steps, seed=seed
        )

    plain(3, 0), ours(3, 0)
    steps = options.steps // TURNS
    seconds: dict[str, list[float]] = {"plain": [], "ours": []}
    for seed in range(1, TURNS + 1):
        seconds["plain"].append(plain(steps, seed))
        seconds["ours"].append(ours(steps, seed))
    rate = {name: TURNS * steps * BATCH / sum(times) for name, times in seconds.items()}
    ratios = [plain_time / our_time for plain_time, our_time in zip(*seconds.values(), strict=True)]
    threads = torch.get_num_threads()
    print(f"{threads} threads, {TURNS * steps} steps of {BATCH} rows a side, bf16 {arguments.bf16}")
    print(f"plain loop: {rate['plain']:.1f} examples per second")
    print(f"finetune:   {rate['ours']:.1f} examples per second")
    turns = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"ratio:      {rate['ours'] / rate['plain']:.2f} (median of turns {median(ratios):.2f}: {turns})")


if __name__ == "__main__":
    main()
