"""The family: values checked by hand, options, kinds of input."""

import math

import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset

from weighted_f1_metric import (
    AVERAGES,
    ClassCounts,
    averaged_scores,
    class_counts,
    f1_family,
    family_from_counts,
)

# a: tp 2 of 3 predicted, 3 gold; b: tp 1 of 2, 1 gold; N = 6 with two rows of "no".
REFERENCES = ["a", "a", "a", "b", "no", "no"]
PREDICTIONS = ["a", "a", "b", "b", "a", "no"]


def family(**options):
    return f1_family(predictions=PREDICTIONS, references=REFERENCES, **{"negative_label": "no", **options})


def test_values_by_hand():
    scores = family()
    f_a, f_b = 2 * 2 / (3 + 3), 2 * 1 / (2 + 1)
    weights = {
        "weighted": (3, 1),
        "dodrans": (3**0.75, 1),
        "entropy": (3 * math.log(6 / 3), 1 * math.log(6 / 1)),
        "macro": (1, 1),
    }
    for average, (w_a, w_b) in weights.items():
        assert scores[f"{average}_f1"] == pytest.approx((w_a * f_a + w_b * f_b) / (w_a + w_b))
        assert scores[f"{average}_precision"] == pytest.approx((w_a * 2 / 3 + w_b * 1 / 2) / (w_a + w_b))
        assert scores[f"{average}_recall"] == pytest.approx((w_a * 2 / 3 + w_b * 1) / (w_a + w_b))
    assert scores["micro_precision"] == pytest.approx(3 / 5)
    assert scores["micro_recall"] == pytest.approx(3 / 4)
    assert scores["micro_f1"] == pytest.approx(2 * 3 / (5 + 4))


def test_keys_are_fixed():
    expected = [f"{average}_{measure}" for average in AVERAGES for measure in ("precision", "recall", "f1")]
    assert list(family()) == [*expected, "undefined"]
    assert list(family(averages="macro", beta=2)) == [
        "macro_precision", "macro_recall", "macro_fbeta", "undefined",
    ]  # fmt: skip
    assert all(type(family()[key]) is float for key in expected)


def test_averaged_f1_is_no_harmonic_mean_of_averages():
    scores = family()
    precision, recall = scores["macro_precision"], scores["macro_recall"]
    assert abs(scores["macro_f1"] - 2 * precision * recall / (precision + recall)) > 0.01


def test_negative_class_by_name_or_any_id():
    code = {"a": 5, "b": 0, "no": 3}
    by_id = f1_family(
        predictions=[code[p] for p in PREDICTIONS],
        references=[code[r] for r in REFERENCES],
        negative_label=3,
    )
    assert by_id == family()
    assert family(negative_label="b") != family()


def test_label_only_predicted_costs_micro_precision_but_has_no_weight():
    scores = f1_family(predictions=["a", "c"], references=["a", "b"])
    assert scores["micro_precision"] == 0.5
    assert scores["macro_precision"] == 0.5  # a 1, b 0; c has no support
    over_labels = f1_family(predictions=["a", "c"], references=["a", "b"], macro_over="labels")
    assert over_labels["macro_precision"] == pytest.approx(1 / 3)
    assert over_labels["weighted_precision"] == scores["weighted_precision"]


def test_macro_over_labels_counts_every_label_given():
    scores = family(labels=["a", "b", "x", "no"], macro_over="labels")
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    filled = family(labels=["a", "b", "x", "no"], macro_over="labels", zero_division=1.0)
    assert filled["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)


def test_entropy_total():
    positive = family(entropy_total="positive", averages="entropy")
    w_a, w_b = 3 * math.log(4 / 3), 1 * math.log(4)
    assert positive["entropy_recall"] == pytest.approx((w_a * 2 / 3 + w_b) / (w_a + w_b))


def test_undefined_is_listed_and_never_nan():
    scores = f1_family(
        predictions=["NA", "a"], references=["NA", "NA"], negative_label="NA", zero_division=0.5
    )
    assert scores["undefined"] == [
        "micro_recall",
        *(f"{a}_{m}" for a in AVERAGES[1:] for m in ("precision", "recall", "f1")),
    ]
    assert scores["macro_f1"] == scores["micro_recall"] == 0.5
    assert scores["micro_precision"] == scores["micro_f1"] == 0
    assert not any(isinstance(value, float) and math.isnan(value) for value in scores.values())


def test_entropy_of_one_class_with_all_rows_is_undefined():
    scores = f1_family(predictions=["a", "b"], references=["a", "a"])
    assert scores["undefined"] == [f"entropy_{measure}" for measure in ("precision", "recall", "f1")]
    assert scores["entropy_f1"] == 0
    weighted = f1_family(predictions=["a", "b", "b"], references=["a"] * 3, sample_weight=[0.1, 0.7, 0.3])
    assert weighted["undefined"] == scores["undefined"]


def test_micro_without_predictions_is_undefined_in_precision_only():
    scores = f1_family(predictions=["NA"], references=["a"], negative_label="NA", averages="micro")
    assert scores == {
        "micro_precision": 0.0, "micro_recall": 0.0, "micro_f1": 0.0, "undefined": ["micro_precision"],
    }  # fmt: skip


def test_per_class():
    table = family(per_class=True)["per_class"]
    assert list(table) == ["a", "b"]
    assert table["b"] == {
        "precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3), "support": 1, "predicted": 2,
    }  # fmt: skip
    assert "fbeta" in family(per_class=True, beta=0.5)["per_class"]["a"]


def test_groups_need_the_exact_label_for_a_true_positive():
    scores = f1_family(
        predictions=["r(1,2)", "r(2,1)", "s(1,2)", "no"],
        references=["r(1,2)", "r(1,2)", "s(1,2)", "s(2,1)"],
        negative_label="no",
        groups={"r(1,2)": "r", "r(2,1)": "r", "s(1,2)": "s", "s(2,1)": "s"},
        per_class=True,
    )
    assert scores["per_class"]["r"] == {
        "precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2, "predicted": 2,
    }  # fmt: skip
    assert scores["per_class"]["s"]["recall"] == 0.5
    assert scores["micro_precision"] == pytest.approx(2 / 3)


def test_outside_labels_ignored_as_in_scikit_learn():
    scores = f1_family(
        predictions=["a", "x", "a"],
        references=["a", "a", "x"],
        labels=["a"],
        outside="ignore",
        per_class=True,
    )
    assert scores["per_class"]["a"] == {
        "precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2, "predicted": 2,
    }  # fmt: skip


def test_exponents_and_functions_are_schemes():
    scores = family(averages=["n^1", "n^0.75", "n^0"])
    named = family(averages=["weighted", "dodrans", "macro"])
    for exponent, name in (("n^1", "weighted"), ("n^0.75", "dodrans"), ("n^0", "macro")):
        assert scores[f"{exponent}_f1"] == pytest.approx(named[f"{name}_f1"], abs=1e-15)

    def squared(support):
        return support**2

    own = family(averages=[squared])
    assert own["squared_recall"] == pytest.approx((9 * 2 / 3 + 1) / 10)
    mapped = family(averages={"mine": lambda support: support**2, "rooted": "n^0.5"})
    assert mapped["mine_recall"] == own["squared_recall"]
    assert "rooted_f1" in mapped


def test_one_call_scores_many_resamples():
    rng = np.random.default_rng(0)
    support = rng.integers(0, 5, (20, 4))
    predicted = rng.integers(0, 5, (20, 4))
    hits = np.minimum(support, predicted) // 2
    total = support.sum(axis=1) + 3
    together = averaged_scores(true_positives=hits, predicted=predicted, support=support, total=total)
    for i in range(20):
        counts = ClassCounts(("a", "b", "c", "d"), hits[i], predicted[i], support[i], int(total[i]))
        single = family_from_counts(counts)
        undefined = single.pop("undefined")
        assert {name: value[i] for name, value in together.values.items()} == pytest.approx(single)
        assert [name for name, absent in together.undefined.items() if absent[i]] == undefined


def kinds_of_int():
    torch = pytest.importorskip("torch")
    values = [0, 1, 1, 2]
    return [
        values,
        tuple(values),
        np.array(values, dtype=np.uint8),
        np.array(values, dtype=np.uint64),
        [np.int32(value) for value in values],
        np.array(values, dtype=object),
        torch.tensor(values),
        pa.array(values),
        pa.chunked_array([values[:2], values[2:]]),
        Dataset.from_dict({"x": values})["x"],
    ]


def kinds_of_str():
    values = ["NA", "b", "b", "c"]
    variable_width = getattr(np.dtypes, "StringDType", None)  # since numpy 2.0
    return [
        values,
        tuple(values),
        np.array(values),
        np.array(values, dtype=object),
        *([] if variable_width is None else [np.array(values, dtype=variable_width())]),
        pa.array(values),
        pa.array(values).dictionary_encode(),
        Dataset.from_dict({"x": values})["x"],
    ]


@pytest.mark.parametrize(("kinds", "negative"), [(kinds_of_int, 0), (kinds_of_str, "NA")])
def test_kinds_of_input_agree(kinds, negative):
    columns = kinds()
    for column in columns:
        scores = f1_family(predictions=column, references=columns[0], negative_label=negative)
        assert scores["micro_f1"] == 1
        counts = class_counts(predictions=column, references=column, negative_label=negative)
        assert counts.support.tolist() == [2, 1]
        assert {type(label) for label in counts.labels} == {type(negative)}


def test_integers_far_apart_and_many_classes():
    rng = np.random.default_rng(1)
    small = rng.integers(0, 7, 500)
    guess = rng.integers(0, 7, 500)
    expected = f1_family(predictions=guess, references=small, negative_label=3)
    for change in (lambda a: a * 10**15 + 5, lambda a: a * 100 + 1, lambda a: a.astype(np.int8)):
        negative = int(change(np.array([3]))[0])
        scores = f1_family(predictions=change(guess), references=change(small), negative_label=negative)
        assert scores == expected


@pytest.mark.parametrize("num_labels", [255, 256, 257, 600])
def test_strings_count_like_integers_at_any_number_of_labels(num_labels):
    rng = np.random.default_rng(num_labels)
    y = np.concatenate([np.arange(num_labels), rng.integers(0, num_labels, 2000)])
    p = np.where(rng.random(len(y)) < 0.5, y, rng.integers(0, num_labels, len(y)))
    named = [[f"{label:04d}" for label in column] for column in (y.tolist(), p.tolist())]
    strings = class_counts(predictions=named[1], references=named[0], negative_label="0007")
    integers = class_counts(predictions=p, references=y, negative_label=7)
    assert [int(label) for label in strings.labels] == list(integers.labels)
    for name in ("true_positives", "predicted", "support"):
        assert getattr(strings, name).tolist() == getattr(integers, name).tolist()


def test_more_rows_than_one_block():
    rng = np.random.default_rng(2)
    y, p = rng.integers(0, 5, 150_000), rng.integers(0, 5, 150_000)
    counts = class_counts(predictions=p, references=y)
    confusion = np.zeros((5, 5), dtype=int)
    np.add.at(confusion, (y, p), 1)
    assert counts.true_positives.tolist() == confusion.diagonal().tolist()
    assert counts.predicted.tolist() == confusion.sum(axis=0).tolist()
    assert counts.support.tolist() == confusion.sum(axis=1).tolist()
    assert counts.total == 150_000


@pytest.mark.parametrize("beta", [1e8, 1e154, 1e200, 1e308])
def test_a_huge_beta_is_recall(beta):
    given = {"predictions": ["a", "b", "b", "NA"], "references": ["a", "a", "b", "b"], "negative_label": "NA"}
    with np.errstate(all="raise"):
        scores = f1_family(**given, beta=beta, averages=["micro", "macro", "dodrans"])
    for average in ("micro", "macro", "dodrans"):
        assert scores[f"{average}_fbeta"] == pytest.approx(scores[f"{average}_recall"], rel=1e-9)


@pytest.mark.parametrize("beta", [1e-8, 1e-154, 1e-200, 0.0])
def test_a_tiny_beta_is_precision(beta):
    given = {"predictions": ["a", "b", "b", "NA"], "references": ["a", "a", "b", "b"], "negative_label": "NA"}
    scores = f1_family(**given, beta=beta, averages=["micro", "macro"])
    for average in ("micro", "macro"):
        assert scores[f"{average}_fbeta"] == pytest.approx(scores[f"{average}_precision"], rel=1e-9)


@pytest.mark.parametrize("beta", [1e-200, 1e-3, 1.0, 1e3, 1e200])
def test_f_of_a_class_without_hits_is_0_not_0_by_0(beta):
    """Predicted but never gold, or gold but never predicted: every finite beta > 0 gives exactly 0."""
    given = {"predictions": ["a", "a"], "references": ["b", "b"]}
    scores = f1_family(**given, beta=beta, zero_division=1.0, per_class=True, averages="micro")
    name = "f1" if beta == 1 else "fbeta"
    assert [own[name] for own in scores["per_class"].values()] == [0.0, 0.0]
    assert scores["undefined"] == []


@pytest.mark.parametrize("given", [{"beta": 10**400}, {"zero_division": 10**400}])
def test_numbers_beyond_the_floats(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        f1_family(predictions=["a"], references=["a"], **given)


def test_weights_whose_sum_overflows():
    with pytest.raises(ValueError, match="sample_weight"):
        f1_family(predictions=["a", "a"], references=["a", "a"], sample_weight=[1e308, 1e308])
