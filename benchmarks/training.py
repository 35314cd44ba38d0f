"""Training and prediction speed of `python -m finetune` as ratios in one run.

The peers are what many scripts do: float32, rows in random order, tokenized in the loop, padded to the
longest of the batch or to a fixed 128 tokens. The recipe is the same on all sides: batch 32, AdamW 1e-4
without weight decay, linear decay, gradients clipped at 1.0. "bare" is forward, backward, clipping and a
fused optimizer step alone on batches of the same widths without any padding; ours is compared with it by real
tokens per second. Prediction is timed from text to labels on all sides; ours is `finetune.predict`'s.
The sides take turns, a fifth of the steps each time, so that a machine that slows down slows all; the ratio
is the median of the turns. With --memory each side also runs in a fresh process, whose peak is printed.

    python -m benchmarks.training --data_dir SEMEVAL_FOLDER --model_name_or_path ENCODER
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
from collections.abc import Callable, Sequence
from statistics import median

import torch
from transformers.utils import logging

from finetune.arguments import DataArguments, ModelArguments, RunArguments, Settings
from finetune.model.relation_pipeline import RelationPipeline
from finetune.trainer_arguments import RelationTrainingArguments
from finetune.training.preparation import Prepared, prepare
from finetune.training.train import build_model
from weighted_f1_metric import f1_family

from .memory import peak_mebibytes
from .training_sides import (
    BATCH,
    LEARNING_RATE,
    bare_training,
    our_prediction,
    our_shapes,
    our_training,
    plain_prediction,
    plain_training,
    records_of,
)

TURNS = 5
FIXED_WIDTH = 128
EPOCHS = 3
# A side's name -> how many of the steps it does; the slow one is timed on a fifth of them.
SIDES = {"finetune": 1.0, "finetune, other precision": 1.0, "plain": 1.0, "plain, 128": 0.2, "bare": 1.0}


def trainer_arguments(bf16: bool | None) -> RelationTrainingArguments:
    return RelationTrainingArguments(
        output_dir="unused",
        per_device_train_batch_size=BATCH,
        learning_rate=LEARNING_RATE,
        disable_tqdm=True,
        logging_strategy="no",
        bf16=bf16,
    )


def training_side(
    name: str, prepared: Prepared, model_arguments: ModelArguments, bf16: bool
) -> Callable[[int, int], float]:
    """A function (steps, seed) -> seconds."""

    def run(steps: int, seed: int) -> float:
        model = build_model(prepared, model_arguments, seed)
        if name == "bare":
            shapes = list(our_shapes(prepared, steps=steps, seed=seed))
            return bare_training(prepared, model, bf16=bf16, shapes=shapes)
        if name.startswith("plain"):
            width = FIXED_WIDTH if name.endswith("128") else None
            return plain_training(prepared, model, steps=steps, seed=seed, width=width)
        arguments = trainer_arguments(bf16 if name == "finetune" else not bf16)
        return our_training(prepared, model, arguments, steps=steps, seed=seed)

    return run


def time_training(prepared: Prepared, model_arguments: ModelArguments, *, bf16: bool, steps: int) -> None:
    """Print examples per second of each side and the ratios."""
    sides = {name: training_side(name, prepared, model_arguments, bf16) for name in SIDES}
    for side in sides.values():
        side(2, 0)
    rates: dict[str, list[float]] = {name: [] for name in SIDES}
    shares = []
    for seed in range(1, TURNS + 1):
        for name, side in sides.items():
            mine = max(1, round(steps // TURNS * SIDES[name]))
            rates[name].append(mine * BATCH / side(mine, seed))
        shapes = list(our_shapes(prepared, steps=steps // TURNS, seed=seed))
        full = sum(real for _, real in shapes) / sum(BATCH * width for width, _ in shapes)
        shares.append(full * rates["finetune"][-1] / rates["bare"][-1])
    labels = dict.fromkeys(SIDES, "") | {
        "finetune": f"bf16 {bf16}",
        "finetune, other precision": f"bf16 {not bf16}",
        "bare": f"bf16 {bf16}, batches of the same widths without padding",
    }
    for name, values in rates.items():
        print(f"training, {name}: {median(values):.1f} examples per second {labels[name]}".rstrip())
    for peer in ("plain", "plain, 128", "finetune, other precision"):
        show_ratio(f"training, finetune / {peer}", rates["finetune"], rates[peer])
    turns = ", ".join(f"{share:.3f}" for share in shares)
    print(f"real tokens per second, finetune / bare: {median(shares):.3f} (turns {turns})")


def time_prediction(prepared: Prepared, model_arguments: ModelArguments, *, bf16: bool) -> None:
    """Print rows per second of each side and the ratios."""
    model = build_model(prepared, model_arguments, 0)
    pipeline = RelationPipeline(model=copy.deepcopy(model), tokenizer=prepared.source.tokenizer)
    records = records_of(prepared)
    all_rows = len(prepared.data.splits["test"])
    few, fewer = all_rows // 3, all_rows // 12  # the slow sides are timed on a part

    def rates_of_turn() -> dict[str, float]:
        fixed, _ = plain_prediction(prepared, model, num_rows=fewer, width=FIXED_WIDTH)
        longest, _ = plain_prediction(prepared, model, num_rows=few)
        ours = our_prediction(pipeline, records, bf16=bf16)
        return {"finetune": all_rows / ours, "plain": few / longest, "plain, 128": fewer / fixed}

    our_prediction(pipeline, records, bf16=bf16)
    turns = [rates_of_turn() for _ in range(TURNS)]
    rates = {name: [turn[name] for turn in turns] for name in turns[0]}
    for name, values in rates.items():
        print(f"prediction, {name}: {median(values):.1f} rows per second")
    for peer in ("plain", "plain, 128"):
        show_ratio(f"prediction, finetune / {peer}", rates["finetune"], rates[peer])


def score_plain(prepared: Prepared, model_arguments: ModelArguments, *, seeds: Sequence[int]) -> None:
    """Train the plain loop for EPOCHS and print its test F1, to be compared with that of the command."""
    test, names = prepared.data.splits["test"], prepared.data.label_names
    steps = EPOCHS * -(-len(prepared.data.splits["train"]) // BATCH)
    for seed in seeds:
        model = build_model(prepared, model_arguments, seed)
        plain_training(prepared, model, steps=steps, seed=seed)
        _, logits = plain_prediction(prepared, model, num_rows=len(test))
        options = {
            "predictions": [names[choice] for choice in logits.argmax(axis=1)],
            "references": [names[label] for label in test.labels],
            "negative_label": prepared.data.negative_relation,
        }
        micro = f1_family(**options)["micro_f1"]
        grouped = f1_family(**options, groups=prepared.data.groups)["macro_f1"]
        print(f"plain loop, seed {seed}, {EPOCHS} epochs: official F1 {grouped:.4f}, micro F1 {micro:.4f}")


def show_ratio(title: str, ours: Sequence[float], theirs: Sequence[float]) -> None:
    """Print the median ratio and that of each turn."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    turns = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{title}: {median(ratios):.2f} (turns {turns})")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="semeval2010")
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--model_name_or_path", required=True)
    parser.add_argument("--steps", type=int, default=150, help="steps a side")
    parser.add_argument("--bf16", choices=("auto", "true", "false"), default="auto")
    parser.add_argument("--memory", action="store_true", help="print the peak memory of each side too")
    parser.add_argument("--memory_of", choices=tuple(SIDES), help="run this side alone and print its peak")
    parser.add_argument(
        "--plain_scores", type=int, nargs="+", help="seeds: train the plain loop, print its F1"
    )
    options = parser.parse_args(argv)
    logging.disable_progress_bar()
    arguments = trainer_arguments(None if options.bf16 == "auto" else options.bf16 == "true")
    bf16 = bool(arguments.bf16)
    model_arguments = ModelArguments(model_name_or_path=options.model_name_or_path)
    # SemEval-2010 has no validation split, and speed needs none.
    fraction = 0.0 if options.data == "semeval2010" else None
    data_arguments = DataArguments(data=options.data, data_dir=options.data_dir, validation_fraction=fraction)
    prepared = prepare(Settings(data_arguments, model_arguments, RunArguments(), arguments))
    if options.plain_scores:
        score_plain(prepared, model_arguments, seeds=options.plain_scores)
        return
    if options.memory_of:
        training_side(options.memory_of, prepared, model_arguments, bf16)(options.steps, 1)
        print(f"peak memory, {options.memory_of}: {peak_mebibytes():.0f} MiB")
        return
    print(f"{torch.get_num_threads()} threads, {options.steps} steps of {BATCH} rows a side, bf16 {bf16}")
    time_training(prepared, model_arguments, bf16=bf16, steps=options.steps)
    time_prediction(prepared, model_arguments, bf16=bf16)
    for name in SIDES if options.memory else ():
        same = ["--data", options.data, "--data_dir", options.data_dir, "--bf16", options.bf16]
        same += ["--model_name_or_path", options.model_name_or_path, "--memory_of", name]
        more = ["--steps", str(max(1, options.steps // TURNS))]
        command = [sys.executable, "-m", "benchmarks.training", *same, *more]
        shown = subprocess.run(command, check=True, capture_output=True, text=True)
        print(next(line for line in shown.stdout.splitlines() if line.startswith("peak memory")))


if __name__ == "__main__":
    main()
