"""The validation split by entity pair, and the sample of NA rows."""

from dataclasses import replace

import numpy as np
import pytest

from finetune.data.readers import with_na_sample, with_validation
from finetune.data.relation_rows import RelationData, RelationRows


def rows_of(pairs: list[str], prefix: str = "r") -> RelationRows:
    return RelationRows(
        row_names=[f"{prefix}{number}" for number in range(len(pairs))],
        sentences=[f"{prefix} sentence {number}" for number in range(len(pairs))],
        spans=np.zeros((len(pairs), 4), dtype=np.int64),
        labels=np.arange(len(pairs)) % 2,
        pair_names=pairs,
        entity_pairs=pairs,
    )


def data_of(train: RelationRows, **splits: RelationRows) -> RelationData:
    test = rows_of(["x\ty"], "t")
    return RelationData(
        name="mine",
        splits={"train": train, "test": test, **splits},
        label_names=("NA", "r"),
        negative_relation="NA",
    )


PAIRS = [f"{a}\t{b}" for a, b in np.random.default_rng(1).integers(0, 15, (300, 2))]


def unordered(rows: RelationRows) -> set[frozenset[str]]:
    return {frozenset(pair.split("\t")) for pair in rows.entity_pairs}


def test_no_pair_is_on_both_sides_and_no_row_is_lost() -> None:
    data = with_validation(data_of(rows_of(PAIRS)), fraction=None, seed=0)
    train, validation = data.splits["train"], data.splits["validation"]
    assert not unordered(train) & unordered(validation), "nor its reverse"
    assert sorted(train.row_names + validation.row_names) == sorted(rows_of(PAIRS).row_names)
    assert 25 <= len(validation) <= 30
    assert validation.sentences[0] == f"r sentence {validation.row_names[0][1:]}"
    num_pairs = len(set(validation.entity_pairs))
    start = f"validation is {len(validation)} of the 300 training rows, those of {num_pairs} "
    assert data.notes[0].startswith(start)


def test_the_seed_decides_and_the_order_of_rows_does_not() -> None:
    def names(seed: int, order: np.ndarray) -> set[str]:
        data = with_validation(data_of(rows_of(PAIRS).select(order)), fraction=0.2, seed=seed)
        return set(data.splits["validation"].row_names)

    order = np.arange(300)
    assert names(0, order) == names(0, order[::-1])
    assert names(0, order) != names(1, order)


def test_none_where_none_is_wanted_or_one_is_there() -> None:
    data = data_of(rows_of(PAIRS))
    without = with_validation(data, fraction=0, seed=0)
    assert "validation" not in without.splits
    assert "nothing is selected" in without.notes[0]
    own = data_of(rows_of(PAIRS), validation=rows_of(["a\tb"], "v"))
    assert with_validation(own, fraction=None, seed=0) is own
    with pytest.raises(
        ValueError, match="mine has a validation split of its own; leave `--validation_fraction` out"
    ):
        with_validation(own, fraction=0.1, seed=0)


def test_what_cannot_be_split() -> None:
    for fraction in (1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="`--validation_fraction` must be from 0 to less than 1"):
            with_validation(data_of(rows_of(PAIRS)), fraction=fraction, seed=0)
    with pytest.raises(
        ValueError, match=r"10% of its 20 training rows are too few to make one by entity pair"
    ):
        with_validation(data_of(rows_of(["a\tb"] * 20)), fraction=0.1, seed=0)


def test_na_rows_that_training_has_not() -> None:
    na = rows_of([f"{number // 3}\tz" for number in range(60)], "n")
    train = rows_of(["a\tb"] * 10)
    shown = na.select(range(30))  # NYT-H's na split holds the NA rows of train
    train = replace(
        train,
        entity_pairs=[*train.entity_pairs[:-30], *shown.entity_pairs],
        sentences=[*train.sentences[:-30], *shown.sentences],
    )
    data = data_of(train, na=na)
    for whole_bags, num_rows in ((False, 10), (True, 12)):
        sample = with_na_sample(data, num_rows=10, whole_bags=whole_bags).splits["na"]
        assert len(sample) == num_rows
        assert all(int(name[1:]) >= 30 for name in sample.row_names)
        sizes = [sample.pair_names.count(pair) for pair in dict.fromkeys(sample.pair_names)]
        assert sorted(sizes) == ([3, 3, 3, 3] if whole_bags else [1, 3, 3, 3])
    again = with_na_sample(data, num_rows=10, whole_bags=True).splits["na"]
    assert again.row_names == sample.row_names
    with pytest.raises(
        ValueError, match=r"asks for 31 rows; the `na` split has 30 that are not in train \(60 in all"
    ):
        with_na_sample(data, num_rows=31, whole_bags=False)
    with pytest.raises(ValueError, match="`--evaluate_na` needs an `na` split, and mine has none"):
        with_na_sample(data_of(train), num_rows=1, whole_bags=False)
