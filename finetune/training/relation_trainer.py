"""The Trainer for relation batches: checkpoints that are whole, the batch plan, the loss, callbacks."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_model
from torch.utils.data import DataLoader, Sampler
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback, TrainerState
from transformers.trainer import TRAINER_STATE_NAME, TRAINING_ARGS_NAME
from transformers.trainer_callback import ProgressCallback
from transformers.utils import SAFE_WEIGHTS_NAME

from weighted_f1_metric import write_text

from ..model.modeling import unit_losses
from ..model.prediction_records import FinetuneError
from ..report.results import to_json

SEAL = "sealed.json"
PREFIX = "checkpoint-"


class SavingError(FinetuneError, OSError):
    """Something could not be written: the disk is full, or the folder cannot be written to."""


@contextmanager
def saving(what: str, *, at: Path) -> Iterator[None]:
    """Raise SavingError where writing fails; torch and safetensors have errors of their own for that."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SavingError(
            f"{what} could not be written to {at}: {reason}. What was there before is kept; make room, then "
            "give the same command again to go on."
        ) from error


def seal(folder: Path, values: Mapping[str, Any]) -> None:
    """Declare the checkpoint whole and keep `values` (JSON) in it; its files are on the disk before the seal.

    Raises:
        OSError: A file cannot be read or the seal not be written.
    """
    sizes = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SEAL):
        with path.open("rb") as file:
            os.fsync(file.fileno())
        sizes[str(path.relative_to(folder))] = path.stat().st_size
    write_text(folder / SEAL, to_json({"files": sizes, "values": dict(values)}))


def sealed_values(folder: Path) -> dict[str, Any] | None:
    """Return the values of a whole checkpoint; None where seal or file is missing or has another size."""
    try:
        content = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in content["files"].items())
    except (OSError, ValueError):
        return None
    return content["values"] if whole else None


def step_of(folder: Path) -> int:
    """Return optimizer steps done at a checkpoint, from its name.

    >>> step_of(Path("checkpoint-14"))
    14
    """
    return int(folder.name.removeprefix(PREFIX))


def checkpoints(folder: Path) -> list[Path]:
    """Return all checkpoint folders in `folder`, whole or not, the latest first."""
    there = [path for path in folder.glob(f"{PREFIX}*") if path.name.removeprefix(PREFIX).isdigit()]
    return sorted(there, key=step_of, reverse=True)


def last_good(folder: Path) -> Path | None:
    """Return the latest whole checkpoint whose best checkpoint is whole too; None when there is none."""
    for path in checkpoints(folder):
        values = sealed_values(path)
        if values is None:
            continue
        best = values["best_step"]
        if best is None or sealed_values(folder / f"{PREFIX}{best}") is not None:
            return path
    return None


def keep_only(folder: Path, kept: set[int]) -> None:
    """Delete the checkpoints of all other steps."""
    for path in checkpoints(folder):
        if step_of(path) not in kept:
            # Without its seal a folder that is half deleted is not taken for a checkpoint.
            (path / SEAL).unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)


# Rows of this many batches are sorted by length together. More of them pad less and mix less.
BATCHES_PER_POOL = 50


def batch_plan(*, lengths: np.ndarray, seed: int, epoch: int, batch_size: int) -> np.ndarray:
    """Return row numbers in training order, int64, shape (num_rows,), each row once.

    Cut into consecutive pieces of `batch_size` it gives batches of rows of similar length; only the last
    may be short, and which rows it holds is random. The batches come in random order.

    Args:
        lengths: Tokens per row, shape (num_rows,).
        seed: The run's seed; 0 is a seed.
        epoch: Number of the epoch, from 0.
        batch_size: Rows per optimizer step over all processes.

    Raises:
        ValueError: `batch_size` is not positive.

    >>> batch_plan(lengths=np.array([9, 1, 8, 2]), seed=0, epoch=0, batch_size=2).reshape(2, 2).tolist()
    [[3, 1], [0, 2]]
    """
    if batch_size <= 0:
        raise ValueError(f"`batch_size` must be a positive integer; got {batch_size}.")
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    full = len(order) - len(order) % batch_size
    pooled, rest = order[:full], order[full:]
    pool_size = batch_size * BATCHES_PER_POOL
    pools = [pooled[at : at + pool_size] for at in range(0, full, pool_size)]
    batches = [pool[np.argsort(-lengths[pool], kind="stable")].reshape(-1, batch_size) for pool in pools]
    if not batches:
        return rest
    stacked = np.concatenate(batches)
    return np.concatenate([stacked[random.permutation(len(stacked))].ravel(), rest])


class PlannedBatches(Sampler[list[int]]):
    """The batches of one process in one epoch, cut from the plan that all processes share.

    The rows of a step are divided among the processes, each row goes to one of them, and all of them have the
    same number of batches: of the last rows of an epoch each gets an equal share, which may be none.
    """

    def __init__(
        self,
        *,
        lengths: np.ndarray,
        seed: int,
        batch_size: int,
        accumulation_steps: int = 1,
        num_processes: int = 1,
        process_index: int = 0,
        samples_rows: bool = False,
    ) -> None:
        """Keep what the plan depends on.

        Args:
            lengths: Tokens per row, shape (num_rows,).
            seed: The run's seed.
            batch_size: Rows of a batch of one process.
            accumulation_steps: Batches of one process in an optimizer step.
            num_processes: Processes that train together.
            process_index: Which of them this is.
            samples_rows: Whether an index is to say its epoch too, as epoch * num_rows + row, for a dataset
                that reads a row differently in each epoch (`BagBatches`).
        """
        self.lengths, self.seed, self.batch_size, self.epoch = lengths, seed, batch_size, 0
        self.step_size = batch_size * num_processes * accumulation_steps
        self.num_processes, self.process_index = num_processes, process_index
        self.samples_rows = samples_rows

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose plan the next iteration follows."""
        self.epoch = epoch

    def __len__(self) -> int:
        """Number of batches, the same for every process."""
        return -(-len(self.lengths) // (self.batch_size * self.num_processes))

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the rows of each batch; none where this process has no share of the last rows."""
        plan = batch_plan(lengths=self.lengths, seed=self.seed, epoch=self.epoch, batch_size=self.step_size)
        plan = plan + self.samples_rows * self.epoch * len(plan)
        shared = self.batch_size * self.num_processes
        for start in range(0, len(plan), shared):
            shares = np.array_split(plan[start : start + shared], self.num_processes)
            yield shares[self.process_index].tolist()


class EpochLoader(DataLoader):
    """A loader whose batches follow the epoch that the Trainer names."""

    def set_epoch(self, epoch: int) -> None:
        """Hand the epoch on to the batch sampler."""
        batches: Any = self.batch_sampler
        batches.set_epoch(epoch)


class LongestFirstSampler:
    """Row numbers by falling length: little padding, and the largest batch comes first."""

    def __init__(self, lengths: np.ndarray) -> None:
        """Keep the tokens per row, shape (num_rows,)."""
        self.lengths = lengths

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        """Yield row numbers, longest row first, ties in input order."""
        return iter(np.argsort(-self.lengths, kind="stable").tolist())


def is_over(state: TrainerState) -> bool:
    """Return whether training had ended, or was stopped early, when the state was saved."""
    callbacks: Any = state.stateful_callbacks
    stopping = callbacks.get(EarlyStoppingCallback.__name__)
    is_stopped = stopping is not None and (
        stopping["attributes"]["early_stopping_patience_counter"]
        >= stopping["args"]["early_stopping_patience"]
    )
    return state.global_step >= state.max_steps or is_stopped


def check_trainer(trainer: type = Trainer, *, version: str = transformers.__version__) -> None:
    """Raise ValueError when the installed transformers would not call what RelationTrainer overrides.

    Public methods are documented hooks; `_save_checkpoint` is not, and may change with any version.
    """
    saves = getattr(trainer, "_save_checkpoint", None)
    if saves is None or list(inspect.signature(saves).parameters) != ["self", "model", "trial"]:
        raise ValueError(
            f"the Trainer of transformers {version} saves checkpoints in another way than those with which "
            "fine-tuning was run: it has no `_save_checkpoint(model, trial)`. Install one of the versions in "
            "docs/fine-tune.md."
        )


class RelationTrainer(Trainer):
    """The Trainer with our batch plan, our loss, row ids kept from the model, and sealed checkpoints."""

    def __init__(self, *, label_weights: np.ndarray | None = None, **given: Any) -> None:
        """Prepare as the Trainer does.

        Args:
            label_weights: See `unit_losses`.
            **given: What the Trainer takes.
        """
        super().__init__(**given)
        self.label_weights = None if label_weights is None else torch.from_numpy(label_weights)
        # `compute_loss` divides by the units of the whole global batch. Said in two ways: transformers before
        # 5.18 divides by the number of batches again where the model does not take `num_items_in_batch`.
        self.loss_is_scaled_for_ga = True
        self.model_accepts_loss_kwargs |= not hasattr(Trainer, "loss_is_scaled_for_ga")
        self.loss_sum = 0.0
        self._loss_sum_before, self._seconds_before = 0.0, 0.0  # up to the checkpoint that is gone on from
        self._began = time.monotonic()

    def train_from(self, checkpoint: Path | None) -> None:
        """Train, from the start or from a whole checkpoint.

        Of a training that had ended the weights are loaded, and no step is made.
        """
        values = None if checkpoint is None else sealed_values(checkpoint)
        if checkpoint is None or values is None:
            self.train()
            return
        self._loss_sum_before, self._seconds_before = values["loss_sum"], values["seconds"]
        state = TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))
        if not is_over(state):
            self.train(resume_from_checkpoint=str(checkpoint))
            return
        self.state, self.loss_sum, self._began = state, self._loss_sum_before, time.monotonic()
        used = checkpoint.with_name(f"{PREFIX}{state.best_global_step or state.global_step}")
        model: Any = self.model
        load_model(model, used / SAFE_WEIGHTS_NAME, strict=False)

    @property
    def seconds(self) -> float:
        """Training time so far, evaluations during training included, over all starts of the command."""
        return self._seconds_before + time.monotonic() - self._began

    @property
    def mean_loss(self) -> float:
        """Mean training loss over all steps so far; with several processes each must ask for it."""
        if self.args.world_size > 1:
            shares = torch.tensor(self.loss_sum, dtype=torch.float64, device=self.args.device)
            self.loss_sum = float(self.accelerator.reduce(shares, reduction="mean"))
        return self.loss_sum / max(self.state.global_step, 1)

    def get_train_dataloader(self) -> DataLoader:
        """Return the loader of this process' batches.

        It is not prepared by accelerate, which would fill up the last batches with rows that were seen.
        `auto_find_batch_size` asks for one at each attempt, of which only the last is counted.
        """
        self.loss_sum, self._began = self._loss_sum_before, time.monotonic()
        rows: Any = self.train_dataset
        accumulated = self.args.gradient_accumulation_steps
        # That of the arguments, or what `auto_find_batch_size` found.
        step_size = self.get_total_train_batch_size(self.args)
        batches = PlannedBatches(
            lengths=rows.lengths,
            seed=self.args.seed,
            batch_size=step_size // (accumulated * self.args.world_size),
            accumulation_steps=accumulated,
            num_processes=self.args.world_size,
            process_index=self.args.process_index,
            samples_rows=rows.samples_rows,
        )
        return EpochLoader(rows, batch_sampler=batches, **self._loading())

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader:
        """Return the loader of an evaluated split, longest rows first."""
        rows: Any = self.eval_dataset if eval_dataset is None else eval_dataset
        loader = DataLoader(
            rows,
            batch_size=self.args.eval_batch_size,
            sampler=LongestFirstSampler(rows.lengths),
            **self._loading(),
        )
        return self.accelerator.prepare(loader)

    def get_test_dataloader(self, test_dataset: Any) -> DataLoader:
        """Return the loader of a split that is only predicted, which is the same."""
        return self.get_eval_dataloader(test_dataset)

    def _loading(self) -> dict[str, Any]:
        """Return the options of a loader that the arguments decide."""
        return {
            "collate_fn": self.data_collator,
            "num_workers": self.args.dataloader_num_workers,
            "pin_memory": self.args.dataloader_pin_memory,
            "persistent_workers": self.args.dataloader_persistent_workers,
            "prefetch_factor": self.args.dataloader_prefetch_factor,
        }

    def get_batch_samples(
        self, epoch_iterator: Iterator, num_batches: int, device: torch.device
    ) -> tuple[list, torch.Tensor]:
        """Return the batches of one optimizer step, and how many units they hold over all processes."""
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        count = torch.tensor(sum(int((batch["row_ids"] >= 0).sum()) for batch in batches), device=device)
        return batches, self.accelerator.reduce(count)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """Return the model's own loss, or in training this process' share of the mean over the global batch.

        A row with the id -1 stands in a batch that has no other, and does not count.
        """
        row_ids = inputs["row_ids"]
        inputs = {name: value for name, value in inputs.items() if name != "row_ids"}
        outputs = model(**inputs)
        loss = outputs["loss"]
        if num_items_in_batch is not None:
            losses = unit_losses(
                outputs["logits"],
                inputs["labels"],
                label_weights=self.label_weights,
                label_smoothing=self.args.label_smoothing_factor,
                **self.model.own_loss,
            )
            # The gradients of the processes are averaged, hence the factor.
            loss = (losses * (row_ids >= 0)).sum() * self.accelerator.num_processes / num_items_in_batch
        return (loss, outputs) if return_outputs else loss

    def training_step(self, *given: Any, **named: Any) -> torch.Tensor:
        """Return the loss of one batch after its forward and backward pass; its share is added up."""
        loss = super().training_step(*given, **named)
        self.loss_sum += float(loss)
        return loss

    def evaluation_loop(self, *given: Any, **named: Any) -> Any:
        """Return what the Trainer's loop gives; weights are cast to 16 bits once, not once a batch."""
        with self.accelerator.autocast():
            return super().evaluation_loop(*given, **named)

    def floating_point_ops(self, inputs: dict[str, torch.Tensor]) -> int:
        """Return 0: the estimate walks through all modules at every step and nothing here reads it."""
        return 0

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # Private: no public hook stands around the saving, whose faults are to become errors of ours.
        step, best = self.state.global_step, self.state.best_global_step
        folder = Path(str(self.args.output_dir))
        target = folder / f"{PREFIX}{step}"
        loss_sum = self.mean_loss * step  # outside of what only one process does
        try:
            with saving(f"the checkpoint of step {step:,}", at=target):
                super()._save_checkpoint(model, trial)
                self.accelerator.wait_for_everyone()
                if self.args.should_save:
                    # Nothing reads it, and it is a pickle that can hold a token.
                    (target / TRAINING_ARGS_NAME).unlink(missing_ok=True)
                    seal(target, {"best_step": best, "loss_sum": loss_sum, "seconds": self.seconds})
                    keep_only(folder, {step} if best is None else {step, best})
        except OSError:
            shutil.rmtree(target, ignore_errors=True)
            raise
        self.accelerator.wait_for_everyone()


class Checkpoints(TrainerCallback):
    """Checkpoints between the evaluations, and where the best one is."""

    def __init__(self, *, save_every: int | None) -> None:
        """Keep after how many steps a checkpoint is written besides those at evaluations."""
        self.save_every = save_every

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Return name the best checkpoint anew: the folder may have moved since the state was written."""
        if state.best_global_step:
            state.best_model_checkpoint = str(Path(args.output_dir) / f"{PREFIX}{state.best_global_step}")

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Ask for a checkpoint where one is due.

        Not at the last step of an epoch or of all: the evaluation that follows belongs to its checkpoint.
        """
        is_within = state.epoch != int(state.epoch) and state.global_step < state.max_steps
        if self.save_every and state.global_step % self.save_every == 0 and is_within:
            control.should_save = True


class ProgressBars(ProgressCallback):
    """The Trainer's bars, with the loss beside the bar instead of a line of raw numbers for each log."""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        """Show the loss of the last logged steps."""
        if self.training_bar is not None and logs and "loss" in logs:
            self.training_bar.set_postfix_str(f"loss {logs['loss']:.4g}")


class EvaluationLines(TrainerCallback):
    """Says the loss where it is logged, and the selecting measure at each evaluation."""

    def __init__(self, *, measure: str | None, say: Callable[[str], None]) -> None:
        """Keep the measure's name, as the metric calls it, and where lines go."""
        self.measure, self.say = measure, say

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        """Say the mean loss since the last such line: step, epoch, loss."""
        if logs and "loss" in logs and state.is_world_process_zero:
            self.say(
                f"step {state.global_step:,} of {state.max_steps:,} (epoch {state.epoch:.2f}): training loss "
                f"{logs['loss']:.4g}"
            )

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, float] | None = None, **given: Any
    ) -> None:
        """Return one line: step, epoch, measure in percent."""
        value = (metrics or {}).get(f"eval_{self.measure}")
        if value is not None and state.is_world_process_zero:
            self.say(
                f"step {state.global_step:,} of {state.max_steps:,} (epoch {state.epoch:.2f}): validation "
                f"{self.measure} {100 * value:.2f}"
            )
