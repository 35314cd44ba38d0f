"""Word vectors from a text file in GloVe's format, checked line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

LINES_PER_BLOCK = 20_000
# A file with at least this share of words with a capital letter was made from text that kept its case.
CASED_SHARE = 0.01


@dataclass(frozen=True)
class WordVectors:
    """The words of a file and their vectors.

    Attributes:
        words: The words, distinct, in the file's order.
        values: float32, shape (num_words, width).
    """

    words: list[str]
    values: np.ndarray

    @property
    def cased(self) -> bool:
        """Whether the words were counted with their case, as in glove.840B and not in glove.6B.

        >>> WordVectors(["The", "the"], np.zeros((2, 1))).cased, WordVectors(["the"], np.zeros((1, 1))).cased
        (True, False)
        """
        return sum(word != word.lower() for word in self.words) >= max(1, CASED_SHARE * len(self.words))


def read_word_vectors(path: str | Path) -> WordVectors:
    """Every word of the file with its vector.

    A line is a word, a blank and the numbers, divided by blanks; all lines have as many numbers as the first.
    A word may hold blanks itself (". . ." in glove.840B), if what stands in front of the numbers is none.

    Raises:
        FileNotFoundError: The file is not there.
        ValueError: A header line, a line of another width, something that is no finite number, a word that
            was there before, or no words; with file and line.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"`word_vectors`: the file {path} is not there.")
    words: list[str] = []
    blocks: list[np.ndarray] = []
    width = 0
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            while block := [line.rstrip("\r\n").rstrip(" ") for line in islice(lines, LINES_PER_BLOCK)]:
                width = width or _width(block[0], path)
                split = [line.rsplit(" ", width) for line in block]
                blocks.append(_numbers(split, width, path, first_line=len(words) + 1))
                words += [fields[0] for fields in split]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text ({error.reason}) after line {len(words)}.") from error
    if not words:
        raise ValueError(f"{path} is empty; it must hold a word and its numbers on each line.")
    _require_distinct(words, path)
    return WordVectors(words=words, values=np.concatenate(blocks))


def _width(line: str, path: Path) -> int:
    """Numbers of the first line."""
    fields = line.split(" ")
    if len(fields) == 2 and all(field.isdecimal() for field in fields):
        raise ValueError(
            f"{path}, line 1: {line!r} is a header (number of words, width), as word2vec writes it; delete "
            "the line: GloVe's format starts with the first word."
        )
    if len(fields) < 2:
        raise ValueError(f"{path}, line 1: {line[:40]!r} is no word with numbers behind it.")
    return len(fields) - 1


def _numbers(split: list[list[str]], width: int, path: Path, *, first_line: int) -> np.ndarray:
    """The numbers of a block of lines, float32, shape (num_lines, width)."""
    try:
        if all(_right_width(fields, width) for fields in split):
            values = np.array([fields[1:] for fields in split], dtype=np.float32)
            if np.isfinite(values).all():
                return values
    except ValueError:
        pass
    for line, fields in enumerate(split, start=first_line):  # which line it is
        for reason in _faults(fields, width):
            raise ValueError(f"{path}, line {line}: {reason}.")
    raise AssertionError("a block of lines is broken, and none of its lines")


def _right_width(fields: list[str], width: int) -> bool:
    """Whether a line, split off from its end, is a word and its numbers."""
    word = fields[0]
    return (
        len(fields) == width + 1 and bool(word) and (" " not in word or not _is_finite(word.split(" ")[-1]))
    )


def _faults(fields: list[str], width: int) -> Iterator[str]:
    """What is wrong with one line."""
    if not _right_width(fields, width):
        word, *numbers = " ".join(fields).split(" ")
        yield f"{len(numbers)} numbers behind {word[:40]!r}; the first line has {width}"
    for field in fields[1:]:
        if not _is_finite(field):
            yield f"{field[:40]!r} in the vector of {fields[0][:40]!r} is no finite number"


def _is_finite(field: str) -> bool:
    try:
        return math.isfinite(float(field))
    except ValueError:
        return False


def _require_distinct(words: list[str], path: Path) -> None:
    if len(set(words)) == len(words):
        return
    first: dict[str, int] = {}
    twice = [(word, line) for line, word in enumerate(words, start=1) if first.setdefault(word, line) != line]
    word, line = twice[0]
    raise ValueError(
        f"{path}, line {line}: the word {word[:40]!r} is there already, in line {first[word]} "
        f"({len(twice)} such lines in all); delete the lines that do not hold."
    )
