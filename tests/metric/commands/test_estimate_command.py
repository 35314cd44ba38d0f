"""The commands `score --judgments` and `estimate`."""

import json

import pytest

from weighted_f1_metric import estimate_magt, read_judgments, score_track
from weighted_f1_metric.__main__ import main


@pytest.fixture
def files(tmp_path):
    """A test set of 40 rows of which a sample of 20 is judged, predictions, design and judgments."""
    rows = [
        {"instance_id": f"i{n}", "bag_id": f"b{n}", "relation": "born_in", "bag_label": "unk"}
        for n in range(40)
    ]
    drawn = [[f"i{n}", "born_in"] for n in range(0, 40, 2)]
    judgments = [
        {"instance_id": number, "relation": name, "answer": ("yes", "no")[place % 3 == 0]}
        for place, (number, name) in enumerate(drawn)
    ]
    predictions = [{"instance_id": f"i{n}", "pred": ("born_in", "NA")[n % 5 == 0]} for n in range(40)]
    design = {"strata": [{"name": "born_in", "size": 40, "drawn": 20}], "drawn": drawn}
    (tmp_path / "rel2id.json").write_text(json.dumps({"NA": 0, "born_in": 1, "lives_in": 2}))
    (tmp_path / "design.json").write_text(json.dumps(design))
    for name, records in (("test.json", rows), ("pred.jsonl", predictions), ("j.jsonl", judgments)):
        (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    inputs = {
        "track": "sent2sent",
        "references": rows,
        "predictions": predictions,
        "relations": ["born_in", "lives_in"],
        "judgments": judgments,
    }
    return tmp_path, inputs, design


def command(name, folder, *more):
    pairs = (("-r", "rel2id.json"), ("-t", "test.json"), ("-p", "pred.jsonl"), ("--judgments", "j.jsonl"))
    paths = [text for flag, file in pairs for text in (flag, str(folder / file))]
    return main([name, "-k", "sent2sent", *paths, *more])


def test_estimate_prints_and_writes_what_the_function_gives(files, capsys):
    folder, inputs, design = files
    flags = [
        "--design",
        str(folder / "design.json"),
        "--json",
        str(folder / "out.json"),
        "--half_width",
        "0.1",
    ]
    assert command("estimate", folder, *flags) == 0
    found = estimate_magt(**inputs, design=design)
    written = json.loads((folder / "out.json").read_text())
    assert written["measures"]["magt_micro_f1"] == found.to_json()["measures"]["magt_micro_f1"]
    assert written["rows_for"] == found.rows_for(0.1)
    one = found.measures["magt_micro_f1"]
    printed = capsys.readouterr().out
    assert f"{100 * one.value:.1f} ({100 * one.low:.1f} to {100 * one.high:.1f})" in printed
    assert "20 of 40" in printed


def test_without_the_design_there_is_no_estimate(files, capsys):
    folder, _, _ = files
    assert command("estimate", folder) == 2
    assert "design" in capsys.readouterr().err


def test_score_takes_judgments(files):
    folder, inputs, _ = files
    assert command("score", folder, "--unk", "exclude", "--json", str(folder / "s.json")) == 0
    written = json.loads((folder / "s.json").read_text())
    written.pop("magt_bounds")
    assert written == score_track(**inputs, unk="exclude")


@pytest.mark.parametrize(
    ("line", "named"),
    [('{"instance_id": "i0", "relation": "born_in"}', "answer"), ('{"instance_id": "i0"', "line 1")],
)
def test_a_broken_judgments_file_is_named(tmp_path, line, named):
    (tmp_path / "j.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=named):
        read_judgments(tmp_path / "j.jsonl")
    (tmp_path / "j.jsonl").write_text('{"instance_id": "i0", "relation": "r", "answer": "perhaps"}\n')
    with pytest.raises(ValueError, match="perhaps"):
        read_judgments(tmp_path / "j.jsonl")
    with pytest.raises(FileNotFoundError):
        read_judgments(tmp_path / "absent")
