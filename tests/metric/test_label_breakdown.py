"""Parts of a label set and confusions, against selections made row by row."""

import json

import pytest

from weighted_f1_metric import f1_family, label_breakdown
from weighted_f1_metric.__main__ import main

GOLD = ["a"] * 10 + ["b"] * 6 + ["c"] * 2 + ["d", "e"] + ["O"] * 5
PRED = ["a"] * 9 + ["b"] + ["b"] * 3 + ["a"] * 3 + ["c", "O"] + ["a", "e"] + ["O"] * 3 + ["a", "b"]


def test_a_part_scores_as_its_rows_alone():
    found = label_breakdown(predictions=PRED, references=GOLD, negative_label="O", n_resamples=50)
    assert {part: one["classes"] for part, one in found["support"].items()} == {
        "head": ["a"], "middle": ["b", "c"], "tail": ["d", "e"]
    }  # fmt: skip
    for one in found["support"].values():
        rows = [row for row, label in enumerate(GOLD) if label in one["classes"]]
        columns = {"predictions": [PRED[row] for row in rows], "references": [GOLD[row] for row in rows]}
        expected = f1_family(**columns, labels=["O", "a", "b", "c", "d", "e"], negative_label="O")
        assert one["num_rows"] == len(rows)
        assert one["scores"] == expected
        assert set(one["intervals"]) <= set(expected)
    assert found["confusions"][0] == {"gold": "b", "predicted": "a", "rows": 3}
    whole = f1_family(predictions=PRED, references=GOLD, negative_label="O")
    ends = [found["exponents"][a] for a in (0.0, 0.75, 1.0)]
    assert ends == pytest.approx(
        [whole[f"{name}_f1"] for name in ("macro", "dodrans", "weighted")], abs=1e-12
    )


def test_only_negative_references():
    with pytest.raises(ValueError, match="'O'"):
        label_breakdown(predictions=["a"], references=["O"], negative_label="O")


def test_the_command(tmp_path, capsys):
    for name, labels in (("gold", GOLD), ("pred", PRED)):
        (tmp_path / name).write_text("\n".join(labels) + "\n")
    command = ["score", "--gold", str(tmp_path / "gold"), "--pred", str(tmp_path / "pred"), "--negative", "O"]
    out = tmp_path / "out.json"
    assert main([*command, "--breakdown", "support", "--json", str(out)]) == 0
    assert json.loads(out.read_text())["breakdown"]["support"]["tail"]["num_rows"] == 2
    assert "taken for" in capsys.readouterr().out
    assert main([*command, "--breakdown", "bag_size"]) == 2
    assert "bag_size" in capsys.readouterr().err
