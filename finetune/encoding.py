"""Sentences with two spans -> windowed token ids with the entities shown, ready to be batched."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from tokenizers.models import WordLevel

from .encoded_rows import EncodedRows, RowBuilder, RowStatus, ShownSentence
from .entity_inputs import EntityInput
from .markers import (
    HEAD_END,
    HEAD_START,
    TAIL_END,
    TAIL_START,
    Insertion,
    Span,
    check_span,
    marker_insertions,
)
from .prompt import prompt_ids

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_PER_CALL = 1024
CLOSING = (HEAD_END, TAIL_END)


class RowEncoder:
    """Turns sentences and spans into EncodedRows, the same way for training, evaluation and later use."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, *, entity_input: EntityInput, max_length: int
    ) -> None:
        """Prepare for a tokenizer that already has the new tokens of the input.

        Args:
            tokenizer: A fast tokenizer (`encoders.add_entity_tokens`).
            entity_input: How the entities are shown.
            max_length: Most tokens per row, special tokens and markers included.

        Raises:
            ValueError: `max_length` leaves no room for two entities, or the tokenizer does not know the
                punctuation that marks them.
        """
        self.tokenizer = tokenizer
        self.entity_input = entity_input
        # Where a token is a whole word, half of "York-based" would be lost to the entity.
        whole_words = isinstance(tokenizer.backend_tokenizer.model, WordLevel)
        self.cuts_words = entity_input.cuts_words or whole_words
        self._new_tokens = frozenset(entity_input.new_tokens)
        self._pieces: dict[tuple[str, str] | None, list[list[int]]] = {}
        bare = tokenizer("a", add_special_tokens=False)["input_ids"]
        dressed = tokenizer("a")["input_ids"]
        at = next(i for i in range(len(dressed)) if dressed[i : i + len(bare)] == bare)
        self.prefix, self.suffix = dressed[:at], dressed[at + len(bare) :]
        self.budget = max_length - len(self.prefix) - len(self.suffix)
        least = 2 + sum(map(len, self.piece_ids(("a", "a") if entity_input.needs_types else None)))
        if entity_input.prompts:
            if tokenizer.mask_token_id is None:
                raise ValueError(
                    "the input 'prompt' needs a masked language model, and this encoder's tokenizer has no "
                    "mask token."
                )
            ((self._the, _),) = self._tokenize([" the"])
            least += len(self._prompt([0], [0]))
        if self.budget < least:
            needed = least + len(self.prefix) + len(self.suffix)
            raise ValueError(
                f"`max_length` must be at least {needed} to hold two entities as {entity_input.name}; got "
                f"{max_length}."
            )

    def piece_ids(self, types: tuple[str, str] | None) -> list[list[int]]:
        """Token ids of what stands before and after head and tail, in the order of MarkerTokens."""
        if types not in self._pieces:
            self._pieces[types] = [
                [token for text in piece for token in self._word_ids(text)]
                for piece in self.entity_input.pieces(types)
            ]
        return self._pieces[types]

    def _prompt(self, head: list[int], tail: list[int]) -> list[int]:
        return prompt_ids(the=self._the, mask=self.tokenizer.mask_token_id, head=head, tail=tail)  # type: ignore[arg-type]

    def _word_ids(self, text: str) -> list[int]:
        if text in self._new_tokens:
            return [self.tokenizer.convert_tokens_to_ids(text)]  # type: ignore[list-item]
        ((ids, _),) = self._tokenize([text])
        if len(text) == 1 and (not ids or self.tokenizer.unk_token_id in ids):
            raise ValueError(
                f"the encoder's tokenizer does not know {text!r}, which marks an entity in the input "
                f"{self.entity_input.name!r}; use an input with tokens of its own, such as markers."
            )
        return ids

    def encode(
        self,
        *,
        sentences: Sequence[str],
        spans: np.ndarray,
        row_names: Sequence[str],
        types: Sequence[tuple[str, str]] | None = None,
    ) -> EncodedRows:
        """All rows, in order; a row that cannot be used keeps the special tokens only.

        Args:
            sentences: The texts.
            spans: Integers, shape (num_rows, 4): head start, head end, tail start, tail end; -1 when not
                found.
            row_names: Ids for messages.
            types: Head and tail type of each row, for the inputs that show them.

        Raises:
            ValueError: A span is outside its sentence, or the input shows types and there are none.
        """
        builder = RowBuilder(prefix=self.prefix, suffix=self.suffix, budget=self.budget)
        typed = self.entity_input.needs_types
        for first in range(0, len(sentences), ROWS_PER_CALL):
            texts = list(sentences[first : first + ROWS_PER_CALL])
            tokens = self._tokenize(texts)
            for i, text in enumerate(texts):
                head_start, head_end, tail_start, tail_end = spans[first + i].tolist()
                head, tail = Span(head_start, head_end), Span(tail_start, tail_end)
                for span, name in ((head, "head"), (tail, "tail")):
                    check_span(span, name=name, length=len(text), row=row_names[first + i])
                if not (head.found and tail.found):
                    builder.add_unusable(RowStatus.NOT_FOUND)
                    continue
                behind: list[int] = []
                if self.entity_input.prompts:
                    # Behind a blank, as words within a text are.
                    mentions = [f" {text[span.start : span.end].strip()}" for span in (head, tail)]
                    behind = self._prompt(*(ids for ids, _ in self._tokenize(mentions)))
                pair = types[first + i] if typed and types is not None else None
                pieces = self.piece_ids(pair)
                builder.num_unseen_types += self.entity_input.unseen(pair)
                shown = self._shown(text, tokens[i], marker_insertions(head=head, tail=tail), pieces)
                builder.add(shown, behind=behind)
        return builder.finish()

    def _tokenize(self, texts: list[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        # split_special_tokens: a text that spells "[E1]" or "[SEP]" is text, not a token of ours.
        encoded = self.tokenizer(
            texts,
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            split_special_tokens=True,
            verbose=False,
        )
        return list(zip(encoded["input_ids"], encoded["offset_mapping"], strict=True))

    def _shown(
        self,
        text: str,
        tokens: tuple[list[int], list[tuple[int, int]]],
        insertions: Sequence[Insertion],
        pieces: list[list[int]],
    ) -> ShownSentence | None:
        """The sentence with the pieces in place; None when an entity has no token."""
        ids, offsets = tokens
        borders, crossed = _borders(text, offsets, insertions)
        if crossed and self.cuts_words:
            # A token runs across an entity's border: cut the text there, and only there, because a cut next
            # to a blank would leave RoBERTa-like tokenizers with stray blanks as tokens.
            cuts = [0, *sorted(crossed), len(text)]
            texts = [text[start:end] for start, end in pairwise(cuts)]
            ids, offsets = [], []
            for cut, (piece_ids, piece_offsets) in zip(cuts, self._tokenize(texts), strict=False):
                ids += piece_ids
                offsets += [(start + cut, end + cut) for start, end in piece_offsets]
            borders, _ = _borders(text, offsets, insertions)
        own = [0, 0, 0, 0]  # the entities' borders in tokens of the sentence
        begins, ends = [0, 0, 0, 0], [0, 0, 0, 0]  # of the pieces, in tokens of the result
        shown: list[int] = []
        done = num_open = 0
        for border, insertion in zip(borders, insertions, strict=True):
            marker = insertion.marker
            own[marker] = border
            border = max(border, done)
            if not (num_open and self.entity_input.masks):
                shown += ids[done:border]
            begins[marker] = len(shown)
            shown += pieces[marker]
            ends[marker] = len(shown)
            done = border
            num_open += -1 if marker in CLOSING else 1
        shown += ids[done:]
        if own[HEAD_START] >= own[HEAD_END] or own[TAIL_START] >= own[TAIL_END]:
            return None

        def placed(token: int) -> int:
            before = (i.marker for border, i in zip(borders, insertions, strict=True) if border <= token)
            return token + sum(len(pieces[marker]) for marker in before)

        spans: list[int] = []
        starts: list[int] = []
        whole: list[tuple[int, int]] = []
        for start, end in ((HEAD_START, HEAD_END), (TAIL_START, TAIL_END)):
            if self.entity_input.masks:
                span = begins[start], ends[start]
            else:
                span = placed(own[start]), placed(own[end] - 1) + 1
            spans += span
            starts.append(begins[start] if pieces[start] else span[0])
            whole.append((min(begins[start], span[0]), max(ends[end], span[1])))
        return ShownSentence(shown, tuple(starts), tuple(spans), tuple(whole))  # type: ignore[arg-type]


def _borders(
    text: str, offsets: Sequence[tuple[int, int]], insertions: Sequence[Insertion]
) -> tuple[list[int], set[int]]:
    """Token index in front of which each marker stands, and the character positions inside a token."""
    starts, ends = [start for start, _ in offsets], [end for _, end in offsets]
    borders, crossed = [], set()
    for insertion in insertions:
        at = insertion.position
        if insertion.marker in CLOSING:
            border = bisect_left(starts, at)
            inside = border > 0 and text[at : ends[border - 1]].strip()
        else:
            border = bisect_right(ends, at)
            inside = border < len(starts) and text[starts[border] : at].strip()
        borders.append(border)
        if inside:
            crossed.add(at)
    return borders, crossed
