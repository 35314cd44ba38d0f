"""The command `score`, and what the command line says to bad input."""

import json
import subprocess
import sys

import pytest

from weighted_f1_metric import magt_bounds, score_track
from weighted_f1_metric.__main__ import main

RELATIONS = ["born_in", "lives_in"]


@pytest.fixture
def files(tmp_path, rows):
    """Paths of rel2id, test and predictions, and the predictions."""
    (tmp_path / "rel2id.json").write_text(json.dumps({"NA": 0, "born_in": 1, "lives_in": 2}))
    (tmp_path / "test.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    predictions = [
        {"instance_id": f"i{n}", "pred": relation, "scores": {"born_in": 0.1 * n, "lives_in": 0.5}}
        for n, relation in enumerate(["born_in", "lives_in", "NA", "born_in"])
    ]
    (tmp_path / "pred.jsonl").write_text("".join(json.dumps(record) + "\n" for record in predictions))
    return tmp_path, predictions


def flags(folder, **changes):
    values = {"-k": "sent2sent", "-r": "rel2id.json", "-t": "test.json", "-p": "pred.jsonl", **changes}
    return [
        text
        for flag, value in values.items()
        for text in (flag, value if flag == "-k" else str(folder / value))
    ]


def test_short_flags_print_table_signatures_and_twins(files, rows, capsys):
    folder, predictions = files
    assert (
        main(["score", *flags(folder), "--ks", "1", "2", "--json", str(folder / "out" / "scores.json")]) == 0
    )
    printed = capsys.readouterr().out
    expected = score_track(
        track="sent2sent", references=rows, predictions=predictions, relations=RELATIONS, ks=(1, 2)
    )
    written = json.loads((folder / "out" / "scores.json").read_text())
    bounds = written.pop("magt_bounds")
    assert set(written.pop("calibration")) == {"dsgt", "magt", "magt_ds_scope"}
    assert written == expected
    own = magt_bounds(track="sent2sent", references=rows, predictions=predictions, relations=RELATIONS)
    assert bounds == json.loads(json.dumps(own))
    low, high = own["micro_f1"]
    assert f"{100 * expected['magt_micro_f1']:.2f} ({100 * low:.1f} to {100 * high:.1f}) |" in printed
    for prefix, line in expected["signatures"].items():
        assert line in printed, prefix
        assert f"{expected[f'{prefix}_auc']:.4f}" in printed
        assert f"P@1 {expected[f'{prefix}_precision_at_1']:.4f}" in printed
    assert (
        f"| micro | {100 * expected['dsgt_micro_f1']:.2f} | {100 * expected['magt_micro_f1']:.2f} ("
        in printed
    )
    assert "2 of 4 rows are twins" in printed
    assert "--by sentences" in printed
    assert f"{expected['num_judged_no']} refused by a human" in printed


def test_long_flags_and_sentences(files, capsys):
    folder, _ = files
    status = main(
        [
            "score", "--track", "sent2sent", "--rel2id", str(folder / "rel2id.json"), "--test",
            str(folder / "test.json"), "--pred", str(folder / "pred.jsonl"), "--by", "sentences",
            "--truths", "magt",
        ]
    )  # fmt: skip
    printed = capsys.readouterr().out
    assert status == 0
    assert "3 units" in printed
    assert "twins" not in printed
    assert "DSGT" not in printed
    assert "by:sentences" in printed


def test_figures(files, capsys):
    pytest.importorskip("matplotlib")
    folder, _ = files
    assert main(["score", *flags(folder), "--plots", str(folder / "figures")]) == 0
    written = sorted(path.name for path in (folder / "figures").iterdir())
    assert {"pr_curves.png", "relation_coverage.png", "f1_by_support_magt.png"} <= set(written)
    assert all((folder / "figures" / name).read_bytes().startswith(b"\x89PNG") for name in written)
    printed = capsys.readouterr().out
    assert all(name in printed for name in written)


def test_undefined_is_said(files, capsys):
    folder, _ = files
    rows = [json.loads(line) for line in (folder / "test.json").read_text().splitlines()]
    for row in rows:
        row["bag_label"] = "no"
    (folder / "test.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["score", *flags(folder)]) == 0
    assert "Undefined, printed as 0: magt_micro_recall" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"-p": "absent.jsonl"}, "There is no file"),
        ({"-k": "bag2bag"}, "'bag2bag' takes predictions by 'bag_id', these have 'instance_id'"),
        ({"-r": "test.json"}, "not valid JSON"),
        ({"-p": "broken.jsonl"}, "broken.jsonl, line 2: not valid JSON"),
    ],
)
def test_bad_input_is_one_line_and_status_2(files, capsys, change, message):
    folder, _ = files
    (folder / "broken.jsonl").write_text('{"instance_id": "i0", "pred": "NA"}\n{"instance_id": \n')
    assert main(["score", *flags(folder, **change)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("weighted-f1 score: error: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_k_of_zero(files, capsys):
    folder, _ = files
    assert main(["score", *flags(folder), "--ks", "0"]) == 2
    assert "ks" in capsys.readouterr().err


def test_wrong_flags_end_with_2(files):
    folder, _ = files
    with pytest.raises(SystemExit, match="2"):
        main(["score", *flags(folder, **{"-k": "sent"})])
    with pytest.raises(SystemExit, match="2"):
        main([])


@pytest.mark.parametrize("command", [[], ["score"], ["compare"], ["rank"], ["stats"]])
def test_help(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--help"])
    assert "usage: weighted-f1" in capsys.readouterr().out


def test_module_runs_and_import_is_lean(files):
    folder, _ = files
    done = subprocess.run(
        [sys.executable, "-m", "weighted_f1_metric", "score", *flags(folder, **{"-p": "absent"})],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    heavy = ("scipy", "pyarrow", "pandas", "matplotlib", "torch", "transformers", "datasets", "evaluate")
    code = f"import sys, weighted_f1_metric; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_a_message_names_the_flags_of_the_command(files, rows, capsys):
    folder, _ = files
    some = [{**row, "bag_label": "unk" if number == 0 else "yes"} for number, row in enumerate(rows)]
    (folder / "test.json").write_text("".join(json.dumps(row) + "\n" for row in some))
    assert main(["score", *flags(folder)]) == 2
    told = capsys.readouterr().err
    assert "--unk exclude" in told
    assert "--truths dsgt" in told
    twice = json.dumps({"instance_id": "i0", "relation": "lives_in", "answer": "no"}) + "\n"
    (folder / "judgments.jsonl").write_text(2 * twice)
    assert main(["score", *flags(folder), "--judgments", str(folder / "judgments.jsonl")]) == 2
    assert "--judgments holds" in capsys.readouterr().err
