"""Which relations the pairs of types have in training, and which pairs rows have."""

from dataclasses import replace

import numpy as np
import pytest

from finetune.model.batching import RowBatches
from finetune.model.encoding import EncodedRows, RowStatus
from finetune.model.type_restriction import PairIds, TypeRelations, check_types, type_names

NEGATIVE = 1


def test_the_types_of_an_entity() -> None:
    assert type_names("b, a,b ,") == ("a", "b")
    assert type_names("/people/person") == ("/people/person",), "the whole name"
    assert type_names(" , ") == ()


def test_pairs_are_learnt_from_the_products_of_types() -> None:
    types = [("a,b", "x"), ("a", "x, y"), ("b", "z"), ("c", "x")]
    learnt = TypeRelations.learnt(types=types, labels=np.array([2, 0, NEGATIVE, 2]), negative_id=NEGATIVE)
    assert learnt.as_lists() == [
        ["a", "x", [0, 2]],
        ["a", "y", [0]],
        ["b", "x", [2]],
        ["c", "x", [2]],
    ]
    assert TypeRelations.of(learnt.as_lists()) == learnt
    entries = learnt.entries(4)
    assert entries.tolist() == [[0, -1, 1, -1], [2, -1, -1, -1], [-1, -1, 3, -1], [-1, -1, 4, -1]]
    with pytest.raises(ValueError, match="no training row has a relation, so there are none that types"):
        TypeRelations.learnt(types=[("a", "x")], labels=np.array([NEGATIVE]), negative_id=NEGATIVE)


def test_the_pairs_of_rows_in_any_order_of_their_types() -> None:
    known = TypeRelations((("a", "x"), ("a", "y"), ("b", "x")), ((0, 2), (0,), (2,)))
    types = [("b,a", "x"), ("a", "z"), ("a", "y,x"), ("c,b", "x,y"), ("a,b", "x")]
    pairs = known.pairs_of(types)
    assert pairs.ids.dtype == np.int32
    assert pairs.padded(np.arange(5)).tolist() == [[0, 2], [-1, -1], [0, 1], [2, -1], [0, 2]]
    assert pairs.padded(np.array([1])).tolist() == [[-1]], "a column, also where there is nothing"
    chosen = pairs.select(np.array([3, 1, 0]))
    assert chosen.padded(np.arange(3)).tolist() == [[2, -1], [-1, -1], [0, 2]]
    assert chosen.starts.tolist() == [0, 1, 1, 3]
    nothing = known.pairs_of([])
    assert isinstance(nothing, PairIds)
    assert nothing.starts.tolist() == [0]


def test_batches_keep_the_pairs_of_their_rows() -> None:
    status = np.array([RowStatus.WHOLE, RowStatus.NOT_FOUND, RowStatus.WHOLE, RowStatus.WHOLE], dtype=np.int8)
    rows = EncodedRows(
        token_ids=np.arange(4, dtype=np.int32),
        row_starts=np.arange(5),
        entity_starts=np.zeros((4, 2), dtype=np.int32),
        entity_spans=np.zeros((4, 4), dtype=np.int32),
        status=status,
        num_tokens_cut=0,
        type_pairs=PairIds(ids=np.array([9, 8, 7, 6, 5]), starts=np.array([0, 1, 2, 2, 5])),
    )
    every = RowBatches(rows=rows, labels=np.zeros(4), row_ids=np.arange(4), pad_id=0)
    assert every.__getitems__([3, 0, 2])["type_pairs"].tolist() == [[7, 6, 5], [9, -1, -1], [-1, -1, -1]]
    batch = every.usable_only().__getitems__([0, 1, 2])
    assert batch["row_ids"].tolist() == [0, 2, 3]
    assert batch["type_pairs"].tolist() == [[9, -1, -1], [-1, -1, -1], [7, 6, 5]]
    without = RowBatches(
        rows=replace(rows, type_pairs=None), labels=np.zeros(4), row_ids=every.row_ids, pad_id=0
    )
    assert "type_pairs" not in without.usable_only()[0]


def test_rows_are_counted_by_their_candidates() -> None:
    known = TypeRelations((("a", "x"), ("a", "y"), ("b", "y")), ((0, 2), (0,), (3,)))
    types = [("a", "x"), ("a", "y"), ("a,b", "y"), ("b", "x"), ("b", "x"), ("b", "y")]
    labels = np.array([0, 2, NEGATIVE, NEGATIVE, 3, 3])
    assert known.counts(types, labels=labels, negative_id=NEGATIVE) == {
        "num_without_relation": 2,
        "num_by_rule": 2,
        "num_several": 2,
        "num_ruled_out": 2,
    }


def test_rows_without_types_are_named() -> None:
    whole = [("a", "x"), ("b", "y")]
    assert check_types(whole, row_names=["r0", "r1"], where="test") == whole
    with pytest.raises(ValueError, match=r"^d, train: the entities have no types, .* use other data, or"):
        check_types(None, row_names=["r0"], where="d, train")
    lacking = [("a", " "), ("a", "x"), ("", "x"), None, (",", "x"), ("", "")]
    names = [f"r{number}" for number in range(6)]
    with pytest.raises(
        ValueError,
        match=r"^d, test: 5 of 6 rows have an entity without a type \('r0', 'r2', 'r3', \.\.\.\), and the "
        "classifier head 'type_restriction' needs the types of both; give every entity one, or use another",
    ):
        check_types(lacking, row_names=names, where="d, test")
