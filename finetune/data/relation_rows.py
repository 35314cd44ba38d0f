"""What every reader gives: the rows of the splits, with one label list for all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from nyt_h_dataset import RecordError

from ..model.entity_inputs import short_type
from ..model.markers import Span
from ..model.prediction_records import FinetuneError

if TYPE_CHECKING:
    from ..model.type_restriction import Types


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

    def units(self, track: str) -> list[str]:
        """Return the unit of each row: its bag on bag2bag, else the row itself."""
        return self.pair_names if track == "bag2bag" else self.row_names

    @property
    def short_types(self) -> list[Types] | None:
        """The name that an input shows of the types of head and tail; an entity without one has UNTYPED."""
        if self.types is None:
            return None
        return [(short_type(head), short_type(tail)) for head, tail in self.types]

    def select(self, positions: Sequence[int] | np.ndarray) -> RelationRows:
        """Return the rows at these positions, in their order."""
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
        is_synthetic: Whether a program made the text, as `nyt_h_dataset.write_sample` does.
        about: What a corpus in NYT-H's format says of itself (`nyt_h_dataset.about.About`); None for NYT-H
            and other data.
    """

    name: str
    splits: Mapping[str, RelationRows]
    label_names: tuple[str, ...]
    negative_relation: str
    groups: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
    is_synthetic: bool = False
    about: Mapping[str, Any] | None = None
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
    def relations(self) -> tuple[str, ...]:
        """The relations by label id, without the negative one."""
        return tuple(name for name in self.label_names if name != self.negative_relation)

    @property
    def negative_id(self) -> int:
        """The label id of the negative relation."""
        return self.label_names.index(self.negative_relation)

    def relations_of(self, split: str) -> list[str]:
        """Return the relation of each row of a split, by name."""
        return [self.label_names[label] for label in self.splits[split].labels.tolist()]

    @property
    def has_human_labels(self) -> bool:
        """Whether the tracks of `score_track` apply."""
        return self.splits["test"].references is not None


def entity_pair(head: str, tail: str) -> str:
    """Return the key of a pair: head and tail lower-cased, divided by a tab; the order counts.

    >>> entity_pair("New York", "USA")
    'new york\\tusa'
    """
    return f"{head.lower()}\t{tail.lower()}"


NOT_FOUND = Span(-1, -1)
# The name that gives data without a negative relation one that no row has.
NO_SUCH_RELATION = "none"
Raw = TypeVar("Raw")


class RowError(FinetuneError, ValueError):
    """What is wrong with one record; `collected` adds where it is and how many there are."""


class RelationRecord(NamedTuple):
    """One row of a split with its relation by name; the fields are those of RelationRows."""

    name: str
    sentence: str
    head: Span
    tail: Span
    relation: str
    pair_name: str
    entity_pair: str
    types: tuple[str, str] | None = None
    bag_label: str | None = None


def collected(
    raws: Iterable[tuple[str, Raw]],
    parse: Callable[[Raw], Iterable[RelationRecord]],
    *,
    equal_spans: str = "keep",
    may_be_missing: bool = False,
    relations: Container[str] | None = None,
) -> list[RelationRecord]:
    """Return the records of one split, checked.

    Args:
        raws: Where a raw record is (for messages), and the record.
        parse: Raw record -> its rows; raises RowError, or RecordError.
        equal_spans: "error" or "keep": rows whose head and tail are the same characters.
        may_be_missing: Whether an entity may have no place (-1, -1).
        relations: The relations there may be; None for any.

    Raises:
        ValueError: Records cannot be used: the first of them and the total.
    """
    records: list[RelationRecord] = []
    faults: list[str] = []
    first_place: dict[str, str] = {}
    num_raws = 0
    for where, raw in raws:
        num_raws += 1
        try:
            rows = list(parse(raw))
            for record in rows:
                _check(record, equal_spans=equal_spans, may_be_missing=may_be_missing)
                if relations is not None and record.relation not in relations:
                    raise RowError(f"the relation {record.relation!r} is not in the list of relations")
                if record.name in first_place:
                    raise RowError(f"the id {record.name!r} is there already ({first_place[record.name]})")
                first_place[record.name] = where
            records += rows
        except (RowError, RecordError) as fault:
            faults.append(f"{where}: {fault}")
    if faults:
        raise ValueError(f"{faults[0]}. Records that cannot be used: {len(faults)} of {num_raws}.")
    return records


def _check(record: RelationRecord, *, equal_spans: str, may_be_missing: bool) -> None:
    for name, span in (("head", record.head), ("tail", record.tail)):
        if span == NOT_FOUND and may_be_missing:
            continue
        if not 0 <= span.start < span.end <= len(record.sentence):
            raise RowError(
                f"the {name}'s span {span.start} to {span.end} is not within the text "
                f"({len(record.sentence)} characters; the end is exclusive)"
            )
    if equal_spans == "error" and record.head == record.tail != NOT_FOUND:
        raise RowError(
            f"head and tail have the same span, {record.head.start} to {record.head.end}; correct it, or "
            "give `--equal_spans keep` to train and score on them"
        )


def is_integer(value: Any) -> bool:
    """Return whether it is an int and no bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def plain_row(
    plain: Mapping[str, Any],
    *,
    name: str,
    pair: str,
    types: tuple[str, str] | None = None,
) -> RelationRecord:
    """Return the row of a record in the columns of `nyt_h_dataset`'s readers, under its name and bag."""
    head, tail = (Span(plain[entity]["start"], plain[entity]["end"]) for entity in ("head", "tail"))
    answer = plain.get("bag_label")
    return RelationRecord(name, plain["sentence"], head, tail, plain["relation"], pair, pair, types, answer)


def all_labels(splits: Mapping[str, Sequence[RelationRecord]]) -> tuple[str, ...]:
    """Return the relations of all splits, sorted: one list, so that a label has one id everywhere."""
    return tuple(sorted({record.relation for records in splits.values() for record in records}))


def with_negative(
    label_names: Sequence[str], negative_relation: str | None, *, where: str
) -> tuple[str, ...]:
    """Return the label list, which has the negative relation; it is added when it is NO_SUCH_RELATION.

    Raises:
        ValueError: No relation has the name.
    """
    names = tuple(label_names)
    if negative_relation in names:
        return names
    if negative_relation == NO_SUCH_RELATION:
        return (*names, NO_SUCH_RELATION)
    got = "none is given" if negative_relation is None else f"{negative_relation!r} is no relation of it"
    raise ValueError(
        f"{where}: which relation means that there is none? {got}. Give `--negative_relation NAME`, one of "
        f"{', '.join(map(repr, names))}; or `--negative_relation {NO_SUCH_RELATION}` if the data have none."
    )


def relation_data(
    *,
    name: str,
    splits: Mapping[str, Sequence[RelationRecord]],
    label_names: Sequence[str],
    negative_relation: str,
    groups: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> RelationData:
    """Return the records of all splits as arrays, with one label list.

    `references` are made for all splits when the test split has a `bag_label`; "unk" stands where nobody
    judged.

    Raises:
        ValueError: A split is empty.
    """
    position = {label: index for index, label in enumerate(label_names)}
    judged = any(record.bag_label is not None for record in splits.get("test", ()))
    return RelationData(
        name=name,
        splits={split: _rows(records, position, judged=judged) for split, records in splits.items()},
        label_names=tuple(label_names),
        negative_relation=negative_relation,
        groups=groups,
        notes=tuple(notes),
    )


def _rows(records: Sequence[RelationRecord], position: Mapping[str, int], *, judged: bool) -> RelationRows:
    spans = np.array([(*record.head, *record.tail) for record in records], dtype=np.int64)
    types = [record.types for record in records if record.types is not None]
    references = [
        {
            "instance_id": record.name,
            "bag_id": record.pair_name,
            "relation": record.relation,
            "bag_label": record.bag_label or "unk",
            "sentence": record.sentence,
        }
        for record in records
        if judged
    ]
    return RelationRows(
        row_names=[record.name for record in records],
        sentences=[record.sentence for record in records],
        spans=spans.reshape(-1, 4),
        labels=np.array([position[record.relation] for record in records], dtype=np.int64),
        pair_names=[record.pair_name for record in records],
        entity_pairs=[record.entity_pair for record in records],
        types=types if len(types) == len(records) else None,
        references=references if judged else None,
    )
