"""The command's own flags. Help texts live in the fields' metadata only; importing this does not import torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, get_args, get_type_hints


def option(help_text: str, default: Any = MISSING, **metadata: Any) -> Any:
    """A dataclass field with a help text."""
    return field(default=default, metadata={"help": help_text, **metadata})


def check_choices(arguments: object) -> None:
    """Raise ValueError for a value that a Literal field does not allow (a JSON or YAML file can hold any)."""
    hints = get_type_hints(type(arguments))
    for item in fields(arguments):  # type: ignore[arg-type]
        choices = get_args(hints[item.name])
        value = getattr(arguments, item.name)
        if choices and all(isinstance(choice, str) for choice in choices) and value not in choices:
            listed = ", ".join(map(repr, choices))
            raise ValueError(f"`{item.name}` must be one of {listed}; got {value!r}.")


@dataclass
class DataArguments:
    """What is read."""

    data: Literal["nyt_h", "semeval2010"] = option(
        "Which reader: NYT-H (the authors' release, line JSON), or SemEval-2010 Task 8 (TRAIN_FILE.TXT, "
        "TEST_FILE_FULL.TXT).",
        "nyt_h",
    )
    data_dir: str | None = option("The folder with the data files.", None)
    track: Literal["sent2sent"] = option(
        "What is trained on and scored: sent2sent trains on sentences and scores sentences.", "sent2sent"
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a value outside the choices."""
        check_choices(self)


@dataclass
class ModelArguments:
    """What is trained."""

    model_name_or_path: str | None = option(
        "The pretrained encoder: a folder (config.json, weights, tokenizer.json) or a name on the Hugging Face Hub.",
        None,
    )
    representation: Literal["entity_start"] = option(
        "How a sentence becomes one vector: entity_start concatenates the states at the two start markers.",
        "entity_start",
    )
    input: Literal["markers"] = option(
        "How the entities are shown: markers puts [E1] [/E1] around the head and [E2] [/E2] around the tail.",
        "markers",
    )
    max_length: int | None = option(
        "Most tokens per sentence; longer ones are cut to a window around both entities. Default: what the encoder "
        "reads, at most 512.",
        None,
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a value outside the choices."""
        check_choices(self)


@dataclass
class RunArguments:
    """How often, and where the results go."""

    seeds: list[int] | None = option("Seeds that are run one after another, e.g. 9 148 378.", None)
    select_by: str | None = option(
        "The validation measure that chooses among the epochs. Default: dsgt_macro_all_f1 for data with bag_label, "
        "macro_f1 otherwise. Without a validation split nothing is chosen and the final weights are used.",
        None,
    )
    overwrite: bool = option("Delete the run that the output folder holds.", False)

    def __post_init__(self) -> None:
        """Raise ValueError for seeds that are not distinct non-negative integers."""
        if self.seeds is not None:
            check_seeds(self.seeds)


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise ValueError unless the seeds are distinct integers from 0 on, at least one of them."""
    wrong = [seed for seed in seeds if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32]
    if wrong:
        raise ValueError(f"`seeds` must be integers from 0 to 2**32 - 1; got {wrong[0]!r}.")
    if not seeds:
        raise ValueError("`seeds` must name at least one seed; got none.")
    twice = sorted({seed for seed in seeds if list(seeds).count(seed) > 1})
    if twice:
        raise ValueError(f"`seeds` must be distinct: {twice[0]} is given more than once ({len(twice)} such seeds).")


OWN_GROUPS = (DataArguments, ModelArguments, RunArguments)
