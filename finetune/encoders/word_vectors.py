"""Word vectors in GloVe's format, the tokenizer of the training words, and the word encoder of both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from ..model.word_encoders import WordEncoder, WordEncoderConfig

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
    def is_cased(self) -> bool:
        """Whether the words were counted with their case, as in glove.840B and not in glove.6B.

        >>> WordVectors(["The", "the"], np.zeros((2, 1))).is_cased
        True
        """
        return sum(word != word.lower() for word in self.words) >= max(1, CASED_SHARE * len(self.words))


def read_word_vectors(path: str | Path) -> WordVectors:
    """Return every word of the file with its vector.

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
    """Return the numbers of a block of lines, float32, shape (num_lines, width)."""
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
    """Return whether a line, split off from its end, is a word and its numbers."""
    word = fields[0]
    return (
        len(fields) == width + 1 and bool(word) and (" " not in word or not _is_finite(word.split(" ")[-1]))
    )


def _faults(fields: list[str], width: int) -> Iterator[str]:
    """Yield what is wrong with one line."""
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


PADDING, UNKNOWN = "[PAD]", "[UNK]"

# Words as GloVe's corpora have them (Penn Treebank style), found in raw and in tokenized text alike. In this
# order: escaped brackets, quotes, dashes and dots; titles and abbreviations with their dots; "n't" and the
# endings behind an apostrophe; words with hyphens, dots or commas inside ("well-known", "1,000.50"); and any
# other visible character by itself.
WORD = (
    r"(?i)-[lr][rsc]b-|``|''|--+|\.\.+"
    r"|\b(?:mr|mrs|ms|dr|st|jr|sr)\.|\b(?:\w\.){2,}"
    r"|n't\b|'(?:s|re|ve|ll|d|m)\b"
    r"|(?:(?!n't\b)\w)+(?:[-.,:/&](?:(?!n't\b)\w)+)*"
    r"|\S"
)


def word_tokenizer(
    *, sentences: Sequence[str], spans: np.ndarray, vectors: WordVectors | None = None
) -> tuple[PreTrainedTokenizerFast, int]:
    """Return a fast tokenizer for the words of these sentences and those with a vector; how many ids training
    lacks.

    Give the training sentences and no others: a word that only a test sentence has is unknown, unless the
    vectors know it. Words are lower-cased, as GloVe's are, unless the vectors were made with case. Ids: 0
    is the padding, 1 the unknown word, then come the words that training does not see, then those of the
    sentences, the most frequent first. The number is that of the ids in front of the last part.

    Args:
        sentences: The training sentences.
        spans: Integers, shape (num_rows, 4), character offsets of the entities (-1: not found). Words are
            split at the border of an entity, as encoding does.
        vectors: Words that have a vector.

    >>> tokenizer, _ = word_tokenizer(
    ...     sentences=["The New York-based firm"], spans=np.array([[4, 12, 19, 23]]))
    >>> tokenizer.convert_ids_to_tokens(tokenizer("The firm in York")["input_ids"])
    ['the', 'firm', '[UNK]', 'york']
    """
    cased = vectors is not None and vectors.is_cased
    counting = _plain_tokenizer({UNKNOWN: 0}, cased=cased)
    trainer = trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=1, show_progress=False)
    counting.train_from_iterator(_pieces(sentences, spans), trainer)
    counted = counting.get_vocab()
    unseen = [word for word in (vectors.words if vectors is not None else ()) if word not in counted]
    words = dict.fromkeys((PADDING, UNKNOWN, *unseen, *sorted(counted, key=counted.__getitem__)))
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_plain_tokenizer(vocabulary, cased=cased), pad_token=PADDING, unk_token=UNKNOWN
    )
    return tokenizer, 2 + len(unseen)


def _plain_tokenizer(vocabulary: dict[str, int], *, cased: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    if not cased:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True)
    return tokenizer


def _pieces(sentences: Iterable[str], spans: np.ndarray) -> Iterator[str]:
    """Yield the sentences, cut at the borders of their entities."""
    for sentence, borders in zip(sentences, spans.tolist(), strict=True):
        cuts = sorted({0, len(sentence), *(border for border in borders if border > 0)})
        yield from (sentence[start:end] for start, end in pairwise(cuts))


def build_word_encoder(
    *, tokenizer: PreTrainedTokenizerBase, vectors: WordVectors | None, shape: Mapping[str, Any]
) -> WordEncoder:
    """Return a word encoder with a row for every token; random values follow from torch's seed.

    A word without a vector in the file starts as a draw from the normal distribution with the mean and
    standard deviation of all numbers of the file, as in [A]'s release. The unknown word has the mean of all
    vectors: no word of training is unknown, so its vector is never trained.

    Args:
        tokenizer: Made by `word_tokenizer`; new tokens may have been added.
        vectors: Vectors of words that the tokenizer knows; None draws all of them at random.
        shape: Values of the `WordEncoderConfig` besides `vocab_size`.

    Reference: [A] Zhu et al. (2020), `helper.py` of the release.
    """
    encoder = WordEncoder(WordEncoderConfig(vocab_size=len(tokenizer), **shape))
    unknown = torch.tensor([tokenizer.unk_token_id])
    if vectors is None:
        encoder.words.set_vectors(unknown, torch.zeros(1, encoder.config.word_size))
        return encoder
    values = torch.from_numpy(vectors.values)
    drawn = values.mean() + values.std() * torch.randn(len(tokenizer), values.shape[1])
    encoder.words.set_vectors(torch.arange(len(tokenizer)), drawn)
    encoder.words.set_vectors(unknown, values.mean(dim=0, keepdim=True))
    ids = tokenizer.get_vocab()
    encoder.words.set_vectors(torch.tensor([ids[word] for word in vectors.words]), values)
    return encoder
