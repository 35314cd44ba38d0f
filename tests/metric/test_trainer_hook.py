"""make_compute_metrics: kinds of output, row ids, parity with the pure functions, warnings, each message."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from weighted_f1_metric import f1_family, make_compute_metrics, score_track
from weighted_f1_metric.trainer_hook import relation_scores

NAMES = ["NA", "born_in", "lives_in"]
LABELS = np.array([1, 1, 2, 0])
LOGITS = np.array([[0, 3.0, 0], [0, 0, 3.0], [0, 0, 2.0], [0, 1.0, 0]])


def plain(**options):
    return make_compute_metrics(**{"id2label": NAMES, "negative_label": "NA", **options})


def test_family_equals_the_pure_function():
    scores = plain()((LOGITS, LABELS))
    expected = f1_family(predictions=LOGITS.argmax(1), references=LABELS, labels=[0, 1, 2], negative_label=0)
    assert expected.pop("undefined") == []
    assert scores == expected
    assert all(type(value) is float for value in scores.values())


@pytest.mark.parametrize(
    "evaluated",
    [
        SimpleNamespace(predictions=LOGITS, label_ids=LABELS),
        ((LOGITS, np.zeros((4, 2, 5))), LABELS),
        ({"logits": LOGITS, "hidden": np.zeros((4, 7))}, LABELS),
        ({"scores": LOGITS}, LABELS),
        (LOGITS.astype(np.float16), LABELS),
        (LOGITS.argmax(1), LABELS),
        (LOGITS.tolist(), LABELS.tolist()),
        (LOGITS, np.stack([LABELS, np.arange(4)], axis=1)),
        (LOGITS, (LABELS, np.arange(4))),
    ],
)
def test_kinds_of_evaluation_output(evaluated):
    assert plain()(evaluated) == plain()((LOGITS, LABELS))


def test_config_style_label_map_and_negative_id():
    by_id = make_compute_metrics(id2label={"1": "born_in", "0": "NA", "2": "lives_in"}, negative_label=0)
    assert by_id((LOGITS, LABELS)) == plain()((LOGITS, LABELS))


def test_options_reach_the_family():
    scores = plain(averages=["n^0.5"], beta=2)((LOGITS, LABELS))
    assert list(scores) == ["n^0.5_precision", "n^0.5_recall", "n^0.5_fbeta"]
    grouped = plain(groups={"born_in": "x", "lives_in": "x"})((LOGITS, LABELS))
    expected = f1_family(
        predictions=LOGITS.argmax(1), references=LABELS, negative_label=0, groups={1: "x", 2: "x"}
    )
    assert grouped["macro_f1"] == expected["macro_f1"]


def test_track_equals_score_track(rows):
    compute = plain(references=rows, track="sent2sent", ks=(1, 2, 100))
    row_ids = np.array([2, 0, 3, 1])
    labels = np.array([1, 1, 2, 2])
    scores = compute((LOGITS, np.stack([labels, row_ids], axis=1)))
    shifted = np.exp(LOGITS - LOGITS.max(1, keepdims=True))  # equal scores stay equal to the last bit
    chance = shifted / shifted.sum(1, keepdims=True)
    expected = score_track(
        track="sent2sent",
        references=rows,
        predictions={
            "instance_id": ["i2", "i0", "i3", "i1"],
            "pred": [NAMES[i] for i in LOGITS.argmax(1)],
            "scores": chance[:, 1:],
        },
        relations=NAMES[1:],
        ks=(1, 2, 100),
    )
    numbers = {k: v for k, v in expected.items() if isinstance(v, (int, float))}
    assert scores == pytest.approx(numbers)
    assert expected["dsgt_precision_at_100"] is None
    assert "dsgt_precision_at_100" not in scores
    assert scores["magt_dodrans_f1"] == expected["magt_dodrans_f1"]


@pytest.mark.parametrize(("kind", "value"), [("sigmoid", 1 / (1 + np.exp(-3.0))), ("identity", 3.0)])
def test_kinds_of_scores(rows, kind, value):
    assert relation_scores(LOGITS, kind)[0, 1] == pytest.approx(value)
    track = plain(references=rows, track="bag2bag", scores=kind)
    assert "dsgt_auc" in track((LOGITS[:2], (LABELS[:2], np.arange(2))))
    silent = plain(references=rows, track="bag2bag", scores="none")
    assert "dsgt_auc" not in silent((LOGITS[:2], (LABELS[:2], np.arange(2))))


def test_split_is_recognised_by_its_row_ids(rows):
    splits = {"validation": [rows[3]], "test": rows[:3]}
    compute = plain(references=splits, track="sent2sent", scores="none")
    test = compute((LOGITS[:3], (np.array([1, 2, 1]), np.array([1, 2, 3]))))
    assert test["num_units"] == 3
    validation = compute((LOGITS[2:3], (np.array([2]), np.array([0]))))
    assert validation["num_units"] == 1
    assert validation["magt_micro_f1"] == 1


def test_row_ids_of_bags_count_bags(rows):
    compute = plain(references={"dev": rows[3:], "test": rows}, track="bag2bag")
    scores = compute((LOGITS[:2], (np.array([1, 2]), np.array([1, 2]))))
    assert scores["num_units"] == 2
    assert scores["magt_micro_f1"] == 1


def test_warnings():
    with pytest.warns(UserWarning, match="No `negative_label`.*accuracy"):
        scores = make_compute_metrics(id2label=NAMES)((LOGITS, LABELS))
    assert scores["micro_precision"] == scores["micro_recall"] == scores["micro_f1"]
    collapsed = np.array([[9.0, 0, 0]] * 4)
    with pytest.warns(UserWarning, match="All 4 predictions are the negative class.*collapsed"):
        scores = plain()((collapsed, LABELS))
    assert scores["micro_precision"] == scores["macro_f1"] == 0  # undefined values keep their key
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain()((LOGITS, LABELS))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"id2label": {"0": "a", "2": "b"}}, ValueError, "ids of `id2label` must be 0 to n - 1; got 0, 2"),
        ({"id2label": {"a": 0}}, ValueError, "must map ids to names; its keys are 'a'"),
        ({"id2label": ["a", "a"]}, ValueError, "`id2label` holds names twice: 'a'"),
        ({"id2label": [1, 2]}, TypeError, "mapping id -> name"),
        ({"negative_label": "no_relation"}, ValueError, "'no_relation', which `id2label` lacks: 'NA'"),
        ({"negative_label": 3}, ValueError, "ids go from 0 to 2"),
        ({"negative_label": 0.5}, TypeError, "`negative_label` must be a name or an id; got 0.5"),
        ({"negative_label": True}, TypeError, "must be a name or an id; got True"),
        ({"id2label": 3}, TypeError, "mapping id -> name"),
        ({"track": "bag2bag"}, ValueError, "`references` and `track` belong together"),
        ({"references": []}, ValueError, "`references` and `track` belong together"),
        ({"track": "bags", "references": [{}]}, ValueError, "`track` must be one of"),
        ({"track": "bag2bag", "references": [{}]}, ValueError, "lack the key 'instance_id'"),
        (
            {"scores": "logits"},
            ValueError,
            "`scores` must be one of 'softmax', 'sigmoid', 'identity', 'none'",
        ),
        ({"groups": {"likes": "x"}}, ValueError, "`groups` maps names that `id2label` lacks: 'likes'"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        plain(**options)


def test_track_needs_a_negative_relation(rows):
    with pytest.raises(ValueError, match="A track needs `negative_label`"):
        make_compute_metrics(id2label=["born_in", "lives_in"], references=rows, track="bag2bag")
    with pytest.raises(ValueError, match="`groups` and `macro_over` have no meaning"):
        plain(references=rows, track="bag2bag", macro_over="labels")


@pytest.mark.parametrize(
    ("evaluated", "error", "message"),
    [
        (LOGITS, TypeError, "takes an EvalPrediction, or the pair"),
        ((LOGITS[:, :2], LABELS), ValueError, r"shape \(num_rows, 3\).*got \(4, 2\)"),
        ((LOGITS[:0], LABELS[:0]), ValueError, "Logits must have shape"),
        (
            (np.where(LOGITS == 3, np.nan, LOGITS), LABELS),
            ValueError,
            "2 of 4 rows of logits hold NaN or inf",
        ),
        (
            (np.where(LOGITS == 3, np.inf, LOGITS), LABELS),
            ValueError,
            "2 of 4 rows of logits hold NaN or inf",
        ),
        ((np.array([0, 1, 2, 3]), LABELS), ValueError, "Predicted ids must lie in 0 to 2; got 0 to 3"),
        ((LOGITS, None), ValueError, "no label_ids"),
        ((LOGITS, np.array([1, 1, -100, 0])), ValueError, "1 of 4 labels are below 0 .the first: -100."),
        ((LOGITS, np.array([1, -1, -1, 0])), ValueError, "2 of 4 labels are below 0 .the first: -1."),
        ((LOGITS, np.array([1, 1, 3, 0])), ValueError, "Label 3 is outside `id2label`, which has 3"),
        ((LOGITS, LABELS.astype(float)), TypeError, "Labels and row ids must be integers"),
        (
            (LOGITS, np.zeros((4, 3), dtype=int)),
            ValueError,
            r"label_ids must be labels .* got shape \(4, 3\)",
        ),
        ((LOGITS, LABELS[:3]), ValueError, "equally long; got 4 predictions and 3 references"),
    ],
)
def test_bad_evaluation_output(evaluated, error, message):
    with pytest.raises(error, match=message):
        plain()(evaluated)


@pytest.mark.parametrize(
    ("labels", "row_ids", "message"),
    [
        ([1, 2, 1, 2], None, "needs the row ids as a second label column"),
        ([1, 2, 1, 1], [0, 1, 2, 2], "1 of 4 units of split 'references' came more than once: 'i2'; 1 of 4"),
        ([1, 2, 1], [0, 1, 2], "1 of 4 units of split 'references' are missing: 'i3'"),
        ([1, 2, 1, 2], [0, 1, 2, 4], "Row ids must lie in 0 to 3; got 0 to 4"),
        (
            [1, 1, 1, 2],
            [0, 1, 2, 3],
            "Label 1 is 'born_in' in `id2label`, but the references say 'lives_in' for 'i1'",
        ),
        ([1, 2, 1], [0, 1, 2, 3], "got shape of a tuple"),
    ],
)
def test_bad_row_ids(rows, labels, row_ids, message):
    compute = plain(references=rows, track="sent2sent")
    label_ids = np.array(labels) if row_ids is None else (np.array(labels), np.array(row_ids))
    with pytest.raises(ValueError, match=message):
        compute((LOGITS[: len(labels)], label_ids))


def test_predictions_and_labels_of_a_track_are_equally_many(rows):
    compute = plain(references=rows, track="sent2sent")
    with pytest.raises(ValueError, match="3 predictions, but 4 labels"):
        compute((LOGITS[:3], (np.array([1, 2, 1, 2]), np.arange(4))))


def test_row_ids_over_two_splits(rows):
    compute = plain(references={"a": rows[:2], "b": rows[2:]}, track="sent2sent")
    with pytest.raises(ValueError, match="The row ids 1 to 2 reach over split 'a', which ends at 1"):
        compute((LOGITS[:2], (np.array([2, 1]), np.array([1, 2]))))
