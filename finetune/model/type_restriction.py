"""Relations that the types of the two entities allow: the head and the loss of RECENT.

A detector says whether there is a relation; which one is decided among those that training has for the types
of head and tail. Which these are is learnt from the training rows alone (`type_relations`).

Reference: Lyu and Chen (2021), "Relation Classification with Entity Type Restriction", Findings of ACL, and
its code (github Saintfe/RECENT). Differs: the published system has an encoder for the detector and one for
every pair of types, ours has one for all. Its evaluation reads labels of the test set at two places, ours
does not: it takes the one relation of a pair from the test labels (`prepare_data.py`), and leaves rows of the
negative relation out of the second stage, so that they come out right whatever the detector says
(`recent_eval.py`).

This file travels with a saved model: flat, relative imports only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import torch
from torch import nn

from .bag_pooling import CERTAIN

Types = tuple[str, str]
MAX_LISTED = 3  # names in a message


def type_names(types: str) -> tuple[str, ...]:
    """Return the different types that a text names, sorted.

    >>> type_names("/people/person, /business/board_member"), type_names(" ")
    (('/business/board_member', '/people/person'), ())
    """
    return tuple(sorted({name.strip() for name in types.split(",")} - {""}))


def check_types(types: Sequence[Types | None] | None, *, row_names: Sequence[str], where: str) -> list[Types]:
    """Return the types of head and tail of every row.

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
        first = ", ".join(map(repr, lacking[:MAX_LISTED])) + (", ..." if len(lacking) > MAX_LISTED else "")
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
        """Return the ids of these rows with -1 behind, int64, shape (len(rows), most of them, at least 1).

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
        """Return those of these rows, in their order."""
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
        """Return the restriction from the training rows.

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
        """Return the restriction from what `as_lists` gave."""
        rows = [(str(head), str(tail), tuple(relations)) for head, tail, relations in lists]
        return cls(tuple((head, tail) for head, tail, _ in rows), tuple(own for _, _, own in rows))

    def as_lists(self) -> list[list]:
        """Return [head type, tail type, label ids] of each pair: what a config holds."""
        return [[*pair, list(own)] for pair, own in zip(self.pairs, self.relations, strict=True)]

    def entries(self, num_labels: int) -> np.ndarray:
        """Return a number for every relation of a pair, counted up, else -1: int32, shape (num_pairs,
        num_labels).

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
        """Return the known pairs of every row; one whose types training has not seen with a relation has
        none.

        Args:
            types: Head types and tail types of each row, see `type_names`.
        """
        own = {pair: self._known(pair) for pair in dict.fromkeys(types)}
        counts = np.fromiter((len(own[pair]) for pair in types), dtype=np.int64, count=len(types))
        ids = np.fromiter((known for pair in types for known in own[pair]), dtype=np.int32)
        return PairIds(ids=ids, starts=_starts(counts))

    def counts(self, types: Sequence[Types], *, labels: np.ndarray, negative_id: int) -> dict[str, int]:
        """Return rows by how many candidates they have, and those whose relation is none of them, for
        reports.

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


class TypeRestrictionHead(nn.Module):
    """A detector, and a weight row for every relation that a pair of types has in training.

    With f the vector of a row and d = sigmoid(its detector's logit): the score of relation r is the mean of
    w . f + b over the row's pairs that have r, and p(r) the softmax of the scores of its candidates, the
    relations that any of its pairs has. The logits are

        log d + log p(r)              of a candidate,
        log(1 - d) + max_r log p(r)   of the negative relation,
        -CERTAIN                      of the others,

    so that the best label is the decision in two stages, the negative relation exactly where d < 1/2 and else
    the best candidate, and the odds of the negative relation against that one are those of the detector. One
    candidate is the relation by rule. A row without candidates is surely negative, see
    `RelationClassifier.forward`.

    Bags are pooled by these logits: `avg` is the mean of logarithms, so that a relation which the types of
    one row rule out is out; `att` weighs a row by d p(r).
    """

    entry_of: torch.Tensor

    def __init__(self, *, width: int, relations: TypeRelations, num_labels: int, negative_id: int) -> None:
        """Draw the weights; the biases are 0.

        Args:
            width: Numbers in the vector of a row.
            relations: What the pairs of types have in training.
            num_labels: All labels, the negative relation included.
            negative_id: The negative relation's label id.
        """
        super().__init__()
        self.negative_id = negative_id
        self.detector = nn.Linear(width, 1)
        table = torch.from_numpy(relations.entries(num_labels))
        num_entries = int(table.max()) + 1
        self.weight = nn.Parameter(torch.empty(num_entries, width).normal_(0.0, 0.02))
        self.bias = nn.Parameter(torch.zeros(num_entries))
        # Pair and label -> its row of `weight`, or -1. In the weights' file, because buffers that are not are
        # lost when a model is loaded.
        self.register_buffer("entry_of", table)

    def candidates(self, type_pairs: torch.Tensor) -> torch.Tensor:
        """Return the relations that the rows may have, bool, shape (rows, num_labels).

        Args:
            type_pairs: Known pairs of types of each row, behind them -1, int64, shape (rows, most pairs).
        """
        return (self._entries(type_pairs) >= 0).any(dim=1)

    def forward(
        self, vectors: torch.Tensor, type_pairs: torch.Tensor, *, with_detector: bool = False
    ) -> torch.Tensor:
        """Return the logits of the labels, shape (rows, num_labels).

        With `with_detector` the detector's logit follows them. A row without candidates has -CERTAIN
        for every relation and log(1 - d) for the negative one.

        Args:
            vectors: Shape (rows, width).
            type_pairs: As in `candidates`.
        """
        entries = self._entries(type_pairs).transpose(1, 2)
        known = entries >= 0
        counts = known.sum(dim=2)
        flat, ends = entries[known].long(), counts.flatten().cumsum(0)

        def means(values: torch.Tensor) -> torch.Tensor:
            own = nn.functional.embedding_bag(flat, values, ends - counts.flatten(), mode="mean")
            return own.view(*counts.shape, -1)

        scores = (means(self.weight) @ vectors.unsqueeze(2) + means(self.bias.unsqueeze(1))).squeeze(2)
        scores, detected = scores.float(), self.detector(vectors).float()
        logits = label_logits(scores, counts > 0, detected.squeeze(1), negative_id=self.negative_id)
        return torch.cat([logits, detected], dim=1) if with_detector else logits

    def _entries(self, type_pairs: torch.Tensor) -> torch.Tensor:
        """Return rows of `weight`, or -1, shape (rows, most pairs, num_labels)."""
        return self.entry_of[type_pairs.clamp(min=0)].masked_fill((type_pairs < 0).unsqueeze(2), -1)


def label_logits(
    scores: torch.Tensor, candidates: torch.Tensor, detected: torch.Tensor, *, negative_id: int
) -> torch.Tensor:
    """Return the logits of the labels, shape (rows, num_labels), as `TypeRestrictionHead` says.

    Args:
        scores: Of relations, shape (rows, num_labels).
        candidates: Which of them count, bool, same shape.
        detected: The detector's logits, shape (rows,).
        negative_id: The negative relation's label id, no candidate.

    >>> candidates = torch.tensor([[False, True, True, False], [False, False, False, True]])
    >>> logits = label_logits(torch.zeros(2, 4), candidates, torch.tensor([0.0, 2.0]), negative_id=0)
    >>> (100 * logits.exp()).int().tolist()  # 1/2 * 1/2; sigmoid(2) = 0.88
    [[25, 25, 25, 0], [11, 0, 0, 88]]
    """
    lowest = torch.finfo(scores.dtype).min
    shares = scores.masked_fill(~candidates, lowest).log_softmax(dim=1)
    best = shares.amax(dim=1).masked_fill(~candidates.any(dim=1), 0.0)
    detected = detected.unsqueeze(1)
    relations = (nn.functional.logsigmoid(detected) + shares).masked_fill(~candidates, -CERTAIN)
    none = nn.functional.logsigmoid(-detected) + best.unsqueeze(1)
    is_negative = torch.arange(scores.shape[1], device=scores.device) == negative_id
    return torch.where(is_negative, none, relations)


def restricted_loss(outputs: torch.Tensor, labels: torch.Tensor, negative_id: int) -> torch.Tensor:
    """Return the loss of each unit, shape (units,); 0 where the label is -100.

    It is the binary cross-entropy of the detector, and for a unit with a relation the cross-entropy of its
    candidates added to it. A relation that is no candidate (of a model that goes on with other data) has the
    detector's part only.

    Args:
        outputs: The logits of the labels with the detector's behind them, shape (units, num_labels + 1).
        labels: Label ids, shape (units,).
        negative_id: The negative relation's label id.

    >>> outputs = torch.tensor([[-1.0, -2.0, -2.0, 0.0], [-1.0, -2.0, -2.0, 0.0]])
    >>> restricted_loss(outputs, torch.tensor([0, 2]), 0).tolist()  # log 2; 2 log 2
    [0.6931471824645996, 1.3862943649291992]
    """
    logits, detected = outputs[:, :-1], outputs[:, -1]
    positive = (labels >= 0) & (labels != negative_id)
    found = nn.functional.binary_cross_entropy_with_logits(detected, positive.float(), reduction="none")
    is_negative = torch.arange(logits.shape[1], device=logits.device) == negative_id
    shares = logits.masked_fill(is_negative, torch.finfo(logits.dtype).min).log_softmax(dim=1)
    own = labels.clamp(min=0).unsqueeze(1)
    counted = positive & (logits.gather(1, own).squeeze(1) > -CERTAIN / 2)
    chosen = -shares.gather(1, own).squeeze(1).masked_fill(~counted, 0.0)
    return (found + chosen).masked_fill(labels < 0, 0.0)


def needed_pairs(type_pairs: torch.Tensor | None) -> torch.Tensor:
    """Return the pairs of types that were given.

    Raises:
        ValueError: None were.
    """
    if type_pairs is None:
        raise ValueError(
            "a model with the head 'type_restriction' needs `type_pairs`, the known pairs of types of each "
            "row; see `TypeRelations.pairs_of`."
        )
    return type_pairs
