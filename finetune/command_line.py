"""The training command: words on the command line, or one JSON or YAML file -> a run; and the help."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .arguments import OWN_GROUPS, Settings, preset_flags
from .training.processes import is_main_process, print_error, quieten

if TYPE_CHECKING:
    from transformers import HfArgumentParser

    from .trainer_arguments import RelationTrainingArguments

USAGE = """python -m finetune --data_dir DIR --model_name_or_path ENCODER --output_dir OUT [...]
       python -m finetune --data_dir DIR --encoder pcnn [--word_vectors FILE] --output_dir OUT [...]
       python -m finetune --data_dir DIR --input prompt --model_name_or_path ENCODER --output_dir OUT [...]
       python -m finetune settings.json      (or .yaml: the same names without dashes)
       python -m finetune demo               (a run on a synthetic sample, offline; see demo --help)"""
DESCRIPTION = (
    "Fine-tune an entity-marker relation classifier and score it: precision, recall and F1 under five "
    "averages, against distant and, where there are some, human labels."
)
EPILOG = (
    "Training flags of the transformers Trainer work under their own names, for example --num_train_epochs "
    "3, --learning_rate 3e-5, --per_device_train_batch_size 32, --bf16 false (default: where the processor "
    "has it built in), --seed 42. --help_trainer lists them all."
)


class UserError(ValueError):
    """A fault of the words on the command line."""


def _parser(groups: Sequence[Any]) -> HfArgumentParser:
    from transformers import HfArgumentParser

    class Parser(HfArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise UserError(message)

    return Parser(
        list(groups),
        prog="python -m finetune",
        usage=USAGE,
        description=DESCRIPTION,
        epilog=EPILOG,
        allow_abbrev=False,
    )


def help_text(*, with_trainer: bool = False) -> str:
    """The help: our flags, quick to make; or with all of the Trainer's, less those that are refused here."""
    if not with_trainer:
        parser = _parser(OWN_GROUPS)
        parser.add_argument(
            "--output_dir", help="The folder for everything that is written.", metavar="OUTPUT_DIR"
        )
        return parser.format_help()
    from .trainer_arguments import REFUSED, RelationTrainingArguments

    parser = _parser([*OWN_GROUPS, RelationTrainingArguments])
    for action in parser._actions:
        if action.dest in REFUSED:
            action.help = argparse.SUPPRESS
    return parser.format_help()


def known_flags() -> frozenset[str]:
    """The names of all flags, ours and those of the Trainer that are taken."""
    from .trainer_arguments import REFUSED, RelationTrainingArguments

    groups = (*OWN_GROUPS, RelationTrainingArguments)
    return frozenset(item.name for group in groups for item in fields(group) if item.init) - {*REFUSED}


def parse_arguments(words: Sequence[str]) -> Settings:
    """Return the settings that the words, or the file that they name, ask for.

    Raises:
        FileNotFoundError: The settings file is not there.
        ValueError: An unknown flag, a value that a flag does not take, a settings file that is broken.
    """
    from .trainer_arguments import RelationTrainingArguments

    parser = _parser([*OWN_GROUPS, RelationTrainingArguments])
    if len(words) == 1 and words[0].endswith((".json", ".yaml", ".yml")):
        settings = _settings(Path(words[0]))
        preset = preset_flags(settings.get("encoder"), settings.get("input"))
        return Settings(*parser.parse_dict(preset | settings))
    parser.set_defaults(**preset_flags(*_system(words)))
    return Settings(*parser.parse_args_into_dataclasses(list(words), look_for_args_file=False))


def _system(words: Sequence[str]) -> tuple[str | None, str | None]:
    """The encoder and the input that the words name, before they are checked."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--encoder", nargs="?")
    parser.add_argument("--input", nargs="?")
    found = parser.parse_known_args(words)[0]
    return found.encoder, found.input


def _settings(path: Path) -> dict[str, object]:
    if not path.is_file():
        raise FileNotFoundError(f"the settings file {path} is not there.")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        try:
            settings = json.loads(text)
        except json.JSONDecodeError as error:
            raise UserError(f"{path}, line {error.lineno}: not JSON: {error.msg}.") from error
    else:
        import yaml

        try:
            settings = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(settings, dict):
        raise UserError(
            f"{path} must hold one mapping from flag names to values; got {type(settings).__name__}."
        )
    return settings


def train_command(argv: Sequence[str]) -> int:
    """Train and score what the words ask for; the exit status: 0, 2 for faults, 130 when it was stopped."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    quieten()
    try:
        settings = parse_arguments(argv)
        from transformers.utils import logging

        from .training.multi_seed import start_run

        logging.disable_progress_bar()  # those of loading and saving; the Trainer's stay
        run = start_run(settings)
    except (ValueError, OSError) as error:
        print_error(str(error))
        return 2
    from .model.prediction_records import TrainingDivergedError
    from .report.report_tables import report_sections
    from .report.results import score_table
    from .training.multi_seed import finish_run
    from .training.relation_trainer import SavingError

    try:
        results = finish_run(run)
    except (TrainingDivergedError, SavingError) as error:
        print_error(str(error))
        return 2
    except KeyboardInterrupt:
        if is_main_process():
            print(f"stopped; the same command goes on with what {run.folder} holds.", file=sys.stderr)
        return 130
    if is_main_process():
        tables = [score_table(results), *(f"{title}\n\n{body}" for title, body in report_sections(results))]
        print("\n" + "\n\n".join(tables) + f"\n\nwritten to {run.folder}: results.json, README.md, seed-*/")
        training = run.settings.training
        if training.push_to_hub:
            return _pushed(run.folder, results, training)
    return 0


def _pushed(folder: Path, results: Mapping[str, Any], training: RelationTrainingArguments) -> int:
    """Push the run; what it wrote stays, whatever the Hub says."""
    from .push import push_run

    repo_id = str(training.hub_model_id)
    try:
        is_public = training.hub_private_repo is False
        print(push_run(folder, repo_id=repo_id, results=results, public=is_public))
    except (ValueError, OSError) as error:
        print_error(
            f"{error} The run is finished; push it with `python -m finetune.push --run {folder} --repo_id "
            f"{repo_id}`."
        )
        return 2
    return 0
