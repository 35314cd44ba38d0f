"""Reference lines against the published predictions of the same rules, and what is changed in a sentence."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.nyt_h_rows import read_nyt_h
from finetune.data.reference_lines import (
    BLANK,
    changed_data,
    majority_relation,
    masked,
    type_pair_relations,
    untrained_records,
    without_context,
)
from finetune.data.relation_rows import RelationData, RelationRows
from finetune.model.markers import Span
from tests.folders import SHARED

SHAPED = SHARED / "nyt_h_shaped"
TEXT = "Ann Lee of New York City left Rome."


@pytest.mark.skipif(not SHAPED.is_dir(), reason="../shared/data/nyt_h_shaped is not there")
@pytest.mark.parametrize(("track", "file"), [("sent2sent", "sent"), ("bag2bag", "bag"), ("bag2sent", "sent")])
def test_the_same_answers_as_the_simple_systems(track: str, file: str) -> None:
    """The predictions of another implementation of the two rules, made for the same data."""
    lines = untrained_records(read_nyt_h(str(SHAPED)), track=track)
    for name, theirs in (("majority", "majority"), ("type_pair", "typepair")):
        content = (SHAPED / "predictions" / f"{file}_{theirs}.jsonl").read_text()
        expected = [json.loads(line) for line in content.splitlines()]
        key = "bag_id" if file == "bag" else "instance_id"
        assert {r[key]: r["pred"] for r in lines[name]} == {r[key]: r["pred"] for r in expected}
        assert len(lines[name]) == len(expected)


def rows_of(labels: list[int], types: list[tuple[str, str]] | None, prefix: str = "r") -> RelationRows:
    number = len(labels)
    return RelationRows(
        row_names=[f"{prefix}{i}" for i in range(number)],
        sentences=[TEXT] * number,
        spans=np.array([[0, 7, 30, 34]] * (number - 1) + [[0, 7, -1, -1]]),
        labels=np.array(labels),
        pair_names=[f"{prefix}{i // 2}" for i in range(number)],
        entity_pairs=["a\tb"] * number,
        types=types,
    )


def data_of(types: bool = True) -> RelationData:
    a, b = ("P", "C"), ("P", "O")
    train = rows_of([0, 0, 0, 2, 1, 0, 2, 1], [a, a, b, b, b, b, b, b] if types else None)
    test = rows_of([1, 1, 2, 2], [a, b, b, ("X", "Y")] if types else None, "t")
    return RelationData(
        name="mine",
        splits={"train": train, "test": test},
        label_names=("NA", "r", "s"),
        negative_relation="NA",
    )


def test_majority_and_type_pairs_by_hand() -> None:
    data = data_of()
    assert majority_relation(data) == "r", "twice, as s; the negative relation is no answer"
    assert type_pair_relations(data) == {("P", "C"): "NA", ("P", "O"): "r"}, "two of each"
    lines = untrained_records(data, track="sent2sent")
    assert [record["pred"] for record in lines["type_pair"]] == ["NA", "r", "r", "NA"]
    bags = untrained_records(data, track="bag2bag")["type_pair"]
    assert bags == [{"bag_id": "t0", "pred": "NA"}, {"bag_id": "t1", "pred": "r"}], "types of the first row"
    assert list(untrained_records(data_of(types=False), track="sent2sent")) == ["majority"]
    only_negative = replace(data.splits["train"], labels=np.zeros(8, dtype=np.int64))
    with pytest.raises(ValueError, match="no training row of mine has a relation other than NA"):
        majority_relation(replace(data, splits={**data.splits, "train": only_negative}))


@pytest.mark.parametrize(
    ("head", "tail", "text"),
    [
        ((0, 7), (30, 34), "[BLANK] of New York City left [BLANK]."),
        ((30, 34), (0, 7), "[BLANK] of New York City left [BLANK]."),
        ((11, 19), (11, 24), "Ann Lee of [BLANK] left Rome."),
        ((11, 24), (15, 19), "Ann Lee of [BLANK] left Rome."),
        ((11, 19), (15, 24), "Ann Lee of [BLANK] left Rome."),
        ((0, 3), (3, 7), "[BLANK][BLANK] of New York City left Rome."),
        ((30, 34), (30, 34), "Ann Lee of New York City left [BLANK]."),
    ],
)
def test_masked(head: tuple[int, int], tail: tuple[int, int], text: str) -> None:
    changed, new_head, new_tail = masked(TEXT, Span(*head), Span(*tail))
    assert changed == text
    assert changed[slice(*new_head)] == changed[slice(*new_tail)] == BLANK
    assert (new_head < new_tail) == (head < tail and text.count(BLANK) == 2)


@given(st.lists(st.integers(0, len(TEXT)), min_size=4, max_size=4))
def test_only_the_entities_remain(places: list[int]) -> None:
    head, tail = (Span(*sorted(pair)) for pair in (places[:2], places[2:]))
    text, new_head, new_tail = without_context(TEXT, head, tail)
    assert text[slice(*new_head)] == TEXT[slice(*head)]
    assert text[slice(*new_tail)] == TEXT[slice(*tail)]
    assert len(text) == len(TEXT[slice(*head)]) + len(TEXT[slice(*tail)]) + 1


def test_changed_data_keeps_what_is_scored() -> None:
    data = data_of()
    changed = changed_data(data, "entities_masked")
    for split, rows in changed.splits.items():
        old = data.splits[split]
        assert rows.sentences[:-1] == ["[BLANK] of New York City left [BLANK]."] * (len(rows) - 1)
        assert rows.sentences[-1] == TEXT, "an entity without a place: nothing can be masked"
        assert (rows.spans[-1] == old.spans[-1]).all()
        assert (rows.row_names, rows.pair_names, rows.references) == (
            old.row_names,
            old.pair_names,
            old.references,
        )
        assert (rows.labels == old.labels).all()
    assert data.splits["train"].spans[0].tolist() == [0, 7, 30, 34], "the data itself is as before"
    assert changed.fingerprint != data.fingerprint
    assert changed_data(data, "entities_only").splits["test"].sentences[0] == "Ann Lee Rome"
