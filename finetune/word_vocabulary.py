"""A tokenizer of whole words: those of the training sentences, and those that have a vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

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
) -> PreTrainedTokenizerFast:
    """A fast tokenizer whose vocabulary is the words of these sentences and the words with a vector.

    Give the training sentences and no others: a word that only a test sentence has is unknown, unless the
    vectors know it. Words are lower-cased, as GloVe's are, unless the vectors were made with case. Ids: 0
    is the padding, 1 the unknown word, then come the words that training does not see (`num_unseen_words`
    ids in all), then those of the sentences, the most frequent first.

    Args:
        sentences: The training sentences.
        spans: Integers, shape (num_rows, 4), character offsets of the entities (-1: not found). Words are
            split at the border of an entity, as encoding does.
        vectors: Words that have a vector.

    >>> tokenizer = word_tokenizer(sentences=["The New York-based firm"], spans=np.array([[4, 12, 19, 23]]))
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
    return PreTrainedTokenizerFast(
        tokenizer_object=_plain_tokenizer(vocabulary, cased=cased), pad_token=PADDING, unk_token=UNKNOWN
    )


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
