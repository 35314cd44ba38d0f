"""The sample at NYT-H's published sizes: the plan has those counts, and bags are written as planned."""

import random
from collections import Counter
from itertools import islice

import pytest

from nyt_h_dataset import write_sample
from nyt_h_dataset.sample.names import RELATIONS
from nyt_h_dataset.sample.plan import (
    FULL_SIZES,
    BagPlan,
    FullCorpus,
    long_tail_sizes,
    plan_na,
    plan_test,
    plan_train,
)


@pytest.fixture(scope="module")
def corpus():
    return FullCorpus(random.Random(0))


def test_file_sizes_add_up_to_the_published_ones():
    assert FULL_SIZES["train_nonna.json"] + FULL_SIZES["na_train.json"] == 193_662
    assert FULL_SIZES["na_train.json"] + FULL_SIZES["na_rest.json"] == 550_720
    assert FULL_SIZES["test.json"] == 9_955


@pytest.mark.parametrize("seed", [0, 7])
def test_the_test_set_is_planned_with_the_published_counts(seed):
    plans = plan_test(random.Random(seed))
    assert len(plans) == 3_548
    assert sum(plan.num_rows for plan in plans) == 9_955
    sizes = Counter(min(plan.num_rows, 5) for plan in plans)
    assert [sizes[size] for size in (1, 2, 3, 4, 5)] == [2_116, 607, 269, 142, 414]
    assert sum(plan.num_relations for plan in plans) == 3_735
    assert sum(len({yes for yes in plan.yes if yes >= 0}) for plan in plans) == 2_277
    assert sum(yes >= 0 for plan in plans for yes in plan.yes) == 5_201
    assert all(-1 <= yes < plan.num_relations for plan in plans for yes in plan.yes)
    assert plans == plan_test(random.Random(seed))


def test_the_na_set_is_planned_with_the_published_counts():
    bags = list(plan_na(random.Random(0)))
    assert len(bags) == 357_196
    rows = Counter()
    for name, size in bags:
        rows[name] += size
    assert rows == {name: FULL_SIZES[name] for name in ("na_train.json", "na_rest.json")}


@pytest.mark.parametrize("num_rows", [1, 2, 4_999])
def test_train_is_planned_to_the_row(num_rows):
    plans = list(plan_train(random.Random(0), num_rows))
    assert sum(plan.num_rows for plan in plans) == num_rows
    assert min(plan.num_rows for plan in plans) >= 1


def test_long_tail_sizes_add_up_and_fall():
    for num_bags, num_rows in ((1, 1), (1, 9), (10, 10), (10, 11), (414, 3_594)):
        sizes = long_tail_sizes(num_bags, num_rows)
        assert (len(sizes), sum(sizes), min(sizes)) == (num_bags, num_rows, sizes[-1])
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[-1] >= 1


def test_a_bag_is_written_as_planned(corpus):
    rows = corpus.bag(BagPlan(2, (0, -1, 1)))
    assert [row.judged for row in rows] == ["yes", "no", "no", "no", "no", "yes"]
    assert len({row.pair for row in rows}) == 1
    assert len({row.sentence.text for row in rows}) == 3
    assert [row.relation for row in rows[:2]] * 3 == [row.relation for row in rows]
    assert rows[0].relation != rows[1].relation
    single = [corpus.bag(BagPlan(1, (-1, 0)))[1].judged for _ in range(20)]
    assert single == ["yes"] * 20


def test_no_sentence_comes_twice_in_a_bag(corpus):
    texts = [row.sentence.text for row in corpus.bag(BagPlan(1, (0,) * 120))]
    assert len(set(texts)) == 120


def test_dev_is_split_off_train_by_row_to_the_row(monkeypatch):
    """The whole stream, with small files: each has exactly its size, and bags stand on both sides."""
    sizes = {"train_nonna.json": 700, "dev.json": 90}
    monkeypatch.setattr("nyt_h_dataset.sample.plan.FULL_SIZES", sizes)
    monkeypatch.setattr("nyt_h_dataset.sample.plan.plan_test", lambda _: [BagPlan(1, (0,))])
    monkeypatch.setattr("nyt_h_dataset.sample.plan.plan_na", lambda _: iter([("na_rest.json", 3)]))
    found, pairs = Counter(), {"train_nonna.json": set(), "dev.json": set()}
    for name, bag in FullCorpus(random.Random(3)).stream():
        found[name] += len(bag)
        pairs.get(name, set()).add(bag[0].pair)
    assert found == {**sizes, "test.json": 1, "na_rest.json": 3}
    assert pairs["train_nonna.json"] & pairs["dev.json"]


def test_bags_come_one_by_one_with_different_pairs_and_all_relations(corpus):
    """Streaming: the first bags are there without the rest, and each is a pair of its own."""
    bags = list(islice(corpus.stream(), 4_500))
    assert Counter(name for name, _ in bags)["test.json"] == 3_548
    pairs = [bag[0].pair for name, bag in bags if name != "dev.json"]
    assert len({(head.guid, tail.guid) for head, tail in pairs}) == len(pairs)
    test = [row for name, bag in bags if name == "test.json" for row in bag]
    assert {row.relation for row in test} == set(RELATIONS)
    assert sum(row.judged == "yes" for row in test) == 5_201
    lengths = [(row.sentence.head, row.sentence.tail) for row in test]
    overlapping = sum(head[0] < tail[1] and tail[0] < head[1] for head, tail in lengths)
    assert 0 < overlapping < 0.05 * len(test), "one name inside the other, now and then"
    assert {name for name, _ in bags} == {"test.json", "train_nonna.json", "dev.json"}


def test_full_is_one_of_the_sizes_and_its_stream_is_what_is_written(tmp_path, monkeypatch):
    first = {}

    class Short(FullCorpus):
        def stream(self):
            for name, bag in super().stream():
                if first.setdefault(name, bag) is bag:
                    yield name, bag
                if len(first) == 3:
                    return

    monkeypatch.setattr("nyt_h_dataset.sample.sample.FullCorpus", Short)
    path = write_sample(tmp_path / "a", size="full").path
    lines = {name: (path / name).read_text().splitlines() for name in first}
    assert {name: len(found) for name, found in lines.items()} == {n: len(bag) for n, bag in first.items()}
    assert '"bag_id": "TEST#0"' in lines["test.json"][0]
    assert "size full, seed 0" in (path / "SYNTHETIC.md").read_text()
