"""One seed: train with the Trainer, choose on validation, score, write the seed's folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.trainer import TRAINING_ARGS_NAME
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from weighted_f1_metric import write_predictions

from .arguments import ModelArguments, RunArguments
from .bag_threshold import DEFAULT_THRESHOLD
from .bag_units import UnitBatches
from .batching import as_is
from .checkpoints import last_good, saving
from .encoders import build_classifier, load_trained
from .false_alarms import false_alarms
from .loss_weighting import label_weights
from .modeling import RelationClassifier
from .preparation import EVALUATED, NEGATIVE_ROWS, Prepared
from .processes import limit_caches, wait_for_all, writes
from .progress import EvaluationLines, ProgressBars
from .relation_trainer import RelationTrainer
from .results import PREDICTIONS, SeedResult, write_seed
from .selection import chosen_threshold, in_unit_order, metric_of_trainer, split_records, split_scores
from .trainer_arguments import RelationTrainingArguments

CHECKPOINTS = "checkpoints"
NA_PREDICTIONS = "na_predictions.jsonl"


def seed_arguments(arguments: RelationTrainingArguments, *, seed: int, folder: Path, select_by: str | None):
    """The Trainer's arguments for one seed: its checkpoints, its selection."""
    values = {item.name: getattr(arguments, item.name) for item in fields(TrainingArguments) if item.init}
    selects = select_by is not None
    evaluations = arguments.eval_strategy if selects else "no"
    values |= {
        "seed": seed,
        "output_dir": str(folder / CHECKPOINTS),
        "eval_strategy": evaluations,
        "save_strategy": evaluations if selects else "epoch",
        "save_steps": (arguments.eval_steps or arguments.logging_steps) if selects else arguments.save_steps,
        "restore_callback_states_from_checkpoint": True,  # how long nothing has been better
        "load_best_model_at_end": selects,
        "metric_for_best_model": select_by,
        "greater_is_better": True if selects else None,
        "label_names": ["labels", "row_ids"],
        "remove_unused_columns": False,
        "push_to_hub": False,  # once, after the results: finetune.push
        "hub_model_id": None,
    }
    return TrainingArguments(**values)


def build_model(prepared: Prepared, model_arguments: ModelArguments, seed: int) -> RelationClassifier:
    """The classifier before training; every random value in it follows from the seed."""
    set_seed(seed)
    if prepared.source.build is None:
        model = load_trained(str(model_arguments.model_name_or_path))
        model.config.max_length = prepared.source.max_length
        model.config.bag_pooling = model_arguments.bag_pooling
        model.config.multi_label = model_arguments.multi_label
        model.config.tokens_per_chunk = model_arguments.tokens_per_chunk
        return model
    return build_classifier(
        encoder=prepared.source.build(),
        tokenizer=prepared.source.tokenizer,
        entity_input=prepared.entity_input,
        label_names=prepared.data.label_names,
        negative_relation=prepared.data.negative_relation,
        representation=model_arguments.representation,
        classifier_head=model_arguments.classifier_head,
        label_word_ids=prepared.label_word_ids,
        type_relations=None if prepared.type_relations is None else prepared.type_relations.as_lists(),
        max_length=prepared.source.max_length,
        bag_pooling=model_arguments.bag_pooling,
        multi_label=model_arguments.multi_label,
        tokens_per_chunk=model_arguments.tokens_per_chunk,
    )


def check_run(prepared: Prepared, run_arguments: RunArguments) -> None:
    """Raise ValueError for early stopping without a measure, and for weights that do not exist."""
    if run_arguments.early_stopping_patience is not None and prepared.select_by is None:
        raise ValueError(
            "`--early_stopping_patience` needs evaluations on a validation split, and there are none; leave "
            "it out."
        )
    training_weights(prepared, run_arguments)


def training_weights(prepared: Prepared, run_arguments: RunArguments) -> np.ndarray | None:
    """Factors of the loss by label; see `loss_weighting.label_weights`."""
    names = prepared.data.label_names
    return label_weights(
        labels=prepared.batches["train"].labels,
        num_labels=len(names),
        negative_id=names.index(prepared.data.negative_relation),
        scheme=run_arguments.loss_weighting,
    )


def build_trainer(
    *,
    seed: int,
    prepared: Prepared,
    model_arguments: ModelArguments,
    run_arguments: RunArguments,
    training_arguments: RelationTrainingArguments,
    folder: Path,
    say: Callable[[str], None],
) -> RelationTrainer:
    """The trainer of one seed, with the model before training."""
    limit_caches()
    callbacks: list[TrainerCallback] = [EvaluationLines(measure=prepared.select_by, say=say)]
    if run_arguments.early_stopping_patience is not None:
        callbacks.append(
            EarlyStoppingCallback(
                run_arguments.early_stopping_patience, run_arguments.early_stopping_threshold or 0.0
            )
        )
    model = build_model(prepared, model_arguments, seed)
    trainer = RelationTrainer(
        model=model,
        args=seed_arguments(training_arguments, seed=seed, folder=folder, select_by=prepared.select_by),
        data_collator=as_is,
        train_dataset=prepared.batches["train"].for_seed(seed),
        eval_dataset=prepared.batches.get("validation"),
        compute_metrics=metric_of_trainer(prepared, model.config.score_activation),
        callbacks=callbacks,
        label_weights=training_weights(prepared, run_arguments),
        save_every=training_arguments.save_every,
    )
    trainer.remove_callback(PrinterCallback)
    if trainer.pop_callback(ProgressCallback) is not None:
        trainer.add_callback(ProgressBars)
    return trainer


def run_seed(trainer: RelationTrainer, *, prepared: Prepared, folder: Path) -> SeedResult:
    """Train one seed, or go on with it, score it, and write `folder`.

    The folder then holds the model, the tokenizer, predictions.jsonl, metrics.json and training.json; with
    rows of the negative relation also na_predictions.jsonl.

    Returns:
        The scores of validation and test, made from the prediction records as written.

    Raises:
        SavingError: The disk is full.
        TrainingDivergedError: A score is not finite.
    """
    start = last_good(folder / CHECKPOINTS)
    if start is None and writes():
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    wait_for_all()
    trainer.train_from(start)
    seconds, mean_loss = trainer.seconds, trainer.mean_loss
    trainer.compute_metrics = None  # the numbers that are reported are made from the records below
    scores = {}
    records: list[dict[str, Any]] = []
    config: Any = trainer.model.config  # type: ignore[union-attr]
    if prepared.multi_label:
        config.threshold = DEFAULT_THRESHOLD
    for split in (split for split in EVALUATED if split in prepared.batches):
        outputs = predicted_logits(trainer, prepared.batches[split])
        if split == "validation" and prepared.multi_label:
            config.threshold = chosen_threshold(prepared, outputs, config.score_activation)
        records = split_records(prepared, split, outputs, config.score_activation, config.threshold)
        scores[split] = split_scores(prepared, split, records)
    alarms, na_records = None, []
    if NEGATIVE_ROWS in prepared.batches:
        outputs = predicted_logits(trainer, prepared.batches[NEGATIVE_ROWS])
        na_records = split_records(
            prepared, NEGATIVE_ROWS, outputs, config.score_activation, config.threshold
        )
        alarms = false_alarms(na_records, negative_relation=prepared.data.negative_relation)
    state, negative = trainer.state, prepared.data.negative_relation
    examples = (state.epoch or 0.0) * len(prepared.batches["train"])
    result = SeedResult(
        seed=trainer.args.seed,
        scores=scores,
        training={
            "num_steps": state.global_step,
            "num_steps_of_used_weights": state.best_global_step or state.global_step,
            "mean_loss": mean_loss,
            "seconds": seconds,
            "examples_per_second": examples / seconds,
            **({"threshold": config.threshold} if prepared.multi_label else {}),
        },
        only_negative=all(record["pred"] in (negative, []) for record in records),
        false_alarms=alarms,
    )
    with saving(f"what seed {result.seed} gave", at=folder):
        trainer.save_model(str(folder))
        if writes():
            (folder / TRAINING_ARGS_NAME).unlink(missing_ok=True)
            prepared.source.tokenizer.save_pretrained(folder)
            write_predictions(folder / PREDICTIONS, records)
            if na_records:
                write_predictions(folder / NA_PREDICTIONS, na_records)
            write_seed(folder, result)
            shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return result


def predicted_logits(trainer: Trainer, units: UnitBatches) -> np.ndarray:
    """The model's outputs in the order of the units, float32, shape (num_units, num_labels).

    Raises:
        RuntimeError: A unit did not come back, or one that was not asked for.
    """
    output: Any = trainer.predict(units)  # type: ignore[arg-type]
    _, row_ids = output.label_ids
    return in_unit_order(output.predictions, row_ids, units.row_ids)
