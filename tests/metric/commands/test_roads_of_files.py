"""Files as people pass them to the commands: packed, piped, with keys twice, in another encoding."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from tests.folders import ROOT
from weighted_f1_metric import read_predictions, read_relations, score_track
from weighted_f1_metric.__main__ import main

PREDICTED = ["born_in", "lives_in", "NA", "born_in"]


@pytest.fixture
def files(tmp_path, rows):
    (tmp_path / "rel2id.json").write_text(json.dumps({"lives_in": 2, "NA": 0, "born_in": 1}))
    (tmp_path / "test.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    records = [{"instance_id": f"i{n}", "pred": relation} for n, relation in enumerate(PREDICTED)]
    (tmp_path / "pred.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def words(folder, **changed):
    names = {"rel2id": "rel2id.json", "test": "test.json", "pred": "pred.jsonl", **changed}
    flags = [text for flag, name in names.items() for text in (f"--{flag}", str(folder / name))]
    return ["score", "--track", "sent2sent", *flags, "--format", "json"]


def test_every_file_may_be_packed(files, rows, capsys):
    for name in ("rel2id.json", "test.json", "pred.jsonl"):
        (files / f"{name}.gz").write_bytes(gzip.compress((files / name).read_bytes()))
    packed = {"rel2id": "rel2id.json.gz", "test": "test.json.gz", "pred": "pred.jsonl.gz"}
    assert main(words(files, **packed)) == 0
    expected = score_track(
        track="sent2sent",
        references=rows,
        predictions=read_predictions(files / "pred.jsonl"),
        relations=["born_in", "lives_in"],
    )
    shown = json.loads(capsys.readouterr().out)
    assert {key: shown[key] for key in expected} == json.loads(json.dumps(expected))


def test_pipes_are_read(files):
    flags = "--track sent2sent --rel2id rel2id.json --test <(cat test.json) --format json --pred"
    script = f"cat pred.jsonl | '{sys.executable}' -m weighted_f1_metric score {flags} /dev/stdin"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], cwd=files, env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["num_units"] == len(PREDICTED)


def test_a_reader_that_has_gone_is_no_fault(files):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "weighted_f1_metric", *words(files)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    os.close(writer)
    assert done.returncode == 0
    assert "rror" not in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("rel2id.json", '{"NA": 0, "born_in": 1, "born_in": 2}', "born_in"),
        ("pred.jsonl", '{"instance_id": "i0", "pred": "NA", "pred": "born_in"}\n', "pred"),
        ("pred.jsonl", '{"instance_id": "i0", "pred": "NA", "scores": {"a": 1, "a": 2}}\n', "'a'"),
    ],
)
def test_a_key_that_is_there_twice_is_named_with_its_file(files, capsys, name, text, named):
    (files / name).write_text(text)
    assert main(words(files)) == 2
    said = capsys.readouterr().err
    assert named in said
    assert name in said


def test_bytes_that_are_no_text_name_their_file(files, capsys):
    (files / "test.json").write_bytes(b'{"instance_id": "\xff\xfe\xfd"}\n')
    assert main(words(files)) == 2
    assert "test.json" in capsys.readouterr().err


def test_standard_input_cannot_be_two_files(files, capsys):
    flags = ["--rel2id", str(files / "rel2id.json"), "--test", "-", "--pred", "-"]
    assert main(["score", "--track", "sent2sent", *flags]) == 2
    said = capsys.readouterr().err
    assert "--test" in said
    assert "--pred" in said


def test_relations_are_in_the_order_of_their_ids(files):
    assert read_relations(files / "rel2id.json") == ["born_in", "lives_in"]
