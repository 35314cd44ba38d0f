"""TACRED and its revisions: one JSON array a split, tokens with inclusive spans.

A record, as in the release (other keys are ignored)::

    {"id": "61b3a5c8c9", "relation": "per:title", "token": ["Mr.", "Scheider", "..."], "subj_start": 1,
     "subj_end": 1, "obj_start": 12, "obj_end": 13, "subj_type": "PERSON", "obj_type": "TITLE"}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nyt_h_dataset import tacred_row

from .json_records import as_object, json_array
from .relation_rows import (
    RelationData,
    RelationRecord,
    RowError,
    all_labels,
    collected,
    entity_pair,
    plain_row,
    relation_data,
    with_negative,
)

TACRED_NEGATIVE = "no_relation"
FILES = {"train": "train.json", "validation": "dev.json", "test": "test.json"}
SHAPE = "one JSON array of records with `token`, `subj_start`, `subj_end`, ..."


def read_tacred(
    data_dir: str, *, negative_relation: str | None = None, equal_spans: str = "error"
) -> RelationData:
    """Return TACRED, TACREV or Re-TACRED: train.json, test.json and, where there is one, dev.json.

    The subject is the head. Tokens are joined by blanks. Bracket tokens (-LRB- and the like) become brackets,
    as in the code of [D], where they are tokenized word by word instead. The label list is that of all
    splits, sorted.

    Args:
        data_dir: The folder.
        negative_relation: Default "no_relation".
        equal_spans: "error" or "keep".

    Raises:
        FileNotFoundError: train.json or test.json is not there.
        ValueError: Records that cannot be used (the first and the total), a file that is no array, an empty
            split, a negative relation that no row has.

    Reference: [D] Zhou and Chen 2021, section 2.
    """
    splits = {}
    for split, name in FILES.items():
        path = Path(data_dir) / name
        if path.is_file():
            splits[split] = collected(json_array(path, shape=SHAPE), rows_of, equal_spans=equal_spans)
        elif split != "validation":
            raise FileNotFoundError(
                f"{path} is not there; `data_dir` must hold train.json, test.json and possibly dev.json."
            )
    negative = TACRED_NEGATIVE if negative_relation is None else negative_relation
    return relation_data(
        name="tacred",
        splits=splits,
        label_names=with_negative(all_labels(splits), negative, where=data_dir),
        negative_relation=negative,
    )


def rows_of(raw: Any) -> Iterator[RelationRecord]:
    """Yield the one row of a record.

    Raises:
        RowError: The record is no object, or has no `id`.
        RecordError: A key is missing or of the wrong kind, or a span is not within the tokens.

    >>> record = {"id": "a", "relation": "per:title", "token": ["Ann", "-LRB-", "chair", "-RRB-"]}
    >>> spans = {"subj_start": 0, "subj_end": 0, "obj_start": 2, "obj_end": 2}
    >>> row, = rows_of(record | spans | {"subj_type": "PERSON", "obj_type": "TITLE"})
    >>> row.sentence, row.tail, row.types
    ('Ann ( chair )', Span(start=6, end=11), ('PERSON', 'TITLE'))
    """
    plain = tacred_row(as_object(raw), typed=True)
    if "instance_id" not in plain:
        raise RowError(f"the key `id` is missing; the record has {', '.join(raw)}")
    head, tail = plain["head"], plain["tail"]
    pair = entity_pair(head["word"], tail["word"])
    yield plain_row(plain, name=str(plain["instance_id"]), pair=pair, types=(head["type"], tail["type"]))
