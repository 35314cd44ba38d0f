"""The Trainer for relation batches: our batch plan and loss, and checkpoints that can be relied on."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import EarlyStoppingCallback, Trainer
from transformers.trainer import TRAINING_ARGS_NAME

from .checkpoints import PREFIX, keep_only, saving, seal, sealed_values
from .losses import unit_losses
from .sampling import LongestFirstSampler, PlannedSampler
from .trainer_arguments import global_batch_size


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
            with_epoch=rows.draws,
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
