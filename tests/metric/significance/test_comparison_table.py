"""rank_agreement and comparison_table: scipy's ranks and tau, the paper's layout, disagreements in words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

from weighted_f1_metric.significance.comparison import compare_runs
from weighted_f1_metric.significance.comparison_table import (
    agreement_table,
    comparison_table,
    disagreements,
    rank_disagreements,
    reference_table,
)
from weighted_f1_metric.significance.rank_agreement import rank_systems


def runs(values):
    return [{"micro_f1": value} for value in values]


def runs_with(mean, sd):
    """Five runs with exactly this mean and sample sd."""
    return runs([mean + sd * z / math.sqrt(2.5) for z in (-2, -1, 0, 1, 2)])


SYSTEMS = {
    "x": [{"magt_micro_f1": 0.9, "magt_macro_f1": 0.4, "dsgt_micro_f1": 0.7, "num_units": 5}],
    "y": [{"magt_micro_f1": 0.8, "magt_macro_f1": 0.5, "dsgt_micro_f1": 0.8, "num_units": 5}],
    "z": [{"magt_micro_f1": 0.7, "magt_macro_f1": 0.3, "dsgt_micro_f1": 0.8, "num_units": 5}],
}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=7))
def test_ranks_and_tau_equal_scipy(values):
    systems = {f"s{i}": [{"micro_f1": a / 4, "macro_f1": b / 4}] for i, (a, b) in enumerate(values)}
    agreement = rank_systems(systems)
    columns = list(zip(*values, strict=True))
    for measure, column in zip(("micro_f1", "macro_f1"), columns, strict=True):
        assert agreement.ranks[measure] == tuple(rankdata([-value for value in column]))
    tau = agreement.kendall_tau["micro_f1", "macro_f1"]
    if any(len(set(column)) == 1 for column in columns):
        assert tau is None
    else:
        assert tau == pytest.approx(kendalltau(*columns).statistic)


def test_the_last_digits_of_sums_are_no_difference():
    """0.1 + 0.2 is more than 0.3 in floating point; a difference of 1e-9 is one."""
    x = [{"micro_f1": 0.1 + 0.2, "macro_f1": 0.3, "weighted_f1": 0.3 + 1e-9}]
    y = [{"micro_f1": 0.3, "macro_f1": 0.1 + 0.2, "weighted_f1": 0.3}]
    agreement = rank_systems({"x": x, "y": y})
    assert agreement.ranks == {"micro_f1": (1.5, 1.5), "weighted_f1": (1.0, 2.0), "macro_f1": (1.5, 1.5)}
    assert agreement.kendall_tau["micro_f1", "macro_f1"] is None
    assert agreement.swapped_pairs("micro_f1", "macro_f1") == ()
    assert agreement.best("micro_f1") == ("x", "y")
    assert agreement.means["micro_f1"] == (0.1 + 0.2, 0.3), "as they are"


def test_rankings_say_which_systems_swap():
    agreement = rank_systems(SYSTEMS)
    assert agreement.measures == ("magt_micro_f1", "magt_macro_f1", "dsgt_micro_f1")
    assert agreement.best("dsgt_micro_f1") == ("y", "z")
    assert agreement.best("magt_micro_f1") == ("x",)
    assert agreement.swapped_pairs("magt_micro_f1", "dsgt_micro_f1") == (("x", "y"), ("x", "z"))
    text = rank_disagreements(agreement)
    assert text[0] == (
        "magt_micro_f1 and magt_macro_f1 (tau = 0.33): x before y by the first, after it by the second."
    )
    assert "| magt_micro_f1 | 1 (90.0) | 2 (80.0) | 3 (70.0) |" in agreement_table(agreement)
    assert "| dsgt_micro_f1 | 3 (70.0) | 1.5 (80.0) | 1.5 (80.0) |" in agreement_table(agreement)


@pytest.mark.parametrize(
    ("systems", "error", "match"),
    [
        ({"x": SYSTEMS["x"]}, ValueError, "at least two systems; got 1"),
        ([SYSTEMS["x"]], TypeError, "`systems` must be a mapping name -> runs; got list"),
        ({"x": [{"auc": 0.1}], "y": [{"auc": 0.1}]}, ValueError, "no F1 average in common"),
        (
            {name: [{"micro_f1": 0.5, "signature": f"data:{name}"}] for name in "xy"},
            ValueError,
            "run 0 of x and run 0 of y",
        ),
    ],
)
def test_bad_input_of_rankings_is_named(systems, error, match):
    with pytest.raises(error, match=match):
        rank_systems(systems)


def test_words_say_where_averages_and_truths_disagree():
    def system(micro, macro, dsgt):
        return [
            {"magt_micro_f1": micro + x, "magt_macro_f1": macro + x, "dsgt_micro_f1": dsgt + x}
            for x in (-0.01, 0.0, 0.01)
        ]

    compared = compare_runs(runs_a=system(0.6, 0.3, 0.7), runs_b=system(0.5, 0.301, 0.8))
    assert disagreements(compared, name_a="X", name_b="Y") == [
        "Under MAGT the averages disagree on who is better: X by micro (+10.0, significant); "
        "Y by macro (+0.1, not significant).",
        "By micro F1 the truths disagree on who is better: X by MAGT (+10.0, significant); "
        "Y by DSGT (+10.0, significant).",
    ]
    same = compare_runs(runs_a=system(0.6, 0.3, 0.7), runs_b=system(0.5, 0.2, 0.7))
    assert disagreements(same) == []


def test_table_has_the_layout_of_the_paper():
    names = [f"magt_{average}_f1" for average in ("micro", "weighted", "dodrans", "entropy", "macro")]
    a = [dict.fromkeys(names, 0.725 + z * 0.003) for z in (-1, 0, 1)]
    b = [dict.fromkeys(names, 0.715 + z * 0.004) for z in (-1, 0, 1)]
    lines = comparison_table(
        compare_runs(runs_a=a, runs_b=b), name_a="A|B", name_b="C", truth="magt"
    ).splitlines()
    assert lines[0] == "| MAGT F1 (%) | micro | weighted | dodrans | entropy | macro |"
    assert lines[2].startswith("| A\\|B (n = 3) | 72.5 ± 0.3 |")
    assert [line.count("|") for line in lines] == [7, 7, 8, 7, 7, 7, 7, 7, 7]
    one = comparison_table(compare_runs(runs_a=runs([0.5]), runs_b=runs([0.4])))
    assert "| p (Welch) | - |" in one
    assert one.endswith("-: a single run of a and b has no standard deviation (a is a, b is b).")
    mixed = compare_runs(
        runs_a=[{"micro_f1": 0.5, "macro_f1": v} for v in (0.1, 0.2)],
        runs_b=[{"micro_f1": 0.4, "macro_f1": v} for v in (0.1, 0.3)],
    )
    text = comparison_table(mixed, name_a="X", name_b="Y")
    assert text.endswith("-: micro: both variances are zero (a is X, b is Y).")
    with pytest.raises(
        ValueError, match="No F1 average of the truth 'dsgt' was compared; truths present: 'magt'"
    ):
        comparison_table(compare_runs(runs_a=a, runs_b=b), truth="dsgt")


def test_small_p_values_are_written_with_a_power_of_ten():
    a, b = runs_with(0.879, 0.001), runs_with(0.827, 0.001)
    assert "e-" in comparison_table(compare_runs(runs_a=a, runs_b=b)).splitlines()[5]


def test_one_system_against_several():
    """A block of rows for each b; what is missing is said of each."""
    x, y, z = runs_with(72.5, 0.3), runs_with(71.5, 0.4), runs([70.0])
    others = {"Y": compare_runs(runs_a=x, runs_b=y), "Z\n|": compare_runs(runs_a=x, runs_b=z)}
    lines = reference_table(others, reference="X").splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:15]] == [
        "X (n = 5)",
        *("Y (n = 5)", "difference", "p (Welch)", "p (Holm)", "Cohen's d", "Hedges' g"),
        *("Z \\", "difference", "p (Welch)", "p (Holm)", "Cohen's d", "Hedges' g"),
    ]
    assert lines[3:9] == comparison_table(others["Y"], name_a="X", name_b="Y").splitlines()[3:9]
    assert lines[15:] == ["", "-: a single run of b has no standard deviation (a is X, b is Z |)."]
    with pytest.raises(ValueError, match="`others` is empty; 'X' is compared with nothing"):
        reference_table({}, reference="X")


def test_rankings_by_measures_that_are_named():
    agreement = rank_systems({"x": [{"a": 0.1, "b": 0.3}], "y": [{"a": 0.2, "b": 0.1}]}, measures=["b", "a"])
    assert agreement.measures == ("b", "a")
    assert agreement.ranks["b"] == (1.0, 2.0)
    assert agreement.kendall_tau == {("b", "a"): pytest.approx(-1.0)}
    with pytest.raises(ValueError, match="cannot be ranked by 'b': not every run of 'y' has a number for it"):
        rank_systems({"x": [{"b": 0.3}], "y": [{"b": None}]}, measures=["b"])
