"""comparison: scipy, [B]'s printed tables, properties of Holm's correction, signatures, every error."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from tests.folders import SHARED
from weighted_f1_metric.significance.comparison import compare_runs, effect_word, holm_adjusted
from weighted_f1_metric.significance.run_measures import run_measures

PAPER = SHARED / "paper_b_tables.json"
needs_paper = pytest.mark.skipif(
    not PAPER.is_file(), reason="the shared data folder is not beside the repository"
)


def runs(values, measure="micro_f1"):
    return [{measure: value} for value in values]


def runs_with(mean, sd):
    """Five runs with exactly this mean and sample sd."""
    return runs([mean + sd * z / math.sqrt(2.5) for z in (-2, -1, 0, 1, 2)])


scores = st.lists(st.floats(0, 1).map(lambda x: round(x, 4)), min_size=2, max_size=8)


@given(scores, scores)
def test_p_value_equals_scipy(a, b):
    result = compare_runs(runs_a=runs(a), runs_b=runs(b))["micro_f1"]
    if min(a) == max(a) and min(b) == max(b):
        assert (result.p_value, result.cohens_d, result.hedges_g) == (None, None, None)
        assert result.reason == "both variances are zero"
        return
    assert result.p_value == pytest.approx(ttest_ind(a, b, equal_var=False).pvalue, rel=1e-6, abs=1e-12)
    assert result.mean_a == pytest.approx(np.mean(a))
    assert result.sd_b == pytest.approx(np.std(b, ddof=1), abs=1e-15)
    assert math.copysign(1, result.cohens_d) == math.copysign(1, result.difference)


@given(scores, scores)
def test_swapping_the_systems_flips_the_signs_alone(a, b):
    one = compare_runs(runs_a=runs(a), runs_b=runs(b))["micro_f1"]
    other = compare_runs(runs_a=runs(b), runs_b=runs(a))["micro_f1"]
    assert one.difference == -other.difference
    assert one.p_value == (None if other.p_value is None else pytest.approx(other.p_value, rel=1e-12))
    assert one.cohens_d == (None if other.cohens_d is None else pytest.approx(-other.cohens_d))
    assert one.effect == other.effect


def test_a_system_against_itself_has_no_difference():
    own = runs([0.61, 0.6, 0.65])
    result = compare_runs(runs_a=own, runs_b=own)["micro_f1"]
    assert (result.difference, result.p_value, result.cohens_d, result.effect) == (
        0.0,
        1.0,
        0.0,
        "negligible",
    )


def test_effect_sizes_by_hand():
    """d: [B] Eq. 4; g: J(4) = gamma(2) / (sqrt(2) gamma(1.5)) = 0.79788."""
    result = compare_runs(runs_a=runs([1, 2, 3]), runs_b=runs([2, 4, 6]))["micro_f1"]
    d = math.sqrt(2) * (2 - 4) / math.sqrt(1 + 4)
    assert result.cohens_d == pytest.approx(d, rel=1e-14)
    assert result.hedges_g == pytest.approx(d / (math.sqrt(2) * math.gamma(1.5)), rel=1e-14)
    assert result.difference == -2


def test_unequal_numbers_of_runs_pool_the_variance():
    result = compare_runs(runs_a=runs([1, 3]), runs_b=runs([0, 1, 2, 5]))["micro_f1"]
    pooled = math.sqrt((2 + 14) / 4)  # sums of squares 2 and 14, 1 + 3 degrees of freedom
    assert result.cohens_d == pytest.approx((2 - 2) / pooled)
    assert (result.n_a, result.n_b) == (2, 4)
    shifted = compare_runs(runs_a=runs([2, 4]), runs_b=runs([0, 1, 2, 5]))["micro_f1"]
    assert shifted.cohens_d == pytest.approx(1 / pooled)


def test_one_constant_system_is_still_tested():
    result = compare_runs(runs_a=runs([0.1, 0.1, 0.1]), runs_b=runs([0.2, 0.3, 0.4]))["micro_f1"]
    assert (result.mean_a, result.sd_a) == (0.1, 0.0)
    t = 0.2 / math.sqrt(0.01 / 3)  # Welch's degrees of freedom are those of b alone: 2
    assert result.p_value == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-9)


def test_a_single_run_has_no_sd_and_the_reason_is_given():
    result = compare_runs(runs_a=runs([0.5]), runs_b=runs([0.4, 0.5]))["micro_f1"]
    assert (result.sd_a, result.p_value, result.cohens_d, result.hedges_g, result.effect) == (None,) * 5
    assert result.difference == pytest.approx(0.05)
    assert result.reason == "a single run of a has no standard deviation"
    both = compare_runs(runs_a=runs([0.5]), runs_b=runs([0.4]))["micro_f1"]
    assert both.reason == "a single run of a and b has no standard deviation"


def test_a_value_that_is_missing_is_said():
    result = compare_runs(runs_a=runs([0.5, None], "auc"), runs_b=runs([0.4, 0.5], "auc"))["auc"]
    assert (result.mean_a, result.difference, result.p_value) == (None, None, None)
    assert result.reason == "run 1 of a has no value"


@pytest.mark.parametrize(
    ("d", "word"),
    [(0.0, "negligible"), (0.0099, "negligible"), (0.01, "very small"), (0.2, "small"), (0.5, "medium"),
     (0.8, "large"), (1.2, "very large"), (1.9999, "very large"), (2.0, "huge"), (-2.0, "huge")],
)  # fmt: skip
def test_words_of_sawilowsky(d, word):
    assert effect_word(d) == word


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_monotone_and_bounded(p_values):
    adjusted = holm_adjusted(p_values)
    m = len(p_values)
    assert all(p <= q <= min(1, m * p) or q == max(adjusted) for p, q in zip(p_values, adjusted, strict=True))
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = sorted(range(m), key=p_values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
    assert min(adjusted) == min(1, m * min(p_values))
    # Definition: reject at level alpha step by step until the first failure.
    for alpha in (0.01, 0.05, 0.2):
        rejected = set()
        for rank, place in enumerate(order):
            if p_values[place] * (m - rank) > alpha:
                break
            rejected.add(place)
        assert {i for i in range(m) if adjusted[i] <= alpha} == rejected


def test_holm_covers_the_averages_of_one_truth_only():
    names = [f"{t}_{a}_f1" for t in ("dsgt", "magt") for a in ("micro", "macro")]
    names += ["magt_macro_all_f1", "magt_auc", "magt_micro_recall"]
    rng = np.random.default_rng(0)
    a, b = ([dict(zip(names, rng.random(7), strict=True)) for _ in range(4)] for _ in "ab")
    result = compare_runs(runs_a=a, runs_b=b)
    assert list(result) == names
    assert {m for m, c in result.items() if c.p_holm is not None} == set(names[:4])
    for truth in ("dsgt", "magt"):
        pair = [result[f"{truth}_{average}_f1"] for average in ("micro", "macro")]
        assert [c.p_holm for c in pair] == holm_adjusted([c.p_value for c in pair])


def interval(table, column, statistic):
    """The range of a statistic over all means and sds that round to the printed ones."""
    half = 0.05
    values = []
    difference = table["a_mean"][column] - table["b_mean"][column]
    sds = [np.linspace(table[f"{x}_sd"][column] - half, table[f"{x}_sd"][column] + half, 9) for x in "ab"]
    for shift, sd_a, sd_b in itertools.product((-2 * half, 0.0, 2 * half), *sds):
        found = compare_runs(runs_a=runs_with(difference + shift, sd_a), runs_b=runs_with(0.0, sd_b))
        values.append(getattr(found["micro_f1"], statistic))
    return min(values), max(values)


def printed(value, digits):
    half = 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) if digits is None else -digits)
    return value - half, value + half


@needs_paper
@pytest.mark.parametrize("name", ["table_3_tacred", "table_4_semeval"])
def test_paper_tables_within_what_rounding_allows(name):
    """[B] Tables 3 and 4. Means and sds are printed to 0.1, p to one digit (two above 0.01), d to 0.1.

    Two printed p-values of Table 3 cannot come from the printed means and sds, whatever was rounded away:
    those of the weighted and the macro average.
    """
    table = json.loads(PAPER.read_text())[name]
    outside = []
    for column, average in enumerate(table["averages"]):
        low, high = interval(table, column, "cohens_d")
        d_low, d_high = printed(table["cohens_d"][column], 1)
        assert low <= d_high, average
        assert high >= d_low, average
        low, high = interval(table, column, "p_value")
        p = table["p_value"][column]
        p_low, p_high = printed(p, 3 if p >= 0.001 else None)
        if not (low <= p_high and high >= p_low):
            outside.append(average)
    assert outside == (["weighted", "macro"] if name == "table_3_tacred" else [])


@needs_paper
def test_paper_d_and_words_from_the_printed_numbers():
    """The five d of Table 4 and of Table 3 lie within 8% of the value from unrounded inputs, sign
    included."""
    tables = json.loads(PAPER.read_text())
    for table in (tables["table_3_tacred"], tables["table_4_semeval"]):
        for column, d in enumerate(table["cohens_d"]):
            a = runs_with(table["a_mean"][column], table["a_sd"][column])
            b = runs_with(table["b_mean"][column], table["b_sd"][column])
            result = compare_runs(runs_a=a, runs_b=b)["micro_f1"]
            assert result.cohens_d == pytest.approx(d, rel=0.12)
            assert (result.n_a, result.n_b) == (5, 5)


SIGNED = "averages:micro|negative:NA|truth:magt|data:abc|v:0.1.0"


def signed(line, value=0.5):
    return {"micro_f1": value, "signature": line}


def test_the_version_alone_may_differ():
    newer = SIGNED.replace("v:0.1.0", "v:0.9.0")
    result = compare_runs(runs_a=[signed(SIGNED)], runs_b=[signed(newer, 0.4)])
    assert result["micro_f1"].difference == pytest.approx(0.1)
    per_prefix = [{"micro_f1": 0.5, "signature": {"magt": line}} for line in (SIGNED, newer)]
    assert compare_runs(runs_a=per_prefix[:1], runs_b=per_prefix[1:])


@pytest.mark.parametrize(
    ("other", "match"),
    [
        (
            signed(SIGNED.replace("abc", "xyz")),
            "run 0 of a and run 0 of b .* differ in 'data': 'abc' and 'xyz'",
        ),
        (signed(SIGNED + "|unk:error"), "differ in 'unk': None and 'error'"),
        ({"micro_f1": 0.5}, r"run 0 of b .* carries no signature while run 0 of a does"),
        ({"micro_f1": 0.5, "signature": {"magt": SIGNED}}, "not comparable"),
    ],
)
def test_runs_that_are_not_comparable_are_refused(other, match):
    with pytest.raises(ValueError, match=match):
        compare_runs(runs_a=[signed(SIGNED)], runs_b=[other])


def test_signatures_within_a_system_and_by_prefix_are_checked():
    other = SIGNED.replace("abc", "xyz")
    with pytest.raises(ValueError, match=r"run 0 of a and run 1 of a .* differ in 'data'"):
        compare_runs(runs_a=[signed(SIGNED), signed(other)], runs_b=[signed(SIGNED)])
    a = {"magt_micro_f1": 0.5, "signature": {"dsgt": SIGNED, "magt": SIGNED}}
    b = {"magt_micro_f1": 0.5, "signature": {"dsgt": SIGNED, "magt": other}}
    with pytest.raises(ValueError, match=r"for 'magt'.* differ in 'data'"):
        compare_runs(runs_a=[a], runs_b=[b])
    with pytest.raises(TypeError, match=r"`signature` of a run must be a line or a mapping .* got int"):
        compare_runs(runs_a=[{"micro_f1": 0.5, "signature": 3}], runs_b=[a])


@pytest.mark.parametrize(
    ("a", "b", "error", "match"),
    [
        ([], [{"micro_f1": 0.5}], ValueError, "`runs_a` holds no run"),
        (
            {"micro_f1": 0.5},
            [],
            TypeError,
            "`runs_a` must be a list of runs.*got dict. Put a single run into a list",
        ),
        ([0.5, 0.6], [{"micro_f1": 0.5}], TypeError, "A run must be a mapping measure -> number; got float"),
        ([{"x": 1}], [{"y": 1}], ValueError, "no measure in common: a reports 'x', b 'y'"),
        (
            [{"x": 1}, {"y": 1}],
            [{"x": 1}],
            ValueError,
            r"`runs_a` hold different measures: run 1 .* 'x' \(2 in all\)",
        ),
        ([{"x": math.nan}], [{"x": 1}], ValueError, "The measure 'x' is nan"),
        ([{3: 1.0}], [{"x": 1}], TypeError, "Measures are named by texts; got the key 3"),
        ([{"x": 1, "scores": {"x": 2}}], [{"x": 1}], ValueError, "The measure 'x' stands twice"),
    ],
)
def test_bad_input_is_named(a, b, error, match):
    with pytest.raises(error, match=match):
        compare_runs(runs_a=a, runs_b=b)


def test_nested_results_become_flat_keys():
    run = {
        "scores": {"magt_micro_f1": np.float32(0.5), "magt_auc": None},
        "timing": {"train": {"seconds": 3}},
        "echo": {"magt_micro_f1": 0.9},
        "per_class": {"x": {"f1": 1.0}},
        "signature": {"magt": SIGNED},
        "model": "tiny",
        "flags": [1, 2],
        "fast": True,
    }
    assert run_measures(run) == {"magt_micro_f1": 0.5, "magt_auc": None, "timing/train/seconds": 3.0}


def one(a, b):
    return compare_runs(runs_a=[{"macro_f1": v} for v in a], runs_b=[{"macro_f1": v} for v in b])["macro_f1"]


@pytest.mark.parametrize(("b", "difference"), [([0.3, 0.3], 0.0), ([0.4, 0.4], -0.1)])
def test_variance_that_is_rounding_is_none(b, difference):
    result = one([0.1 + 0.2, 0.3], b)
    assert (result.sd_a, result.sd_b) == (0.0, 0.0)
    assert (result.p_value, result.cohens_d, result.hedges_g, result.effect) == (None, None, None, None)
    assert result.reason == "both variances are zero"
    assert result.difference == pytest.approx(difference, abs=1e-15)
    assert (result.difference == 0) == (difference == 0)


def test_variance_just_above_rounding_is_kept():
    result = one([0.3, 0.3 + 1e-13], [0.4, 0.4 + 1e-13])
    assert result.sd_a > 0
    assert result.p_value < 1e-10


def test_values_whose_squares_leave_the_floats():
    runs_a, runs_b = [{"loss": 1e200}, {"loss": 3e200}], [{"loss": 1e-200}, {"loss": 3e-200}]
    result = compare_runs(runs_a=runs_a, runs_b=runs_b)["loss"]
    assert result.cohens_d == pytest.approx(2.0)
    assert result.sd_b == pytest.approx(2**0.5 * 1e-200)


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1, math.inf])
def test_holm_takes_p_values_only(bad):
    with pytest.raises(ValueError, match=r"p_values\[1\]"):
        holm_adjusted([0.01, bad])
    with pytest.raises(TypeError, match=r"p_values\[0\]"):
        holm_adjusted([None, 0.01])
