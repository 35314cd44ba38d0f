"""Finished runs compared: the tables, their files, and every error."""

import dataclasses
import itertools
import json
import math
import re
from collections import Counter
from dataclasses import replace

import pytest
from scipy.stats import ttest_ind, ttest_ind_from_stats
from sklearn.metrics import f1_score, precision_score, recall_score

from finetune.data.nyt_h_rows import read_nyt_h
from finetune.experiments import comparison
from finetune.experiments.comparison import write_comparison
from finetune.experiments.figures import Pictures
from tests.finetune.experiments.made_runs import (
    RELATIONS,
    guesses,
    made_data,
    read_csv,
    run_by_hand,
    run_of_predictions,
)
from tests.folders import SHARED
from weighted_f1_metric import AVERAGES, read_predictions

SEEDS = (9, 148, 378)
TRUTHS = ("dsgt", "magt_ds_scope", "magt")


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch):
    """They have tests of their own, and drawing takes longer than all the rest."""
    monkeypatch.setattr(comparison, "draw_comparison", lambda folder, runs, data: Pictures())
    monkeypatch.setattr(comparison, "draw_rank_sets", lambda folder, runs, ranks: [])


def plain(values):
    """The five averages, each with this value."""
    return {f"{average}_f1": value for average, value in zip(AVERAGES, values, strict=True)}


def two_systems(tmp_path, track="bag2bag", seeds=SEEDS, data=None):
    data = data or made_data()
    runs = [
        run_of_predictions(
            tmp_path / f"{name}-{track}",
            data,
            name,
            {seed: guesses(data, track, seed=seed + shift, accuracy=accuracy) for seed in seeds},
            track,
        )
        for shift, (name, accuracy) in enumerate({"good": 0.8, "poor": 0.3}.items())
    ]
    return runs, data


def tables_of(text):
    """The tables of a Markdown text, as lists of lines."""
    found, own = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            own.append(line)
        elif own:
            found.append(own)
            own = []
    return found


def test_the_files_and_the_report(tmp_path):
    runs, data = two_systems(tmp_path)
    runs += two_systems(tmp_path, "sent2sent")[0][:1]
    report = write_comparison(title="A comparison", runs=runs, data=data, folder=tmp_path / "out")
    assert (tmp_path / "out" / "README.md").read_text() == report
    assert report.startswith("# A comparison\n\n2 systems: good, poor. Test split of nyt\\_h, fingerprint")
    names = {path.stem for path in (tmp_path / "out" / "tables").glob("*.csv")}
    assert names == {path.stem for path in (tmp_path / "out" / "tables").glob("*.md")}
    stems = {
        "table_6",
        "table_7",
        "averages",
        "comparisons",
        "rank_sets",
        "ranks",
        "ranking_truths",
        "ranking_averages",
        "gaps",
    }
    only_one = {"table_6", "table_7", "averages", "gaps"}  # what one system has
    assert names == (
        {f"{stem}_bag2bag" for stem in stems}
        | {f"{stem}_sent2sent" for stem in only_one}
        | {"label_statistics"}
    )
    assert "Without a run on this track: poor." in report
    assert "One system only, so there is nothing to rank." in report
    # A signature beneath every table of a track, in the report and in the files.
    for path in (tmp_path / "out" / "tables").glob("*2*.md"):
        assert "truth:dsgt" in path.read_text(), path
    assert report.index("## sent2sent") < report.index("## bag2bag")


def test_table_6_is_macro_over_all_relations(tmp_path):
    """Precision, recall and F1 as scikit-learn has them, sd as numpy would."""
    runs, data = two_systems(tmp_path, "sent2sent")
    write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    rows = read_csv(tmp_path / "out" / "tables" / "table_6_sent2sent.csv")
    found = {(row["system"], row["truth"], row["measure"]): row for row in rows}
    gold = [reference["relation"] for reference in data.splits["test"].references]
    options = {"labels": RELATIONS[1:], "average": "macro", "zero_division": 0}
    for measure, score in (("P", precision_score), ("R", recall_score), ("F1", f1_score)):
        row = found["good", "dsgt", measure]
        values = []
        for seed in SEEDS:
            records = read_predictions(runs[0].folder / f"seed-{seed}" / "predictions.jsonl")
            predicted = {record["instance_id"]: record["pred"] for record in records}
            values.append(score(gold, [predicted[name] for name in data.splits["test"].row_names], **options))
            assert float(row[f"seed {seed}"]) == pytest.approx(values[-1])
        mean = sum(values) / 3
        assert float(row["mean"]) == pytest.approx(mean)
        assert float(row["sd"]) == pytest.approx((sum((v - mean) ** 2 for v in values) / 2) ** 0.5)
        assert row["n"] == "3"
    # 24 rows, a relation each, 8 of them refused; 3 relations make 72 candidates, 24 in the DS scope.
    prevalence = {truth: float(found["good", truth, "prevalence"]["mean"]) for truth in ("dsgt", "magt")}
    assert prevalence == pytest.approx({"dsgt": 24 / 72, "magt": 16 / 72})
    assert float(found["poor", "magt_ds_scope", "prevalence"]["mean"]) == pytest.approx(16 / 24)
    echo = found["echo (copies the distant labels)", "magt", "P"]
    assert (float(echo["mean"]), echo["seed 9"]) == (pytest.approx((1 + 1 + 0) / 3), "")


def test_table_6_in_markdown(tmp_path):
    data = made_data()
    values = {"macro_all_precision": 0.5, "macro_all_recall": 0.25, "macro_all_f1": 0.3, "auc": 0.125}
    values |= {"auc_over_units": 0.15, "prevalence": 0.2, **plain([0.4] * 5)}
    scores = {
        seed: {f"{truth}_{key}": value + shift for truth in TRUTHS for key, value in values.items()}
        for seed, shift in ((1, 0.0), (2, 0.1))
    }
    run = run_by_hand(tmp_path, data, "cnn", scores)
    report = write_comparison(title="t", runs=[run], data=data, folder=tmp_path / "out")
    assert "over n = 2 seeds (1, 2). P, R and F1 are macro averages over all relations" in report
    # Means 0.55, 0.30, 0.35, 0.175, 0.20 and the sd of two values 0.1 apart, 0.1 / sqrt(2).
    line = "| cnn | 55.00 ± 7.07 | 30.00 ± 7.07 | 35.00 ± 7.07 | 17.50 ± 7.07 | 20.00 ± 7.07 | 25.00 |"
    assert report.count(line) == 3
    assert report.index("**DSGT: distant labels**") < report.index("**MAGT (DS scope): human labels, [A]'s")


def test_table_7_has_a_dash_beyond_the_candidates(tmp_path):
    runs, data = two_systems(tmp_path)
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    header = next(line for line in report.splitlines() if line.startswith("| system | P@50 |"))
    assert header == "| system | P@50 | P@100 | P@200 | P@300 | P@500 | P@1000 | P@2000 | prevalence |"
    # 12 bags x 3 relations: 36 candidates, fewer than 50.
    assert "| good | - | - | - | - | - | - | - | 66.67 |" in report
    rows = read_csv(tmp_path / "out" / "tables" / "table_7_bag2bag.csv")
    assert {row["mean"] for row in rows if row["measure"] == "P@50"} == {""}
    larger, data = two_systems(tmp_path / "larger", "sent2sent", data=made_data(num_rows=60))
    write_comparison(title="t", runs=larger, data=data, folder=tmp_path / "out")
    rows = read_csv(tmp_path / "out" / "tables" / "table_7_sent2sent.csv")
    [row] = [r for r in rows if (r["system"], r["truth"], r["measure"]) == ("good", "dsgt", "P@50")]
    records = read_predictions(larger[0].folder / "seed-9" / "predictions.jsonl")
    gold = dict(zip(data.splits["test"].row_names, data.splits["test"].labels, strict=True))
    ranked = sorted(
        (-score, RELATIONS.index(name) == gold[record["instance_id"]])
        for record in records
        for name, score in record["scores"].items()
        if name != "NA"
    )
    assert float(row["seed 9"]) == pytest.approx(sum(hit for _, hit in ranked[:50]) / 50, abs=0.021)  # a tie


def test_data_without_human_labels(tmp_path):
    """The averages and the official score; no truths, no tables of [A]."""
    data = made_data(human=False, groups=True)
    runs, _ = two_systems(tmp_path, "sent2sent", data=data)
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    assert "DSGT" not in report
    assert {path.stem for path in (tmp_path / "out" / "tables").glob("*.csv")} == {
        *(
            f"{stem}_sent2sent"
            for stem in ("averages", "comparisons", "rank_sets", "ranks", "ranking_averages")
        ),
        "label_statistics",
    }
    assert "| system | micro | weighted | dodrans | entropy | macro | official |" in report
    assert "| official F1 (%) | macro |" in report
    rows = read_csv(tmp_path / "out" / "tables" / "comparisons_sent2sent.csv")
    assert [row["measure"] for row in rows] == [*AVERAGES, "official"]
    values = [[own["test"]["official_macro_f1"] for own in run.results["seeds"].values()] for run in runs]
    assert float(rows[-1]["p_welch"]) == pytest.approx(ttest_ind(*values, equal_var=False).pvalue)
    # Six rows of each of three relations, and six negative ones.
    assert "| test | 4 | 24 | 25.0 | 4.00 | 3.00 | 1.00 |" in report


def test_bags_without_human_labels(tmp_path):
    """Scored by the distant labels alone: [A]'s tables of DSGT, and no question of [A]."""
    runs, data = two_systems(tmp_path, "bag2bag", data=made_data(human=False))
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    rows = read_csv(tmp_path / "out" / "tables" / "table_6_bag2bag.csv")
    assert {row["truth"] for row in rows} == {"dsgt"}
    assert "Does the ranking change between DSGT and MAGT?" not in report
    assert "Does the ranking change between the averages?" in report
    assert "\n**MAGT" not in report
    sentences, _ = two_systems(tmp_path, "bag2sent", data=data)
    of_sentences = write_comparison(title="t", runs=sentences, data=data, folder=tmp_path / "two")
    # Of 24 sentences six have no relation.
    assert "| sentences, distant labels | 4 | 24 | 25.0 | 4.00 | 3.00 | 1.00 |" in of_sentences
    # Bags (NA, 1), (2, 3), (NA, 1), ...: of 12 bags none is without a relation.
    assert "| bags, distant labels | 3 | 18 | 0.0 | 3.00 | 3.00 | 1.00 |" in report


def test_sentences_of_models_that_are_trained_on_bags(tmp_path):
    runs, data = two_systems(tmp_path, "bag2sent")
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    assert "## bag2sent" in report
    rows = read_csv(tmp_path / "out" / "tables" / "ranks_bag2sent.csv")
    found = {(row["system"], row["key"]): float(row["rank"]) for row in rows}
    for key in {row["key"] for row in rows}:
        means = [run.results["mean"][key] for run in runs]
        ranks = (1, 2) if means[0] > means[1] else (2, 1)
        assert (found["good", key], found["poor", key]) == ranks
    assert found["good", "dsgt_micro_f1"] == 1
    # Units without the positive relation: none; the confirmed ones are 16 of two relations.
    assert "| sentences, confirmed by people | 2 | 16 | 0.0 | 2.00 | 2.00 | 1.00 |" in report


def paper_runs(tmp_path, name):
    """Both systems of a table of [B] as five seeds with exactly the printed means and sds."""
    path = SHARED / "paper_b_tables.json"
    if not path.is_file():
        pytest.skip("the shared data folder is not beside the repository")
    table = json.loads(path.read_text())[name]
    data = made_data(human=False)
    runs = []
    for side in "ab":
        scores = {}
        for seed, z in enumerate((-2, -1, 0, 1, 2)):
            pairs = zip(table[f"{side}_mean"], table[f"{side}_sd"], strict=True)
            scores[seed] = plain([(mean + sd * z / 2.5**0.5) / 100 for mean, sd in pairs])
        runs.append(run_by_hand(tmp_path / side, data, table[side], scores))
    return table, runs, data


def printed_p_is_possible(printed, a, b):
    """Whether means and sds that round to the printed ones (0.1) give a p that rounds to the printed one."""
    digits = 3 if printed >= 0.001 else -math.floor(math.log10(printed))
    half = 0.5 * 10.0**-digits
    roundings = (-0.05, 0.0, 0.05)
    found = [
        ttest_ind_from_stats(a[0] + 2 * shift, a[1] + sd_a, 5, b[0], b[1] + sd_b, 5, equal_var=False).pvalue
        for shift, sd_a, sd_b in itertools.product(roundings, repeat=3)
    ]
    return min(found) <= printed + half and max(found) >= printed - half


@pytest.mark.parametrize(
    ("name", "outside"), [("table_3_tacred", {"weighted", "macro"}), ("table_4_semeval", set())]
)
def test_tables_3_and_4_of_the_paper(tmp_path, name, outside):
    """p and d from the printed means and sds; two printed p-values of Table 3 cannot come from them."""
    table, runs, data = paper_runs(tmp_path, name)
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    rows = read_csv(tmp_path / "out" / "tables" / "comparisons_sent2sent.csv")
    assert [(row["a"], row["b"], row["measure"]) for row in rows] == [
        (table["a"], table["b"], average) for average in table["averages"]
    ]
    far = set()
    for column, row in enumerate(rows):
        a, b = ((table[f"{side}_mean"][column], table[f"{side}_sd"][column]) for side in "ab")
        p_value = ttest_ind_from_stats(*a, 5, *b, 5, equal_var=False).pvalue
        assert float(row["p_welch"]) == pytest.approx(p_value, rel=1e-6)
        if not printed_p_is_possible(table["p_value"][column], a, b):
            far.add(row["measure"])
        assert float(row["cohens_d"]) == pytest.approx(table["cohens_d"][column], rel=0.12)
        assert float(row["mean_a"]) == pytest.approx(table["a_mean"][column] / 100)
    assert far == outside
    shown = [f"{mean:.1f} ± {sd:.1f}" for mean, sd in zip(table["a_mean"], table["a_sd"], strict=True)]
    assert f"| {table['a']} (n = 5) | {' | '.join(shown)} |" in report
    assert re.search(r"\| Cohen's d \| -?\d+\.\d \(huge\)", report)


@pytest.mark.parametrize("track", ["sent2sent", "bag2bag"])
def test_five_simple_systems_on_real_data(tmp_path, track):
    if not (SHARED / "nyt_h_shaped").is_dir():
        pytest.skip("the shared data folder is not beside the repository")
    folder = SHARED / "nyt_h_shaped"
    data = read_nyt_h(str(folder))
    names = ["lr_between", "svm_all", "typepair", "majority", "echo_ds_label"]
    prefix = "bag" if track == "bag2bag" else "sent"
    runs = [
        run_of_predictions(
            tmp_path / name,
            data,
            name,
            {0: list(read_predictions(folder / "predictions" / f"{prefix}_{name}.jsonl"))},
            track,
        )
        for name in names
    ]
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    expected = json.loads((folder / "expected_scores.json").read_text())
    rows = read_csv(tmp_path / "out" / "tables" / f"table_6_{track}.csv")
    compared = 0
    for row in rows:
        measure = {"P": "precision", "R": "recall", "F1": "f1"}.get(row["measure"])
        if measure and row["system"] in names:
            truths = expected[f"{track}/{row['system']}"]["expected"]
            assert float(row["mean"]) == pytest.approx(truths[row["truth"]][f"macro_all_{measure}"], abs=1e-9)
            compared += 1
    assert compared == 5 * 3 * 3
    assert "p-values: the paired randomization test over bags" in report
    rows = read_csv(tmp_path / "out" / "tables" / f"averages_{track}.csv")
    for row in (row for row in rows if row["system"] in names and row["measure"] in AVERAGES):
        truths = expected[f"{track}/{row['system']}"]["expected"]
        assert float(row["mean"]) == pytest.approx(truths[row["truth"]][f"{row['measure']}_f1"], abs=1e-9)


def test_names_that_would_break_a_table(tmp_path):
    runs, data = two_systems(tmp_path)
    runs = [dataclasses.replace(run, system=f"a|{run.system}\nnew \\| `line`") for run in runs]
    report = write_comparison(title="one\ntwo", runs=runs, data=data, folder=tmp_path / "out")
    assert report.startswith("# one two\n\n")
    for table in tables_of(report):
        widths = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table}
        assert len(widths) == 1, table
    assert len(tables_of(report)) > 10
    rows = read_csv(tmp_path / "out" / "tables" / "table_6_bag2bag.csv")
    assert rows[0]["system"] == "a|good\nnew \\| `line`"


def changed(run, **values):
    return dataclasses.replace(run, results={**run.results, **values})


ERRORS = {
    "nothing": (lambda runs: [], "There are no finished runs to compare"),
    "twice": (
        lambda runs: [runs[0], runs[0]],
        "The system 'good' has two runs on bag2bag: .*good-bag2bag and .*good-bag2bag",
    ),
    "track": (
        lambda runs: [dataclasses.replace(runs[0], track="bag")],
        "The track of 'good' must be one of sent2sent, bag2sent, bag2bag; it is 'bag'",
    ),
    "seeds": (
        lambda runs: [
            runs[0],
            dataclasses.replace(
                runs[1],
                seeds=(9,),
                results={**runs[1].results, "seeds": {"9": runs[1].results["seeds"]["9"]}},
            ),
        ],
        "The runs on bag2bag have different seeds: 'good' 9, 148, 378, 'poor' 9. Run every system",
    ),
    "unfinished": (
        lambda runs: [changed(runs[0], seeds={"9": runs[0].results["seeds"]["9"]})],
        "results.json holds the seeds 9; the run of 'good' on bag2bag has 9, 148, 378. Run what is missing",
    ),
    "fingerprint": (
        lambda runs: [runs[0], changed(runs[1], data={"name": "nyt_h", "fingerprint": "0" * 16})],
        "different data: 'good' fingerprint .*, 'poor' 0000000000000000",
    ),
    "signature": (
        lambda runs: [
            runs[0],
            changed(
                runs[1],
                signature={
                    prefix: line.replace("unk:error", "unk:exclude")
                    for prefix, line in runs[1].results["signature"].items()
                },
            ),
        ],
        "signatures of run 0 of good and run 0 of poor for 'dsgt' .* differ in 'unk'",
    ),
    "no results": (
        lambda runs: [dataclasses.replace(runs[0], results={})],
        r"results.json is not what a run of this command wrote \(KeyError\('seeds'\)\)",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_runs_that_cannot_be_compared(tmp_path, name):
    runs, data = two_systems(tmp_path)
    change, match = ERRORS[name]
    with pytest.raises(ValueError, match=match):
        write_comparison(title="t", runs=change(runs), data=data, folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_version_alone_may_differ(tmp_path):
    runs, data = two_systems(tmp_path)
    older = {prefix: line.replace("|v:", "|v:0.") for prefix, line in runs[1].results["signature"].items()}
    assert write_comparison(
        title="t", runs=[runs[0], changed(runs[1], signature=older)], data=data, folder=tmp_path / "out"
    )


def test_other_data_than_those_of_the_runs(tmp_path):
    runs, _ = two_systems(tmp_path)
    with pytest.raises(ValueError, match="The runs on bag2bag were scored on other data than those given"):
        write_comparison(title="t", runs=runs, data=made_data(num_rows=30), folder=tmp_path / "out")


def test_a_system_named_as_the_echo_keeps_its_gaps(tmp_path):
    runs, data = two_systems(tmp_path)
    named = replace(runs[0], system="echo (copies the distant labels)")
    write_comparison(title="t", runs=[named, runs[1]], data=data, folder=tmp_path / "out")
    rows = read_csv(tmp_path / "out" / "tables" / "gaps_bag2bag.csv")
    counts = Counter((row["system"], row["n"]) for row in rows)
    assert counts[named.system, "3"] == counts["poor", "3"] == counts[named.system, "1"]
