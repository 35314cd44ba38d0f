"""A tokenizer of whole words: those of the training sentences, and those that have a vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from .word_encoders import WordEncoder, WordEncoderConfig
from .word_vectors import WordVectors

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
    """A fast tokenizer for the words of these sentences and those with a vector; how many ids training lacks.

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
    cased = vectors is not None and vectors.cased
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
    """The sentences, cut at the borders of their entities."""
    for sentence, borders in zip(sentences, spans.tolist(), strict=True):
        cuts = sorted({0, len(sentence), *(border for border in borders if border > 0)})
        yield from (sentence[start:end] for start, end in pairwise(cuts))


def build_word_encoder(
    *, tokenizer: PreTrainedTokenizerBase, vectors: WordVectors | None, shape: Mapping[str, Any]
) -> WordEncoder:
    """A word encoder with a row for every token; random values follow from torch's seed.

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
