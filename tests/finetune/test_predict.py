"""`python -m finetune.predict`: a file of records in, a file of predictions out."""

import json
from pathlib import Path

import pytest
from datasets import Dataset
from pandas import DataFrame
from transformers import AutoTokenizer

from finetune import RelationClassifier, RelationPipeline
from finetune.predict import main, read_lines
from nyt_h_dataset import load_nyt_h
from weighted_f1_metric import read_predictions, score_track
from weighted_f1_metric.__main__ import main as score_main

GOOD = '{"text": "Ann was born in Bonn.", "head": [0, 3], "tail": [16, 20]}\n'


def predict(
    model: Path, records: Path, *more: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["--model", str(model), "--input", str(records), *more])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_test_set_gets_the_predictions_of_the_run(
    two_seeds: Path, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NYT-H's own file: the entities are found by their words, as in the run."""
    out = tmp_path / "predictions.jsonl"
    more = ("--output", str(out), "--batch_size", "7")
    status, said, err = predict(two_seeds / "seed-9", sample / "test.json", *more, capsys=capsys)
    assert (status, said) == (0, "")
    found, expected = read_predictions(out), read_predictions(two_seeds / "seed-9" / "predictions.jsonl")
    for one, other in zip(found, expected, strict=True):
        assert one["instance_id"] == other["instance_id"]
        assert one["scores"] == pytest.approx(other["scores"], abs=5e-3)  # rounding of bf16 by batch shape
        best, second = sorted(other["scores"].values())[:-3:-1]
        assert one["pred"] == other["pred"] or best - second < 0.01
    assert "90 sentences: " in err
    for status in ("whole", "windowed", "not_found"):
        count = sum(one["status"] == status for one in found)
        assert count > 0
        assert f"{count} {status.replace('_', ' ')}" in err
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.jsonl"]
    check_scored_alike(found, out, sample, two_seeds / "seed-9", tmp_path, capsys)


def check_scored_alike(
    found: list[dict], file: Path, sample: Path, model: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The records, a Dataset and a DataFrame of them, the pipeline's output and the file score alike."""
    test = load_nyt_h(sample, "sentence", split="test", cache_dir=folder / "cache")
    expected = score_track(track="sent2sent", references=test, predictions=found)
    for predictions in (Dataset.from_list(found), DataFrame(found)):
        assert score_track(track="sent2sent", references=test, predictions=predictions) == expected
    records = [{name: row[name] for name in ("instance_id", "sentence", "head", "tail")} for row in test]
    classify = RelationPipeline(
        model=RelationClassifier.from_pretrained(model).eval(), tokenizer=AutoTokenizer.from_pretrained(model)
    )
    scores = score_track(track="sent2sent", references=test, predictions=classify(records, batch_size=7))
    assert scores["magt_micro_f1"] == pytest.approx(expected["magt_micro_f1"], abs=0.05)
    assert scores["signatures"] == expected["signatures"]
    words = ["score", "-k", "sent2sent", "-r", str(sample / "rel2id.json"), "-t", str(sample / "test.json")]
    assert score_main([*words, "-p", str(file), "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {key: shown[key] for key in expected} == json.loads(json.dumps(expected))


def test_the_standard_output_and_the_line_number(
    two_seeds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text("\n" + GOOD)
    status, said, err = predict(two_seeds / "seed-9", records, capsys=capsys)
    assert status == 0
    assert json.loads(said)["instance_id"] == "2"
    assert err == "1 sentences: 1 whole\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD + '{"text": \n',
            "records.jsonl, line 2: not a JSON object: Expecting value",
        ),
        (
            GOOD + "[1]\n",
            "records.jsonl, line 2: a record must be a JSON object; got [1]",
        ),
        (GOOD + '{"text": "a"}\n', "records.jsonl, line 2: 'head' must be [start, end]"),
        (GOOD.replace("20]", "99]"), "line 1': the tail span (16, 99) is not inside the sentence of 21"),
        (GOOD.replace("[16, 20]", "[0, 3]"), "line 1: head and tail are the same span (0, 3)"),
        ("\n \n", "records.jsonl is empty; it must hold a JSON object a line"),
        (GOOD.replace("Bonn", "B\udcffnn"), "line 1: byte 28 is not UTF-8"),
    ],
)
def test_broken_files_leave_no_output(
    text: str, message: str, two_seeds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records, out = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    records.write_bytes(text.encode("utf-8", "surrogateescape"))
    out.write_text("before")
    status, said, err = predict(two_seeds / "seed-9", records, "--output", str(out), capsys=capsys)
    assert (status, said) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "records.jsonl"]


def test_other_faults(
    two_seeds: Path, bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text(GOOD)
    run = two_seeds / "seed-9"
    for model, given, more, message in [
        (run, tmp_path / "no.jsonl", (), "no.jsonl is not there; it must hold a JSON object a line"),
        (run, records, ("--output", str(tmp_path / "no" / "out")), "no is not there"),
        (run, records, ("--batch_size", "0"), "`batch_size` must be a positive integer; got 0"),
        (
            bert_folder,
            records,
            (),
            "did not load: its model_type is 'bert', not a relation classifier's. It must",
        ),
        (tmp_path, records, (), "`--model` "),
    ]:
        status, said, err = predict(model, given, *more, capsys=capsys)
        assert (status, said) == (2, "")
        assert message in err


def test_lines_are_read_one_after_another(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text(GOOD + "{broken\n")
    lines = read_lines(records)
    where, record = next(lines)
    assert where == f"{records}, line 1"
    assert record["tail"] == [16, 20]
    with pytest.raises(ValueError, match="line 2: not a JSON"):
        next(lines)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "--batch_size" in capsys.readouterr().out
