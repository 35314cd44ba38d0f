"""What is seen while a seed runs: bars on a terminal, one line for each evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback
from transformers.trainer_callback import ProgressCallback


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
