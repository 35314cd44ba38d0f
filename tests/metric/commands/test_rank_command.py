"""The command `rank`: files and folders of runs, equal numbers to Python, and every error."""

import json

import pytest

from weighted_f1_metric import rank_intervals
from weighted_f1_metric.__main__ import main

GOLD = ["a", "b", "NA"] * 20
GOOD = GOLD
POOR = ["b", "b", "NA"] * 20
DRAWN = ("--n_resamples", "200")


@pytest.fixture
def labels(tmp_path):
    for name, column in {"gold": GOLD, "good": GOOD, "poor": POOR}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(column) + "\n")
    return tmp_path


def rank(folder, *words, paths=("good.txt", "poor.txt")):
    files = [str(folder / path) for path in paths]
    return main(["rank", *files, "--gold", str(folder / "gold.txt"), "--negative", "NA", *DRAWN, *words])


def test_numbers_are_those_of_python(labels, capsys):
    assert rank(labels, "--format", "json", "--averages", "micro", "macro", "--seed", "3") == 0
    expected = rank_intervals(
        systems={"good.txt": GOOD, "poor.txt": POOR},
        references=GOLD,
        negative_label="NA",
        labels=["NA", "a", "b"],
        averages=["micro", "macro"],
        seed=3,
        n_resamples=200,
    )
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected.to_json()))


def test_table_question_and_letters_are_printed(labels, capsys):
    assert rank(labels, "--averages", "micro", "--names", "GOOD", "POOR") == 0
    shown = capsys.readouterr().out
    assert "| GOOD | 1 | 100.00 | 1 | 1-1 | a |" in shown
    assert "| 2 | 2-2 | b |" in shown
    assert "new test bags" in shown
    assert "1 of 1 neighbours" in shown
    assert "averages:micro|" in shown


def test_pictures_and_a_latex_table(labels, capsys):
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    plots = labels / "plots"
    assert rank(labels, "--averages", "micro", "--plots", str(plots), "--format", "latex") == 0
    shown = capsys.readouterr()
    assert r"good.txt & 1 & 100.00 & 1 & 1-1 & a \\" in shown.out
    assert str(plots / "ranks_micro_f1.pdf") in shown.err
    assert {path.name for path in plots.iterdir()} == {
        f"{what}_micro_f1.{form}" for what in ("ranks", "better") for form in ("pdf", "png")
    }


def test_folders_of_seeds_are_runs(tmp_path, rows, capsys):
    (tmp_path / "rel2id.json").write_text(json.dumps({"NA": 0, "born_in": 1, "lives_in": 2}))
    (tmp_path / "test.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    systems = {"x": [["born_in"] * 4, ["NA"] * 4], "y": [["lives_in"] * 4, ["NA", "lives_in"] * 2]}
    for name, runs in systems.items():
        for seed, relations in zip((9, 148), runs, strict=True):
            folder = tmp_path / name / f"seed-{seed}"
            folder.mkdir(parents=True)
            records = [{"instance_id": f"i{n}", "pred": relation} for n, relation in enumerate(relations)]
            (folder / "predictions.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
            (folder / "metrics.json").write_text(json.dumps({"signature": "data:one|v:0"}))
    words = ["rank", str(tmp_path / "x"), str(tmp_path / "y"), "--track", "sent2sent"]
    words += ["--rel2id", str(tmp_path / "rel2id.json"), "--test", str(tmp_path / "test.json"), *DRAWN]
    assert main([*words, "--truths", "magt", "--question", "seeds", "--averages", "macro"]) == 0
    shown = capsys.readouterr().out
    assert "new seeds" in shown
    assert "MAGT macro F1" in shown
    assert "DSGT" not in shown
    assert "| x | 2 |" in shown
    (tmp_path / "y" / "seed-9" / "metrics.json").write_text(json.dumps({"signature": "data:two|v:0"}))
    assert main(words) == 2
    assert "'data'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("paths", "words", "named"),
    [
        (("good.txt", "./good.txt"), (), "/good.txt' is there more than once"),
        (("good.txt",), (), "two systems"),
        (("good.txt", "absent.txt"), (), "absent.txt"),
        (("good.txt", "empty"), (), "empty"),
        (("good.txt", "poor.txt"), ("--names", "x"), "2 different names"),
        (("good.txt", "poor.txt"), ("--measures", "nothing"), "'nothing'"),
        (("good.txt", "short.txt"), (), "short.txt"),
    ],
)
def test_bad_input_is_one_line(labels, capsys, paths, words, named):
    (labels / "empty").mkdir()
    (labels / "short.txt").write_text("a\n")
    assert rank(labels, *words, paths=paths) == 2
    shown = capsys.readouterr().err
    assert named in shown
    assert shown.count("\n") == 1


def test_one_file_under_two_names_is_said(labels, capsys):
    (labels / "again.txt").write_text((labels / "good.txt").read_text())
    assert rank(labels, paths=("good.txt", "again.txt", "poor.txt")) == 0
    shown = capsys.readouterr()
    assert "'again.txt', 'good.txt'" in shown.out
    assert shown.err.startswith("warning: 'again.txt', 'good.txt'")
    words = ("--names", "x", "y", "z", "--averages", "micro")
    assert rank(labels, *words, paths=("good.txt", "good.txt", "poor.txt")) == 0
    shown = capsys.readouterr()
    assert "| x | 1 | 100.00 | 1 | 1-2 | a |" in shown.out
    assert "warning: 'x', 'y'" in shown.err


def test_a_seed_without_predictions_is_named(tmp_path, capsys):
    for name in ("x", "y"):
        for seed in (9, 148):
            folder = tmp_path / name / f"seed-{seed}"
            folder.mkdir(parents=True)
            (folder / "metrics.json").write_text("{}")
            (folder / "predictions.jsonl").write_text("")
    (tmp_path / "y" / "seed-148" / "predictions.jsonl").unlink()
    assert main(["rank", str(tmp_path / "x"), str(tmp_path / "y"), "--gold", str(tmp_path / "g.txt")]) == 2
    shown = capsys.readouterr().err
    assert str(tmp_path / "y" / "seed-148") in shown
    assert shown.count("\n") == 1


def test_runs_of_other_truths_are_named(tmp_path, capsys):
    for name, signature in (("x", "truth:dsgt|v:0"), ("y", "truth:magt|v:0")):
        folder = tmp_path / name / "seed-9"
        folder.mkdir(parents=True)
        (folder / "metrics.json").write_text(json.dumps({"signature": signature}))
        (folder / "predictions.jsonl").write_text("")
    assert main(["rank", str(tmp_path / "x"), str(tmp_path / "y"), "--gold", str(tmp_path / "g.txt")]) == 2
    shown = capsys.readouterr().err
    assert "run 0 of x" in shown
    assert "run 0 of y" in shown
    assert "'dsgt' and 'magt'" in shown
    assert shown.count("\n") == 1
