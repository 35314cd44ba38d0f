"""exponent_curve: the family at its points, roots against a fine search, contributions, and every error."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighted_f1_metric.counts import ClassCounts, class_counts
from weighted_f1_metric.exponent_curve import exponent_curve
from weighted_f1_metric.family import f1_family

LABELS = ["NA", "a", "b", "c", "d"]
columns = st.lists(st.tuples(*[st.sampled_from(LABELS)] * 3), min_size=1, max_size=60).filter(
    lambda rows: any(gold != "NA" for gold, _, _ in rows)
)


def counted(rows):
    gold, first, second = map(list, zip(*rows, strict=True))
    options = {"labels": LABELS, "negative_label": "NA"}
    counts = [class_counts(predictions=p, references=gold, **options) for p in (first, second)]
    return gold, (first, second), options, counts


@settings(max_examples=60)
@given(columns, st.sampled_from([0.0, 1.0]), st.sampled_from([1.0, 2.0]))
def test_points_of_the_line_are_the_family(rows, zero_division, beta):
    gold, systems, options, (first, second) = counted(rows)
    averages = {"macro": "macro", "half": "n^0.5", "dodrans": "dodrans", "weighted": "weighted"}
    for measure in ("precision", "recall", "f1"):
        curve = exponent_curve(
            counts_a=first,
            counts_b=second,
            measure=measure,
            beta=beta,
            zero_division=zero_division,
            num_points=5,
        )
        key = "fbeta" if measure == "f1" and beta == 2 else measure
        assert curve.measure == key
        for predictions, scores in zip(systems, (curve.scores_a, curve.scores_b), strict=True):
            family = f1_family(
                predictions=predictions,
                references=gold,
                averages=averages,
                beta=beta,
                zero_division=zero_division,
                **options,
            )
            expected = [family[f"{name}_{key}"] for name in averages]
            np.testing.assert_allclose(scores[[0, 2, 3, 4]], expected, atol=1e-12)


def test_two_points_are_the_ends_of_the_line():
    counts = class_counts(predictions=["a", "b", "b"], references=["a", "a", "b"])
    curve = exponent_curve(counts_a=counts, counts_b=counts, measure="recall", num_points=2)
    assert curve.exponents.tolist() == [0, 1]
    assert curve.scores_a.tolist() == pytest.approx([3 / 4, 2 / 3])


@settings(max_examples=100)
@given(columns)
def test_contributions_add_up_and_crossings_are_sign_changes(rows):
    _, _, _, (first, second) = counted(rows)
    curve = exponent_curve(counts_a=first, counts_b=second)
    gap = curve.scores_a - curve.scores_b
    assert sum(c.at_macro for c in curve.contributions) == pytest.approx(gap[0], abs=1e-12)
    assert sum(c.at_weighted for c in curve.contributions) == pytest.approx(gap[-1], abs=1e-12)
    changes = [abs(c.at_weighted - c.at_macro) for c in curve.contributions]
    assert changes == sorted(changes, reverse=True)
    assert list(curve.crossings) == sorted(curve.crossings)
    if abs(gap[0]) > 1e-9 and abs(gap[-1]) > 1e-9:
        assert (len(curve.crossings) % 2 == 1) == (gap[0] * gap[-1] < 0)
    swapped = exponent_curve(counts_a=second, counts_b=first)
    np.testing.assert_allclose(swapped.crossings, curve.crossings, atol=1e-9)


def counts_with(support, scores):
    """Counts whose recalls are the given tenths."""
    support = np.array(support) * 10
    hits = (support * np.array(scores)).round().astype(int)
    labels = tuple(f"r{i}" for i in range(len(support)))
    return ClassCounts(labels, hits, hits, support, int(support.sum()))


def test_a_crossing_against_a_fine_search():
    support = [1, 40, 1600]
    first, second = counts_with(support, [0.5, 0.9, 0.5]), counts_with(support, [1.0, 0.8, 0.49])
    curve = exponent_curve(counts_a=first, counts_b=second, measure="recall")
    gain = np.array([-0.5, 0.1, 0.01])
    fine = np.linspace(0, 1, 1_000_001)
    values = (gain[:, None] * np.array(support, dtype=float)[:, None] ** fine).sum(axis=0)
    expected = fine[np.flatnonzero(np.diff(np.sign(values)))]
    assert len(expected) == 1
    np.testing.assert_allclose(curve.crossings, expected, atol=2e-6)
    assert [c.label for c in curve.contributions] == ["r0", "r1", "r2"]


def test_two_crossings_are_both_found():
    """The middle class decides in the middle of the line, the rare and the frequent one at its ends."""
    support = [1, 100, 10_000]
    first, second = counts_with(support, [0.2, 0.7, 0.40]), counts_with(support, [0.8, 0.5, 0.41])
    curve = exponent_curve(counts_a=first, counts_b=second, measure="recall")
    # -0.6 + 0.2 x - 0.01 x^2 = 0 with x = 100^a: x = (0.2 +- sqrt(0.016)) / 0.02
    roots = np.log((0.2 + np.array([-1, 1]) * np.sqrt(0.016)) / 0.02) / np.log(100)
    np.testing.assert_allclose(curve.crossings, roots, atol=1e-10)


def test_equal_systems_never_cross_and_touching_is_no_crossing():
    same = counts_with([3, 8], [0.5, 0.2])
    curve = exponent_curve(counts_a=same, counts_b=same)
    assert curve.crossings == ()
    assert {c.at_macro for c in curve.contributions} == {0.0}
    equal_at_macro = counts_with([3, 8], [0.6, 0.1])  # a is better for every a > 0, equal at 0
    assert exponent_curve(counts_a=same, counts_b=equal_at_macro, measure="recall").crossings == ()


def test_classes_without_support_have_no_weight_and_json_is_plain():
    counts = class_counts(predictions=["a", "z"], references=["a", "a"])
    curve = exponent_curve(counts_a=counts, counts_b=counts)
    assert [c.label for c in curve.contributions] == ["a"]
    text = json.loads(json.dumps(curve.to_json()))
    assert text["contributions"][0]["support"] == 2
    assert len(text["exponents"]) == 101
    assert set(text) == {field.name for field in dataclasses.fields(curve)}


GOOD = {
    "counts_a": class_counts(predictions=["a", "b"], references=["a", "b"]),
    "counts_b": class_counts(predictions=["a", "a"], references=["a", "b"]),
}
EMPTY = class_counts(predictions=["NA"], references=["NA"], labels=["a", "NA"], negative_label="NA")


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"counts_a": {}}, TypeError, r"`counts_a` must be ClassCounts, from class_counts\(...\); got dict"),
        (
            {"counts_b": class_counts(predictions=["a", "b"], references=["a", "c"])},
            ValueError,
            r"same references; the support of 'b' differs \(2 classes in all\)",
        ),
        ({"counts_a": EMPTY, "counts_b": EMPTY}, ValueError, "`counts_a` has no class with support"),
        (
            {"measure": "accuracy"},
            ValueError,
            "`measure` must be one of 'precision', 'recall', 'f1'; got 'accuracy'",
        ),
        ({"num_points": 1}, ValueError, "`num_points` must be at least 2; got 1"),
        ({"num_points": 2.0}, TypeError, "`num_points` must be an int; got 2.0"),
        ({"beta": -1}, ValueError, "`beta` must be between"),
        ({"zero_division": 2}, ValueError, "`zero_division` must be between 0 and 1"),
    ],
)
def test_bad_input_is_named(change, error, match):
    with pytest.raises(error, match=match):
        exponent_curve(**(GOOD | change))
