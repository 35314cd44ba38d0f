"""Sentences with two spans -> marked and windowed token ids, ready to be batched."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from .markers import HEAD_END, TAIL_END, Insertion, MarkerTokens, Span, check_span, marker_insertions
from .windowing import kept_slices

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_PER_CALL = 1024
CLOSING = (HEAD_END, TAIL_END)


class RowStatus(IntEnum):
    """What encoding did to a row."""

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
        marker_positions: int32, shape (num_rows, 4), token positions within the row in the order of
            MarkerTokens; -1 in a row that cannot be used.
        status: int8, shape (num_rows,), RowStatus.
        num_tokens_cut: Tokens that windowing removed from the rows that it shortened.
    """

    token_ids: np.ndarray
    row_starts: np.ndarray
    marker_positions: np.ndarray
    status: np.ndarray
    num_tokens_cut: int

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
        """Rows by what happened to them, for reports: keys num_rows, num_windowed, num_tokens_cut, ..."""
        by_status = np.bincount(self.status, minlength=len(RowStatus))
        return {
            "num_rows": len(self),
            "num_windowed": int(by_status[RowStatus.WINDOWED]),
            "num_tokens_cut": self.num_tokens_cut,
            "num_cannot_be_kept": int(by_status[RowStatus.CANNOT_BE_KEPT]),
            "num_not_found": int(by_status[RowStatus.NOT_FOUND]),
        }


def marker_ids(tokenizer: PreTrainedTokenizerBase, markers: MarkerTokens) -> list[int]:
    """The ids of the four markers, in their order."""
    return cast("list[int]", tokenizer.convert_tokens_to_ids(list(markers.tokens)))


class RowEncoder:
    """Turns sentences and spans into EncodedRows, the same way for training, evaluation and later use."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, markers: MarkerTokens, max_length: int) -> None:
        """Prepare for a tokenizer that already has the markers.

        Args:
            tokenizer: A fast tokenizer that has the markers (`encoders.add_marker_tokens`).
            markers: The marker strings.
            max_length: Most tokens per row, special tokens and markers included.

        Raises:
            ValueError: `max_length` leaves no room for two marked entities.
        """
        self.tokenizer = tokenizer
        self.marker_ids = marker_ids(tokenizer, markers)
        bare = tokenizer("a", add_special_tokens=False)["input_ids"]
        dressed = tokenizer("a")["input_ids"]
        at = next(i for i in range(len(dressed)) if dressed[i : i + len(bare)] == bare)
        self.prefix, self.suffix = dressed[:at], dressed[at + len(bare) :]
        self.budget = max_length - len(self.prefix) - len(self.suffix)
        if self.budget < 6:
            needed = 6 + len(self.prefix) + len(self.suffix)
            raise ValueError(
                f"`max_length` must be at least {needed} to hold two marked entities; got {max_length}."
            )

    def encode(self, *, sentences: Sequence[str], spans: np.ndarray, row_names: Sequence[str]) -> EncodedRows:
        """All rows, in order; a row that cannot be used keeps the special tokens only.

        Args:
            sentences: The texts.
            spans: Integers, shape (num_rows, 4): head start, head end, tail start, tail end; -1 when not
                found.
            row_names: Ids for messages.

        Raises:
            ValueError: A span is outside its sentence.
        """
        builder = _RowBuilder(self)
        for first in range(0, len(sentences), ROWS_PER_CALL):
            texts = list(sentences[first : first + ROWS_PER_CALL])
            tokens = self._tokenize(texts)
            for i, text in enumerate(texts):
                head_start, head_end, tail_start, tail_end = spans[first + i].tolist()
                head, tail = Span(head_start, head_end), Span(tail_start, tail_end)
                for span, name in ((head, "head"), (tail, "tail")):
                    check_span(span, name=name, length=len(text), row=row_names[first + i])
                if head.found and tail.found:
                    builder.add(*self._marked(text, tokens[i], marker_insertions(head=head, tail=tail)))
                else:
                    builder.add_unusable(RowStatus.NOT_FOUND)
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

    def _marked(
        self, text: str, tokens: tuple[list[int], list[tuple[int, int]]], insertions: Sequence[Insertion]
    ) -> tuple[list[int], list[int]]:
        """Ids with the markers in place, and the markers' positions in the order of MarkerTokens."""
        ids, offsets = tokens
        borders, crossed = _borders(text, offsets, insertions)
        if crossed:
            # A token runs across an entity's border: cut the text there, and only there, because a cut next
            # to a blank would leave RoBERTa-like tokenizers with stray blanks as tokens.
            cuts = [0, *sorted(crossed), len(text)]
            pieces = [text[start:end] for start, end in pairwise(cuts)]
            ids, offsets = [], []
            for cut, (piece_ids, piece_offsets) in zip(cuts, self._tokenize(pieces), strict=False):
                ids += piece_ids
                offsets += [(start + cut, end + cut) for start, end in piece_offsets]
            borders, _ = _borders(text, offsets, insertions)
        marked: list[int] = []
        positions = [0, 0, 0, 0]
        done = 0
        for border, insertion in zip(borders, insertions, strict=True):
            border = max(border, done)
            marked += ids[done:border]
            positions[insertion.marker] = len(marked)
            marked.append(self.marker_ids[insertion.marker])
            done = border
        return marked + ids[done:], positions


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


class _RowBuilder:
    """Collects rows into the flat arrays of EncodedRows."""

    def __init__(self, encoder: RowEncoder) -> None:
        self.encoder = encoder
        self.ids: list[np.ndarray] = []
        self.positions: list[list[int]] = []
        self.status: list[RowStatus] = []
        self.num_tokens_cut = 0

    def add(self, marked: list[int], positions: list[int]) -> None:
        slices = kept_slices(num_tokens=len(marked), marker_positions=positions, budget=self.encoder.budget)
        if slices is None:
            self.add_unusable(RowStatus.CANNOT_BE_KEPT)
            return
        kept, moved = list(self.encoder.prefix), [0, 0, 0, 0]
        for start, end in slices:
            for marker, position in enumerate(positions):
                if start <= position < end:
                    moved[marker] = len(kept) + position - start
            kept += marked[start:end]
        cut = len(marked) - (len(kept) - len(self.encoder.prefix))
        self.num_tokens_cut += cut
        self._append(kept + self.encoder.suffix, moved, RowStatus.WINDOWED if cut else RowStatus.WHOLE)

    def add_unusable(self, status: RowStatus) -> None:
        self._append(self.encoder.prefix + self.encoder.suffix, [-1] * 4, status)

    def _append(self, ids: list[int], positions: list[int], status: RowStatus) -> None:
        self.ids.append(np.array(ids, dtype=np.int32))
        self.positions.append(positions)
        self.status.append(status)

    def finish(self) -> EncodedRows:
        lengths = np.array([len(ids) for ids in self.ids], dtype=np.int64)
        return EncodedRows(
            token_ids=np.concatenate(self.ids) if self.ids else np.zeros(0, dtype=np.int32),
            row_starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            marker_positions=np.array(self.positions, dtype=np.int32).reshape(-1, 4),
            status=np.array(self.status, dtype=np.int8),
            num_tokens_cut=self.num_tokens_cut,
        )
