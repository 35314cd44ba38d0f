"""Each message for labels, options and counts that make no sense."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from weighted_f1_metric import (
    ClassCounts,
    average_scores,
    check_desiderata,
    class_counts,
    class_weights,
    f1_family,
    family_from_counts,
)

GOOD = ["a", "b", "NA"]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([], ValueError, "`predictions` is empty"),
        (np.array([]), ValueError, "`predictions` is empty"),
        ([1.0, 2.0, 3.0], TypeError, r"float labels; predictions\[0\] is 1.0.*astype\(int\)"),
        (np.array([1.0, 2.0, 3.0]), TypeError, "holds float labels"),
        ([1, 2, 0.5], TypeError, r"float labels; predictions\[2\] is 0.5"),
        (["a", float("nan"), "b"], TypeError, r"has missing labels; predictions\[1\] is nan"),
        (np.array([float("nan"), 1.0, 2.0]), TypeError, r"has missing labels; predictions\[0\] is nan"),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), ValueError, "`predictions` has 1 missing labels"),
        ([True, False, True], TypeError, r"str or int labels; predictions\[0\] is True of type bool"),
        ([1, True, 0], TypeError, r"predictions\[1\] is True"),
        (np.array([True, False, True]), TypeError, "got an array of bool"),
        ([None, "a", "b"], TypeError, r"predictions\[0\] is None"),
        (["a", None, "b"], TypeError, r"predictions\[1\] is None"),
        (["a", 1, "b"], TypeError, r"mixes str and int labels: predictions\[1\] is 1 after str"),
        ([1, "a", 2], TypeError, r"mixes str and int labels: predictions\[1\] is 'a' after int"),
        (["a", b"b", "c"], TypeError, r"predictions\[1\] is b'b'"),
        (["a", ["b"], "c"], ValueError, r"one-dimensional.*predictions\[1\] is \['b'\]"),
        ([[1, 2], [3, 4], [5, 6]], ValueError, r"one-dimensional.*predictions\[0\]"),
        (np.zeros((3, 2), dtype=int), ValueError, r"got shape \(3, 2\).*argmax"),
        (np.array(5), ValueError, r"one-dimensional"),
        ("abc", TypeError, "must be a list or an array of labels; got str"),
        ({"a": 1}, TypeError, "must be a list or an array of labels; got dict"),
        (None, TypeError, "must be a list or an array of labels; got NoneType"),
        (iter("abc"), TypeError, "must be a list or an array"),
        (pa.array(["a", None, "b"]), ValueError, "1 missing labels"),
        (pd.array([1, None, 2], dtype="Int64"), ValueError, r"1 missing labels.*predictions\[1\]"),
        ((label for label in "abc"), TypeError, "generator"),
        ([2**70, 1, 2], ValueError, "64 bits"),
        (np.array([2**64 - 1, 1, 2], dtype=np.uint64), ValueError, "64 bits"),
        ([1, -1, 2], ValueError, "Labels below 0 mark rows without a label.*-1"),
        (["a", "b"], ValueError, "equally long; got 2 predictions and 3 references"),
    ],
)
def test_bad_predictions(labels, error, message):
    references = GOOD
    if error is ValueError and "below 0" in message:
        references = [1, 2, 3]
    with pytest.raises(error, match=message):
        f1_family(predictions=labels, references=references)


def test_float_tensor():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="holds float labels"):
        f1_family(predictions=torch.tensor([1.0], dtype=torch.bfloat16), references=[1])


def test_strings_against_integers():
    with pytest.raises(TypeError, match="`predictions` are str, `references` are int"):
        f1_family(predictions=["1"], references=[1])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"negative_label": "no_relation"},
            ValueError,
            "no row and no entry of `labels` has; labels are 'NA'",
        ),
        ({"negative_label": 0}, TypeError, "`negative_label` is 0, but the labels are str"),
        ({"negative_label": 1.5}, TypeError, "`negative_label` must be a str or int label; got 1.5"),
        ({"labels": ["a", "b", "a", "NA"]}, ValueError, "`labels` holds labels twice: 'a'"),
        ({"labels": ["a", "b"]}, ValueError, "Labels outside `labels`: 'NA'.*outside='ignore'"),
        ({"labels": [1, 2]}, TypeError, "`labels` are int, the labels in the data are str"),
        ({"labels": []}, ValueError, "`labels` is empty"),
        ({"labels": ["a", 2]}, TypeError, "mixes str and int"),
        ({"outside": "drop"}, ValueError, "`outside` must be one of 'error', 'ignore'; got 'drop'"),
        ({"averages": "Macro"}, ValueError, "must be one of 'micro'.*got 'Macro'. Did you mean 'macro'"),
        ({"averages": "n^2"}, ValueError, r"`a in n\^2` must be between 0 and 1"),
        ({"averages": "n^x"}, ValueError, r"'n\^a' with a in \[0, 1\], or a function; got 'n\^x'"),
        ({"averages": []}, ValueError, "`averages` is empty"),
        ({"averages": ["macro", "macro"]}, ValueError, "holds 'macro' twice"),
        ({"averages": [3]}, TypeError, "name or a function support -> weights; got 3"),
        ({"averages": [lambda n: n]}, ValueError, "lambda.*my_name"),
        ({"averages": {"x": lambda n: n[:1]}}, ValueError, r"returned shape \(1,\) for 3 classes"),
        ({"averages": {"x": lambda n: -n}}, ValueError, "negative or non-finite weight"),
        ({"beta": -1}, ValueError, "`beta` must be between 0 and inf; got -1"),
        ({"beta": "1"}, TypeError, "`beta` must be a number; got '1'"),
        ({"zero_division": 2}, ValueError, "`zero_division` must be between 0 and 1"),
        ({"zero_division": float("nan")}, ValueError, "`zero_division` must be between 0 and 1"),
        ({"zero_division": "warn"}, TypeError, "`zero_division` must be a number"),
        ({"macro_over": "all"}, ValueError, "`macro_over` must be one of 'supported', 'labels'; got 'all'"),
        ({"macro_over": "Labels"}, ValueError, "Names are lower case: write 'labels'"),
        ({"entropy_total": "n"}, ValueError, "`entropy_total` must be one of 'all', 'positive'"),
        ({"per_class": "yes"}, TypeError, "`per_class` must be True or False"),
        ({"sample_weight": [1, 2]}, ValueError, r"`sample_weight` must have one number a row.*\(2,\)"),
        ({"sample_weight": [1, -2, 1]}, ValueError, r"sample_weight\[1\] is -2"),
        ({"sample_weight": [1, 1, float("inf")]}, ValueError, r"sample_weight\[2\] is inf"),
        ({"averages": None}, TypeError, "`averages` must be names, functions or a mapping.*got None"),
        ({"sample_weight": ["1", "1", "1"]}, TypeError, "one number a row; got an array of <U1"),
        ({"sample_weight": [1, None, 1]}, TypeError, "one number a row; got an array of object"),
        ({"groups": ["a"]}, TypeError, "`groups` must be a mapping label -> group; got list"),
        (
            {"groups": {"a": "x", "NA": "x"}},
            ValueError,
            "`groups` must map every positive label; it lacks 'b'.*outside='ignore'",
        ),
        (
            {"groups": {"a": "x"}, "labels": GOOD, "negative_label": "NA"},
            ValueError,
            "`groups` must map every positive label; it lacks 'b'",
        ),
        ({"groups": {"a": "x", "b": 1, "NA": "z"}}, TypeError, "groups must be all str or all int"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        f1_family(predictions=GOOD, references=GOOD, **options)


def test_labels_that_groups_lack_can_be_left_unscored():
    scores = class_counts(
        predictions=GOOD, references=GOOD, negative_label="NA", groups={"a": "x"}, outside="ignore"
    )
    assert (scores.labels, scores.support.tolist(), scores.total) == (("x",), [1], 3)


def test_negative_label_may_be_absent_from_a_shard_that_lists_it():
    counts = class_counts(predictions=["a"], references=["a"], labels=["a", "NA"], negative_label="NA")
    assert counts.labels == ("a",)


def test_bad_counts():
    counts = class_counts(predictions=["a"], references=["a"])
    with pytest.raises(TypeError, match="`counts` must be ClassCounts"):
        family_from_counts({"a": 1})
    with pytest.raises(ValueError, match="negative class None and 'a' cannot be added"):
        counts + class_counts(predictions=["a"], references=["a"], negative_label="a")
    with pytest.raises(TypeError, match="str labels and counts over int labels"):
        counts + class_counts(predictions=[1], references=[1])
    with pytest.raises(TypeError, match="unsupported operand"):
        counts + 1
    stored = counts.to_json()
    with pytest.raises(ValueError, match="needs the keys"):
        ClassCounts.from_json({**stored, "more": 1})
    with pytest.raises(ValueError, match=r"shape \(2,\); `labels` has 1"):
        ClassCounts.from_json({**stored, "support": [1, 2]})
    with pytest.raises(ValueError, match="finite numbers >= 0"):
        ClassCounts.from_json({**stored, "support": [-1]})
    with pytest.raises(TypeError, match="must hold numbers"):
        ClassCounts.from_json({**stored, "support": ["1"]})


def test_bad_weights_and_scores():
    with pytest.raises(ValueError, match="'micro' sums counts"):
        class_weights([1, 2], "micro")
    with pytest.raises(ValueError, match="`total` is smaller than the support"):
        class_weights([1, 2], "entropy", total=1)
    with pytest.raises(ValueError, match="`support` must be an array of finite numbers"):
        class_weights([1, -2], "macro")
    with pytest.raises(ValueError, match="one entry per class"):
        average_scores([1, 2, 3], [1, 2], "macro")
    with pytest.raises(ValueError, match="`scores` must be finite"):
        average_scores([1, float("nan")], [1, 2], "macro")
    with pytest.raises(ValueError, match="vectors of one length"):
        check_desiderata([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="`support` must hold finite numbers"):
        check_desiderata([1, 2], [1, -2])
