"""The Trainer for relation batches: our batch plan and loss, and checkpoints that can be relied on."""

from __future__ import annotations

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
from safetensors import SafetensorError
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback
from transformers.trainer import TRAINING_ARGS_NAME
from transformers.trainer_callback import ProgressCallback

from ..model.modeling import unit_losses
from ..report.results import to_json, write_atomically
from ..trainer_arguments import global_batch_size

SEAL = "sealed.json"
PREFIX = "checkpoint-"


class SavingError(OSError):
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
    write_atomically(folder / SEAL, to_json({"files": sizes, "values": dict(values)}))


def sealed_values(folder: Path) -> dict[str, Any] | None:
    """The values of a whole checkpoint; None where the seal or a file is missing or has another size."""
    try:
        content = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in content["files"].items())
    except (OSError, ValueError):
        return None
    return content["values"] if whole else None


def step_of(folder: Path) -> int:
    """Optimizer steps done at a checkpoint, from its name.

    >>> step_of(Path("checkpoint-14"))
    14
    """
    return int(folder.name.removeprefix(PREFIX))


def checkpoints(folder: Path) -> list[Path]:
    """All checkpoint folders in `folder`, whole or not, the latest first."""
    there = [path for path in folder.glob(f"{PREFIX}*") if path.name.removeprefix(PREFIX).isdigit()]
    return sorted(there, key=step_of, reverse=True)


def last_good(folder: Path) -> Path | None:
    """The latest whole checkpoint whose best checkpoint is whole too; None when there is none."""
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
    """Row numbers in training order, int64, shape (num_rows,), each row once.

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


class PlannedSampler:
    """Yields the row numbers of one epoch's plan; the Trainer tells it the epoch through `set_epoch`."""

    def __init__(self, *, lengths: np.ndarray, seed: int, batch_size: int, with_epoch: bool = False) -> None:
        """Keep what the plan depends on; see `batch_plan`.

        With `with_epoch` it yields epoch * num_rows + row, for a dataset that reads a row differently in each
        epoch (`BagBatches`).
        """
        self.lengths, self.seed, self.batch_size, self.epoch = lengths, seed, batch_size, 0
        self.with_epoch = with_epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose plan the next iteration follows."""
        self.epoch = epoch

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        """Row numbers in training order."""
        plan = batch_plan(lengths=self.lengths, seed=self.seed, epoch=self.epoch, batch_size=self.batch_size)
        return iter((plan + self.with_epoch * self.epoch * len(plan)).tolist())


class LongestFirstSampler:
    """Yields row numbers by falling length: little padding, and the largest batch comes first."""

    def __init__(self, lengths: np.ndarray) -> None:
        """Keep the tokens per row, shape (num_rows,)."""
        self.lengths = lengths

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        """Row numbers, longest row first, ties in input order."""
        return iter(np.argsort(-self.lengths, kind="stable").tolist())


class RelationTrainer(Trainer):
    """The Trainer with our batch plan, our loss, row ids kept from the model, and sealed checkpoints.

    Attributes:
        seconds_before: Training time before this process went on from a checkpoint.
    """

    def __init__(
        self, *, label_weights: np.ndarray | None = None, save_every: int | None = None, **given: Any
    ) -> None:
        """Prepare as the Trainer does.

        Args:
            label_weights: See `unit_losses`.
            save_every: Also write a checkpoint after every so many steps.
            **given: What the Trainer takes.
        """
        super().__init__(**given)
        self.label_weights = None if label_weights is None else torch.from_numpy(label_weights)
        self.save_every = save_every
        self.loss_is_scaled_for_ga = True  # `compute_loss` divides by the units of the whole global batch
        self.loss_sum = 0.0
        self.seconds_before = 0.0
        self._began = time.monotonic()

    def train_from(self, checkpoint: Path | None) -> None:
        """Train, from the start or from a whole checkpoint."""
        values = None if checkpoint is None else sealed_values(checkpoint)
        if values is not None:
            self.loss_sum, self.seconds_before = values["loss_sum"], values["seconds"]
        self._began = time.monotonic()
        self.train(resume_from_checkpoint=None if values is None else str(checkpoint))

    @property
    def seconds(self) -> float:
        """Training time so far, evaluations during training included, over all starts of the command."""
        return self.seconds_before + time.monotonic() - self._began

    @property
    def mean_loss(self) -> float:
        """Mean training loss over all steps so far; with several processes each must ask for it."""
        if self.args.world_size > 1:
            shares = torch.tensor(self.loss_sum, dtype=torch.float64, device=self.args.device)
            self.loss_sum = float(self.accelerator.reduce(shares, reduction="mean"))
        return self.loss_sum / max(self.state.global_step, 1)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        rows: Any = self.train_dataset if train_dataset is None else train_dataset
        self._plan = PlannedSampler(
            lengths=rows.lengths,
            seed=self.args.seed,
            batch_size=global_batch_size(self.args),
            with_epoch=rows.samples_rows,
        )
        return self._plan

    def _get_eval_sampler(self, eval_dataset: Any) -> Any:
        return LongestFirstSampler(eval_dataset.lengths)

    def _init_training_state(self, *given: Any) -> tuple[int, int]:
        found = super()._init_training_state(*given)
        best = self.state.best_global_step
        if best:  # the folder may have moved since the state was written
            self.state.best_model_checkpoint = str(Path(str(self.args.output_dir)) / f"{PREFIX}{best}")
        return found

    def _run_epoch(self, *given: Any, **named: Any) -> None:
        if self._is_over():  # the checkpoint that was loaded is that of the last step
            self.control.should_training_stop = True
            return
        # A loader that skips batches does not tell the sampler its epoch when there are several processes.
        self._plan.set_epoch(named["epoch"])
        super()._run_epoch(*given, **named)

    def _is_over(self) -> bool:
        stopped = [
            callback.early_stopping_patience_counter >= callback.early_stopping_patience
            for callback in self.callback_handler.callbacks
            if isinstance(callback, EarlyStoppingCallback)
        ]
        return self.state.global_step >= self.state.max_steps or any(stopped)

    def get_batch_samples(
        self, epoch_iterator: Iterator, num_batches: int, device: torch.device
    ) -> tuple[list, torch.Tensor]:
        """The batches of one optimizer step, and how many units they hold over all processes."""
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        count = torch.tensor(sum(len(batch["labels"]) for batch in batches), device=device)
        return batches, self.accelerator.reduce(count)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """In training this process' share of the mean over the global batch, else the model's own loss."""
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
            loss = losses.sum() * self.accelerator.num_processes / num_items_in_batch
        return (loss, outputs) if return_outputs else loss

    def training_step(self, *given: Any, **named: Any) -> torch.Tensor:
        """Forward and backward of one batch; its share of the loss is added up."""
        loss = super().training_step(*given, **named)
        self.loss_sum += float(loss)
        return loss

    def evaluation_loop(self, *given: Any, **named: Any) -> Any:
        """The Trainer's loop; weights are cast to 16 bits once for all batches, not once a batch."""
        with self.accelerator.autocast():
            return super().evaluation_loop(*given, **named)

    def floating_point_ops(self, inputs: dict[str, torch.Tensor]) -> int:
        """0: the estimate walks through all modules at every step and nothing here reads it."""
        return 0

    def _maybe_log_save_evaluate(self, *given: Any, **named: Any) -> None:
        step = self.state.global_step
        # Not at the last step of an epoch or of all: the evaluation that follows belongs to its checkpoint.
        within = self.state.epoch != int(self.state.epoch or 0) and step < self.state.max_steps
        if self.save_every and step % self.save_every == 0 and within:
            self.control.should_save = True
        super()._maybe_log_save_evaluate(*given, **named)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
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


class ProgressBars(ProgressCallback):
    """The Trainer's bars, with the loss beside the bar instead of a line of raw numbers for each log."""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        """Show the loss of the last logged steps."""
        if self.training_bar is not None and logs and "loss" in logs:
            self.training_bar.set_postfix_str(f"loss {logs['loss']:.4g}")


class EvaluationLines(TrainerCallback):
    """Says the selecting measure at each evaluation."""

    def __init__(self, *, measure: str | None, say: Callable[[str], None]) -> None:
        """Keep the measure's name, as the metric calls it, and where lines go."""
        self.measure, self.say = measure, say

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, float] | None = None, **given: Any
    ) -> None:
        """One line: step, epoch, measure in percent."""
        value = (metrics or {}).get(f"eval_{self.measure}")
        if value is not None and state.is_world_process_zero:
            self.say(
                f"step {state.global_step:,} of {state.max_steps:,} (epoch {state.epoch:.2f}): validation "
                f"{self.measure} {100 * value:.2f}"
            )
