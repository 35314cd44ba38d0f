"""The words on the command line, or in one JSON or YAML file, as checked arguments; and the help."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from .arguments import OWN_GROUPS
from .word_presets import preset_flags

if TYPE_CHECKING:
    from transformers import HfArgumentParser

    from .multi_seed import Arguments

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


def parse_arguments(words: Sequence[str]) -> Arguments:
    """The four argument groups.

    Raises:
        FileNotFoundError: The settings file is not there.
        ValueError: An unknown flag, a value that a flag does not take, a settings file that is broken.
    """
    from .trainer_arguments import RelationTrainingArguments

    parser = _parser([*OWN_GROUPS, RelationTrainingArguments])
    if len(words) == 1 and words[0].endswith((".json", ".yaml", ".yml")):
        settings = _settings(Path(words[0]))
        return cast(
            "Arguments",
            parser.parse_dict(preset_flags(settings.get("encoder"), settings.get("input")) | settings),
        )
    parser.set_defaults(**preset_flags(*_system(words)))
    groups = parser.parse_args_into_dataclasses(list(words), look_for_args_file=False)
    return cast("Arguments", groups)


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
