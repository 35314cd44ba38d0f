"""The training command: flags, or a JSON or YAML file and flags after it -> a run; and the help."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .arguments import OWN_GROUPS, Settings, preset_flags
from .model.prediction_records import FinetuneError
from .settings_files import nearest, read_settings
from .training.processes import is_main_process, print_error, quieten

if TYPE_CHECKING:
    from transformers import HfArgumentParser

    from .trainer_arguments import RelationTrainingArguments

USAGE = """python -m finetune --data_dir DIR --model_name_or_path ENCODER --output_dir OUT [...]
       python -m finetune --data_dir DIR --encoder pcnn [--word_vectors FILE] --output_dir OUT [...]
       python -m finetune --data_dir DIR --input prompt --model_name_or_path ENCODER --output_dir OUT [...]
       python -m finetune settings.json [...] (or .yaml: the same names without dashes; flags win)
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


class UserError(FinetuneError, ValueError):
    """Arguments of the command that cannot be used."""


def _parser(groups: Sequence[Any]) -> HfArgumentParser:
    from transformers import HfArgumentParser

    class Parser(HfArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise UserError(message)

    parser = Parser(
        list(groups),
        prog="python -m finetune",
        usage=USAGE,
        description=DESCRIPTION,
        epilog=EPILOG,
        allow_abbrev=False,
    )
    for action in parser._actions:
        if action.type is int:
            action.type = whole_number
    return parser


def whole_number(text: str) -> int:
    """Return the integer that a text says, also as 1e3.

    >>> whole_number("32"), whole_number("1e3")
    (32, 1000)

    Raises:
        ValueError: It says none.
    """
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise
        return int(number)


whole_number.__name__ = "int"  # which argparse names in its messages


def help_text(*, with_trainer: bool = False) -> str:
    """Return the help: our flags, quick to make; or with those of the Trainer's that are not refused."""
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
    """Return the names of all flags, ours and those of the Trainer that are taken."""
    from .trainer_arguments import REFUSED, RelationTrainingArguments

    groups = (*OWN_GROUPS, RelationTrainingArguments)
    return frozenset(item.name for group in groups for item in fields(group) if item.init) - {*REFUSED}


def parse_arguments(argv: Sequence[str]) -> Settings:
    """Return the settings that the arguments ask for.

    Args:
        argv: Flags; or a JSON or YAML file, and flags after it, which win over the file's.

    Raises:
        FileNotFoundError: The settings file is not there.
        ValueError: An unknown flag, a value that a flag does not take, a settings file that is broken.
    """
    from .trainer_arguments import RelationTrainingArguments

    parser = _parser([*OWN_GROUPS, RelationTrainingArguments])
    if not argv or not argv[0].endswith(SETTINGS_FILES) or argv[0].startswith("-"):
        parser.set_defaults(**preset_flags(*_system(argv)))
        return Settings(*parser.parse_args_into_dataclasses(list(argv), look_for_args_file=False))
    settings = {**_settings(Path(argv[0])), **_given_flags(parser, argv[1:])}
    preset = preset_flags(settings.get("encoder"), settings.get("input"))
    return Settings(*parser.parse_dict(preset | settings))


SETTINGS_FILES = (".json", ".yaml", ".yml")


def _given_flags(parser: HfArgumentParser, argv: Sequence[str]) -> dict[str, Any]:
    """Return the flags on the command line with their values, and no defaults."""
    for action in parser._actions:
        action.default = argparse.SUPPRESS
    return vars(parser.parse_args(list(argv)))


def _system(argv: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the encoder and the input that the arguments name, before they are checked."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--encoder", nargs="?")
    parser.add_argument("--input", nargs="?")
    found = parser.parse_known_args(argv)[0]
    return found.encoder, found.input


def _settings(path: Path) -> dict[str, Any]:
    """Return flag -> value of a settings file.

    Raises:
        FileNotFoundError: It is not there.
        ValueError: It is broken, or names a flag that there is not.
    """
    settings = read_settings(path, what="settings file")
    if not isinstance(settings, dict):
        raise UserError(
            f"{path} must hold one mapping from flag names to values; got {type(settings).__name__}."
        )
    from .trainer_arguments import REFUSED

    known = known_flags()
    for name in settings:
        if name not in known and name not in REFUSED:  # which have a message of their own
            raise UserError(f"{path}: `{name}` is no flag of this command{nearest(str(name), known)}.")
    return settings


def train_command(argv: Sequence[str]) -> int:
    """Train and score what the arguments ask for; return 0, 2 for what cannot be used, 130 when stopped."""
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
