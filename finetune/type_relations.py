"""Which relations a pair of entity types has in training, and which pairs the rows have.

An entity may have several types, "/people/person,/people/deceased_person": a row then has every pair of a
type of its head and one of its tail, and its candidates are the relations that any of them has.

This file travels with a saved model: flat, relative imports only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

Types = tuple[str, str]
NAMED = 3


def type_names(types: str) -> tuple[str, ...]:
    """The different types that a text names, sorted.

    >>> type_names("/people/person, /business/board_member"), type_names(" ")
    (('/business/board_member', '/people/person'), ())
    """
    return tuple(sorted({name.strip() for name in types.split(",")} - {""}))


def check_types(types: Sequence[Types | None] | None, *, row_names: Sequence[str], where: str) -> list[Types]:
    """The types of head and tail of every row.

    Args:
        types: As the data has them; None where it has none.
        row_names: Ids, for the message.
        where: What the rows are called.

    Raises:
        ValueError: There are none, or an entity has no type: the first such rows and how many there are.

    >>> check_types([("CITY", "PERSON"), ("", "PERSON")], row_names=["a", "b"], where="test")
    Traceback (most recent call last):
    ...
    ValueError: test: 1 of 2 rows has an entity without a type ('b'), and the classifier head \
'type_restriction' needs the types of both; give every entity one, or use another head.
    """
    what = "and the classifier head 'type_restriction' needs the types of both"
    if types is None:
        raise ValueError(f"{where}: the entities have no types, {what}; use other data, or another head.")
    whole = [pair for pair in types if pair is not None and all(map(type_names, pair))]
    if len(whole) < len(types):
        lacking = [
            name
            for name, pair in zip(row_names, types, strict=True)
            if pair is None or not all(map(type_names, pair))
        ]
        first = ", ".join(map(repr, lacking[:NAMED])) + (", ..." if len(lacking) > NAMED else "")
        raise ValueError(
            f"{where}: {len(lacking)} of {len(types)} rows {'have' if len(lacking) > 1 else 'has'} an entity "
            f"without a type ({first}), {what}; give every entity one, or use another head."
        )
    return whole


@dataclass(frozen=True)
class PairIds:
    """The known pairs of types of many rows in flat arrays.

    Attributes:
        ids: Positions in `TypeRelations.pairs`, int32, all rows one after another.
        starts: int64, shape (num_rows + 1,); row i has ids[starts[i]:starts[i + 1]], possibly none.
    """

    ids: np.ndarray
    starts: np.ndarray

    def padded(self, rows: np.ndarray) -> np.ndarray:
        """The ids of these rows with -1 behind, int64, shape (len(rows), most of them, at least 1).

        >>> PairIds(np.array([4, 7, 2]), np.array([0, 2, 2, 3])).padded(np.array([0, 1, 2])).tolist()
        [[4, 7], [-1, -1], [2, -1]]
        """
        starts = self.starts[rows]
        counts = self.starts[rows + 1] - starts
        columns = np.arange(max(1, int(counts.max(initial=0))))
        there = columns < counts[:, None]
        padded = np.full(there.shape, -1, dtype=np.int64)
        padded[there] = self.ids[(starts[:, None] + columns)[there]]
        return padded

    def select(self, rows: np.ndarray) -> PairIds:
        """Those of these rows, in their order."""
        padded = self.padded(rows)
        counts = self.starts[rows + 1] - self.starts[rows]
        return PairIds(ids=padded[padded >= 0].astype(np.int32), starts=_starts(counts))


@dataclass(frozen=True)
class TypeRelations:
    """Pairs of types with the relations that they have in training; a pair without any is none of them.

    Attributes:
        pairs: Head type and tail type, sorted.
        relations: The label ids of each pair, rising, at least one.
    """

    pairs: tuple[Types, ...]
    relations: tuple[tuple[int, ...], ...]

    @classmethod
    def learnt(cls, *, types: Iterable[Types], labels: np.ndarray, negative_id: int) -> TypeRelations:
        """From the training rows.

        Args:
            types: Head types and tail types of each row, see `type_names`.
            labels: Label ids, shape (num_rows,).
            negative_id: The label that is no relation.

        Raises:
            ValueError: No row has a relation.

        >>> learnt = TypeRelations.learnt(
        ...     types=[("city", "person,band"), ("city", "band")], labels=np.array([2, 1]), negative_id=0)
        >>> learnt.as_lists()
        [['city', 'band', [1, 2]], ['city', 'person', [2]]]
        """
        found: dict[Types, set[int]] = {}
        for pair, label in zip(types, labels.tolist(), strict=True):
            if label != negative_id:
                for one in _products(pair):
                    found.setdefault(one, set()).add(label)
        if not found:
            raise ValueError(
                "no training row has a relation, so there are none that types could allow; give other data."
            )
        pairs = sorted(found)
        return cls(tuple(pairs), tuple(tuple(sorted(found[pair])) for pair in pairs))

    @classmethod
    def of(cls, lists: Iterable[Sequence]) -> TypeRelations:
        """From what `as_lists` gave."""
        rows = [(str(head), str(tail), tuple(relations)) for head, tail, relations in lists]
        return cls(tuple((head, tail) for head, tail, _ in rows), tuple(own for _, _, own in rows))

    def as_lists(self) -> list[list]:
        """[head type, tail type, label ids] of each pair: what a config holds."""
        return [[*pair, list(own)] for pair, own in zip(self.pairs, self.relations, strict=True)]

    def entries(self, num_labels: int) -> np.ndarray:
        """A number for every relation of a pair, counted up, else -1: int32, shape (num_pairs, num_labels).

        >>> TypeRelations((("a", "b"), ("a", "c")), ((1, 2), (2,))).entries(3).tolist()
        [[-1, 0, 1], [-1, -1, 2]]
        """
        table = np.full((len(self.pairs), num_labels), -1, dtype=np.int32)
        pairs = np.repeat(np.arange(len(self.pairs)), [len(own) for own in self.relations])
        labels = np.fromiter((label for own in self.relations for label in own), dtype=np.int64)
        table[pairs, labels] = np.arange(len(pairs))
        return table

    @cached_property
    def _positions(self) -> dict[Types, int]:
        return {pair: position for position, pair in enumerate(self.pairs)}

    def _known(self, types: Types) -> list[int]:
        """Positions of the pairs of a row that have relations."""
        return [self._positions[pair] for pair in _products(types) if pair in self._positions]

    def pairs_of(self, types: Sequence[Types]) -> PairIds:
        """The known pairs of every row; one whose types training has not seen with a relation has none.

        Args:
            types: Head types and tail types of each row, see `type_names`.
        """
        own = {pair: self._known(pair) for pair in dict.fromkeys(types)}
        counts = np.fromiter((len(own[pair]) for pair in types), dtype=np.int64, count=len(types))
        ids = np.fromiter((known for pair in types for known in own[pair]), dtype=np.int32)
        return PairIds(ids=ids, starts=_starts(counts))

    def counts(self, types: Sequence[Types], *, labels: np.ndarray, negative_id: int) -> dict[str, int]:
        """Rows by how many candidates they have, and those whose relation is none of them, for reports.

        >>> relations = TypeRelations((("a", "b"),), ((1, 2),))
        >>> relations.counts([("a", "b"), ("a", "c")], labels=np.array([0, 1]), negative_id=0)
        {'num_without_relation': 1, 'num_by_rule': 0, 'num_several': 1, 'num_ruled_out': 1}
        """
        own = {
            pair: frozenset(label for known in self._known(pair) for label in self.relations[known])
            for pair in dict.fromkeys(types)
        }
        sizes = np.array([len(own[pair]) for pair in types], dtype=np.int64)
        ruled_out = [
            label != negative_id and label not in own[pair]
            for pair, label in zip(types, labels.tolist(), strict=True)
        ]
        return {
            "num_without_relation": int((sizes == 0).sum()),
            "num_by_rule": int((sizes == 1).sum()),
            "num_several": int((sizes > 1).sum()),
            "num_ruled_out": sum(ruled_out),
        }


def _products(types: Types) -> Iterable[Types]:
    return product(type_names(types[0]), type_names(types[1]))


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
