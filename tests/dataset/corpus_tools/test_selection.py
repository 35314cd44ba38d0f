"""The decisions of building, one by one, on numbers small enough to see through."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nyt_h_dataset.corpus_tools.building import (
    dev_rows,
    first_rows,
    joint_codes,
    na_sample,
    needless_na_rows,
    unfit_relations,
)


def test_joint_codes_tell_exactly_what_is_the_same():
    rng = random.Random(3)
    rows = np.array([[rng.randrange(4) for _ in range(3)] for _ in range(200)])
    codes = joint_codes(*rows.T)
    same = (rows[:, None] == rows[None]).all(axis=2)
    assert ((codes[:, None] == codes[None]) == same).all()
    # Products of large numbers would not fit.
    huge = np.array([2**40, 2**40, 7])
    assert joint_codes(huge, huge, huge).tolist() == [1, 1, 0]
    assert joint_codes(np.array([], int), np.array([], int)).tolist() == []


def test_na_rows_give_way_to_rows_with_a_relation_and_to_earlier_ones():
    content = np.array([1, 2, 2, 1, 3])
    negative = np.array([True, True, True, False, False])
    assert needless_na_rows(content, negative=negative).tolist() == [True, False, True, False, False]
    assert first_rows(content).tolist() == [0, 1, 1, 0, 4]


@pytest.mark.parametrize("split_by", ["pair", "instance"])
@given(pairs=st.lists(st.integers(0, 9), min_size=1, max_size=60), fraction=st.floats(0.01, 0.99))
def test_dev_has_the_size_that_was_asked_for(split_by, pairs, fraction):
    pairs = np.array(pairs)
    relations = np.zeros_like(pairs)
    chosen = dev_rows(pairs, relations, fraction=fraction, split_by=split_by, seed=0)
    target = round(fraction * len(pairs))
    if split_by == "instance":
        assert chosen.sum() == min(target, len(pairs) - 1)
    else:
        # Whole pairs, and so many that no other fits; the last pair of a relation stays in train.
        assert not set(pairs[chosen]) & set(pairs[~chosen])
        others = [(pairs == pair).sum() for pair in set(pairs[~chosen].tolist())]
        assert chosen.sum() <= target
        assert len(others) == 1 or chosen.sum() + min(others) > target
    assert (chosen == dev_rows(pairs, relations, fraction=fraction, split_by=split_by, seed=0)).all()


def test_samples_depend_on_the_seed_alone():
    rows = np.arange(100, 200)
    first = na_sample(rows, size=10, seed=0)
    assert len(set(first.tolist())) == 10
    assert set(first.tolist()) <= set(rows.tolist())
    assert (np.diff(first) > 0).all()
    assert (
        first.tolist()
        == na_sample(rows, size=10, seed=0).tolist()
        != na_sample(rows, size=10, seed=1).tolist()
    )
    drawn = [
        dev_rows(rows, rows % 3, fraction=0.1, split_by=how, seed=s)
        for how in ("pair", "instance")
        for s in (0, 1)
    ]
    assert (drawn[0] != drawn[1]).any()
    assert (drawn[2] != drawn[3]).any()


def test_the_minimum_is_enough():
    counts = {"a": 5}
    found = [
        unfit_relations(train_rows=counts, test_rows=counts, test_yes_rows={}, min_train=n, require_yes=False)
        for n in (5, 6)
    ]
    assert found == [{}, {"a": "fewer than 6 rows in train"}]


@pytest.mark.parametrize("split_by", ["pair", "instance"])
@pytest.mark.parametrize("seed", range(20))
def test_no_relation_is_emptied_out_of_train_or_dev(split_by, seed):
    """A relation of one pair with 150 rows, one of two pairs, one of many."""
    pairs = np.repeat(np.arange(203), [150, 2, 3, *[5] * 200])
    relations = np.repeat(np.arange(3), [150, 5, 1000])
    chosen = dev_rows(pairs, relations, fraction=0.1, split_by=split_by, seed=seed)
    assert set(relations[~chosen]) == {0, 1, 2}
    assert set(relations[chosen]) == ({1, 2} if split_by == "pair" else {0, 1, 2})
    assert 0.09 * len(pairs) < chosen.sum() <= round(0.1 * len(pairs))
