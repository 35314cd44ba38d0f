"""Records of a data file -> rows of a split: what every reader checks, and how faults are told."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .markers import Span
from .relation_rows import RelationData, RelationRows

NOT_FOUND = Span(-1, -1)
# The name that gives data without a negative relation one that no row has.
NO_SUCH_RELATION = "none"
Raw = TypeVar("Raw")


class RecordFault(ValueError):
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
    """The records of one split, checked.

    Args:
        raws: Where a raw record is (for messages), and the record.
        parse: Raw record -> its rows; raises RecordFault.
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
                    raise RecordFault(f"the relation {record.relation!r} is not in the list of relations")
                if record.name in first_place:
                    raise RecordFault(f"the id {record.name!r} is there already ({first_place[record.name]})")
                first_place[record.name] = where
            records += rows
        except RecordFault as fault:
            faults.append(f"{where}: {fault}")
    if faults:
        raise ValueError(f"{faults[0]}. Records that cannot be used: {len(faults)} of {num_raws}.")
    return records


def _check(record: RelationRecord, *, equal_spans: str, may_be_missing: bool) -> None:
    for name, span in (("head", record.head), ("tail", record.tail)):
        if span == NOT_FOUND and may_be_missing:
            continue
        if not 0 <= span.start < span.end <= len(record.sentence):
            raise RecordFault(
                f"the {name}'s span {span.start} to {span.end} is not within the text "
                f"({len(record.sentence)} characters; the end is exclusive)"
            )
    if equal_spans == "error" and record.head == record.tail != NOT_FOUND:
        raise RecordFault(
            f"head and tail have the same span, {record.head.start} to {record.head.end}; correct it, or "
            "give `--equal_spans keep` to train and score on them"
        )


def joined(tokens: Sequence[Any], *, spans: Sequence[tuple[str, Any, Any]]) -> tuple[str, list[Span]]:
    """Tokens with blanks between them, and the half-open token spans as character spans.

    Args:
        tokens: Strings.
        spans: Name, first token and the token after the last.

    Raises:
        RecordFault: A token is not a string, or a span is not within the tokens.

    >>> joined(["He", "left", "Rome", "."], spans=[("head", 0, 1), ("tail", 2, 3)])
    ('He left Rome .', [Span(start=0, end=2), Span(start=8, end=12)])
    """
    for token in tokens:
        if not isinstance(token, str):
            raise RecordFault(f"a token must be a string; got {token!r}")
    ends = np.cumsum([len(token) + 1 for token in tokens]) - 1
    found = []
    for name, start, end in spans:
        if not (is_integer(start) and is_integer(end)):
            raise RecordFault(f"the {name}'s place must be two integers; got {start!r} and {end!r}")
        if not 0 <= start < end <= len(tokens):
            raise RecordFault(
                f"the {name}'s tokens {start} to {end} (exclusive) are not among the {len(tokens)} tokens"
            )
        found.append(Span(int(ends[start]) - len(tokens[start]), int(ends[end - 1])))
    return " ".join(tokens), found


def is_integer(value: Any) -> bool:
    """Whether it is an int and no bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def needed(record: Mapping[str, Any], key: str, kind: type[Any] = str) -> Any:
    """The value of a key.

    Raises:
        RecordFault: The key is not there, or its value is not of the kind.
    """
    if key not in record:
        raise RecordFault(f"the key `{key}` is missing; the record has {', '.join(map(str, record))}")
    if not isinstance(record[key], kind) or (kind is int and not is_integer(record[key])):
        raise RecordFault(f"`{key}` must be {kind.__name__}; got {record[key]!r:.60}")
    return record[key]


def all_labels(splits: Mapping[str, Sequence[RelationRecord]]) -> tuple[str, ...]:
    """The relations of all splits, sorted: one list, so that a label has one id everywhere."""
    return tuple(sorted({record.relation for records in splits.values() for record in records}))


def with_negative(
    label_names: Sequence[str], negative_relation: str | None, *, where: str
) -> tuple[str, ...]:
    """The label list, which has the negative relation; it is added when it is NO_SUCH_RELATION.

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
    """The records of all splits as arrays, with one label list.

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
