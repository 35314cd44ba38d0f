"""resampling: against drawing single bags, exhaustive exchange and the family's own scores."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighted_f1_metric.counts import class_counts
from weighted_f1_metric.family import f1_family
from weighted_f1_metric.significance.bag_counts import (
    BagCounts,
    counts_by_bag,
    differences_by_bag,
    split_counts,
)
from weighted_f1_metric.significance.resampling import (
    _multinomial,
    bootstrap_interval,
    drawn_bags,
    exchanged_bags,
    randomization_test,
)

OPTIONS = {"negative_label": "NA", "labels": ["NA", "a", "b", "c"]}

columns = st.lists(st.tuples(*[st.sampled_from(["NA", "a", "b", "c"])] * 3, st.integers(0, 6)), min_size=1)


def made(seed, n=300, num_bags=100):
    """Two systems, references and bags whose rows are alike."""
    rng = np.random.default_rng(seed)
    bags = np.sort(rng.integers(0, num_bags, n))
    names = np.array(["NA", "a", "b", "c"])
    bag_class = rng.choice(4, num_bags, p=[0.4, 0.35, 0.2, 0.05])
    gold = names[bag_class[bags]]
    noise = rng.random((2, num_bags))[:, bags] < 0.3
    systems = [np.where(wrong, names[rng.choice(4, n)], gold) for wrong in noise]
    return systems[0], systems[1], gold, bags


@given(columns, st.booleans())
def test_counts_of_bags_add_up_to_the_counts_of_the_metric(rows, with_bags):
    first, second, gold, bags = map(list, zip(*rows, strict=True))
    bags = bags if with_bags else None
    for groups in (None, {"a": "x", "b": "x", "c": "y"}):
        options = OPTIONS | {"groups": groups}
        own = counts_by_bag(predictions=first, references=gold, bags=bags, **options)
        changes, base = differences_by_bag(
            predictions_a=first, predictions_b=second, references=gold, bags=bags, **options
        )
        assert own.num_bags == (len(set(bags)) if with_bags else len(gold))
        assert own.labels == changes.labels
        for sums, predictions in ((own.totals(), first), (base, first), (base + changes.totals(), second)):
            expected = class_counts(predictions=predictions, references=gold, **options)
            parts = split_counts(sums, len(own.labels), 0)
            assert own.labels == expected.labels
            for name in ("true_positives", "predicted", "support", "total"):
                np.testing.assert_array_equal(parts[name][0], getattr(expected, name))


@settings(max_examples=30)
@given(columns, st.randoms(use_true_random=False), st.booleans())
def test_order_of_rows_and_names_of_bags_change_nothing(rows, random, stratify):
    first, second, gold, bags = map(list, zip(*rows, strict=True))
    order = list(range(len(gold)))
    random.shuffle(order)
    shared = {"seed": 0, "n_resamples": 20, **OPTIONS}
    other = {"references": [gold[i] for i in order], "bags": [f"bag {bags[i]}" for i in order]}
    one_interval = bootstrap_interval(
        predictions=first, references=gold, bags=bags, stratify=stratify, **shared
    )
    other_interval = bootstrap_interval(
        predictions=[first[i] for i in order], stratify=stratify, **other, **shared
    )
    assert one_interval == other_interval
    one_test = randomization_test(
        predictions_a=first, predictions_b=second, references=gold, bags=bags, **shared
    )
    other_test = randomization_test(
        predictions_a=[first[i] for i in order], predictions_b=[second[i] for i in order], **other, **shared
    )
    assert one_test == other_test


def test_estimates_are_the_scores_of_the_family():
    first, second, gold, bags = made(0)
    for options in (
        OPTIONS,
        OPTIONS | {"beta": 2.0, "entropy_total": "positive", "averages": ["n^0.3", "entropy"]},
    ):
        scores = [f1_family(predictions=p, references=gold, **options) for p in (first, second)]
        result = bootstrap_interval(
            predictions=first, references=gold, bags=bags, seed=0, n_resamples=5, **options
        )
        assert {n: i.estimate for n, i in result.intervals.items()} == pytest.approx(
            {name: value for name, value in scores[0].items() if name != "undefined"}
        )
        test = randomization_test(
            predictions_a=first, predictions_b=second, references=gold, seed=0, n_resamples=5, **options
        )
        assert test.differences == pytest.approx(
            {name: scores[0][name] - scores[1][name] for name in test.differences}
        )


def by_single_bags(predictions, gold, bags, n_resamples, stratify=False):
    """The same bootstrap, bag by bag, scored by f1_family."""
    rng = np.random.default_rng(123)
    members = [np.flatnonzero(bags == bag) for bag in np.unique(bags)]
    strata = [tuple(sorted(set(gold[rows]))) for rows in members] if stratify else [()] * len(members)
    pools = [
        [rows for rows, own in zip(members, strata, strict=True) if own == part]
        for part in sorted(set(strata))
    ]
    results = []
    for _ in range(n_resamples):
        rows = np.concatenate([pool[i] for pool in pools for i in rng.integers(0, len(pool), len(pool))])
        results.append(f1_family(predictions=predictions[rows], references=gold[rows], **OPTIONS))
    return results


@pytest.mark.parametrize("stratify", [False, True])
@pytest.mark.parametrize("with_bags", [False, True])
def test_distribution_is_that_of_drawing_single_bags(with_bags, stratify):
    first, _, gold, bags = made(1)
    used = bags if with_bags else np.arange(len(gold))
    single = by_single_bags(first, gold, used, 700, stratify)
    result = bootstrap_interval(
        predictions=first,
        references=gold,
        bags=bags if with_bags else None,
        seed=0,
        stratify=stratify,
        **OPTIONS,
    )
    for name, interval in result.intervals.items():
        values = np.array([one[name] for one in single])
        noise = values.std() / len(values) ** 0.5
        assert interval.sd == pytest.approx(values.std(), rel=0.12), name
        assert interval.low == pytest.approx(np.quantile(values, 0.025), abs=8 * noise), name
        assert interval.high == pytest.approx(np.quantile(values, 0.975), abs=8 * noise), name


def test_bags_widen_the_interval_where_rows_of_a_bag_agree():
    first, _, gold, bags = made(2, n=1000, num_bags=60)
    shared = {"predictions": first, "references": gold, "seed": 0, "n_resamples": 2000, **OPTIONS}
    by_bag, by_row = (bootstrap_interval(bags=b, **shared).intervals["micro_f1"] for b in (bags, None))
    assert by_bag.sd > 1.5 * by_row.sd
    assert by_bag.estimate == by_row.estimate


def test_lost_support_is_the_share_of_resamples_without_the_class():
    gold, n = ["a"] * 9 + ["b"], 20_000
    result = bootstrap_interval(predictions=gold, references=gold, seed=0, n_resamples=n)
    expected = 0.9**10
    assert result.lost_support[""] == pytest.approx(expected, abs=5 * (expected * (1 - expected) / n) ** 0.5)
    assert result.lost_support_by_class == {"": {"b": result.lost_support[""]}}
    kept = bootstrap_interval(predictions=gold, references=gold, seed=0, n_resamples=500, stratify=True)
    assert kept.lost_support == {"": 0.0}
    assert kept.lost_support_by_class == {"": {}}
    never_gold = bootstrap_interval(predictions=["a", "z"], references=["a", "a"], seed=0, n_resamples=50)
    assert never_gold.lost_support == {"": 0.0}  # z has no support to lose


@pytest.mark.parametrize("multiplicity", [[1] * 12, [30, 2, 1, 40, 1], [500, 600], [7]])
def test_multiplicities_have_the_moments_of_a_multinomial(multiplicity):
    m = np.array(multiplicity)
    total, size = m.sum(), 40_000
    drawn = _multinomial(np.random.default_rng(0), m, size)
    assert (drawn.sum(axis=1) == total).all()
    p = m / total
    sd = np.sqrt(total * p * (1 - p) / size)
    assert (np.abs(drawn.mean(axis=0) - m) <= 5 * sd + 1e-12).all()
    covariance = total * (np.diag(p) - np.outer(p, p))
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.04 * covariance.max() + 1e-12)


def test_strata_keep_their_sizes_and_chunks_make_up_all_resamples():
    from scipy.sparse import csr_array

    kinds = BagCounts(("a",), ("",), csr_array((4, 400_000)), np.array([3, 9, 1, 6]), np.array([0, 0, 1, 1]))
    chunks = list(drawn_bags(kinds, 11, np.random.default_rng(0), stratify=True))
    assert [len(chunk) for chunk in chunks] == [2, 2, 2, 2, 2, 1]
    drawn = np.concatenate(chunks)
    assert (drawn[:, :2].sum(axis=1) == 12).all()
    assert (drawn[:, 2:].sum(axis=1) == 7).all()
    assert len(np.unique(drawn, axis=0)) > 5
    exchanged = np.concatenate(list(exchanged_bags(kinds, 11, np.random.default_rng(0))))
    assert exchanged.shape == (11, 4)
    assert (exchanged <= kinds.multiplicity).all()


def test_seeds_repeat_and_zero_is_one():
    first, second, gold, bags = made(3)
    shared = {"references": gold, "bags": bags, "n_resamples": 200, **OPTIONS}
    intervals = [bootstrap_interval(predictions=first, seed=seed, **shared).intervals for seed in (0, 0, 1)]
    assert intervals[0] == intervals[1] != intervals[2]
    tests = [
        randomization_test(predictions_a=first, predictions_b=second, seed=seed, **shared).p_values
        for seed in (0, 0, 1)
    ]
    assert tests[0] == tests[1] != tests[2]
    assert bootstrap_interval(predictions=first, seed=np.int64(0), **shared).intervals == intervals[0]


def test_result_becomes_plain_json():
    first, second, gold, _ = made(4)
    one = bootstrap_interval(predictions=first, references=gold, seed=0, n_resamples=10, **OPTIONS).to_json()
    other = randomization_test(
        predictions_a=first, predictions_b=second, references=gold, seed=0, n_resamples=10, **OPTIONS
    ).to_json()
    assert json.loads(json.dumps(one))["intervals"]["micro_f1"].keys() == {
        "estimate",
        "low",
        "high",
        "sd",
        "undefined_share",
    }
    assert json.loads(json.dumps(other))["p_values"].keys() == other["differences"].keys()


@given(columns, st.booleans())
def test_a_system_against_itself_has_p_1(rows, with_bags):
    first, _, gold, bags = map(list, zip(*rows, strict=True))
    result = randomization_test(
        predictions_a=first,
        predictions_b=first,
        references=gold,
        bags=bags if with_bags else None,
        seed=0,
        n_resamples=19,
        **OPTIONS,
    )
    assert set(result.p_values.values()) == {1.0}
    assert set(result.differences.values()) == {0.0}
    assert result.num_different_bags == 0


@pytest.mark.parametrize("with_bags", [False, True])
def test_p_values_equal_those_of_every_exchange(with_bags):
    """Eight bags that differ: all 2^8 exchanges, scored one by one with f1_family."""
    rng = np.random.default_rng(5)
    bags = np.repeat(np.arange(12), 3 if with_bags else 1)
    gold = np.array(["NA", "a", "b", "c"])[rng.choice(4, len(bags))]
    first, second = gold.copy(), gold.copy()
    for bag in range(8):
        rows = bags == bag
        (first if bag < 6 else second)[rows] = np.where(gold[rows] == "a", "b", "a")
    sums = {}
    for swap in itertools.product([False, True], repeat=8):
        swapped = np.isin(bags, np.flatnonzero(swap))
        a = f1_family(predictions=np.where(swapped, second, first), references=gold, **OPTIONS)
        b = f1_family(predictions=np.where(swapped, first, second), references=gold, **OPTIONS)
        for name in a.keys() - {"undefined"}:
            sums.setdefault(name, []).append(a[name] - b[name])
    n = 20_000
    result = randomization_test(
        predictions_a=first,
        predictions_b=second,
        references=gold,
        bags=bags if with_bags else None,
        seed=0,
        n_resamples=n,
        **OPTIONS,
    )
    assert result.num_different_bags == 8
    for name, values in sums.items():
        exact = np.mean(np.abs(values) >= abs(values[0]) - 1e-12)
        assert result.differences[name] == pytest.approx(values[0])
        assert result.p_values[name] == pytest.approx(
            exact, abs=5 * (exact * (1 - exact) / n) ** 0.5 + 2 / n
        ), name


def test_p_value_is_never_zero_and_small_for_different_systems():
    gold = ["a", "b"] * 200
    result = randomization_test(
        predictions_a=gold, predictions_b=["b", "a"] * 200, references=gold, seed=0, n_resamples=99
    )
    assert result.p_values["micro_f1"] == 1 / 100
    assert result.differences["micro_f1"] == 1.0


def test_one_resample_has_no_spread():
    result = bootstrap_interval(predictions=["a", "b"], references=["a", "a"], seed=0, n_resamples=1)
    interval = result.intervals["micro_f1"]
    assert (interval.sd, interval.low) == (0.0, interval.high)


def test_labels_may_come_in_any_kind_of_array():
    given = {"predictions": [0, 1, 2], "references": [0, 0, 2], "seed": 0, "n_resamples": 20}
    expected = bootstrap_interval(**given, labels=[0, 1, 2])
    assert expected.intervals["micro_f1"].estimate == pytest.approx(2 / 3)
    assert bootstrap_interval(**given, labels=np.array([0, 1, 2])) == expected
    assert bootstrap_interval(**given, labels=pa.array([0, 1, 2])) == expected


def test_resamples_without_a_defined_measure_are_left_out_and_told():
    gold = ["NA"] * 60 + ["r"] * 2
    with pytest.warns(UserWarning, match="micro_precision"):
        result = bootstrap_interval(predictions=gold, references=gold, negative_label="NA", seed=0)
    missed = (60 / 62) ** 62  # no row of r is drawn
    for interval in result.intervals.values():
        assert (interval.low, interval.high, interval.sd) == (1.0, 1.0, 0.0)
        assert interval.undefined_share == pytest.approx(missed, abs=0.02)


def test_the_rest_of_the_resamples_gives_the_interval():
    """Two rows drawn of two: with probability 1/4 both are the row without a class."""
    with pytest.warns(UserWarning, match="entropy_precision"):
        result = bootstrap_interval(
            predictions=["r", "NA"],
            references=["r", "NA"],
            negative_label="NA",
            seed=0,
            zero_division=1.0,
            n_resamples=2000,
        )
    assert result.intervals["macro_f1"].undefined_share == pytest.approx(0.25, abs=0.05)
    assert result.to_json()["intervals"]["macro_f1"]["undefined_share"] > 0


def test_a_measure_that_no_resample_defines_has_no_interval():
    with pytest.warns(UserWarning, match="precision"):
        result = bootstrap_interval(
            predictions=["NA", "NA"], references=["a", "b"], negative_label="NA", seed=0, n_resamples=50
        )
    interval = result.intervals["micro_precision"]
    assert (interval.low, interval.high, interval.sd, interval.undefined_share) == (None, None, None, 1.0)
    assert result.intervals["micro_recall"].undefined_share == 0.0


def test_no_warning_where_every_resample_is_defined(recwarn):
    gold = ["a", "b"] * 20
    bootstrap_interval(predictions=gold, references=gold, seed=0, n_resamples=50)
    assert not recwarn.list
