"""`python -m finetune`: the training command, its help, and the demo."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .command_line import help_text, parse_arguments
from .processes import leave, quieten, say_fault, writes

if TYPE_CHECKING:
    from .trainer_arguments import RelationTrainingArguments


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 2 for what cannot be used, 130 when it was stopped."""
    words = sys.argv[1:] if words is None else list(words)
    if not words or words[0] in ("-h", "--help"):
        print(help_text())
        return 0
    if "--help_trainer" in words:
        print(help_text(with_trainer=True))
        return 0
    if words[0] == "demo":
        from .demo import demo_main

        return demo_main(words[1:])
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    quieten()
    try:
        arguments = parse_arguments(words)
        from transformers.utils import logging

        from .multi_seed import start_run

        logging.disable_progress_bar()  # those of loading and saving; the Trainer's stay
        run = start_run(arguments)
    except (ValueError, OSError) as error:
        say_fault(str(error))
        return 2
    from .checkpoints import SavingError
    from .multi_seed import finish_run
    from .prediction_records import TrainingDivergedError
    from .report_tables import report_sections
    from .results import score_table

    try:
        results = finish_run(run)
    except (TrainingDivergedError, SavingError) as error:
        say_fault(str(error))
        return 2
    except KeyboardInterrupt:
        if writes():
            print(f"stopped; the same command goes on with what {run.folder} holds.", file=sys.stderr)
        return 130
    if writes():
        tables = [score_table(results), *(f"{title}\n\n{body}" for title, body in report_sections(results))]
        print("\n" + "\n\n".join(tables) + f"\n\nwritten to {run.folder}: results.json, README.md, seed-*/")
        training = run.arguments[3]
        if training.push_to_hub:
            return _pushed(run.folder, training)
    return 0


def _pushed(folder: Path, training: RelationTrainingArguments) -> int:
    """Push the run; what it wrote stays, whatever the Hub says."""
    from .push import push_run

    repo_id = str(training.hub_model_id)
    try:
        print(push_run(folder, repo_id=repo_id, public=training.hub_private_repo is False))
    except (ValueError, OSError) as error:
        print(
            f"error: {error} The run is finished; push it with `python -m finetune.push --run {folder} "
            f"--repo_id {repo_id}`.",
            file=sys.stderr,
        )
        return 2
    return 0


if __name__ == "__main__":
    leave(main())
