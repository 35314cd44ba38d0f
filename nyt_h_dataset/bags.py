"""Rows of the `sentence` config -> rows of the `bag` config, column by column (pure; pyarrow and numpy)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .record_lines import RecordError
from .schema import UNK, YES

BAG_KEYS = ("pair", "triple")
_INSTANCE_TEXTS = ("instance_id", "sentence")


def check_bag_key(bag_key: str) -> None:
    """Raise ValueError unless `bag_key` is one of BAG_KEYS."""
    if bag_key not in BAG_KEYS:
        raise ValueError(f"`bag_key` must be one of {', '.join(map(repr, BAG_KEYS))}; got {bag_key!r}.")


def bag_table(
    instances: pa.Table, relations: list[str], *, bag_key: str = "pair", schema: pa.Schema
) -> pa.Table:
    """Return a row per bag, bags in the order of their first instance, as a table of `schema`.

    `instances` has the columns of the `sentence` config (`manual_relation` and `mention_status` are not
    needed); `relations` are all names in id order. With "pair" a bag is a `bag_id`, with "triple" a `bag_id`
    and a relation, and its id is ``<bag_id>|<relation>``. The instances of a bag keep their order.

    `relations` lists the relations of the bag's instances, each once, in the order in which they come; the
    negative relation stands there like any other, so the list is never empty. `manual_relations` are those
    of them with at least one yes. `annotated` is true where every instance is yes or no. `head` and `tail`
    are those of the first instance: within a bag the guid is the same, the words may be spelt differently.

    Raises:
        ValueError: `bag_key` is not one of BAG_KEYS.
        RecordError: a `bag_id` with two entity pairs (guids; where a guid is empty, the word stands for it).

    Reference: Zhu et al. 2020, section 2 (a bag holds the sentences of one entity pair).
    """
    check_bag_key(bag_key)
    instances = instances.combine_chunks()
    _check_pairs(instances)
    relation = instances["relation"].to_numpy()
    codes = _codes(instances["bag_id"])
    if bag_key == "triple":
        codes = _first_seen(codes * len(relations) + relation)
    order = np.argsort(codes, kind="stable")
    codes, relation = codes[order], relation[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    first = pa.array(order[starts])
    judged = instances["bag_label"].to_numpy()[order]

    bag_id = instances["bag_id"].take(first)
    if bag_key == "triple":
        names = pa.array(relations, pa.string()).take(pa.array(relation[starts]))
        bag_id = pc.binary_join_element_wise(bag_id, names, "|")
    arrays = {
        "bag_id": bag_id,
        "head": _entity(instances["head"], first),
        "tail": _entity(instances["tail"], first),
        "relations": _distinct_lists(codes, relation, np.ones(len(codes), bool), len(relations)),
        "manual_relations": _distinct_lists(codes, relation, judged == YES, len(relations)),
        "annotated": pa.array(np.minimum.reduceat(judged != UNK, starts)) if len(starts) else [],
        "instances": _instance_lists(instances, order, starts, schema.field("instances").type),
    }
    return pa.table([arrays[name] for name in schema.names], schema=schema)


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    """The number of each value, numbered as they come."""
    return _whole(column).dictionary_encode().indices.to_numpy().astype(np.int64)


def _first_seen(codes: np.ndarray) -> np.ndarray:
    return _codes(pa.chunked_array([pa.array(codes)]))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _entity(column: pa.ChunkedArray, rows: pa.Array) -> pa.StructArray:
    fields = ("guid", "word", "type")
    return pa.StructArray.from_arrays(
        [_whole(pc.struct_field(column, name)).take(rows) for name in fields], names=list(fields)
    )


def _distinct_lists(
    codes: np.ndarray, relation: np.ndarray, kept: np.ndarray, num_relations: int
) -> pa.ListArray:
    """Per bag (`codes` ascending from 0) the different relations of its rows, in the order of all its rows.

    A relation stays when one of its rows is `kept`.
    """
    keys = codes * num_relations + relation
    distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
    stays = np.zeros(len(distinct), bool)
    stays[which[kept]] = True
    at = np.sort(first[stays])
    num_bags = int(codes[-1]) + 1 if len(codes) else 0
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes[at], minlength=num_bags))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(relation[at]))


def _instance_lists(
    instances: pa.Table, order: np.ndarray, starts: np.ndarray, list_type: pa.ListType
) -> pa.ListArray:
    in_order = bool((np.diff(order) == 1).all())
    rows = pa.array(order)

    def taken(column: pa.ChunkedArray) -> pa.Array:
        return _whole(column) if in_order else _whole(column).take(rows)

    arrays = {name: taken(instances[name]) for name in (*_INSTANCE_TEXTS, "relation", "bag_label")}
    for entity in ("head", "tail"):
        for end in ("start", "end"):
            arrays[f"{entity}_{end}"] = taken(pc.struct_field(instances[entity], end))
    fields = list(list_type.value_type)
    values = pa.StructArray.from_arrays([arrays[field.name] for field in fields], fields=fields)
    offsets = pa.array(np.append(starts, len(order)), pa.int32())
    return pa.ListArray.from_arrays(offsets, values).cast(list_type)


def _check_pairs(instances: pa.Table) -> None:
    codes = _codes(instances["bag_id"])
    if not len(codes):
        return
    pair = np.zeros(len(codes), np.int64)
    for entity in ("head", "tail"):
        guid, word = (pc.struct_field(instances[entity], name) for name in ("guid", "word"))
        if pc.min(pc.binary_length(guid)).as_py() == 0:
            guid = pc.if_else(pc.equal(guid, ""), word, guid)
        entity_codes = _codes(guid)
        pair = pair * (int(entity_codes.max()) + 1) + entity_codes
    _, first_row = np.unique(codes, return_index=True)
    differs = pair != pair[first_row][codes]
    if differs.any():
        row = int(np.argmax(differs))
        places = [_pair_text(instances, at) for at in (int(first_row[codes[row]]), row)]
        raise RecordError(
            f"the bag {instances['bag_id'][row].as_py()!r} holds two entity pairs: {places[0]} and "
            f"{places[1]} ({len(np.unique(codes[differs]))} bags in all). A `bag_id` stands for one pair of "
            "head and tail; correct the ids in the file."
        )


def _pair_text(instances: pa.Table, row: int) -> str:
    head, tail = (instances[entity][row].as_py() for entity in ("head", "tail"))
    names = " -> ".join(f"{entity['word']!r} ({entity['guid']})" for entity in (head, tail))
    return f"{names} in instance {instances['instance_id'][row].as_py()!r}"
