"""What every reader gives: the rows of the splits, with one label list for all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .entity_inputs import short_type
from .type_relations import Types


@dataclass(frozen=True)
class RelationRows:
    """The rows of one split.

    Attributes:
        row_names: The id of each row, unique in the split (`instance_id`, or the sentence number).
        sentences: The texts.
        spans: int64, shape (num_rows, 4): head start, head end, tail start, tail end; -1 when not found.
        labels: int64, shape (num_rows,), positions in RelationData.label_names.
        pair_names: The bag of each row: `bag_id` where the data has one, else the entity pair. Rows of one
            bag have the same name within the split; NYT-H counts its bags anew in each split.
        entity_pairs: The entity pair of each row, the same in every split (guids, or the lower-cased words,
            head and tail divided by a tab); says whether training has seen the pair.
        types: The types of head and tail, per row, as the data names them; several are divided by commas.
            None where the data has no types.
        references: The records that `score_track` reads; None where the data has no human labels.
    """

    row_names: list[str]
    sentences: list[str]
    spans: np.ndarray
    labels: np.ndarray
    pair_names: list[str]
    entity_pairs: list[str]
    types: list[Types] | None = None
    references: list[dict[str, str]] | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.row_names)

    @property
    def short_types(self) -> list[Types] | None:
        """The name that an input shows of the types of head and tail; an entity without one has UNTYPED."""
        if self.types is None:
            return None
        return [(short_type(head), short_type(tail)) for head, tail in self.types]

    def select(self, positions: Sequence[int] | np.ndarray) -> RelationRows:
        """The rows at these positions, in their order."""
        chosen = np.asarray(positions, dtype=np.int64)
        at = chosen.tolist()
        return RelationRows(
            row_names=[self.row_names[i] for i in at],
            sentences=[self.sentences[i] for i in at],
            spans=self.spans[chosen],
            labels=self.labels[chosen],
            pair_names=[self.pair_names[i] for i in at],
            entity_pairs=[self.entity_pairs[i] for i in at],
            types=None if self.types is None else [self.types[i] for i in at],
            references=None if self.references is None else [self.references[i] for i in at],
        )


@dataclass(frozen=True)
class RelationData:
    """A data set.

    Attributes:
        name: The reader's name.
        splits: "train", "test" and, where the data has one, "validation"; "na" holds rows of the negative
            relation that are only predicted (`--evaluate_na`).
        label_names: Relation names by label id, the negative relation included; the same for all splits.
        negative_relation: The name that means "none of the relations".
        groups: Label name -> group for direction-aware scores, None where labels have no direction.
        notes: What a reader of the results should know about the reading, a sentence each.
    """

    name: str
    splits: Mapping[str, RelationRows]
    label_names: tuple[str, ...]
    negative_relation: str
    groups: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        """Refuse an empty split and compute the fingerprint.

        Raises:
            ValueError: A split has no rows.
        """
        for split, rows in self.splits.items():
            if not len(rows):
                raise ValueError(
                    f"the split {split!r} of {self.name} has no rows; training and scoring need some."
                )
        object.__setattr__(self, "fingerprint", self._fingerprint())

    def _fingerprint(self) -> str:
        """16 hex digits that change with any text, span, label, type or id that a run uses."""
        digest = hashlib.sha256(json.dumps([self.label_names, self.negative_relation]).encode())
        for split, rows in sorted(self.splits.items()):
            texts = [split, rows.row_names, rows.sentences, rows.references]
            digest.update(json.dumps([*texts, rows.pair_names, rows.entity_pairs, rows.types]).encode())
            digest.update(rows.spans.tobytes() + rows.labels.tobytes())
        return digest.hexdigest()[:16]

    @property
    def has_human_labels(self) -> bool:
        """Whether the tracks of `score_track` apply."""
        return self.splits["test"].references is not None


def entity_pair(head: str, tail: str) -> str:
    """The key of a pair: head and tail lower-cased, divided by a tab; the order counts.

    >>> entity_pair("New York", "USA")
    'new york\\tusa'
    """
    return f"{head.lower()}\t{tail.lower()}"
