"""What makes a run the run that it is: its flags, and the content of what they name."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .label_words import read_label_words, words_fingerprint
from .relation_rows import RelationData
from .trainer_arguments import given_values

if TYPE_CHECKING:
    from .multi_seed import Arguments


def as_given(arguments: Arguments) -> dict[str, Any]:
    """All of our flags, and those of the Trainer's that differ from its defaults."""
    own = {name: value for group in arguments[:3] for name, value in asdict(group).items()}
    return own | given_values(arguments[3])


def run_identity(arguments: Arguments, *, data: RelationData) -> dict[str, Any]:
    """What a run that goes on must have in common with the one that was stopped, for `claim_folder`.

    Files that flags name may be edited or moved in between: their content counts, and not their path.

    Raises:
        FileNotFoundError, ValueError: The files of label words or word vectors cannot be used.
    """
    _, model, _, training = arguments
    given = as_given(arguments)
    if model.input == "prompt":
        words = read_label_words(model.label_words, label_names=data.label_names, data=data.name)
        given["label_words"] = f"words {words_fingerprint(words)}"
    if model.word_vectors is not None:
        given["word_vectors"] = f"vectors {file_fingerprint(model.word_vectors)}"
    return {"arguments": given, "fingerprint": data.fingerprint, "num_processes": training.world_size}


def file_fingerprint(path: str) -> str:
    """16 hex digits that change with any byte of the file.

    Raises:
        FileNotFoundError: It is not there.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"the file {path} is not there.")
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
