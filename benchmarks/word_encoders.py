"""Training speed and memory of a run, epoch by epoch: units (rows or bags) per second, and memory held.

It takes the flags of `python -m finetune`, trains without evaluation, and prints a line after each epoch. For
the networks on word vectors, on a sample with the published sizes of NYT-H:

    python -m nyt_h_dataset sample FULL --size full
    python -m benchmarks.word_encoders --data_dir FULL --track bag2bag --encoder pcnn --bag_pooling att \\
        --num_train_epochs 5
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import torch
from transformers import TrainerCallback

from finetune.command_line import parse_arguments
from finetune.training.messages import plan_lines
from finetune.training.preparation import prepare
from finetune.training.train import build_trainer

MEBIBYTE = 2**20
WITHOUT_EVALUATION = ("--eval_strategy=no", "--logging_strategy=no", "--disable_tqdm=true")


class EpochLines(TrainerCallback):
    """Prints what each epoch took.

    Attributes:
        memory: Resident bytes at the end of each epoch.
    """

    def __init__(self, *, num_units: int) -> None:
        """Prepare for epochs of so many units."""
        self.num_units = num_units
        self.memory: list[int] = []
        self._began = 0.0

    def on_epoch_begin(self, *given: Any, **named: Any) -> None:
        """Start the clock."""
        self._began = time.perf_counter()

    def on_epoch_end(self, *given: Any, **named: Any) -> None:
        """Print units per second and memory."""
        seconds = time.perf_counter() - self._began
        self.memory.append(psutil.Process().memory_info().rss)
        print(
            f"epoch {len(self.memory)}: {self.num_units / seconds:,.0f} units per second ({seconds:.1f} s), "
            f"{self.memory[-1] / MEBIBYTE:,.0f} MiB held",
            flush=True,
        )


def main(argv: Sequence[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else list(argv)
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return
    with tempfile.TemporaryDirectory() as folder:
        settings = parse_arguments([*argv, *WITHOUT_EVALUATION, "--output_dir", folder])
        before = time.perf_counter()
        prepared = prepare(settings)
        print(f"read and encoded in {time.perf_counter() - before:.1f} s; {torch.get_num_threads()} threads")
        print("\n".join(plan_lines(prepared, settings.training, 1)), flush=True)
        trainer = build_trainer(
            seed=int(settings.training.seed or 0),
            prepared=prepared,
            settings=settings,
            folder=Path(folder),
            say=print,
        )
        lines = EpochLines(num_units=len(prepared.batches["train"]))
        trainer.add_callback(lines)
        trainer.train_from(None)
    if len(lines.memory) > 1:
        growth = (lines.memory[-1] - lines.memory[0]) / MEBIBYTE
        print(f"memory from the first to the last epoch: {growth:+,.0f} MiB")


if __name__ == "__main__":
    main()
