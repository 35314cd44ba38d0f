"""One seed: train with the Trainer, choose on validation, score, write the seed's folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import Trainer, TrainingArguments, set_seed

from weighted_f1_metric import make_compute_metrics, write_predictions

from .arguments import DataArguments, ModelArguments
from .batching import RowBatches, as_is
from .encoders import build_classifier
from .evaluation import prediction_records, require_finite, score_records
from .modeling import RelationClassifier
from .preparation import EVALUATED, Prepared
from .sampling import LongestFirstSampler, PlannedSampler
from .trainer_arguments import RelationTrainingArguments

CHECKPOINTS = "checkpoints"
PREDICTIONS = "predictions.jsonl"
METRICS = "metrics.json"


@dataclass(frozen=True)
class SeedResult:
    """What one seed gave.

    Attributes:
        seed: The seed.
        scores: Split -> the dict of `evaluation.score_records`, for the evaluated splits.
        training: Steps, the step whose weights were used, mean loss, seconds, examples per second.
        only_negative: Whether every test row was given the negative relation, the sign of a run that failed.
    """

    seed: int
    scores: dict[str, dict[str, Any]]
    training: dict[str, Any]
    only_negative: bool


class RelationTrainer(Trainer):
    """The Trainer with our batch plan, and row ids kept from the model."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        rows: Any = self.train_dataset if train_dataset is None else train_dataset
        batch_size = self.args.train_batch_size * self.args.gradient_accumulation_steps
        return PlannedSampler(lengths=rows.rows.lengths, seed=self.args.seed, batch_size=batch_size)

    def _get_eval_sampler(self, eval_dataset: Any) -> Any:
        return LongestFirstSampler(eval_dataset.rows.lengths)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The model's own loss; `row_ids` are for the metric only."""
        inputs = {name: value for name, value in inputs.items() if name != "row_ids"}
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)

    def floating_point_ops(self, inputs: dict[str, torch.Tensor]) -> int:
        """0: the estimate walks through all modules at every step and nothing here reads it."""
        return 0


def seed_arguments(arguments: RelationTrainingArguments, *, seed: int, folder: Path, select_by: str | None):
    """The Trainer's arguments for one seed: its checkpoints, its selection."""
    values = {item.name: getattr(arguments, item.name) for item in fields(TrainingArguments) if item.init}
    selects = select_by is not None
    values |= {
        "seed": seed,
        "output_dir": str(folder / CHECKPOINTS),
        "eval_strategy": arguments.eval_strategy if selects else "no",
        "save_strategy": arguments.eval_strategy if selects else "no",
        "save_steps": (arguments.eval_steps or arguments.logging_steps) if selects else arguments.save_steps,
        "save_total_limit": 1,
        "save_only_model": True,
        "load_best_model_at_end": selects,
        "metric_for_best_model": select_by,
        "greater_is_better": True if selects else None,
        "label_names": ["labels", "row_ids"],
        "remove_unused_columns": False,
    }
    return TrainingArguments(**values)


def build_model(prepared: Prepared, model_arguments: ModelArguments, seed: int) -> RelationClassifier:
    """The classifier before training; every random value in it follows from the seed."""
    set_seed(seed)
    return build_classifier(
        name_or_path=str(model_arguments.model_name_or_path),
        tokenizer=prepared.tokenizer,
        entity_input=prepared.entity_input,
        label_names=prepared.data.label_names,
        negative_relation=prepared.data.negative_relation,
        representation=model_arguments.representation,
        classifier_head=model_arguments.classifier_head,
        max_length=prepared.max_length,
    )


def metric_of_trainer(prepared: Prepared, track: str) -> Callable[[Any], dict[str, float]]:
    """The Trainer's `compute_metrics`: the F1 scores, which it prints, and the measure that selects."""
    data = prepared.data
    options: dict[str, Any] = {}
    if data.has_human_labels:
        references = {split: data.splits[split].references for split in EVALUATED if split in data.splits}
        options = {"references": references, "track": track}
    compute_all = make_compute_metrics(
        id2label=dict(enumerate(data.label_names)), negative_label=data.negative_relation, **options
    )

    def compute(evaluated: Any) -> dict[str, float]:
        logits, _ = evaluated
        require_finite(logits)
        measures = compute_all(evaluated)
        return {
            name: value
            for name, value in measures.items()
            if name.endswith("_f1") or name == prepared.select_by
        }

    return compute


def check_selection(prepared: Prepared, track: str) -> None:
    """Raise ValueError when no measure of the validation split has the name `select_by`.

    The metric is run once on the gold labels, before any training.
    """
    if prepared.select_by is None:
        return
    batches = prepared.batches["validation"]
    gold = np.eye(len(prepared.data.label_names), dtype=np.float32)[batches.labels]
    measures = metric_of_trainer(prepared, track)((gold, (batches.labels, batches.row_ids)))
    if prepared.select_by not in measures:
        listed = ", ".join(name for name in measures if name.endswith("f1"))
        raise ValueError(
            f"`select_by` {prepared.select_by!r} is no measure of the validation split; such are {listed}."
        )


def run_seed(
    *,
    seed: int,
    prepared: Prepared,
    data_arguments: DataArguments,
    model_arguments: ModelArguments,
    training_arguments: RelationTrainingArguments,
    folder: Path,
) -> SeedResult:
    """Train and score one seed, and write `folder`: model, tokenizer, predictions.jsonl, metrics.json.

    Returns:
        The scores of validation and test, made from the prediction records as written.
    """
    arguments = seed_arguments(training_arguments, seed=seed, folder=folder, select_by=prepared.select_by)
    model = build_model(prepared, model_arguments, seed)
    trainer = RelationTrainer(
        model=model,
        args=arguments,
        data_collator=as_is,
        train_dataset=prepared.batches["train"],
        eval_dataset=prepared.batches.get("validation"),
        compute_metrics=metric_of_trainer(prepared, data_arguments.track),
    )
    trained = trainer.train()
    trainer.compute_metrics = None  # the numbers that are reported are made from the records below
    scores = {}
    records: list[dict[str, Any]] = []
    for split in (split for split in EVALUATED if split in prepared.batches):
        rows = prepared.data.splits[split]
        logits = predicted_logits(trainer, prepared.batches[split])
        records = prediction_records(rows=rows, logits=logits, label_names=prepared.data.label_names)
        scores[split] = score_records(
            data=prepared.data, split=split, track=data_arguments.track, records=records
        )
    model.save_pretrained(folder)
    prepared.tokenizer.save_pretrained(folder)
    write_predictions(folder / PREDICTIONS, records)
    metrics = json.dumps(scores["test"], indent=2, ensure_ascii=False)
    (folder / METRICS).write_text(metrics + "\n", encoding="utf-8")
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    training = {
        "num_steps": trainer.state.global_step,
        "num_steps_of_used_weights": trainer.state.best_global_step or trainer.state.global_step,
        "mean_loss": trained.training_loss,
        "seconds": trained.metrics["train_runtime"],
        "examples_per_second": trained.metrics["train_samples_per_second"],
    }
    negative = prepared.data.negative_relation
    only_negative = all(record["pred"] == negative for record in records)
    return SeedResult(seed=seed, scores=scores, training=training, only_negative=only_negative)


def predicted_logits(trainer: Trainer, batches: RowBatches) -> np.ndarray:
    """Logits in the order of the rows, float32, shape (num_rows, num_labels).

    Raises:
        RuntimeError: A row came back twice or not at all.
    """
    output: Any = trainer.predict(batches)
    _, row_ids = output.label_ids
    order = np.argsort(row_ids, kind="stable")
    if not np.array_equal(row_ids[order], batches.row_ids):
        raise RuntimeError(
            f"the Trainer gave back {len(row_ids)} rows for {len(batches)}, or not each row once."
        )
    return output.predictions[order]
