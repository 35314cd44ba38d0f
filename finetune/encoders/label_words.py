"""Label words of relations: the files they are in, and their tokens.

A file is one JSON object, relation name -> five words: what the head is, three words for what is between head
and tail, what the tail is. `python -m finetune.label_words --help` makes one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from weighted_f1_metric import parse_json

from ..model.prompt import NUM_MASKS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

COMMAND = "python -m finetune.label_words"
SHAPE = f"one JSON object, relation name -> {NUM_MASKS} words"
READY = ("nyt_h", "semeval2010", "tacred")


def read_label_words(
    path: str | None, *, label_names: Sequence[str], data: str
) -> dict[str, tuple[str, ...]]:
    """Return the words of each relation, in the order of `label_names`; other relations of the file are not
    used.

    Args:
        path: The file; None for the one that comes with this package for the data.
        label_names: The relations, the negative one included.
        data: The reader's name.

    Raises:
        FileNotFoundError: The file is not there.
        ValueError: No file where the package has none, a file that is not of this shape, a relation without
            words, or two with the same words.
    """
    if path is None:
        if data not in READY:
            raise ValueError(
                f"`--input prompt` needs `--label_words` for {data}, a file with {SHAPE}; `{COMMAND}` makes "
                "one from the relations' names."
            )
        text, where = _ready_text(data), f"{data}'s"
    elif not Path(path).is_file():
        raise FileNotFoundError(f"the file of label words {path} is not there; `{COMMAND}` makes one.")
    else:
        text, where = Path(path).read_text(encoding="utf-8"), path
    given = _parsed(text, where)
    lacking = [name for name in label_names if name not in given]
    if lacking:
        raise ValueError(
            f"{where} label words lack {len(lacking)} of the {len(label_names)} relations (first: "
            f"{lacking[0]!r}); add their words, or make a file with `{COMMAND}` and give it as "
            "`--label_words`."
        )
    words = {name: given[name] for name in label_names}
    owners: dict[tuple[str, ...], str] = {}
    for name, own in words.items():
        if owners.setdefault(own, name) != name:
            raise ValueError(
                f"{where}: {owners[own]!r} and {name!r} have the same words {' '.join(own)!r}, so no score "
                "could tell them apart; change one of them."
            )
    return words


def _ready_text(data: str) -> str:
    return files(__package__).joinpath(f"label_words_{data}.json").read_text("utf-8")


def ready_vocabulary(data: str) -> list[str]:
    """Return every word in the package's own label words for the data, sorted.

    >>> ready_vocabulary("nyt_h")[:3]
    ['advised', 'belongs', 'born']
    """
    return sorted({word for words in _parsed(_ready_text(data), data).values() for word in words})


def _parsed(text: str, where: str) -> dict[str, tuple[str, ...]]:
    try:
        given = parse_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}, line {error.lineno}: not JSON: {error.msg}.") from error
    except ValueError as error:
        raise ValueError(f"{where}: {error}.") from error
    if not isinstance(given, dict):
        raise ValueError(f"{where} must hold {SHAPE}; got a {type(given).__name__}.")
    for name, words in given.items():
        right = isinstance(words, list) and len(words) == NUM_MASKS
        if not right or not all(isinstance(word, str) and word.strip() == word != "" for word in words):
            raise ValueError(
                f"{where}: {name!r} must have a list of {NUM_MASKS} words, the same number for every "
                f"relation; got {json.dumps(words)}."
            )
    return {name: tuple(words) for name, words in given.items()}


def words_fingerprint(words: Mapping[str, Sequence[str]]) -> str:
    """Return 16 hex digits that change with any word."""
    return hashlib.sha256(json.dumps(dict(words)).encode()).hexdigest()[:16]


def word_id(tokenizer: PreTrainedTokenizerBase, word: str) -> int | None:
    """Return the id of the one token that the word is after a blank; None where it is several, or unknown."""
    ids = tokenizer(f" {word}", add_special_tokens=False, split_special_tokens=True)["input_ids"]
    return ids[0] if len(ids) == 1 and ids[0] != tokenizer.unk_token_id else None


def label_word_ids(tokenizer: PreTrainedTokenizerBase, words: Mapping[str, Sequence[str]]) -> list[list[int]]:
    """Return the token ids of the words of each relation, shape (num_labels, 5).

    Raises:
        ValueError: Words that are not one token of the vocabulary.
    """
    ids = {word: word_id(tokenizer, word) for own in words.values() for word in own}
    unknown = [
        f"{word!r} ({name!r}, mask {slot})"
        for name, own in words.items()
        for slot, word in enumerate(own, start=1)
        if ids[word] is None
    ]
    if unknown:
        raise ValueError(
            f"{len(unknown)} label words are not one token of the encoder's vocabulary: "
            f"{', '.join(unknown[:5])}{', ...' if len(unknown) > 5 else ''}; put other words in their place, "
            f"or make a file with words that the vocabulary has, with `{COMMAND}`, and give it as "
            "`--label_words`."
        )
    return [[number for word in own if (number := ids[word]) is not None] for own in words.values()]
