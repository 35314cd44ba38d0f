"""Judgments: what an answer about any pair changes, on units made by hand; each bad input."""

import itertools

import numpy as np
import pytest

from weighted_f1_metric import bootstrap_interval, comparable, make_compute_metrics, score_track
from weighted_f1_metric.units import read_units

RELATIONS = ["born_in", "lives_in", "works_for"]


def row(number, bag, relation, label, sentence=None):
    return {
        "instance_id": f"i{number}",
        "bag_id": bag,
        "relation": relation,
        "bag_label": label,
        "sentence": sentence or f"sentence {number}",
    }


ROWS = [
    row(0, "b0", "born_in", "yes", "one ."),
    row(1, "b0", "lives_in", "no", " one . "),  # the twin of i0
    row(2, "b0", "born_in", "no", "two ."),
    row(3, "b1", "NA", "unk"),
    row(4, "b2", "works_for", "no"),
]


def judged(*answers):
    return [dict(zip(("instance_id", "relation", "answer"), answer, strict=True)) for answer in answers]


def units(judgments, *, track="sent2sent", rows=ROWS, **options):
    return read_units(
        track=track, references=rows, relations=RELATIONS, judgments=judged(*judgments), **options
    )


def pairs(units, matrix):
    shown = [units.bag_ids[bag] for bag in units.unit_bag] if units.track == "bag2bag" else units.ids
    return {(shown[unit], RELATIONS[relation]) for unit, relation in np.argwhere(matrix).tolist()}


def test_an_answer_holds_for_the_row_and_its_twins():
    found = units([("i0", "works_for", "yes"), ("i2", "works_for", "no"), ("i3", "born_in", "yes")])
    assert pairs(found, found.judged) == {
        ("i0", "works_for"),
        ("i1", "works_for"),
        ("i2", "works_for"),
        ("i3", "born_in"),
    }
    assert pairs(found, found.confirmed) == {
        ("i0", "born_in"),
        ("i0", "works_for"),
        ("i1", "works_for"),
        ("i3", "born_in"),
    }
    assert found.judgments is not None


def test_rows_without_a_sentence_have_no_twins():
    rows = [{**ROWS[0], "sentence": " "}, {**ROWS[1], "sentence": " "}]
    found = units([("i0", "works_for", "yes")], rows=rows)
    assert pairs(found, found.judged) == {("i0", "works_for")}


def test_joined_twins_have_one_answer():
    found = units([("i1", "works_for", "yes")], by="sentences")
    assert np.argwhere(found.judged).tolist() == [[0, 2]]


def test_a_bag_has_a_yes_by_one_sentence_and_a_no_by_all():
    some = units([("i0", "works_for", "no")], track="bag2bag")
    assert not some.judged.any()
    everything = units([("i0", "works_for", "no"), ("i2", "works_for", "no")], track="bag2bag")
    assert pairs(everything, everything.judged) == {("b0", "works_for")}
    assert pairs(everything, everything.confirmed) == {("b0", "born_in")}
    # i1, the twin of i0, answers the same sentence: the bag has two sentences, not three.
    mixed = units([("i1", "works_for", "no"), ("i2", "works_for", "yes")], track="bag2bag")
    assert pairs(mixed, mixed.judged & mixed.confirmed) == {("b0", "works_for")}
    other_sentence = units([("i2", "lives_in", "yes")], track="bag2bag")
    assert pairs(other_sentence, other_sentence.confirmed) == {("b0", "born_in"), ("b0", "lives_in")}


def test_an_answer_stands_for_a_label_that_is_unk():
    rows = [row(0, "b0", "born_in", "unk"), row(1, "b0", "born_in", "unk"), row(2, "b1", "born_in", "yes")]
    filled = units([("i0", "born_in", "no"), ("i1", "born_in", "yes")], rows=rows)
    assert pairs(filled, filled.confirmed) == {("i1", "born_in"), ("i2", "born_in")}
    assert (filled.num_unknown_rows, filled.unjudged.any(), filled.judged.any()) == (0, False, False)
    half = units([("i0", "born_in", "no")], rows=rows, track="bag2bag")
    assert pairs(half, half.unjudged) == {("b0", "born_in")}
    yes = units([("i0", "born_in", "yes")], rows=rows, track="bag2bag")
    assert not yes.unjudged.any()


def test_a_judged_yes_is_gold_under_magt_alone():
    predictions = [{"instance_id": f"i{n}", "pred": "works_for"} for n in range(5)]
    inputs = {
        "track": "sent2sent",
        "references": ROWS,
        "predictions": predictions,
        "relations": RELATIONS,
        "unk": "exclude",
    }
    before = score_track(**inputs)
    after = score_track(**inputs, judgments=judged(("i0", "works_for", "yes"), ("i2", "works_for", "no")))
    assert (before["magt_micro_f1"], after["magt_micro_precision"]) == (0, 2 / 5)
    assert after["magt_micro_recall"] == 2 / 3  # (i0, born_in), and works_for of i0 and its twin i1
    assert after["magt_num_supported"] == before["magt_num_supported"] + 1
    assert after["echo"]["magt_micro_recall"] == 1 / 3
    assert (before["num_judged_no"], before["num_unjudged"]) == (1, 4)
    assert (after["num_judged_no"], after["num_unjudged"]) == (2, 1)
    for prefix in ("dsgt", "magt_ds_scope"):
        same = {key for key in before if key.startswith(f"{prefix}_")}
        assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert after["signatures"]["dsgt"] == before["signatures"]["dsgt"]
    assert "judgments:" in after["signatures"]["magt"]
    assert not comparable(after["signatures"]["magt"], before["signatures"]["magt"])


def test_prevalence_counts_judged_pairs():
    even = dict.fromkeys(RELATIONS, 0.5)
    predictions = [{"instance_id": f"i{n}", "pred": "NA", "scores": even} for n in range(5)]
    inputs = {"track": "sent2sent", "references": ROWS, "predictions": predictions, "relations": RELATIONS}
    scores = score_track(**inputs, judgments=judged(("i3", "born_in", "yes")))
    assert scores["magt_prevalence"] == 2 / 15


def test_the_order_of_judgments_changes_nothing():
    answers = [("i0", "works_for", "yes"), ("i2", "works_for", "no"), ("i3", "born_in", "yes")]
    marks = {units(order).judgments for order in itertools.permutations(answers)}
    assert len(marks) == 1
    assert units([("i0", "works_for", "no"), *answers[1:]]).judgments not in marks


def test_columns_and_none_are_judgments():
    columns = {"instance_id": ["i3"], "relation": ["born_in"], "answer": np.array(["yes"])}
    found = read_units(track="sent2sent", references=ROWS, relations=RELATIONS, judgments=columns)
    assert found.judgments == units([("i3", "born_in", "yes")]).judgments
    assert units([]).judgments is None


@pytest.mark.parametrize(
    ("answers", "named"),
    [
        ([("i9", "born_in", "yes")], "i9"),
        ([("i0", "eats", "yes")], "eats"),
        ([("i0", "NA", "no")], "NA"),
        ([("i0", ["born_in"], "no")], "born_in"),
        ([("i3", "born_in", "maybe")], "maybe"),
        ([("i3", "born_in", "yes"), ("i3", "born_in", "yes")], "i3"),
        ([("i0", "works_for", "yes"), ("i1", "works_for", "no")], "i1"),
        ([("i0", "born_in", "no")], "i0"),  # against its bag_label
        ([("i0", "lives_in", "yes")], "i1"),  # against the bag_label of its twin
    ],
)
@pytest.mark.parametrize("track", ["sent2sent", "bag2bag"])
def test_bad_judgments_are_named(answers, named, track):
    with pytest.raises(ValueError, match=named):
        units(answers, track=track)


@pytest.mark.parametrize("judgments", ["i0", 3, [("i0", "born_in", "yes")]])
def test_judgments_must_be_records(judgments):
    with pytest.raises(TypeError, match="judgments"):
        read_units(track="sent2sent", references=ROWS, relations=RELATIONS, judgments=judgments)


def test_the_hook_gives_each_split_its_judgments():
    splits = {"validation": ROWS[:1], "test": ROWS[2:]}
    hook = make_compute_metrics(
        id2label=["NA", *RELATIONS],
        references=splits,
        track="sent2sent",
        scores="none",
        unk="exclude",
        judgments=judged(("i3", "born_in", "yes"), ("i0", "works_for", "yes")),
    )
    test = hook((np.array([0, 1, 0]), np.array([[1, 1], [0, 2], [3, 3]])))
    assert (test["magt_micro_precision"], test["magt_num_supported"]) == (1, 1)
    assert hook((np.array([3]), np.array([[1, 0]])))["magt_micro_precision"] == 1
    with pytest.raises(ValueError, match="i7"):
        make_compute_metrics(
            id2label=["NA", *RELATIONS],
            references=splits,
            track="sent2sent",
            judgments=judged(("i7", "born_in", "yes")),
        )
    with pytest.raises(ValueError, match="judgments"):
        make_compute_metrics(id2label=["NA"], negative_label="NA", judgments=judged(("i3", "born_in", "yes")))


def test_an_interval_takes_judgments():
    inputs = {
        "track": "sent2sent",
        "references": ROWS,
        "predictions": [{"instance_id": f"i{n}", "pred": "works_for"} for n in range(5)],
        "relations": RELATIONS,
        "seed": 0,
        "n_resamples": 10,
        "truths": "magt",
    }
    judgments = judged(("i3", "works_for", "yes"))
    interval = bootstrap_interval(**inputs, judgments=judgments).intervals["magt_micro_precision"]
    assert interval.estimate == 1 / 5
