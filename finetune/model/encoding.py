"""Sentences with two spans -> token ids with the entities shown, cut to a window, in flat arrays."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from tokenizers.models import WordLevel

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
from .type_restriction import PairIds

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def kept_slices(
    *, num_tokens: int, head: tuple[int, int], tail: tuple[int, int], budget: int
) -> tuple[tuple[int, int], ...] | None:
    """Return half-open slices of the token sequence to keep, or None when both entities do not fit.

    A sequence that fits is kept whole. Otherwise one window is cut around both entities, with the room left
    over shared between the two sides. Only when the stretch from the first entity to the end of the last is
    itself too long is the middle between the entities shortened, from its centre; then nothing outside the
    entities is kept.

    Args:
        num_tokens: Tokens of the sentence as shown, markers and type words included.
        head: Half-open token positions of the head with its markers and type words.
        tail: The same for the tail; the two may overlap.
        budget: Tokens that may stay.

    >>> kept_slices(num_tokens=20, head=(8, 11), tail=(12, 15), budget=11)
    ((6, 17),)
    >>> kept_slices(num_tokens=20, head=(0, 3), tail=(17, 20), budget=9)
    ((0, 5), (16, 20))
    """
    if num_tokens <= budget:
        return ((0, num_tokens),)
    first, last = min(head[0], tail[0]), max(head[1], tail[1])
    room = budget - (last - first)
    if room >= 0:
        left = min(first, max(room // 2, room - (num_tokens - last)))
        return ((first - left, last + room - left),)
    (start, inner_start), (inner_end, end) = sorted((head, tail))
    room = budget - (inner_start - start) - (end - inner_end)
    if inner_start > inner_end or room < 0:
        return None
    return ((start, inner_start + room - room // 2), (inner_end - room // 2, end))


class RowStatus(IntEnum):
    """What encoding did to a row.

    CANNOT_BE_KEPT: the entities do not fit, or one of them (a blank, say) has no token.
    """

    WHOLE = 0
    WINDOWED = 1
    CANNOT_BE_KEPT = 2
    NOT_FOUND = 3


@dataclass(frozen=True)
class EncodedRows:
    """Token ids of many rows in flat arrays.

    Attributes:
        token_ids: int32, all rows one after another, special tokens included.
        row_starts: int64, shape (num_rows + 1,); row i is token_ids[row_starts[i]:row_starts[i + 1]].
        entity_starts: int32, shape (num_rows, 2), where head and tail start within the row: the start
            marker or mask, or the first own token where the input has none; -1 in a row that cannot be used.
        entity_spans: int32, shape (num_rows, 4), half-open: head first, head end, tail first, tail end of the
            entity's own tokens, without its markers and type words; -1 in a row that cannot be used. The span
            of an entity that another one is nested in holds that one's markers too.
        status: int8, shape (num_rows,), RowStatus.
        num_tokens_cut: Tokens that windowing removed from the rows that it shortened.
        num_unseen_types: Entities whose type has no token of its own.
        type_pairs: The known pairs of types of each row, for the head "type_restriction".
    """

    token_ids: np.ndarray
    row_starts: np.ndarray
    entity_starts: np.ndarray
    entity_spans: np.ndarray
    status: np.ndarray
    num_tokens_cut: int
    num_unseen_types: int = 0
    type_pairs: PairIds | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.status)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per row, int64, shape (num_rows,)."""
        return np.diff(self.row_starts)

    @property
    def usable(self) -> np.ndarray:
        """Rows with both entities in the window, bool, shape (num_rows,)."""
        return self.status <= RowStatus.WINDOWED

    def counts(self) -> dict[str, int]:
        """Return how many rows met what, for reports: keys num_rows, num_windowed, num_tokens_cut, ..."""
        by_status = np.bincount(self.status, minlength=len(RowStatus))
        return {
            "num_rows": len(self),
            "num_windowed": int(by_status[RowStatus.WINDOWED]),
            "num_tokens_cut": self.num_tokens_cut,
            "num_cannot_be_kept": int(by_status[RowStatus.CANNOT_BE_KEPT]),
            "num_not_found": int(by_status[RowStatus.NOT_FOUND]),
            "num_unseen_types": self.num_unseen_types,
        }


@dataclass(frozen=True)
class ShownSentence:
    """A sentence as tokens with its entities shown: positions are those of EncodedRows, within the sentence.

    `whole` is the entities with their markers and type words, half-open: what windowing keeps.
    """

    ids: list[int]
    starts: tuple[int, int]
    spans: tuple[int, int, int, int]
    whole: tuple[tuple[int, int], tuple[int, int]]


class RowBuilder:
    """Collects rows into the flat arrays of EncodedRows."""

    def __init__(self, *, prefix: list[int], suffix: list[int], budget: int) -> None:
        """Prepare for rows of at most `budget` tokens between the special tokens of both ends."""
        self.prefix, self.suffix, self.budget = prefix, suffix, budget
        self.ids: list[np.ndarray] = []
        self.starts: list[Sequence[int]] = []
        self.spans: list[Sequence[int]] = []
        self.status: list[RowStatus] = []
        self.num_tokens_cut = self.num_unseen_types = 0

    def add(
        self, shown: ShownSentence | None, *, behind: Sequence[int] = (), num_unseen_types: int = 0
    ) -> None:
        """Append a sentence, cut to a window when it is too long.

        Args:
            shown: The sentence; None where an entity has no token.
            behind: The tokens of the prompt behind the sentence, which are never cut.
            num_unseen_types: Entities of it whose type has no token of its own.
        """
        self.num_unseen_types += num_unseen_types
        slices = None
        if shown is not None:
            head, tail = shown.whole
            budget = self.budget - len(behind)
            slices = kept_slices(num_tokens=len(shown.ids), head=head, tail=tail, budget=budget)
        if shown is None or slices is None:
            self.add_unusable(RowStatus.CANNOT_BE_KEPT)
            return
        prefix, second = len(self.prefix), slices[-1]
        shift = second[0] - sum(end - start for start, end in slices[:-1])

        def moved(position: int) -> int:
            return prefix + position - (shift if position >= second[0] else slices[0][0])

        kept = [token for start, end in slices for token in shown.ids[start:end]]
        cut = len(shown.ids) - len(kept)
        self.num_tokens_cut += cut
        self.ids.append(np.array([*self.prefix, *kept, *behind, *self.suffix], dtype=np.int32))
        self.starts.append([moved(position) for position in shown.starts])
        first, end, tail_first, tail_end = shown.spans
        self.spans.append([moved(first), moved(end - 1) + 1, moved(tail_first), moved(tail_end - 1) + 1])
        self.status.append(RowStatus.WINDOWED if cut else RowStatus.WHOLE)

    def add_unusable(self, status: RowStatus) -> None:
        """Append a row with the special tokens only."""
        # Where a tokenizer adds no special tokens, any one will do: nothing is read from such a row.
        self.ids.append(np.array(self.prefix + self.suffix or [0], dtype=np.int32))
        self.starts.append([-1] * 2)
        self.spans.append([-1] * 4)
        self.status.append(status)

    def finish(self) -> EncodedRows:
        """Return all rows that were added."""
        lengths = np.array([len(ids) for ids in self.ids], dtype=np.int64)
        return EncodedRows(
            token_ids=np.concatenate(self.ids) if self.ids else np.zeros(0, dtype=np.int32),
            row_starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            entity_starts=np.array(self.starts, dtype=np.int32).reshape(-1, 2),
            entity_spans=np.array(self.spans, dtype=np.int32).reshape(-1, 4),
            status=np.array(self.status, dtype=np.int8),
            num_tokens_cut=self.num_tokens_cut,
            num_unseen_types=self.num_unseen_types,
        )


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
        if entity_input.is_prompt:
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
        """Return token ids of what stands before and after head and tail, in the order of MarkerTokens."""
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
        """Return all rows, in order; a row that cannot be used keeps the special tokens only.

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
                if self.entity_input.is_prompt:
                    # Behind a blank, as words within a text are.
                    mentions = [f" {text[span.start : span.end].strip()}" for span in (head, tail)]
                    behind = self._prompt(*(ids for ids, _ in self._tokenize(mentions)))
                pair = types[first + i] if typed and types is not None else None
                pieces = self.piece_ids(pair)
                shown = self._shown(text, tokens[i], marker_insertions(head=head, tail=tail), pieces)
                builder.add(shown, behind=behind, num_unseen_types=self.entity_input.unseen(pair))
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
        """Return the sentence with the pieces in place; None when an entity has no token."""
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
            if not (num_open and self.entity_input.masks_entities):
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
            if self.entity_input.masks_entities:
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
