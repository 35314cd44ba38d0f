"""Scores for pairs that training has and has not seen, against the metric on rows chosen by hand."""

import json
from pathlib import Path

import pytest

from finetune.data.nyt_h_rows import read_nyt_h
from finetune.data.tacred import read_tacred
from finetune.report.evaluation import mean_false_alarms, scores_by_seen_pairs
from tests.folders import SHARED
from weighted_f1_metric import f1_family, false_alarms, score_track

SHAPED = SHARED / "nyt_h_shaped"


@pytest.mark.skipif(not SHAPED.is_dir(), reason="../shared/data/nyt_h_shaped is not there")
@pytest.mark.parametrize(("track", "file", "num_seen"), [("sent2sent", "sent", None), ("bag2bag", "bag", 10)])
def test_every_truth_on_rows_and_bags(track: str, file: str, num_seen: int | None) -> None:
    files = [(SHAPED / f"{name}.json").read_text() for name in ("train_nonna", "na_train")]
    lines = [json.loads(line) for content in files for line in content.splitlines()]
    known = {(row["head"]["guid"], row["tail"]["guid"]) for row in lines}
    test = [json.loads(line) for line in (SHAPED / "test.json").read_text().splitlines()]
    key = "bag_id" if file == "bag" else "instance_id"
    content = (SHAPED / "predictions" / f"{file}_svm_all_scores.jsonl").read_text()
    records = [json.loads(line) for line in content.splitlines()]
    data = read_nyt_h(str(SHAPED))
    ours = scores_by_seen_pairs(data=data, track=track, records=records)
    total = 0
    for part in ("seen", "unseen"):
        rows = [r for r in test if ((r["head"]["guid"], r["tail"]["guid"]) in known) == (part == "seen")]
        units = {row[key] for row in rows}
        expected = score_track(
            track=track,
            references=rows,
            predictions=[record for record in records if record[key] in units],
            relations=[name for name in data.label_names if name != "NA"],
        )
        for prefix in ("dsgt", "magt", "magt_ds_scope"):
            for measure in ("micro_f1", "dodrans_f1", "macro_all_f1", "auc"):
                assert ours[part][f"{prefix}_{measure}"] == expected[f"{prefix}_{measure}"], (part, prefix)
        assert ours[part]["num_units"] == len(units)
        total += len(units)
    assert total == len(records)
    if num_seen is not None:
        assert ours["seen"]["num_units"] >= num_seen


def tacred(folder: Path, test: list[str]) -> Path:
    record = {"relation": "r", "subj_start": 0, "subj_end": 0, "obj_start": 1, "obj_end": 1}
    record |= {"subj_type": "P", "obj_type": "O"}
    other = record | {"id": "x", "relation": "no_relation", "token": ["Cy", "Di"]}
    for name, heads in (("train", ["Ann", "Bob"]), ("test", test)):
        rows = [record | {"id": str(i), "token": [head, "Acme"]} for i, head in enumerate(heads)]
        (folder / f"{name}.json").write_text(json.dumps([*rows, other]))
    return folder


def test_data_without_human_labels(tmp_path: Path) -> None:
    data = read_tacred(str(tacred(tmp_path, ["ANN", "Eve", "Flo"])))
    predicted = {"0": "r", "1": "no_relation", "2": "r", "x": "no_relation"}
    records = [{"instance_id": name, "pred": relation} for name, relation in predicted.items()]
    scores = scores_by_seen_pairs(data=data, track="sent2sent", records=records)
    assert (scores["seen"]["num_units"], scores["seen"]["micro_recall"]) == (2, 1.0)
    assert (scores["unseen"]["num_units"], scores["unseen"]["micro_recall"]) == (2, 0.5)
    expected = f1_family(
        predictions=["no_relation", "r"], references=["r", "r"], negative_label="no_relation"
    )
    assert scores["unseen"]["micro_f1"] == expected["micro_f1"]


def test_a_part_without_units(tmp_path: Path) -> None:
    data = read_tacred(str(tacred(tmp_path, ["Ann"])))
    records = [{"instance_id": name, "pred": "r"} for name in ("0", "x")]
    scores = scores_by_seen_pairs(data=data, track="sent2sent", records=records)
    assert scores["unseen"] == {"num_units": 0}
    assert scores["seen"]["num_units"] == 2


def test_false_alarms_by_hand() -> None:
    records = [{"pred": p} for p in ("NA", "born", "lived", "born", ["NA"], [], ["born", "lived"], "NA")]
    found = false_alarms(records, negative_relation="NA")
    low, high = found.pop("interval")
    assert found.pop("relation_intervals").keys() == {"born", "lived"}
    assert 0 < low < 0.5 < high < 1
    assert found == {"num_units": 8, "share": 0.5, "relations": {"born": 0.375, "lived": 0.25}}
    none = false_alarms([{"pred": "NA"}] * 8, negative_relation="NA")
    assert none.pop("interval")[0] == 0
    assert none.pop("relation_intervals") == {}
    assert none == {"num_units": 8, "share": 0.0, "relations": {}}
    both = mean_false_alarms([found, none])
    assert both["share"] == 0.25
    assert both["sd"] == pytest.approx(0.5 / 2**0.5)
    assert both["relations"] == {"born": 0.1875, "lived": 0.125}
    assert mean_false_alarms([found])["sd"] is None
