"""Bags of rows and batches of bags, against plain dictionaries."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.bag_units import BagBatches, Bags, bags_of_one, label_sets, pair_bags, relation_bags
from finetune.model.batching import RowBatches
from finetune.model.encoding import EncodedRows
from finetune.model.prediction_records import DEFAULT_THRESHOLD, best_threshold
from finetune.training.relation_trainer import PlannedBatches
from weighted_f1_metric import f1_family

ROWS = st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(0, 3)), min_size=1, max_size=40)


def as_lists(bags: Bags) -> list[tuple[str, list[int]]]:
    slices = zip(bags.starts[:-1].tolist(), bags.starts[1:].tolist(), strict=True)
    return [(name, bags.rows[a:b].tolist()) for name, (a, b) in zip(bags.names, slices, strict=True)]


@given(ROWS)
def test_bags_are_the_groups_in_order_of_first_appearance(rows: list[tuple[str, int]]) -> None:
    names, labels = [name for name, _ in rows], np.array([label for _, label in rows])
    pairs: dict[str, list[int]] = {}
    triples: dict[tuple[str, int], list[int]] = {}
    for row, (name, label) in enumerate(rows):
        pairs.setdefault(name, []).append(row)
        triples.setdefault((name, label), []).append(row)
    by_pair = pair_bags(pair_names=names, labels=labels)
    assert as_lists(by_pair) == list(pairs.items())
    assert by_pair.labels.tolist() == [labels[members[0]] for members in pairs.values()]
    by_relation = relation_bags(pair_names=names, labels=labels)
    assert as_lists(by_relation) == [(name, members) for (name, _), members in triples.items()]
    assert by_relation.labels.tolist() == [label for _, label in triples]
    sets = label_sets(by_pair, labels=labels, num_labels=4, negative_id=3)
    for row, members in zip(sets, pairs.values(), strict=True):
        assert row[3] == -100
        assert set(np.flatnonzero(row > 0)) == {labels[member] for member in members} - {3}


@given(ROWS, st.data())
def test_rows_that_cannot_be_used_leave_their_bags(rows: list[tuple[str, int]], data) -> None:
    names, labels = [name for name, _ in rows], np.array([label for _, label in rows])
    usable = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    bags = relation_bags(pair_names=names, labels=labels)
    left = bags.restricted_to(usable)
    expected = [(name, [row for row in members if usable[row]]) for name, members in as_lists(bags)]
    assert as_lists(left) == [(name, members) for name, members in expected if members]
    assert left.labels.tolist() == [int(labels[members[0]]) for _, members in expected if members]


def test_a_bag_without_sentences_is_refused() -> None:
    with pytest.raises(ValueError, match=r"bag 'b1' has no sentences \(1 such bags\)"):
        Bags(names=["b0", "b1"], rows=np.array([0]), starts=np.array([0, 1, 1]), labels=np.array([0, 0]))


def row_batches(num_rows: int, seed: int = 0) -> RowBatches:
    """Rows of random lengths; row i is made of the token 10 + i, so that it can be recognised."""
    lengths = np.random.default_rng(seed).integers(3, 20, num_rows)
    rows = EncodedRows(
        token_ids=np.repeat(np.arange(num_rows, dtype=np.int32) + 10, lengths),
        row_starts=np.concatenate([[0], np.cumsum(lengths)]),
        entity_starts=np.tile(np.int32([0, 1]), (num_rows, 1)),
        entity_spans=np.tile(np.int32([0, 1, 1, 2]), (num_rows, 1)),
        status=np.zeros(num_rows, dtype=np.int8),
        num_tokens_cut=0,
    )
    return RowBatches(rows=rows, labels=np.zeros(num_rows), row_ids=np.arange(num_rows), pad_id=0)


NAMES = ["a"] * 3 + ["b"] * 8 + ["c"] + ["a"] * 2
LABELS = np.array([1] * 3 + [2] * 8 + [0] + [3] * 2)


def bag_batches(*, by_relation: bool = False, **options) -> BagBatches:
    make = relation_bags if by_relation else pair_bags
    bags = make(pair_names=NAMES, labels=LABELS)
    return BagBatches(rows=row_batches(14), bags=bags, row_ids=100 + np.arange(len(bags)), **options)


def rows_in(batch: dict[str, torch.Tensor]) -> list[list[int]]:
    """The row numbers of each bag of a batch."""
    return [part.tolist() for part in (batch["input_ids"][:, 0] - 10).split(batch["bag_sizes"].tolist())]


def test_a_batch_holds_whole_bags() -> None:
    batches = bag_batches()
    assert len(batches) == 3
    batch = batches.__getitems__([2, 0])
    assert rows_in(batch) == [[11], [0, 1, 2, 12, 13]]
    assert batch["labels"].tolist() == [0, 1]
    assert batch["row_ids"].tolist() == [102, 100]
    lengths = batches.encoded.lengths
    assert batch["attention_mask"].sum(dim=1).tolist() == lengths[[11, 0, 1, 2, 12, 13]].tolist()
    assert batch["entity_starts"].shape == (6, 2)
    assert batches.lengths.tolist() == [lengths[members].sum() for _, members in as_lists(batches.bags)]
    one = batches[1]
    assert rows_in(one) == [list(range(3, 11))]
    assert all(torch.equal(one[name], batches.__getitems__([1])[name]) for name in one)


def test_training_examples_are_bags_of_one_relation() -> None:
    batches = bag_batches(by_relation=True)
    batch = batches.__getitems__(list(range(4)))
    assert rows_in(batch) == [[0, 1, 2], list(range(3, 11)), [11], [12, 13]]
    assert batch["labels"].tolist() == [1, 2, 0, 3]


def test_bags_of_one() -> None:
    bags = bags_of_one(row_names=["r0", "r1"], labels=np.array([2, 1]))
    assert as_lists(bags) == [("r0", [0]), ("r1", [1])]
    assert bags.labels.tolist() == [2, 1]


def test_label_sets_become_targets() -> None:
    bags = pair_bags(pair_names=NAMES, labels=LABELS)
    sets = label_sets(bags, labels=LABELS, num_labels=4, negative_id=0)
    several = Bags(names=bags.names, rows=bags.rows, starts=bags.starts, labels=sets)
    batch = BagBatches(rows=row_batches(14), bags=several, row_ids=np.arange(3)).__getitems__([0, 2])
    assert batch["labels"].dtype == torch.float32
    assert batch["labels"].tolist() == [[-100, 1, 0, 1], [-100, 0, 0, 0]]


def test_at_most_bag_size_rows_are_drawn_by_seed_epoch_and_bag() -> None:
    batches = bag_batches(bag_size=4, seed=5)
    assert rows_in(batches.__getitems__([2]))[0] == [11], "a bag that is small enough is read whole"
    drawn = [rows_in(batches.__getitems__([3 * epoch + 1]))[0] for epoch in range(40)]
    assert drawn == [rows_in(batches.__getitems__([3 * epoch + 1]))[0] for epoch in range(40)]
    assert all(len(set(rows)) == 4 and rows == sorted(rows) for rows in drawn)
    assert len({tuple(rows) for rows in drawn}) > 20
    assert set().union(*drawn) == set(range(3, 11))
    together = rows_in(batches.__getitems__([3 * 7, 3 * 7 + 1]))
    assert together[1] == drawn[7], "the company in a batch changes nothing"
    other = [rows_in(batches.for_seed(6).__getitems__([3 * epoch + 1]))[0] for epoch in range(40)]
    assert other != drawn
    expected = [
        int(total) * min(size, 4) // size
        for total, size in zip(bag_batches().lengths, (5, 8, 1), strict=True)
    ]
    assert batches.lengths.tolist() == expected


def test_the_sampler_tells_the_epoch() -> None:
    batches = bag_batches(bag_size=2)
    drawn = PlannedBatches(lengths=batches.lengths, seed=1, batch_size=3, samples_rows=batches.samples_rows)
    assert sorted(*drawn) == [0, 1, 2]
    drawn.set_epoch(5)
    assert sorted(*drawn) == [15, 16, 17]
    plain = PlannedBatches(lengths=batches.lengths, seed=1, batch_size=3)
    plain.set_epoch(5)
    assert list(plain) == [[index - 15 for index in batch] for batch in drawn]


def test_a_negative_bag_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be 0 \(all sentences\) or a positive integer; got -1"):
        bag_batches(bag_size=-1)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.booleans()), min_size=1, max_size=30))
def test_the_threshold_has_the_best_f1(pairs: list[tuple[float, bool]]) -> None:
    scores, gold = np.array([[score] for score, _ in pairs]), np.array([[truth] for _, truth in pairs])
    threshold = best_threshold(scores=scores, gold=gold)
    if not gold.any():
        assert threshold == DEFAULT_THRESHOLD
        return

    def f1(at: float) -> float:
        predicted = (scores[:, 0] >= at).astype(int)
        return f1_family(
            predictions=predicted, references=gold[:, 0].astype(int), labels=[0, 1], negative_label=0
        )["micro_f1"]

    by_threshold = {at: f1(at) for at in np.unique(scores)}
    assert by_threshold[threshold] == pytest.approx(max(by_threshold.values()))
    assert all(f1(at) < by_threshold[threshold] for at in by_threshold if at > threshold)
