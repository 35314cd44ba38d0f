"""[A]'s Figures 3 and 4 of several systems: what their lines are, and what is said where there are none."""

import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")

from finetune.experiments import figures as comparison_figures
from finetune.experiments.comparison import write_comparison
from tests.finetune.experiments.made_runs import (
    RELATIONS,
    guesses,
    made_data,
    read_csv,
    run_by_hand,
    run_of_predictions,
)
from weighted_f1_metric import AVERAGES, read_predictions

SEEDS = (9, 148)


@pytest.fixture
def drawn(monkeypatch):
    """Name -> figure of everything that is written."""
    found = {}
    write = comparison_figures.write_figures

    def keep(folder, figures):
        found.update(figures)
        return write(folder, figures)

    monkeypatch.setattr(comparison_figures, "write_figures", keep)
    return found


def systems(tmp_path, data, track):
    return [
        run_of_predictions(
            tmp_path / name,
            data,
            name,
            {seed: guesses(data, track, seed=seed, accuracy=accuracy) for seed in SEEDS},
            track,
        )
        for name, accuracy in {"good": 0.8, "poor": 0.3}.items()
    ]


def first_hits(run, data, seed, *, human):
    """k at which the 1st, 2nd, ... correct (bag, relation) pair is reached; the scores have no ties."""
    wanted = {
        (row["bag_id"], row["relation"])
        for row in data.splits["test"].references
        if row["bag_label"] == "yes" or not human
    }
    ranked = sorted(
        ((-score, record["bag_id"], name)
         for record in read_predictions(run.folder / f"seed-{seed}" / "predictions.jsonl")
         for name, score in record["scores"].items() if name != "NA")
    )  # fmt: skip
    if human:  # [A]'s candidates: the distant pairs
        distant = {(row["bag_id"], row["relation"]) for row in data.splits["test"].references}
        ranked = [item for item in ranked if item[1:] in distant]
    return [k for k, (_, bag, name) in enumerate(ranked, start=1) if (bag, name) in wanted]


def test_lines_are_means_over_the_seeds(tmp_path, drawn):
    """Precision where the 12th of 24 pairs is found, recall 12 / 12 bags in [A]'s convention."""
    data = made_data()
    runs = systems(tmp_path, data, "bag2bag")
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    assert set(drawn) == {f"figure_{n}_{c}_bag2bag" for n in (3, 4) for c in ("paper", "ours")}
    for name in drawn:
        assert (tmp_path / "out" / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"(figures/{name}.png)" in report
    paper, ours = (drawn[f"figure_3_{convention}_bag2bag"].axes for convention in ("paper", "ours"))
    assert [axes.get_title() for axes in paper] == [
        "DSGT (prevalence 66.7%)",  # 24 of 36 pairs
        "MAGT (DS scope) (prevalence 66.7%)",  # 16 of 24
    ]
    assert [axes.get_title() for axes in ours] == ["DSGT (prevalence 66.7%)", "MAGT (prevalence 44.4%)"]
    assert paper[0].get_xlabel() == "recall of bags"
    assert ours[0].get_xlabel() == "recall of (bag, relation) pairs"
    for place, run in enumerate(runs):
        twelfth = [first_hits(run, data, seed, human=False)[11] for seed in SEEDS]
        mean = np.mean([12 / k for k in twelfth])
        for axes, recall in ((paper[0], 1.0), (ours[0], 0.5)):
            line = axes.lines[place]
            assert line.get_label() == f"{run.system} (n = 2)"
            assert np.interp(recall, line.get_xdata(), line.get_ydata()) == pytest.approx(mean, abs=0.01)
        # Of 16 confirmed pairs the 6th, recall 6 / 12 bags that have one.
        sixth = [first_hits(run, data, seed, human=True)[5] for seed in SEEDS]
        line = paper[1].lines[place]
        assert np.interp(0.5, line.get_xdata(), line.get_ydata()) == pytest.approx(
            np.mean([6 / k for k in sixth]), abs=0.01
        )
    assert "in [A]'s convention: precision against recall, mean over 2 seeds, with bands" in report
    assert "Recall counts bags with a gold relation, so it passes 1 where a bag has several" in report
    assert "in our convention: precision against recall" in report
    points = read_csv(tmp_path / "out" / "figures" / "figure_3_bag2bag.csv")
    own = [p for p in points if (p["convention"], p["truth"], p["system"]) == ("ours", "dsgt", "poor")]
    found = {(int(p["seed"]), int(p["k"])): (float(p["recall"]), float(p["precision"])) for p in own}
    for seed in SEEDS:
        twelfth = first_hits(runs[1], data, seed, human=False)[11]
        assert found[seed, twelfth] == pytest.approx((0.5, 12 / twelfth))
    assert (
        "The points of every seed: `figures/figure_3_bag2bag.csv`, `figures/figure_4_bag2bag.csv`." in report
    )


def test_coverage_is_a_mean_over_the_seeds(tmp_path, drawn):
    data = made_data()
    runs = systems(tmp_path, data, "sent2sent")
    write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    every, correct = drawn["figure_4_paper_sent2sent"].axes
    assert (every.get_title(), correct.get_title()) == ("all candidates", "correct by DSGT")
    by_people = drawn["figure_4_ours_sent2sent"].axes[1]
    gold = dict(zip(data.splits["test"].row_names, data.splits["test"].labels, strict=True))
    for place, run in enumerate(runs):
        covered, covered_correct = [], []
        for seed in SEEDS:
            records = read_predictions(run.folder / f"seed-{seed}" / "predictions.jsonl")
            ranked = sorted(
                ((-score, record["instance_id"], name)
                 for record in records for name, score in record["scores"].items() if name != "NA")
            )[:3]  # fmt: skip
            covered.append(len({name for _, _, name in ranked}))
            right = {name for _, unit, name in ranked if RELATIONS[gold[unit]] == name}
            covered_correct.append(len(right))
        assert every.lines[place].get_ydata()[2] == pytest.approx(np.mean(covered))
        assert correct.lines[place].get_ydata()[2] == pytest.approx(np.mean(covered_correct))
        assert by_people.lines[place].get_ydata()[-1] == 2  # one relation is always refused
    assert by_people.get_title() == "correct by MAGT"
    points = read_csv(tmp_path / "out" / "figures" / "figure_4_sent2sent.csv")
    own = [p for p in points if (p["truth"], p["system"], p["k"]) == ("dsgt", "poor", "3")]
    assert [float(p["covered"]) for p in own] == covered
    assert [float(p["covered_by_correct"]) for p in own] == covered_correct


def test_systems_without_scores_are_named(tmp_path, drawn):
    data = made_data()
    good, poor = systems(tmp_path, data, "bag2bag")
    plain = [
        {key: own[key] for key in ("bag_id", "pred")} for own in guesses(data, "bag2bag", seed=1, accuracy=1)
    ]
    bare = run_of_predictions(tmp_path / "bare", data, "bare", dict.fromkeys(SEEDS, plain), "bag2bag")
    names = [f"{t}_{a}_f1" for t in ("dsgt", "magt", "magt_ds_scope") for a in (*AVERAGES, "macro_all")]
    scores = {seed: dict.fromkeys(names, 0.5) for seed in SEEDS}
    gone = run_by_hand(tmp_path / "gone", data, "gone", scores, "bag2bag")
    report = write_comparison(title="t", runs=[good, bare, poor, gone], data=data, folder=tmp_path / "out")
    assert "Not in the pictures, for want of prediction files with scores: bare, gone." in report
    assert [line.get_label() for line in drawn["figure_3_ours_bag2bag"].axes[0].lines[:2]] == [
        "good (n = 2)",
        "poor (n = 2)",
    ]
    (poor.folder / "seed-148" / "predictions.jsonl").unlink()
    fewer = write_comparison(title="t", runs=[good, poor], data=data, folder=tmp_path / "out")
    assert "Not in the pictures, for want of prediction files with scores: poor." in fewer
    nobody = write_comparison(title="t", runs=[bare, gone], data=data, folder=tmp_path / "none")
    assert "Not in the pictures, for want of prediction files with scores: bare, gone." in nobody
    assert ".png" not in nobody


def test_the_same_runs_give_the_same_files(tmp_path):
    data = made_data()
    runs = systems(tmp_path, data, "bag2bag")
    files = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        write_comparison(title="t", runs=runs, data=data, folder=folder)
        files.append(
            {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        )
    assert files[0] == files[1]
    assert not [name for name in files[0] if ".part" in str(name)]


def test_without_matplotlib_only_the_pictures_are_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    data = made_data()
    runs = systems(tmp_path, data, "bag2bag")
    report = write_comparison(title="t", runs=runs, data=data, folder=tmp_path / "out")
    assert "No pictures: Figures need matplotlib; install it with pip install" in report
    assert not list((tmp_path / "out").rglob("*.png"))
    assert (tmp_path / "out" / "tables" / "table_6_bag2bag.md").is_file()
