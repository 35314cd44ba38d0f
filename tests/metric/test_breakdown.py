"""Reasons of a score: the parts of the gap sum to it, a part of the test set scores as its rows alone do."""

import json
from collections import Counter

import numpy as np
import pytest

from tests.folders import SHARED
from weighted_f1_metric import (
    AVERAGES,
    SLICES,
    confusions,
    examples_of_scored,
    gap_of_scored,
    score_track,
    scored_track,
    slices_of_scored,
)
from weighted_f1_metric.__main__ import main
from weighted_f1_metric.systems.breakdown import GAP_PARTS
from weighted_f1_metric.systems.examples import marked

RELATIONS = [f"r{number}" for number in range(5)]
LENGTHS = (10, 20, 21, 40, 41, 60, 61, 90)


def random_track(seed, *, track="sent2sent", unk=False, num_rows=60):
    """References with places, columns of the loader and answers; half of the predictions are right."""
    rng = np.random.default_rng(seed)
    references = []
    for number in range(num_rows):
        bag = int(rng.integers(num_rows // 3))
        relation = RELATIONS[min(4, int(rng.geometric(0.5)) - 1)] if rng.random() < 0.8 else "NA"
        label = rng.choice(["yes", "no", "unk"] if unk else ["yes", "no"]) if relation != "NA" else "unk"
        words = int(rng.choice(LENGTHS))
        references.append(
            {
                "instance_id": f"i{number}",
                "bag_id": f"b{bag}",
                "relation": relation,
                "bag_label": str(label),
                "sentence": f"H{bag} " + "w " * (words - 2) + f"T{bag}",
                "head": {"guid": f"H{bag}", "word": f"H{bag}", "start": 0, "end": 2},
                "tail": {
                    "guid": f"T{bag}",
                    "word": f"T{bag}",
                    "start": 3 + 2 * int(rng.integers(9)),
                    "end": 60,
                },
                "mention_status": str(rng.choice(["unique", "ambiguous"])),
            }
        )
    key = "bag_id" if track == "bag2bag" else "instance_id"
    predictions = [
        {key: name, "pred": rows[0] if rng.random() < 0.5 else str(rng.choice(["NA", *RELATIONS]))}
        for name, rows in grouped(references, key, "relation").items()
    ]
    options = {"track": track, "relations": RELATIONS, "unk": "exclude" if unk else "error"}
    return references, predictions, options


def grouped(rows, key, value):
    groups = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row[value])
    return groups


@pytest.mark.parametrize("unk", [False, True])
@pytest.mark.parametrize("track", ["sent2sent", "bag2bag"])
@pytest.mark.parametrize("seed", range(3))
def test_the_parts_of_the_gap_sum_to_it(seed, track, unk):
    references, predictions, options = random_track(seed, track=track, unk=unk)
    judged = [
        {"instance_id": row["instance_id"], "relation": "r4", "answer": "yes"} for row in references[:9]
    ]
    judged = [one for one, row in zip(judged, references, strict=False) if row["relation"] != "r4"]
    scored = scored_track(
        references=references, predictions=predictions, judgments=judged, **options, per_class=True
    )
    gap = gap_of_scored(scored)
    for name in (*AVERAGES, "macro_all"):
        one = gap["all"][name]
        assert one["dsgt"] == pytest.approx(scored.scores[f"dsgt_{name}_f1"], abs=1e-12)
        assert one["magt"] == pytest.approx(scored.scores[f"magt_{name}_f1"], abs=1e-12)
    for relation, one in gap["relations"].items():
        known = scored.scores["magt_per_class"].get(relation)
        assert known is None or one["magt"] == pytest.approx(known["f1"], abs=1e-12)
    for one in [*gap["all"].values(), *gap["relations"].values()]:
        assert one["difference"] == pytest.approx(sum(one[part] for part in GAP_PARTS), abs=1e-12)
        assert unk or one["unjudged"] == 0


def test_the_gap_by_hand():
    """One right, one refused, one missed that people refused: F1 from 4 / 5 to 2 / 3."""
    references = [
        {"instance_id": f"i{n}", "bag_id": f"b{n}", "relation": "r0", "bag_label": label}
        for n, label in enumerate(["yes", "no", "no"])
    ]
    predictions = [{"instance_id": f"i{n}", "pred": pred} for n, pred in enumerate(["r0", "r0", "NA"])]
    scored = scored_track(track="sent2sent", references=references, predictions=predictions, relations=["r0"])
    one = gap_of_scored(scored)["relations"]["r0"]
    # Refused first: 4/5 -> 2 * 1 / (2 + 2) = 1/2; missed first: 4/5 -> 4 / (2 + 2) = 1; then both: 2/3.
    assert one["refused"] == pytest.approx(((4 / 5 - 1 / 2) + (1 - 2 / 3)) / 2)
    assert one["missed"] == pytest.approx(((4 / 5 - 1) + (1 / 2 - 2 / 3)) / 2)


def test_without_answers_there_is_no_gap():
    references, predictions, options = random_track(0)
    scored = scored_track(references=references, predictions=predictions, **options, truths="dsgt")
    with pytest.raises(ValueError, match="human"):
        gap_of_scored(scored)


@pytest.mark.parametrize("track", ["sent2sent", "bag2bag"])
@pytest.mark.parametrize("name", SLICES)
def test_a_part_scores_as_its_rows_alone(name, track):
    references, predictions, options = random_track(4, track=track)
    scored = scored_track(references=references, predictions=predictions, **options)
    train = references[:20]
    slices = slices_of_scored(scored, [name], references=references, train=train, n_resamples=20)[name]
    assert sum(one["num_units"] for one in slices.values()) == scored.units.num_units
    assert len(slices) > 1
    key = "bag_id" if track == "bag2bag" else "instance_id"
    seen = {(row["head"]["guid"], row["tail"]["guid"]) for row in train}
    for label, one in slices.items():
        inside = {
            prediction[key]
            for prediction in predictions
            if belongs(
                name, label, [row for row in references if row[key] == prediction[key]], references, seen, key
            )
        }
        assert one["num_units"] == len(inside)
        rows = [row for row in references if row[key] in inside]
        expected = (
            score_track(
                references=rows,
                predictions=[prediction for prediction in predictions if prediction[key] in inside],
                **{**options, "truths": tuple(scored.signatures), "unk": "exclude"},
            )
            if any(row["bag_label"] != "unk" for row in rows)
            else {}
        )
        for measure, value in one["scores"].items():
            assert value == pytest.approx(expected.get(measure, value), abs=1e-12), (label, measure)
            ends = one["intervals"][measure]
            assert ends is None or 0 <= ends[0] <= ends[1] <= 1


def cut_of_support(rows, references, key):
    pairs = {(row[key], row["relation"]) for row in references if row["relation"] != "NA"}
    number = Counter(relation for _, relation in pairs)
    ordered = sorted(number, key=lambda relation: (-number[relation], RELATIONS.index(relation)))
    places = [ordered.index(row["relation"]) for row in rows if row["relation"] != "NA"]
    if not places:
        return "no relation"
    before = sum(number[relation] for relation in ordered[: max(places)])
    return "head" if before < len(pairs) / 2 else "middle" if before < 0.9 * len(pairs) else "tail"


def belongs(name, label, rows, references, seen, key):
    """Whether a unit lies in a slice, from its rows."""
    bag = [row for row in references if row["bag_id"] == rows[0]["bag_id"]]
    if name == "bag_size":
        return label == (str(len(bag)) if len(bag) < 5 else "5 and more")
    if name == "yes_share":
        judged = [row["bag_label"] == "yes" for row in bag if row["bag_label"] != "unk"]
        if not judged:
            return label == "not judged"
        share = np.mean(judged)
        return label == (
            "none"
            if share == 0
            else "up to half"
            if share <= 0.5
            else "all"
            if share == 1
            else "more than half"
        )
    if name == "support":
        return label == cut_of_support(rows, references, key)
    if name == "seen":
        return (label == "seen") == any((row["head"]["guid"], row["tail"]["guid"]) in seen for row in rows)
    if name == "mention_status":
        return (label == "unique") == any(row["mention_status"] == "unique" for row in rows)
    if name == "distance":
        words = min(len(row["sentence"][2 : row["tail"]["start"]].split()) for row in rows)
        return label == ("0 to 3 words" if words <= 3 else "4 to 8" if words <= 8 else "9 to 15")
    words = min(len(row["sentence"].split()) for row in rows)
    return label == (
        "up to 20 words"
        if words <= 20
        else "21 to 40"
        if words <= 40
        else "41 to 60"
        if words <= 60
        else "61 and more"
    )


def test_head_and_tail_of_the_relations():
    """10, 6, 2, 1 and 1 pairs: the first holds half of 20, the last two hold a tenth."""
    relations = [
        name for name, number in zip(RELATIONS, (10, 6, 2, 1, 1), strict=True) for _ in range(number)
    ]
    references = [
        {"instance_id": n, "bag_id": n, "relation": relation, "bag_label": "yes"}
        for n, relation in enumerate([*relations, "NA"])
    ]
    predictions = [{"instance_id": n, "pred": "NA"} for n in range(21)]
    scored = scored_track(
        track="sent2sent", references=references, predictions=predictions, relations=RELATIONS
    )
    slices = slices_of_scored(scored, ["support"], references=references, n_resamples=2)["support"]
    assert {label: one["num_units"] for label, one in slices.items()} == {
        "head": 10, "middle": 8, "tail": 2, "no relation": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("seen", "train"),
        ("mention_status", "mention_status"),
        ("distance", "sentence"),
        ("sentence_length", "sentence"),
    ],
)
def test_a_column_that_the_data_lack_is_named(name, missing):
    references, predictions, options = random_track(0)
    bare = [
        {key: row[key] for key in ("instance_id", "bag_id", "relation", "bag_label")} for row in references
    ]
    scored = scored_track(references=bare, predictions=predictions, **options)
    with pytest.raises(ValueError, match=missing):
        slices_of_scored(scored, [name], references=bare)
    with pytest.raises(ValueError, match="colour"):
        slices_of_scored(scored, ["colour"], references=bare)


def test_confusions_and_examples():
    references = [
        {
            "instance_id": f"i{n}", "bag_id": f"b{n}", "relation": relation, "bag_label": label,
            "sentence": f"Ann {n} saw Bonn .", "head": {"word": "Ann"}, "tail": {"word": "bonn"},
        }
        for n, (relation, label) in enumerate(
            [("r0", "yes"), ("r0", "yes"), ("r1", "no"), ("r2", "yes"), ("r1", "yes")]
        )
    ]  # fmt: skip
    said = ["r1", "r1", "r1", "NA", "r1"]
    predictions = [
        {"instance_id": f"i{n}", "pred": pred, "scores": dict.fromkeys(RELATIONS, 0.1 * n)}
        for n, pred in enumerate(said)
    ]
    scored = scored_track(
        track="sent2sent", references=references, predictions=predictions, relations=RELATIONS
    )
    found = [
        (one["gold"], one["predicted"], one["units"]) for one in confusions(scored.statistics, truth="magt")
    ]
    assert found == [("r0", "r1", [0, 1]), ("NA", "r1", [2]), ("r2", "NA", [3])]
    examples = examples_of_scored(scored, references=references)
    assert [(one["relation"], one["num_units"]) for one in examples["refused"]] == [("r1", 1)]
    assert examples["refused"][0]["examples"] == [
        {"instance_id": "i2", "sentence": "[Ann]H 2 saw [Bonn]T .", "score": pytest.approx(0.2)}
    ]
    assert examples["confusions"][2]["examples"][0]["score"] is None


def test_an_entity_inside_the_other_and_one_that_is_not_there():
    inside = ({"start": 0, "end": 10}, {"start": 0, "end": 4})
    assert marked("Bank of Bonn", *inside) == "[Bank]T of Bonn"
    assert marked("Bank of Bonn", {"word": "Rome"}, None) == "Bank of Bonn"


@pytest.mark.skipif(not SHARED.exists(), reason="the real-shaped data are not here")
def test_the_command(tmp_path, capsys):
    folder = SHARED / "nyt_h_shaped"
    out = tmp_path / "out.json"
    arguments = ["-k", "bag2bag", "-r", folder / "rel2id.json", "-t", folder / "test.json", "--json", out]
    arguments += [
        "-p",
        folder / "predictions/bag_svm_all_scores.jsonl",
        "--train",
        folder / "train_nonna.json",
    ]
    assert main(["score", *map(str, arguments), "--breakdown", "bag_size", "seen"]) == 0
    scores = json.loads(out.read_text())["breakdown"]
    printed = capsys.readouterr().out
    assert scores["gap"]["all"]["micro"]["unjudged"] == 0
    assert (
        scores["slices"]["seen"]["seen"]["num_units"] + scores["slices"]["seen"]["unseen"]["num_units"] == 111
    )
    assert "5 and more" in printed
    assert "[Bangalore]T" in printed
