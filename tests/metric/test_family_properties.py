"""The family over made-up inputs: scikit-learn parity and properties."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from weighted_f1_metric import AVERAGES, ClassCounts, class_counts, f1_family, family_from_counts

COLUMNS = st.integers(1, 60).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 5), min_size=n, max_size=n) for _ in range(2)))
)
MEASURES = ("precision", "recall", "f1")


def sklearn(references, predictions, average, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return precision_recall_fscore_support(references, predictions, average=average, **options)[:3]


def values(scores, average, beta=1.0):
    last = "f1" if beta == 1 else "fbeta"
    return [scores[f"{average}_{measure}"] for measure in ("precision", "recall", last)]


@settings(max_examples=60)
@given(
    columns=COLUMNS,
    labels=st.none() | st.sets(st.integers(0, 8), min_size=1).map(sorted),
    beta=st.sampled_from([1.0, 0.5, 2.0]),
    zero_division=st.sampled_from([0.0, 1.0]),
    seed=st.none() | st.integers(0, 5),
)
def test_scikit_learn_parity(columns, labels, beta, zero_division, seed):
    references, predictions = columns
    weight = None if seed is None else np.random.default_rng(seed).random(len(references)) + 0.1
    ours = {
        over: f1_family(
            predictions=predictions, references=references, labels=labels, beta=beta, sample_weight=weight,
            zero_division=zero_division, outside="ignore", macro_over=over,
        )
        for over in ("supported", "labels")
    }  # fmt: skip
    options = {"beta": beta, "sample_weight": weight, "zero_division": zero_division}
    scored = sorted({*references, *predictions}) if labels is None else labels
    for average, over in (("micro", "labels"), ("macro", "labels"), ("weighted", "labels")):
        theirs = sklearn(references, predictions, average, labels=scored, **options)
        if average == "weighted" and not set(scored) & set(references):
            continue  # no support: undefined here, while scikit-learn's fill-in differs by measure
        np.testing.assert_allclose(values(ours[over], average, beta), theirs, atol=1e-12, err_msg=average)
    supported = [label for label in scored if label in references]
    if supported:
        theirs = sklearn(references, predictions, "macro", labels=supported, **options)
        np.testing.assert_allclose(values(ours["supported"], "macro", beta), theirs, atol=1e-12)


@settings(max_examples=60)
@given(columns=COLUMNS, negative=st.integers(0, 5), seed=st.integers(0, 99))
def test_invariances(columns, negative, seed):
    references, predictions = map(np.array, columns)
    options = {"negative_label": negative, "labels": range(6)}
    options["labels"] = list(options["labels"])
    scores = f1_family(predictions=predictions, references=references, **options)
    order = np.random.default_rng(seed).permutation(len(references))
    assert f1_family(predictions=predictions[order], references=references[order], **options) == scores
    thrice = f1_family(predictions=np.tile(predictions, 3), references=np.tile(references, 3), **options)
    assert {k: v for k, v in thrice.items() if k != "undefined"} == pytest.approx(
        {k: v for k, v in scores.items() if k != "undefined"}, abs=1e-12
    )
    names = {value: f"relation {5 - value}" for value in range(6)}
    renamed = f1_family(
        predictions=[names[p] for p in predictions.tolist()],
        references=[names[r] for r in references.tolist()],
        negative_label=names[negative],
        labels=list(names.values()),
    )
    assert {k: v for k, v in renamed.items() if k != "undefined"} == pytest.approx(
        {k: v for k, v in scores.items() if k != "undefined"}, abs=1e-12
    )
    weighted = f1_family(
        predictions=predictions, references=references, sample_weight=np.full(len(references), 2), **options
    )
    assert weighted["undefined"] == scores["undefined"]
    assert weighted["micro_f1"] == pytest.approx(scores["micro_f1"])


@settings(max_examples=60)
@given(columns=COLUMNS, zero_division=st.sampled_from([0.0, 0.5, 1.0]))
def test_averages_lie_within_the_class_scores(columns, zero_division):
    references, predictions = columns
    scores = f1_family(
        predictions=predictions, references=references, per_class=True, zero_division=zero_division
    )
    table = [row for row in scores["per_class"].values() if row["support"]]
    for average in AVERAGES[1:]:
        for measure in MEASURES:
            key = f"{average}_{measure}"
            assert 0 <= scores[key] <= 1
            if key not in scores["undefined"]:
                column = [row[measure] for row in table]
                assert min(column) - 1e-12 <= scores[key] <= max(column) + 1e-12


@settings(max_examples=40)
@given(references=st.lists(st.integers(0, 5), min_size=2).filter(lambda labels: len(set(labels)) > 1))
def test_perfect_is_one(references):
    scores = f1_family(predictions=references, references=references)
    assert scores.pop("undefined") == []
    assert list(scores.values()) == pytest.approx([1] * len(scores), abs=1e-15)


@settings(max_examples=60)
@given(columns=COLUMNS, cut=st.integers(1, 59), given_labels=st.booleans(), weighted=st.booleans())
def test_merged_shards_equal_the_whole(columns, cut, given_labels, weighted):
    references, predictions = columns
    cut = min(cut, len(references) - 1)
    parts = [slice(0, cut), slice(cut, None)] if cut else [slice(0, None)]
    labels = list(range(6)) if given_labels else None
    weight = [0.25 * (1 + row % 3) for row in range(len(references))] if weighted else None

    def count(part):
        return class_counts(
            predictions=predictions[part],
            references=references[part],
            labels=labels,
            sample_weight=None if weight is None else weight[part],
            negative_label=0 if given_labels else None,
        )

    merged = count(parts[0])
    for part in parts[1:]:
        merged = merged + ClassCounts.from_json(count(part).to_json())
    whole = count(slice(0, None))
    assert merged == whole
    assert family_from_counts(merged) == family_from_counts(whole)
