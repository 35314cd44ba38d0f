"""Rows of the `sentence` config -> rows of the `bag` config, column by column (pure; pyarrow and numpy)."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .schema import UNK, YES

logger = logging.getLogger(__name__)

BAG_KEYS = ("pair", "id", "triple")
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
    needed); `relations` are all names in id order. What a bag is:

    * "pair": an entity pair, told by the guids (by the word where a guid is empty), over all files of the
      split. Its `bag_id` is the one of its first instance. The authors number bags file by file, so a pair
      that is in train_nonna.json and in na_train.json has two ids there and is one bag here.
    * "id": a `bag_id` as published, which is the unit that Zhu et al. score on the track bag2bag.
    * "triple": a pair and a relation; its id is ``<bag_id>|<relation>``.

    Ids stay unique: where one id stands for several pairs, the bags of the second and later pairs are named
    ``<bag_id>|2`` and so on. How many ids and pairs do not match is logged.

    `relations` lists the relations of the bag's instances, each once, in the order in which they come; the
    negative relation stands there like any other, so the list is never empty. `manual_relations` are those
    of them with at least one yes. `annotated` is true where every instance is yes or no. The instances of a
    bag keep their order; `head` and `tail` are those of the first one (words may be spelt differently).

    Raises:
        ValueError: `bag_key` is not one of BAG_KEYS.

    Reference: Zhu et al. 2020, section 2 (a bag holds the sentences of one entity pair).
    """
    check_bag_key(bag_key)
    instances = instances.combine_chunks()
    relation = instances["relation"].to_numpy()
    ids, pairs = _codes(instances["bag_id"]), pair_codes(instances)
    _report_mismatches(ids, pairs, instances["bag_id"])
    codes = ids if bag_key == "id" else pairs
    if bag_key == "triple":
        codes = _first_seen(codes * len(relations) + relation)
    order = np.argsort(codes, kind="stable")
    codes, relation = codes[order], relation[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    first = pa.array(order[starts])
    judged = instances["bag_label"].to_numpy()[order]

    bag_id = instances["bag_id"].take(first)
    if bag_key != "id":
        bag_id = _unique_ids(bag_id, pairs[order[starts]])
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


def pair_codes(instances: pa.Table) -> np.ndarray:
    """Return the number of each row's entity pair, int64, shape (rows,), numbered as they come.

    >>> entity = {"guid": "", "word": "Bonn"}
    >>> rows = [{"head": {"guid": guid, "word": word}, "tail": entity} for guid, word in ("ax", "ay", "ax")]
    >>> pair_codes(pa.Table.from_pylist([*rows, {"head": entity, "tail": entity}])).tolist()
    [0, 0, 0, 1]
    """
    codes = np.zeros(instances.num_rows, np.int64)
    for entity in ("head", "tail"):
        guid, word = (pc.struct_field(instances[entity], name) for name in ("guid", "word"))
        if len(guid) and pc.min(pc.binary_length(guid)).as_py() == 0:
            guid = pc.if_else(pc.equal(guid, ""), word, guid)
        entity_codes = _codes(guid)
        codes = codes * (int(entity_codes.max(initial=0)) + 1) + entity_codes
    return _first_seen(codes)


def num_mismatches(ids: np.ndarray, pairs: np.ndarray) -> tuple[int, int]:
    """Return how many pairs have several ids, and how many ids stand for several pairs.

    >>> num_mismatches(np.array([0, 1, 2, 2]), np.array([0, 0, 1, 2]))
    (1, 1)
    """
    ids, pairs = np.unique(np.stack([ids, pairs]), axis=1)
    several = [int((np.unique(codes, return_counts=True)[1] > 1).sum()) for codes in (pairs, ids)]
    return several[0], several[1]


def _report_mismatches(ids: np.ndarray, pairs: np.ndarray, names: pa.ChunkedArray) -> None:
    several_ids, several_pairs = num_mismatches(ids, pairs)
    if several_ids:
        logger.info("%d entity pairs have several bag ids.", several_ids)
    if several_pairs:
        _, first = np.unique(ids, return_index=True)
        row = int(np.argmax(pairs != pairs[first][ids]))
        logger.warning(
            "%d bag ids stand for several entity pairs, the first is %r.", several_pairs, names[row].as_py()
        )


def _unique_ids(bag_id: pa.ChunkedArray, pairs: np.ndarray) -> pa.ChunkedArray:
    """An id for each pair, the first that it has; a number follows where another pair had the id before."""
    names: dict[int, str] = {}
    uses: dict[str, int] = {}
    for pair, name in zip(pairs.tolist(), bag_id.to_pylist(), strict=True):
        if pair not in names:
            uses[name] = uses.get(name, 0) + 1
            names[pair] = name if uses[name] == 1 else f"{name}|{uses[name]}"
    return pa.chunked_array([pa.array([names[pair] for pair in pairs.tolist()], pa.string())])


def mixed_order(negative: np.ndarray) -> np.ndarray:
    """Return an order of the rows in which each stretch holds its share of those that are `negative`.

    Both kinds keep their own order; bool in, int64 out, shape (rows,).

    >>> mixed_order(np.array([False, False, False, False, True, True])).tolist()
    [0, 4, 1, 2, 5, 3]
    """
    place = np.empty(len(negative))
    for kind in (negative, ~negative):
        place[kind] = (np.arange(kind.sum()) + 0.5) / max(int(kind.sum()), 1)
    return np.argsort(place, kind="stable")
