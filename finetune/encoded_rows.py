"""Encoded rows in flat arrays, and how they are collected and cut to a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from .type_relations import PairIds
from .windowing import kept_slices


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
        """Rows by what happened to them, for reports: keys num_rows, num_windowed, num_tokens_cut, ..."""
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

    def add(self, shown: ShownSentence | None, *, behind: Sequence[int] = ()) -> None:
        """Append a sentence, cut to a window when it is too long; None: an entity has no token.

        `behind` are the tokens of the prompt behind the sentence, which are never cut.
        """
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
        self.ids.append(np.array(self.prefix + self.suffix, dtype=np.int32))
        self.starts.append([-1] * 2)
        self.spans.append([-1] * 4)
        self.status.append(status)

    def finish(self) -> EncodedRows:
        """All rows that were added."""
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
