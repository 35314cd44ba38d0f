"""One seed: loss weights, the validation measure, model and trainer; train, predict, score, save."""

from __future__ import annotations

import copy
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from transformers import (
    EarlyStoppingCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
    set_seed,
)
from transformers.trainer import TRAINING_ARGS_NAME
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from weighted_f1_metric import class_weights, false_alarms, make_compute_metrics, write_predictions

from ..arguments import ModelArguments, RunArguments, Settings
from ..data.bag_units import UnitBatches, id_key, scored_track, unit_names
from ..encoders.encoder_sources import build_classifier, freeze, load_trained, save_tokenizer
from ..encoders.lora import add_lora, merge_lora, num_trained
from ..model.batching import as_is
from ..model.modeling import RelationClassifier
from ..model.prediction_records import (
    DEFAULT_THRESHOLD,
    best_threshold,
    prediction_records,
    require_finite,
    scores_of,
)
from ..report.evaluation import is_scored_by_track, numbers_only, references_of, score_records
from ..report.results import PREDICTIONS, SeedResult, write_seed
from ..trainer_arguments import RelationTrainingArguments
from .preparation import EVALUATED, NEGATIVE_ROWS, Prepared
from .processes import is_main_process, limit_caches, wait_for_all
from .relation_trainer import Checkpoints, EvaluationLines, ProgressBars, RelationTrainer, last_good, saving


def label_weights(*, labels: np.ndarray, num_labels: int, negative_id: int, scheme: str) -> np.ndarray | None:
    """Return factor of an example by its label, float32, shape (num_labels,); None where each counts 1.

    An example of class i with n_i examples counts w_i / n_i, scaled to mean 1 over the examples of positive
    classes, so that all examples of a class together count as much as the class does in the average of that
    name. An example of the negative class counts 1. "weighted" (w_i = n_i) is the unweighted loss. A class
    without examples has 0, which nothing uses.

    Args:
        labels: Label ids of what is trained on, shape (num_units,).
        num_labels: Number of labels, the negative one included.
        negative_id: Id of the negative relation.
        scheme: "none", "weighted", "dodrans", "entropy" (its N counts the negative examples too) or "macro".

    >>> label_weights(labels=np.array([0, 1, 1, 1, 2]), num_labels=3, negative_id=0, scheme="macro").tolist()
    [1.0, 0.6666666865348816, 2.0]

    Raises:
        ValueError: No example is positive, or the scheme gives every class the weight 0.

    Reference: [B] Harbecke et al. 2022, section 2.1 and Table 2.
    """
    if scheme == "none":
        return None
    support = np.bincount(labels, minlength=num_labels).astype(np.float64)
    support[negative_id] = 0
    weights = class_weights(support, scheme, total=float(len(labels)))
    if not weights.sum() > 0:
        raise ValueError(
            f"`--loss_weighting {scheme}` gives every class the weight 0: {int(support.sum())} of "
            f"{len(labels)} training examples are of {np.count_nonzero(support)} positive classes; use "
            "`--loss_weighting none`."
        )
    scale = support.sum() / weights.sum()
    factors = np.divide(weights * scale, support, out=np.zeros_like(support), where=support > 0)
    factors[negative_id] = 1.0
    return factors.astype(np.float32)


def metric_of_trainer(prepared: Prepared, activation: str) -> Callable[[Any], dict[str, float]]:
    """Return the Trainer's `compute_metrics`: the F1 scores of validation, and the measure that selects.

    Outputs of another split, which the Trainer only predicts, have no numbers here.

    Args:
        prepared: The input of every seed, with a validation split.
        activation: What makes scores of the model's outputs, see `prediction_records.scores_of`.
    """
    compute_all = _label_set_metric(prepared, activation) if prepared.multi_label else None
    if compute_all is None:
        compute_all = _single_label_metric(prepared, activation)
    is_validation = set(prepared.batches["validation"].row_ids.tolist())

    def compute(evaluated: Any) -> dict[str, float]:
        outputs, (_, row_ids) = evaluated
        if int(row_ids[0]) not in is_validation:
            return {}
        require_finite(outputs)
        with warnings.catch_warnings():
            # A model at its beginning often predicts nothing; the run says it of the weights that are used.
            warnings.simplefilter("ignore", UserWarning)
            measures = compute_all(evaluated)
        return {
            name: value
            for name, value in measures.items()
            if name.endswith("_f1") or name == prepared.select_by
        }

    return compute


def _label_set_metric(prepared: Prepared, activation: str) -> Callable[[Any], dict[str, Any]]:
    def compute(evaluated: Any) -> dict[str, Any]:
        outputs, (_, row_ids) = evaluated
        outputs = in_unit_order(outputs, row_ids, prepared.batches["validation"].row_ids)
        threshold = chosen_threshold(prepared, outputs, activation)
        records = split_records(prepared, "validation", outputs, activation, threshold)
        return numbers_only(split_scores(prepared, "validation", records))

    return compute


def _single_label_metric(prepared: Prepared, activation: str) -> Callable[[Any], dict[str, Any]]:
    data = prepared.data
    options: dict[str, Any] = {"macro_over": "supported"}
    if is_scored_by_track(data, track=prepared.track, multi_label=False):
        options = {
            "references": references_of(data, "validation"),
            "track": scored_track(prepared.track, "validation"),
            "scores": activation,
        }
    return make_compute_metrics(
        id2label=dict(enumerate(data.label_names)), negative_label=data.negative_relation, **options
    )


def check_selection(prepared: Prepared) -> None:
    """Raise ValueError when no measure of the validation split has the name `select_by`.

    The metric is run once on the gold labels, before any training.
    """
    if prepared.select_by is None:
        return
    units = prepared.batches["validation"]
    gold = (units.labels > 0).astype(np.float32)
    if units.labels.ndim == 1:
        gold = np.eye(len(prepared.data.label_names), dtype=np.float32)[units.labels]
    measures = metric_of_trainer(prepared, "identity")((gold, (units.labels, units.row_ids)))
    if prepared.select_by not in measures:
        listed = ", ".join(name for name in measures if name.endswith("f1"))
        raise ValueError(
            f"`select_by` {prepared.select_by!r} is no measure of the validation split; such are {listed}."
        )


def chosen_threshold(prepared: Prepared, outputs: np.ndarray, activation: str) -> float:
    """Return the best threshold for the label sets of the validation split; outputs in the order of its
    units.
    """
    labels = prepared.batches["validation"].labels
    positive = labels[0] != -100
    scores = scores_of(outputs, activation=activation)
    return best_threshold(scores=scores[:, positive], gold=labels[:, positive] == 1)


def split_records(
    prepared: Prepared, split: str, outputs: np.ndarray, activation: str, threshold: float | None
) -> list[dict[str, Any]]:
    """Return the prediction records of a split; see `prediction_records.prediction_records`."""
    return prediction_records(
        names=unit_names(prepared.batches[split], prepared.data.splits[split]),
        outputs=outputs,
        label_names=prepared.data.label_names,
        negative_relation=prepared.data.negative_relation,
        activation=activation,
        id_key=id_key(prepared.track, split),
        threshold=threshold,
    )


def split_scores(prepared: Prepared, split: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers of a split's records; see `evaluation.score_records`."""
    return score_records(
        data=prepared.data,
        split=split,
        track=prepared.track,
        records=records,
        multi_label=prepared.multi_label,
    )


def in_unit_order(outputs: np.ndarray, row_ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return gathered outputs in the order of the wanted units.

    Raises:
        RuntimeError: A unit did not come back, or one that was not asked for.
    """
    # The last batches of several processes are filled up.
    found, first = np.unique(row_ids, return_index=True)
    if not np.array_equal(found, np.sort(wanted)):
        missing = np.setdiff1d(wanted, found)
        raise RuntimeError(
            f"the processes gave back {len(found)} different rows for {len(wanted)}; "
            f"{len(missing)} are missing (first: {missing[:3].tolist()})."
        )
    return outputs[first[np.searchsorted(found, wanted)]]


CHECKPOINTS = "checkpoints"
NA_PREDICTIONS = "na_predictions.jsonl"
# TensorBoard's own place is beside the checkpoints, which are deleted when the seed is done.
TENSORBOARD = "tensorboard"


def seed_arguments(arguments: RelationTrainingArguments, *, seed: int, folder: Path, select_by: str | None):
    """Return the Trainer's arguments for one seed: its checkpoints, its selection."""
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
        "report_to": [name for name in arguments.report_to or () if name != TENSORBOARD],
        "run_name": f"{arguments.run_name or folder.parent.name}-{folder.name}",
    }
    return TrainingArguments(**values)


def report_callbacks(arguments: RelationTrainingArguments, folder: Path) -> list[TrainerCallback]:
    """Return what writes TensorBoard's files of a seed to its folder, where `--report_to` asks for them."""
    if TENSORBOARD not in (arguments.report_to or ()) or not is_main_process():
        return []
    from torch.utils.tensorboard import SummaryWriter
    from transformers.integrations import TensorBoardCallback

    return [TensorBoardCallback(SummaryWriter(str(folder / TENSORBOARD)))]


def build_model(prepared: Prepared, model_arguments: ModelArguments, seed: int) -> RelationClassifier:
    """Return the classifier before training; every random value in it follows from the seed."""
    set_seed(seed)
    values: dict[str, Any] = {
        "classifier_dropout": model_arguments.classifier_dropout,
        "max_row_tokens": prepared.source.max_length,
        "bag_pooling": model_arguments.bag_pooling,
        "multi_label": model_arguments.multi_label,
        "tokens_per_chunk": model_arguments.tokens_per_chunk,
    }
    if prepared.source.build is None:
        own = {name: value for name, value in values.items() if (name, value) != ("classifier_dropout", None)}
        model = load_trained(str(model_arguments.model_name_or_path), **own)
    else:
        model = _new_model(prepared, model_arguments, values)
    if model_arguments.lora_r is not None:
        add_lora(model, model_arguments)
    if model_arguments.freeze_layers:
        freeze(model, model_arguments.freeze_layers)
    return model


def _new_model(
    prepared: Prepared, model_arguments: ModelArguments, values: Mapping[str, Any]
) -> RelationClassifier:
    build: Any = prepared.source.build
    return build_classifier(
        encoder=build(),
        tokenizer=prepared.source.tokenizer,
        entity_input=prepared.entity_input,
        label_names=prepared.data.label_names,
        negative_relation=prepared.data.negative_relation,
        representation=model_arguments.representation,
        classifier_head=model_arguments.classifier_head,
        label_word_ids=prepared.label_word_ids,
        type_relations=None if prepared.type_relations is None else prepared.type_relations.as_lists(),
        **values,
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
    """Return factors of the loss by label; see `label_weights`."""
    return label_weights(
        labels=prepared.batches["train"].labels,
        num_labels=len(prepared.data.label_names),
        negative_id=prepared.data.negative_id,
        scheme=run_arguments.loss_weighting,
    )


def build_trainer(
    *,
    seed: int,
    prepared: Prepared,
    settings: Settings,
    folder: Path,
    say: Callable[[str], None],
) -> RelationTrainer:
    """Return the trainer of one seed, with the model before training."""
    limit_caches()
    callbacks: list[TrainerCallback] = [
        EvaluationLines(measure=prepared.select_by, say=say),
        Checkpoints(save_every=settings.training.save_every),
        *report_callbacks(settings.training, folder),
    ]
    if settings.run.early_stopping_patience is not None:
        callbacks.append(
            EarlyStoppingCallback(
                settings.run.early_stopping_patience, settings.run.early_stopping_threshold or 0.0
            )
        )
    model = build_model(prepared, settings.model, seed)
    trained, total = num_trained(model)
    if trained < total:
        say(f"trained are {trained:,} of the model's {total:,} numbers")
    metric = None
    if prepared.select_by is not None:
        metric = metric_of_trainer(prepared, model.config.score_activation)
    trainer = RelationTrainer(
        model=model,
        args=seed_arguments(settings.training, seed=seed, folder=folder, select_by=prepared.select_by),
        data_collator=as_is,
        train_dataset=prepared.batches["train"].for_seed(seed),
        eval_dataset=prepared.batches.get("validation"),
        compute_metrics=metric,
        callbacks=callbacks,
        label_weights=training_weights(prepared, settings.run),
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
    if start is None and is_main_process():
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    wait_for_all()
    trainer.train_from(start)
    if "wandb" in (trainer.args.report_to or ()):
        import_module("wandb").finish()  # the next seed is a run of its own
    training = training_numbers(trainer, num_units=len(prepared.batches["train"]))
    model: Any = trainer.model
    merge_lora(model)
    predictions = predict_splits(trainer, prepared)
    history = training_history(trainer.state)
    result = seed_result(trainer.args.seed, prepared, predictions, training, history)
    with saving(f"what seed {result.seed} gave", at=folder):
        save_seed(trainer, folder, prepared=prepared, predictions=predictions, result=result)
    return result


def training_numbers(trainer: RelationTrainer, *, num_units: int) -> dict[str, Any]:
    """Return what is told of a training: its steps, the step of the weights that are used, loss and time."""
    seconds, state = trainer.seconds, trainer.state
    return {
        "num_steps": state.global_step,
        "num_steps_of_used_weights": state.best_global_step or state.global_step,
        "mean_loss": trainer.mean_loss,
        "seconds": seconds,
        "examples_per_second": (state.epoch or 0.0) * num_units / seconds,
    }


@dataclass(frozen=True)
class Predictions:
    """What a trained model says.

    Attributes:
        records: Split -> the prediction records of its units, for the evaluated splits and NEGATIVE_ROWS.
        threshold: The score from which a relation is predicted, with `multi_label`; chosen on validation,
            DEFAULT_THRESHOLD without.
    """

    records: Mapping[str, list[dict[str, Any]]]
    threshold: float | None


def predict_splits(trainer: RelationTrainer, prepared: Prepared) -> Predictions:
    """Return the predictions of every split but train."""
    model: Any = trainer.model
    activation = model.config.score_activation
    outputs = {
        split: predicted_logits(trainer, prepared.batches[split])
        for split in (*EVALUATED, NEGATIVE_ROWS)
        if split in prepared.batches
    }
    threshold = None
    if prepared.multi_label:
        threshold = DEFAULT_THRESHOLD
        if "validation" in outputs:
            threshold = chosen_threshold(prepared, outputs["validation"], activation)
    records = {
        split: split_records(prepared, split, own, activation, threshold) for split, own in outputs.items()
    }
    return Predictions(records=records, threshold=threshold)


def training_history(state: TrainerState) -> tuple[dict[str, Any], ...]:
    """Return what was logged: losses and the measures of validation by step; no times, which never repeat."""
    times = ("runtime", "per_second", "_flos")
    return tuple(
        {name: value for name, value in entry.items() if not name.endswith(times)}
        for entry in state.log_history
    )


def seed_result(
    seed: int,
    prepared: Prepared,
    predictions: Predictions,
    training: Mapping[str, Any],
    history: tuple[dict[str, Any], ...] = (),
) -> SeedResult:
    """Return the scores of the predictions, and what is told of the training."""
    records, negative = predictions.records, prepared.data.negative_relation
    threshold = {} if predictions.threshold is None else {"threshold": predictions.threshold}
    alarms = None
    if NEGATIVE_ROWS in records:
        alarms = false_alarms(records[NEGATIVE_ROWS], negative_relation=negative)
    return SeedResult(
        seed=seed,
        scores={
            split: split_scores(prepared, split, records[split]) for split in EVALUATED if split in records
        },
        training={**training, **threshold},
        only_negative=all(record["pred"] in (negative, []) for record in records["test"]),
        false_alarms=alarms,
        predictions=tuple(records["test"]),
        history=history,
    )


def save_seed(
    trainer: RelationTrainer,
    folder: Path,
    *,
    prepared: Prepared,
    predictions: Predictions,
    result: SeedResult,
) -> None:
    """Write the folder of a seed, the file that says that it is finished last; delete its checkpoints.

    Raises:
        OSError: Something cannot be written.
    """
    trainer.save_model(str(folder))
    if not is_main_process():
        return
    (folder / TRAINING_ARGS_NAME).unlink(missing_ok=True)
    model: Any = trainer.model
    config = copy.deepcopy(model.config)
    config.threshold = predictions.threshold
    config.save_pretrained(folder)
    save_tokenizer(prepared.source.tokenizer, folder)
    for split, name in (("test", PREDICTIONS), (NEGATIVE_ROWS, NA_PREDICTIONS)):
        if split in predictions.records:
            write_predictions(folder / name, predictions.records[split])
    write_seed(folder, result)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def predicted_logits(trainer: Trainer, units: UnitBatches) -> np.ndarray:
    """Return the model's outputs in the order of the units, float32, shape (num_units, num_labels).

    Raises:
        RuntimeError: A unit did not come back, or one that was not asked for.
    """
    output: Any = trainer.predict(units)  # type: ignore[arg-type]
    _, row_ids = output.label_ids
    return in_unit_order(output.predictions, row_ids, units.row_ids)
