"""`score` and `compare` on label files: formats, ids, direction, and equal numbers to Python."""

import csv
import io
import json

import pytest

from tests.folders import SHARED
from weighted_f1_metric import bootstrap_interval, f1_family, randomization_test, rank_intervals
from weighted_f1_metric.__main__ import main

GOLD = ["a", "a", "b", "NA", "b", "a"]
PREDICTED = ["a", "b", "b", "a", "NA", "a"]


@pytest.fixture
def labels(tmp_path):
    (tmp_path / "gold.txt").write_text("\n".join(GOLD) + "\n")
    (tmp_path / "pred.txt").write_text("\n".join(PREDICTED) + "\n")
    return tmp_path


def score(folder, *words, gold="gold.txt", pred="pred.txt"):
    return main(["score", "--gold", str(folder / gold), "--pred", str(folder / pred), *words])


def test_json_is_what_python_returns(labels, capsys):
    assert score(labels, "--negative", "NA", "--per_class", "--format", "json") == 0
    expected = f1_family(
        predictions=PREDICTED, references=GOLD, negative_label="NA", per_class=True, signature=True
    )
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected))


@pytest.mark.parametrize("form", ["markdown", "table", "latex", "csv"])
def test_precision_recall_and_f1_are_printed_in_every_format(labels, capsys, form):
    assert score(labels, "--negative", "NA", "--averages", "micro", "n^0.5", "--format", form) == 0
    shown, beside = capsys.readouterr()
    expected = f1_family(
        predictions=PREDICTED, references=GOLD, negative_label="NA", averages=["micro", "n^0.5"]
    )
    for name in ("micro", "n^0.5"):
        for measure in ("precision", "recall", "f1"):
            assert f"{100 * expected[f'{name}_{measure}']:.2f}" in shown
    assert ("averages:" in shown) == (form in ("markdown", "table"))
    assert "averages:" in shown + beside


def test_csv_is_one_table_that_parses(labels, capsys):
    assert score(labels, "--beta", "2", "--format", "csv") == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [len(row) for row in rows] == [4] * 6
    assert rows[0][3] == "F-beta"


def test_rows_are_matched_by_id(tmp_path, capsys):
    pairs = list(enumerate(zip(GOLD, PREDICTED, strict=True)))
    (tmp_path / "gold.csv").write_text("id,gold\n" + "".join(f"{i},{gold}\n" for i, (gold, _) in pairs))
    backwards = [{"id": i, "pred": predicted} for i, (_, predicted) in (pairs[2:] + pairs[:2])]
    (tmp_path / "pred.jsonl").write_text("".join(json.dumps(record) + "\n" for record in backwards))
    assert score(tmp_path, "--format", "json", gold="gold.csv", pred="pred.jsonl") == 0
    expected = f1_family(predictions=PREDICTED, references=GOLD)
    shown = json.loads(capsys.readouterr().out)
    assert {key: shown[key] for key in expected} == expected
    assert f1_family(predictions=PREDICTED[2:] + PREDICTED[:2], references=GOLD) != expected
    (tmp_path / "pred.jsonl").write_text("".join(json.dumps(record) + "\n" for record in backwards[1:]))
    assert score(tmp_path, gold="gold.csv", pred="pred.jsonl") == 2
    assert "'2'" in capsys.readouterr().err


def test_labels_of_the_predictions_alone_are_named(labels, capsys):
    (labels / "pred.txt").write_text("\n".join([*PREDICTED[:-1], "a "]).replace("b", "bb") + "\n")
    assert score(labels, "--negative", "NA") == 0
    said = capsys.readouterr().out
    assert "'bb'" in said
    assert "mean 'b'" in said


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--track", "sent2sent"], "--track"),
        (["--groups", "direction"], "'a'"),
        (["--negative", "none"], "none"),
    ],
)
def test_what_does_not_go_together_is_named(labels, capsys, words, named):
    assert score(labels, *words) == 2
    assert named in capsys.readouterr().err


def test_the_number_of_rows_is_compared(labels, capsys):
    (labels / "pred.txt").write_text("a\nb\n")
    assert score(labels) == 2
    shown = capsys.readouterr().err
    assert "6 rows" in shown
    assert "2" in shown


def test_flags_that_a_track_lacks_are_named(labels, capsys):
    assert main(["score", "--pred", str(labels / "pred.txt"), "--track", "sent2sent"]) == 2
    shown = capsys.readouterr().err
    assert "--rel2id" in shown
    assert "--test" in shown


@pytest.mark.skipif(not (SHARED / "semeval2010").is_dir(), reason="../shared/data/semeval2010 is not there")
def test_semeval_with_direction_is_the_official_score(capsys):
    folder = SHARED / "semeval2010"
    expected = json.loads((folder / "expected_scores.json").read_text())
    official = [key for key in next(iter(expected.values())) if key.startswith("official_macro_f1")]
    assert len(official) == 1
    for name, scores in expected.items():
        words = ["--negative", "Other", "--groups", "direction", "--format", "json"]
        assert score(folder, *words, gold="TEST_FILE_FULL.TXT", pred=f"predictions/{name}.txt") == 0
        shown = json.loads(capsys.readouterr().out)
        assert round(100 * shown["macro_f1"], 2) == scores[official[0]]


def test_label_files_are_compared_by_paired_tests(labels, capsys):
    (labels / "other.txt").write_text("\n".join(["a", "a", "NA", "NA", "b", "a"]) + "\n")
    words = ["--gold", str(labels / "gold.txt"), "--negative", "NA", "--n_resamples", "200", "--seed", "3"]
    out = labels / "out.json"
    files = [str(labels / "pred.txt"), str(labels / "other.txt")]
    assert main(["compare", *files, *words, "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    shared = {"references": GOLD, "negative_label": "NA", "labels": ["NA", "a", "b"]}
    drawn = {"seed": 3, "n_resamples": 200}
    other = ["a", "a", "NA", "NA", "b", "a"]
    test = randomization_test(predictions_a=PREDICTED, predictions_b=other, **shared, **drawn)
    assert found["tests"][0]["p_values"] == test.p_values
    line = f1_family(predictions=PREDICTED, signature=True, **shared)["signature"]
    assert found["signatures"] == {"": line}
    own = bootstrap_interval(predictions=other, **shared, **drawn).to_json()
    assert found["intervals"]["other.txt"] == json.loads(json.dumps(own))
    shown = capsys.readouterr().out
    for name in ("precision", "recall", "F1"):
        assert f"| {name} (%) | micro |" in shown
    more = ["--averages", "macro", "--beta", "2", "--format", "csv"]
    assert main(["compare", *files, *words, *more]) == 0
    found = randomization_test(
        predictions_a=PREDICTED, predictions_b=other, averages=["macro"], beta=2.0, **shared, **drawn
    )
    last = list(csv.reader(io.StringIO(capsys.readouterr().out)))[-6:]
    assert last[0] == ["F-beta (%)", "macro"]
    assert last[3] == ["difference", f"{100 * found.differences['macro_fbeta']:+.2f}"]


def test_three_systems_are_ranked_as_well(labels, capsys):
    columns = {"pred.txt": PREDICTED, "gold.txt": GOLD, "other.txt": ["a", "a", "NA", "NA", "b", "a"]}
    for name, column in columns.items():
        (labels / name).write_text("\n".join(column) + "\n")
    out = labels / "out.json"
    words = ["--gold", str(labels / "gold.txt"), "--negative", "NA", "--n_resamples", "200", "--seed", "3"]
    (labels / "copy.txt").write_text((labels / "gold.txt").read_text())
    files = [str(labels / name) for name in ("pred.txt", "copy.txt", "other.txt")]
    assert main(["compare", *files, *words, "--json", str(out)]) == 0
    expected = rank_intervals(
        systems={"pred.txt": PREDICTED, "copy.txt": GOLD, "other.txt": columns["other.txt"]},
        references=GOLD,
        negative_label="NA",
        labels=["NA", "a", "b"],
        seed=3,
        n_resamples=200,
    )
    assert json.loads(out.read_text())["ranks"] == json.loads(json.dumps(expected.to_json()))
    shown = capsys.readouterr().out
    best = expected.rankings["micro_f1"].systems[0]
    assert f"| copy.txt | 1 (1-{best.rank_high}) {best.group} |" in shown
    assert main(["compare", *files[:2], *words, "--json", str(out)]) == 0
    assert json.loads(out.read_text())["ranks"] is None


def test_a_file_is_not_compared_with_itself(labels, capsys):
    words = ["--gold", str(labels / "gold.txt")]
    same = str(labels / "." / "pred.txt")
    assert main(["compare", str(labels / "pred.txt"), same, *words]) == 2
    assert "pred.txt" in capsys.readouterr().err


def test_prediction_files_of_a_track_are_compared(tmp_path, rows, capsys):
    (tmp_path / "rel2id.json").write_text(json.dumps({"NA": 0, "born_in": 1, "lives_in": 2}))
    (tmp_path / "test.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    systems = {"a": ["born_in", "lives_in", "NA", "born_in"], "b": ["born_in"] * 4}
    predictions = {
        name: [{"instance_id": f"i{n}", "pred": relation} for n, relation in enumerate(relations)]
        for name, relations in systems.items()
    }
    for name, records in predictions.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    files = [str(tmp_path / f"{name}.jsonl") for name in systems]
    words = ["-k", "sent2sent", "-r", str(tmp_path / "rel2id.json"), "-t", str(tmp_path / "test.json")]
    more = ["--n_resamples", "100", "--names", "a", "b", "--json", str(tmp_path / "out.json")]
    assert main(["compare", *files, *words, *more]) == 0
    found = json.loads((tmp_path / "out.json").read_text())
    test = randomization_test(
        predictions_a=predictions["a"],
        predictions_b=predictions["b"],
        references=rows,
        track="sent2sent",
        relations=["born_in", "lives_in"],
        seed=0,
        n_resamples=100,
    )
    assert found["tests"] == [{"a": "a", "b": "b", **test.to_json()}]
    assert "MAGT F1 (%)" in capsys.readouterr().out
