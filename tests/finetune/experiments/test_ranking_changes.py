"""Whether rankings change: constructed cases, with scipy's p-values, Holm's correction and tau by hand."""

import re

import pytest
from scipy.stats import kendalltau, ttest_ind

from finetune.experiments.comparison import write_comparison
from tests.finetune.experiments.made_runs import guesses, made_data, read_csv, run_by_hand, run_of_predictions
from weighted_f1_metric import AVERAGES, randomization_test

TRUTHS = ("dsgt", "magt_ds_scope", "magt")
SPREAD = (-0.02, -0.01, 0.0, 0.01, 0.02)


def run_with(tmp_path, data, system, means, spread=SPREAD):
    """A run of five seeds whose every F1 of a truth has this mean; a tuple has one for each average."""
    scores = {}
    for seed, shift in enumerate(spread):
        own = {}
        for truth, mean in means.items():
            values = mean if isinstance(mean, tuple) else (mean,) * 5
            own |= {f"{truth}_{a}_f1": value + shift for a, value in zip(AVERAGES, values, strict=True)}
            own[f"{truth}_macro_all_f1"] = values[-1] + shift
        scores[seed] = own
    return run_by_hand(tmp_path / system, data, system, scores)


def compared(tmp_path, systems, **options):
    """The report, and the rows of both ranking tables, of systems with these means by truth."""
    data = made_data()
    runs = [run_with(tmp_path, data, name, means, **options) for name, means in systems.items()]
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    tables = tmp_path / "out" / "tables"
    rows = [read_csv(tables / f"ranking_{what}_sent2sent.csv") for what in ("truths", "averages")]
    return report, *rows


def of_truth(truth, rows, measure="macro, all relations"):
    return [row for row in rows if (row["truth_2"], row["measure_1"]) == (truth, measure)]


def test_a_ranking_that_changes_significantly(tmp_path):
    """Under DSGT x leads by 10 points, under [A]'s MAGT y does, under ours x still does."""
    systems = {
        "x": {"dsgt": 0.6, "magt_ds_scope": 0.3, "magt": 0.4},
        "y": {"dsgt": 0.5, "magt_ds_scope": 0.4, "magt": 0.35},
    }
    report, truths, _ = compared(tmp_path, systems)
    by_all = "by macro F1 over all relations ([A]'s F1), the ranking of 2 systems"
    assert (
        f"Between DSGT and MAGT (DS scope), {by_all} changes, and the swap x/y is significant in both "
        "(Kendall's tau -1.00)"
    ) in report
    assert f"Between DSGT and MAGT, {by_all} does not change (Kendall's tau 1.00)" in report
    [row] = of_truth("magt_ds_scope", truths)
    assert (row["better_by_1"], row["better_by_2"], row["significant"]) == ("x", "y", "both")
    assert (float(row["difference_1"]), float(row["difference_2"])) == pytest.approx((0.1, 0.1))
    # One pair of systems and six measures that agree: Holm's p is six times Welch's.
    p_value = ttest_ind([0.6 + s for s in SPREAD], [0.5 + s for s in SPREAD], equal_var=False).pvalue
    assert float(row["p_holm_1"]) == pytest.approx(6 * p_value)
    assert 6 * p_value < 0.05
    [row] = of_truth("magt", truths)
    assert (row["verdict"], row["better_by_1"]) == ("does not change", "")
    # The gap of x is 30 points in [A]'s convention and 20 in ours.
    gaps = read_csv(tmp_path / "out" / "tables" / "gaps_sent2sent.csv")
    found = {
        (g["system"], g["truth"]): float(g["mean"]) for g in gaps if g["measure"] == "macro, all relations"
    }
    assert found["x", "magt_ds_scope"] == pytest.approx(0.3)
    assert found["x", "magt"] == pytest.approx(0.2)
    sds = [float(gap["sd"]) for gap in gaps if gap["system"] == "x"]
    assert max(sds) == pytest.approx(0, abs=1e-12), "of the seeds' own gaps, not of two spreads"
    p_ours = ttest_ind([0.4 + s for s in SPREAD], [0.35 + s for s in SPREAD], equal_var=False).pvalue
    large, small = f"p = {6 * p_value:.2g}".replace("e-0", "e-"), f"p = {6 * p_ours:.2g}"
    assert (
        f"| macro, all relations | x - y | +10.00 ({large}) | -10.00 ({large}) | +5.00 ({small}) | "
        "MAGT (DS scope) |"
    ) in report


def test_the_better_one_by_distant_labels_is_named_first(tmp_path):
    """Also where it is the later one in the experiment."""
    systems = {
        "y": {"dsgt": 0.5, "magt_ds_scope": 0.4, "magt": 0.45},
        "x": {"dsgt": 0.6, "magt_ds_scope": 0.3, "magt": 0.4},
    }
    report, truths, _ = compared(tmp_path, systems)
    assert re.search(r"\| micro \| x - y \| \+10.00 \(.*?\) \| -10.00 \(.*?\) \| -5.00 \(", report)
    assert {(row["better_by_1"], row["better_by_2"]) for row in truths} == {("x", "y")}
    assert report.count("the swap x/y is significant in both") > 2


def test_a_ranking_that_changes_but_not_significantly(tmp_path):
    systems = {
        "x": {"dsgt": 0.6, "magt_ds_scope": 0.3, "magt": 0.4},
        "y": {"dsgt": 0.5, "magt_ds_scope": 0.305, "magt": 0.402},
    }
    report, truths, _ = compared(tmp_path, systems)
    assert report.count("the ranking of 2 systems changes, but not significantly (Kendall's tau -1.00)") == 2
    [row] = of_truth("magt", truths)
    assert (row["verdict"], row["significant"]) == ("changes, but not significantly", "first")
    assert float(row["p_holm_2"]) > 0.05 > float(row["p_holm_1"])
    assert "these differ significantly: 1 under DSGT, 0 under MAGT (DS scope), 0 under MAGT" in report


def test_a_ranking_that_does_not_change(tmp_path):
    systems = {
        "x": {"dsgt": 0.6, "magt_ds_scope": 0.5, "magt": 0.4},
        "y": {"dsgt": 0.5, "magt_ds_scope": 0.4, "magt": 0.3},
    }
    report, truths, averages = compared(tmp_path, systems)
    assert report.count("the ranking of 2 systems does not change (Kendall's tau 1.00)") == 2
    assert "by micro, weighted, dodrans, entropy, macro it does not change." in report
    assert {row["verdict"] for row in truths + averages} == {"does not change"}
    assert report.count("Under DSGT the ranking does not change between the averages.") == 1
    assert report.count("No two systems swap.") == 4


def test_ties_are_no_swaps(tmp_path):
    systems = {
        "x": {"dsgt": 0.6, "magt_ds_scope": 0.5, "magt": 0.4},
        "y": {"dsgt": 0.6, "magt_ds_scope": 0.4, "magt": 0.3},
    }
    report, truths, _ = compared(tmp_path, systems)
    assert {row["verdict"] for row in truths} == {"does not change, but for ties"}
    assert {row["kendall_tau"] for row in truths} == {""}
    assert "the ranking of 2 systems does not change, but for ties; by micro" in report


def test_averages_that_disagree(tmp_path):
    """[B]'s claim: x leads by micro, y by macro; z is last by all."""
    systems = {
        "x": dict.fromkeys(TRUTHS, (0.8, 0.75, 0.7, 0.65, 0.5)),
        "y": dict.fromkeys(TRUTHS, (0.7, 0.71, 0.69, 0.66, 0.6)),
        "z": dict.fromkeys(TRUTHS, (0.1, 0.1, 0.1, 0.1, 0.1)),
    }
    report, truths, averages = compared(tmp_path, systems)
    assert (
        "Under DSGT the ranking changes between the averages, and these swaps are significant in both: x/y ("
        in (report)
    )
    assert {row["verdict"] for row in truths} == {"does not change"}
    rows = {(row["measure_1"], row["measure_2"]): row for row in averages if row["truth_1"] == "dsgt"}
    assert len(rows) == 10
    assert rows["micro", "macro"]["verdict"] == "changes, and the swap x/y is significant in both"
    assert rows["dodrans", "entropy"]["verdict"] == "changes, but not significantly"
    assert rows["micro", "weighted"]["verdict"] == "does not change"
    tau = kendalltau((0.8, 0.7, 0.1), (0.5, 0.6, 0.1)).statistic
    assert float(rows["micro", "macro"]["kendall_tau"]) == pytest.approx(tau)
    shown = next(line for line in report.splitlines() if line.startswith("| micro |"))
    assert shown.rstrip(" |").split(" | ")[-1] == f"{tau:.2f}"
    # Holm over 3 pairs x 6 measures, by its definition.
    p_values = {}
    for pair in (("x", "y"), ("x", "z"), ("y", "z")):
        columns = [(*systems[name]["dsgt"], systems[name]["dsgt"][-1]) for name in pair]
        for place in range(6):
            values = [[column[place] + shift for shift in SPREAD] for column in columns]
            p_values[pair, place] = ttest_ind(*values, equal_var=False).pvalue
    order = sorted(p_values, key=p_values.__getitem__)
    largest, holm = 0.0, {}
    for rank, key in enumerate(order):
        largest = max(largest, min(1.0, p_values[key] * (18 - rank)))
        holm[key] = largest
    tests = read_csv(tmp_path / "out" / "tables" / "comparisons_sent2sent.csv")
    measures = ["micro", "weighted", "dodrans", "entropy", "macro", "macro, all relations"]
    compared_tests = [row for row in tests if row["truth"] == "dsgt"]
    assert len(compared_tests) == 18
    for row in compared_tests:
        expected = holm[(row["a"], row["b"]), measures.index(row["measure"])]
        assert float(row["p_holm_of_family"]) == pytest.approx(expected)


def test_one_seed_is_tested_by_exchanging_bags(tmp_path):
    data = made_data(num_rows=60)
    systems = {"good": 0.6, "poor": 0.4}
    records = {
        name: guesses(data, "bag2bag", seed=place, accuracy=accuracy)
        for place, (name, accuracy) in enumerate(systems.items())
    }
    runs = [
        run_of_predictions(tmp_path / name, data, name, {7: own}, "bag2bag") for name, own in records.items()
    ]
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    rows = read_csv(tmp_path / "out" / "tables" / "comparisons_bag2bag.csv")
    expected = randomization_test(
        predictions_a=records["good"],
        predictions_b=records["poor"],
        references=data.splits["test"].references,
        track="bag2bag",
        relations=list(data.label_names[1:]),
        seed=0,
        n_resamples=10_000,
    )
    for row in rows:
        assert float(row["p_randomization"]) == expected.p_values[row["key"]]
        assert (row["p_welch"], row["cohens_d"]) == ("", "")
        assert row["reason"] == "a single run of a and b has no standard deviation"
    assert "p-values: the paired randomization test over bags (10,000 random exchanges, seed 0)" in report
    assert "One seed has no standard deviation, so [B]'s p and d are null" in report
    assert "one seed (7), so without a standard deviation" in report


def test_one_seed_without_tracks(tmp_path):
    """Rows in bags, and the official score by group."""
    data = made_data(human=False, groups=True, num_rows=60)
    records = [guesses(data, "sent2sent", seed=seed, accuracy=0.6 - 0.2 * seed) for seed in (0, 1)]
    runs = [
        run_of_predictions(tmp_path / name, data, name, {7: own}, "sent2sent")
        for name, own in zip("xy", records, strict=True)
    ]
    write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    rows = {
        row["measure"]: row for row in read_csv(tmp_path / "out" / "tables" / "comparisons_sent2sent.csv")
    }
    options = {
        "predictions_a": [record["pred"] for record in records[0]],
        "predictions_b": [record["pred"] for record in records[1]],
        "references": [data.label_names[label] for label in data.splits["test"].labels],
        "bags": data.splits["test"].pair_names,
        "negative_label": "NA",
        "seed": 0,
    }
    expected = randomization_test(**options)
    grouped = randomization_test(**options, groups=data.groups)
    by_rows = randomization_test(**{**options, "bags": None})
    assert len({found.p_values["macro_f1"] for found in (expected, grouped, by_rows)}) == 3
    assert float(rows["macro"]["p_randomization"]) == expected.p_values["macro_f1"]
    assert float(rows["official"]["p_randomization"]) == grouped.p_values["macro_f1"]
    assert float(rows["official"]["difference"]) == pytest.approx(grouped.differences["macro_f1"])


def test_one_seed_without_predictions_is_not_tested(tmp_path):
    systems = {
        "x": {"dsgt": 0.6, "magt_ds_scope": 0.3, "magt": 0.4},
        "y": {"dsgt": 0.5, "magt_ds_scope": 0.4, "magt": 0.5},
    }
    report, *_ = compared(tmp_path, systems, spread=(0.0,))
    assert report.count("the ranking of 2 systems changes, not tested (Kendall's tau -1.00)") == 2
    rows = read_csv(tmp_path / "out" / "tables" / "comparisons_sent2sent.csv")
    assert {row["reason"] for row in rows} == {
        "x has no predictions of its only seed, and one seed has no spread"
    }
    assert "+10.00 (not tested)" in report


def test_systems_without_spread_are_not_tested(tmp_path):
    """Two seeds with the same numbers: both variances are zero."""
    systems = {"x": dict.fromkeys(TRUTHS, 0.6), "y": dict.fromkeys(TRUTHS, 0.5)}
    report, *_ = compared(tmp_path, systems, spread=(0.0, 0.0))
    assert "0 under DSGT (1 not tested), 0 under MAGT (DS scope) (1 not tested), 0 under MAGT (1" in report
    rows = read_csv(tmp_path / "out" / "tables" / "comparisons_sent2sent.csv")
    assert {(row["p_welch"], row["reason"]) for row in rows} == {("", "both variances are zero")}
