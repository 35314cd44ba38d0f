"""Checked columns -> the rows of the `sentence` config: label ids, manual relation, spans (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .folding import same_words
from .mentions import OVERLAPPING, UNIQUE, check_policy, locate
from .record_lines import ENTITIES, SPAN_COLUMNS, SPAN_KEYS, RecordError
from .records import Block, each_record
from .schema import ALL_ROWS, BAG_LABELS, NEGATIVE_RELATION, NEGATIVE_ROWS, NO, UNJUDGED, YES


def instance_table(
    block: Block, relations: list[str], *, unknown_relation: str, mention_policy: str, schema: pa.Schema
) -> tuple[pa.Table, Counter[str]]:
    """Return the rows of `block` as a table of `schema`, and how often each unknown relation came.

    `relations` are all names in id order. A relation that is not among them is an error, becomes the negative
    relation ("na"), or its row is left out ("drop"), as `unknown_relation` says.

    Raises:
        RecordError: an unknown relation (with "error"), a `bag_label` that is not no, yes or unk.
    """
    columns = block.columns
    _check_bag_labels(block)
    relation = pc.index_in(columns["relation"], value_set=pa.array(relations, pa.string())).cast(pa.int64())
    unknown: Counter[str] = Counter()
    if relation.null_count:
        unknown.update(columns["relation"].filter(relation.is_null()).to_pylist())
        if unknown_relation == "error":
            raise RecordError(_unknown_message(block, relation, relations))
        if unknown_relation == "drop":
            columns = columns.filter(relation.is_valid())
            relation = relation.drop_null()
        else:
            relation = relation.fill_null(relations.index(NEGATIVE_RELATION))
    if block.shard.kept != ALL_ROWS:
        compare = pc.equal if block.shard.kept == NEGATIVE_ROWS else pc.not_equal
        kept = compare(columns["relation"], NEGATIVE_RELATION)
        columns, relation = columns.filter(kept), relation.filter(kept)
    bag_label = pc.index_in(columns["bag_label"], value_set=pa.array(BAG_LABELS)).cast(pa.int64())
    manual_relation = pc.if_else(
        pc.equal(bag_label, YES),
        relation,
        pc.if_else(pc.equal(bag_label, NO), relations.index(NEGATIVE_RELATION), UNJUDGED),
    )
    located = locate_rows(
        columns["sentence"].to_pylist(),
        _trimmed(columns["head.word"]),
        _trimmed(columns["tail.word"]),
        policy=mention_policy,
    )
    if any(columns[name].null_count < len(columns) for name in SPAN_COLUMNS):
        located = _with_given_spans(located, columns, block)
    *offsets, status = located
    spans = [pa.array(column) for column in offsets]
    arrays = {
        "instance_id": columns["instance_id"],
        "bag_id": columns["bag_id"],
        "relation": relation,
        "bag_label": bag_label,
        "manual_relation": manual_relation,
        "sentence": columns["sentence"],
        "head": _entity(columns, "head", spans[:2]),
        "tail": _entity(columns, "tail", spans[2:]),
        "mention_status": pa.array(status.astype(np.int64)),
    }
    return pa.table([arrays[name] for name in schema.names], schema=schema), unknown


def _with_given_spans(located: np.ndarray, columns: pa.Table, block: Block) -> np.ndarray:
    """`located` with the gold positions of the rows that have them; each must hold the word."""
    names = [f"{entity}.{key}" for entity in ENTITIES for key in ("word", *SPAN_KEYS)]
    for number, row in enumerate(columns.select(["sentence", *names]).to_pylist()):
        given = []
        for at, entity in zip((0, 2), ENTITIES, strict=True):
            word, start, end = (row[f"{entity}.{key}"] for key in ("word", *SPAN_KEYS))
            if _contradicts(row["sentence"], word, start, end):
                raise RecordError(_contradictions(block))
            if start is not None:
                located[at : at + 2, number] = start, end
                given.append(entity)
        if len(given) == 2:
            head, head_end, tail, tail_end = located[:4, number].tolist()
            located[4, number] = UNIQUE if head_end <= tail or tail_end <= head else OVERLAPPING
    return located


def _contradicts(sentence: str, word: str, start: int | None, end: int | None) -> bool:
    if start is None or end is None:
        return start is not end
    return not (0 <= start < end <= len(sentence) and same_words(sentence[start:end], word))


def _contradictions(block: Block) -> str:
    """The first record of the file with a place that does not hold its word, and how many there are."""
    first, num_wrong, num_records = "", 0, 0
    for where, record in each_record(block.shard.path, array=block.shard.array):
        num_records += 1
        for entity in ENTITIES:
            word, start, end = (record[entity].get(key) for key in ("word", *SPAN_KEYS))
            if _contradicts(record["sentence"], word, start, end):
                there = record["sentence"][start:end]
                first = first or (
                    f"{where}: the {entity} is {word!r}, but {there!r} stands at its place, {start} to {end}"
                )
                num_wrong += 1
                break
    return (
        f"{first}. Records of this file with such a place: {num_wrong} of {num_records}. `start` and `end` "
        "are half-open offsets in characters; correct them, or leave them out: then the words are searched."
    )


def _trimmed(words: pa.ChunkedArray) -> list[str]:
    return [word.strip() for word in words.to_pylist()]


def _entity(columns: pa.Table, name: str, span: list[pa.Array]) -> pa.StructArray:
    texts = [columns[f"{name}.{key}"].combine_chunks() for key in ("guid", "word", "type")]
    return pa.StructArray.from_arrays([*texts, *span], names=["guid", "word", "type", "start", "end"])


def _check_bag_labels(block: Block) -> None:
    known = pc.is_in(block.columns["bag_label"], value_set=pa.array(BAG_LABELS))
    if pc.all(known).as_py():
        return
    row = known.to_pylist().index(False)
    value = block.columns["bag_label"][row].as_py()
    raise RecordError(
        f"{block.where(row)}: `bag_label` must be one of {', '.join(map(repr, BAG_LABELS))}; got {value!r}."
    )


def _unknown_message(block: Block, relation: pa.ChunkedArray, relations: list[str]) -> str:
    row = relation.is_null().to_pylist().index(True)
    name = block.columns["relation"][row].as_py()
    found = (record.get("relation") for _, record in each_record(block.shard.path, array=block.shard.array))
    known = set(relations)
    unknown = [name for name in found if isinstance(name, str) and name not in known]
    return (
        f"{block.where(row)}: the relation {name!r} is not in rel2id.json ({len(unknown)} rows with "
        f"{len(set(unknown))} "
        "unknown relations in this file). Add it to rel2id.json, or pass unknown_relation='na' or 'drop'."
    )


def locate_rows(
    sentences: Iterable[str], heads: Iterable[str], tails: Iterable[str], *, policy: str = "first"
) -> np.ndarray:
    """Return what `locate` finds row by row: int32, shape (5, rows).

    The five are head start, head end, tail start, tail end and status.

    >>> locate_rows(["Ann left Bonn ."], ["Ann"], ["Bonn"]).tolist()
    [[0], [3], [9], [13], [0]]
    """
    check_policy(policy)
    # One flat list: a tuple per row would cost as much as the search.
    found: list[int] = []
    for sentence, head, tail in zip(sentences, heads, tails, strict=True):
        a, b = sentence.find(head), sentence.find(tail)
        a_end, b_end = a + len(head), b + len(tail)
        # The usual row, decided without `locate`: each word once, between blanks, apart from the other.
        if (
            a >= 0
            and b >= 0
            and (a_end <= b or b_end <= a)
            and (not a or sentence[a - 1] == " ")
            and (not b or sentence[b - 1] == " ")
            and sentence[a_end : a_end + 1] in " "
            and sentence[b_end : b_end + 1] in " "
            and a_end > a
            and b_end > b
            and sentence.find(head, a + 1) < 0
            and sentence.find(tail, b + 1) < 0
        ):
            found += (a, a_end, b, b_end, UNIQUE)
        else:
            (a, a_end), (b, b_end), status = locate(sentence, head, tail, policy=policy)
            found += (a, a_end, b, b_end, status)
    return np.array(found, np.int32).reshape(-1, 5).T
