"""Between the parts: what carries a mark of its data, what warns, and what is checked when it is made."""

import warnings

import numpy as np
import pandas as pd
import pytest

from weighted_f1_metric import (
    bootstrap_interval,
    class_counts,
    data_fingerprint,
    f1_family,
    make_compute_metrics,
    randomization_test,
    score_track,
    signature,
)


def line(**options):
    return f1_family(predictions=["a", "a"], signature=True, **options)["signature"]


def test_the_weight_belongs_to_its_row():
    one = line(references=["a", "b"], sample_weight=[1, 5])
    assert line(references=["b", "a"], sample_weight=[1, 5]) != one
    assert line(references=["b", "a"], sample_weight=[5, 1]) == one
    assert line(references=["b", "a"]) == line(references=["a", "b"]) != one
    with pytest.raises(ValueError, match="sample_weight"):
        signature(labels=["a"], data=data_fingerprint(["a", "b"]), sample_weight=[1, 5])


def test_functions_differ_by_their_weights_not_by_their_names():
    lines = [
        line(references=["a", "b"], averages={"own": scheme})
        for scheme in (np.sqrt, lambda n: n**0.5, lambda n: n**0.6)
    ]
    assert lines[0] == lines[1] != lines[2]


def test_one_exponent_has_one_name_and_foreign_digits_stay_text():
    assert line(references=["a", "b"], averages="n^.5") == line(references=["a", "b"], averages="n^0.5")
    from weighted_f1_metric import parse_signature

    text = signature(labels=["a"], data="0123456789ab", negative_label="\u0663")
    assert parse_signature(text).negative == "\u0663"


def test_a_fingerprint_is_one_of_rows_not_of_column_names():
    rows = [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]
    columns = {"y": ["b", "a"], "x": [2, 1]}
    assert data_fingerprint(rows) == data_fingerprint(columns) == data_fingerprint(pd.DataFrame(rows))
    assert data_fingerprint(rows) != data_fingerprint({"x": [1, 2], "y": ["b", "a"]})


def test_two_systems_that_predict_other_labels_stay_comparable():
    one, other = (
        f1_family(predictions=[pred, "a"], references=["a", "b"], signature=True)["signature"]
        for pred in ("a", "c")
    )
    assert one == other


@pytest.mark.parametrize("name", ["NA", "no_relation", "Other", "o", "No relation"])
def test_a_class_called_like_the_negative_one_is_told(name):
    columns = {"predictions": [name, "a", "a"], "references": [name, "a", "b"]}
    for call in (f1_family, class_counts):
        with pytest.warns(UserWarning, match=name):
            call(**columns)
    with pytest.warns(UserWarning, match=name):
        bootstrap_interval(**columns, seed=0, n_resamples=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f1_family(**columns, negative_label=name)


def test_macro_over_labels_wants_the_labels():
    columns = {"references": ["a", "a"], "seed": 0, "macro_over": "labels", "n_resamples": 2}
    with pytest.raises(ValueError, match="labels"):
        randomization_test(predictions_a=["a", "b"], predictions_b=["a", "a"], **columns)
    with pytest.raises(ValueError, match="labels"):
        bootstrap_interval(predictions=["a", "b"], **columns)
    with pytest.warns(UserWarning, match="labels"):
        f1_family(predictions=["a", "b"], references=["a", "a"], macro_over="labels")


def test_one_of_two_systems_never_says_na():
    result = randomization_test(
        predictions_a=["a", "NA"],
        predictions_b=["a", "b"],
        references=["a", "b"],
        negative_label="NA",
        seed=0,
        n_resamples=10,
    )
    assert result.differences["micro_recall"] == pytest.approx(-0.5)


def test_groups_may_list_the_negative_label():
    columns = {"predictions": ["x", "NA"], "references": ["y", "x"], "negative_label": "NA"}
    groups = {"x": "g", "y": "g"}
    assert f1_family(**columns, groups={**groups, "NA": "NA"}) == f1_family(**columns, groups=groups)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"averages": "mikro"}, ValueError),
        ({"beta": -1}, ValueError),
        ({"macro_over": "all"}, ValueError),
        ({"zero_division": 2}, ValueError),
        ({"entropy_total": "none"}, ValueError),
        ({"groups": {"a": "g"}}, ValueError),
        ({"ks": [0]}, ValueError),
    ],
)
def test_the_hook_checks_when_it_is_made(options, error):
    with pytest.raises(error):
        make_compute_metrics(id2label=["NA", "a", "b"], negative_label="NA", **options)


def test_the_hook_checks_the_relations_of_its_references(rows):
    with pytest.raises(ValueError, match="lives_in"):
        make_compute_metrics(id2label=["NA", "born_in"], references=rows, track="sent2sent")


def test_batches_kept_apart_or_handed_over_one_by_one_give_the_same(rows):
    logits = np.array([[0.0, 3, 1], [2.0, 1, 0], [0.0, 1, 4], [1.0, 0, 5]])
    names = ["NA", "born_in", "lives_in"]
    label_ids = np.array([[names.index(row["relation"]), n] for n, row in enumerate(rows)])
    parts = [slice(0, 2), slice(2, 3), slice(3, 4)]
    plain = make_compute_metrics(id2label=names, negative_label="NA")
    track = make_compute_metrics(id2label=names, references=rows, track="sent2sent")
    for hook, labels in ((plain, label_ids[:, 0]), (track, label_ids)):
        expected = hook((logits, labels))
        apart = ([logits[part] for part in parts], [labels[part] for part in parts])
        assert hook(apart) == expected
        assert hook(([(logits[part], None) for part in parts], apart[1])) == expected
        for _ in range(2):  # the second evaluation begins anew
            results = [hook((logits[part], labels[part]), compute_result=part is parts[-1]) for part in parts]
            assert results == [{}, {}, expected]


def test_auc_of_a_perfect_ranking_and_over_units():
    """Two gold pairs in one bag: 1 - 1/2 over pairs; over the one unit twice that."""
    rows = [
        {"instance_id": f"i{n}", "bag_id": "b", "relation": r, "bag_label": "yes"} for n, r in enumerate("xy")
    ]
    predictions = [{"bag_id": "b", "pred": ["x", "y"], "scores": {"x": 0.9, "y": 0.8, "z": 0.1}}]
    scores = score_track(track="bag2bag", references=rows, predictions=predictions, relations=list("xyz"))
    assert (scores["dsgt_auc"], scores["dsgt_auc_over_units"]) == (0.5, 1.0)
    assert scores["dsgt_average_precision"] == 1.0
