"""Runs of the command, one after another, with the loss of every step of each written to a file.

`python traced_run.py RUNS.json`: a list of (TRACE, FLAGS). With `TRACE:STEP` each process kills itself after
that step. A launcher starts this file; a test calls `traced` for one process.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from finetune.__main__ import main
from finetune.training.processes import is_main_process, leave
from finetune.training.relation_trainer import EvaluationLines


def traced(trace: str, words: list[str]) -> int:
    """Run the command; TRACE then holds the losses that the Trainer logged, and their steps."""
    kept = EvaluationLines.on_train_end
    trace, _, last = trace.partition(":")
    if last:
        EvaluationLines.on_step_begin = lambda callback, args, state, control, **given: (
            os.kill(os.getpid(), signal.SIGKILL) if state.global_step == int(last) else None
        )

    def on_train_end(callback: Any, args: Any, state: Any, control: Any, **given: Any) -> None:
        if is_main_process():
            logs = [(entry["step"], entry["loss"]) for entry in state.log_history if "loss" in entry]
            Path(trace).write_text(json.dumps(logs))

    EvaluationLines.on_train_end = on_train_end
    try:
        return main(words)
    finally:
        EvaluationLines.on_train_end = kept


if __name__ == "__main__":
    leave(max(traced(trace, words) for trace, words in json.loads(Path(sys.argv[1]).read_text())))
