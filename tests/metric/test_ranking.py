"""ranking: golden values, a naive implementation over dicts and scikit-learn."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import auc as sklearn_auc
from sklearn.metrics import average_precision_score, precision_recall_curve

from tests.folders import SHARED
from weighted_f1_metric.ranking import _hit_probability, pr_curve, rank_candidates, ranking_measures

DATA = SHARED / "nyt_h_shaped"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the shared data folder is not beside the repository"
)


def naive(scores, gold, candidates, ks):
    """SPEC part 3 word by word, in exact fractions: one dict entry per candidate."""
    pairs = {
        (u, r): (scores[u][r], bool(gold[u][r]))
        for u in range(len(scores))
        for r in range(len(scores[0]))
        if candidates[u][r]
    }
    ordered = sorted(pairs.items(), key=lambda item: -item[1][0])
    total, num_gold = len(ordered), sum(hit for _, (_, hit) in ordered)
    ties = {}
    for (_, r), (score, hit) in ordered:
        ties.setdefault(score, []).append((r, hit))
    hits_at, hits, covered_at, correct_at = [], 0, {}, {}
    above, above_correct, k = set(), set(), 0
    ends = []
    for tie in ties.values():
        tie_hits = sum(hit for _, hit in tie)
        for q in range(1, len(tie) + 1):
            k += 1
            hits_at.append(hits + Fraction(tie_hits * q, len(tie)))
            for seen, chosen, target in (
                (above, [r for r, _ in tie], covered_at),
                (above_correct, [r for r, hit in tie if hit], correct_at),
            ):
                target[k] = len(seen) + sum(
                    1 - Fraction(math.comb(len(tie) - chosen.count(r), q), math.comb(len(tie), q))
                    for r in set(chosen) - seen
                )
        hits += tie_hits
        above |= {r for r, _ in tie}
        above_correct |= {r for r, hit in tie if hit}
        ends.append((k, hits, tie_hits))
    result = {"auc": None, "average_precision": None, "max_f1": None}
    if num_gold:
        points = [(h / num_gold, h / (i + 1)) for i, h in enumerate(hits_at)]
        steps = itertools.pairwise(points)
        result["auc"] = float(sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in steps))
        result["average_precision"] = float(sum(Fraction(m, num_gold) * Fraction(h, k) for k, h, m in ends))
        result["max_f1"] = float(max(Fraction(2 * h, num_gold + k) for k, h, _ in ends))
    result["prevalence"] = num_gold / total if total else None
    for k in ks:
        inside = k <= total
        result[f"precision_at_{k}"] = float(hits_at[k - 1] / k) if inside else None
        result[f"relations_covered_at_{k}"] = float(covered_at[k]) if inside else None
        result[f"correct_relations_covered_at_{k}"] = float(correct_at[k]) if inside else None
    return result


@st.composite
def rankings(draw):
    shape = draw(st.tuples(st.integers(1, 8), st.integers(1, 4)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    levels = draw(st.integers(1, 12))  # few levels: many ties
    scores = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, levels))).astype(dtype) / 4 - 1
    candidates = draw(hnp.arrays(np.bool_, shape))
    gold = draw(hnp.arrays(np.bool_, shape)) & candidates
    return scores, gold, candidates


@settings(max_examples=120)
@given(rankings())
def test_equals_a_dict_per_candidate_in_exact_fractions(ranking):
    scores, gold, candidates = ranking
    ks = (1, 2, 3, 5, 8, 13, 40)
    result = ranking_measures(scores=scores, gold=gold, candidates=candidates, ks=ks)
    expected = naive(scores.tolist(), gold, candidates, ks)
    assert list(result) == list(expected)
    assert result == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100)
@given(rankings(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_changes_nothing(ranking, random):
    scores, gold, candidates = ranking
    order = list(range(len(scores)))
    random.shuffle(order)
    columns = list(range(scores.shape[1]))
    random.shuffle(columns)
    pick = np.ix_(order, columns)
    one = ranking_measures(scores=scores, gold=gold, candidates=candidates, ks=(1, 4))
    other = ranking_measures(scores=scores[pick], gold=gold[pick], candidates=candidates[pick], ks=(1, 4))
    # Which relation is which may change the order of a sum, so coverage agrees to rounding only.
    assert one == pytest.approx(other, abs=1e-13)
    assert one["auc"] == other["auc"]


@settings(max_examples=100)
@given(st.integers(2, 400), st.integers(0, 2**32 - 1))
def test_without_ties_equals_scikit_learn(size, seed):
    rng = np.random.default_rng(seed)
    scores = rng.permutation(size).reshape(-1, 1) / size
    gold = rng.random((size, 1)) < 0.3
    gold[rng.integers(size)] = True
    result = ranking_measures(scores=scores, gold=gold, ks=(1,))
    truth, flat = gold.ravel(), scores.ravel()
    assert result["average_precision"] == pytest.approx(average_precision_score(truth, flat), abs=1e-12)
    ranked = truth[np.argsort(-flat)]
    hits = np.cumsum(ranked)
    precision, recall = hits / np.arange(1, size + 1), hits / hits[-1]
    assert result["auc"] == pytest.approx(sklearn_auc(recall, precision), abs=1e-12)
    p, r, _ = precision_recall_curve(truth, flat)
    best = max(2 * a * b / (a + b) for a, b in zip(p, r, strict=True) if a + b)
    assert result["max_f1"] == pytest.approx(best, abs=1e-12)
    curve = pr_curve(scores=scores, gold=gold)
    np.testing.assert_allclose(curve.precision, precision, atol=1e-12)
    np.testing.assert_allclose(curve.recall, recall, atol=1e-12)


def test_average_precision_with_ties_equals_scikit_learn():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 20, (500, 3)).astype(float)
    gold = rng.random(scores.shape) < 0.2
    result = ranking_measures(scores=scores, gold=gold, ks=(1,))
    expected = average_precision_score(gold.ravel(), scores.ravel())
    assert result["average_precision"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("levels", [3, 50, 10**9])
def test_closed_form_of_the_trapezoid_equals_the_sum_over_every_k(levels):
    rng = np.random.default_rng(1)
    scores = rng.integers(0, levels, (40_000, 5)).astype(float)
    gold = rng.random(scores.shape) < 0.05
    curve = pr_curve(scores=scores, gold=gold)
    steps = np.diff(curve.recall) * (curve.precision[1:] + curve.precision[:-1]) / 2
    auc = ranking_measures(scores=scores, gold=gold, ks=(1,))["auc"]
    assert auc == pytest.approx(math.fsum(steps), abs=1e-12)


def test_expectations_are_means_over_the_orders_of_a_tie():
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 4, (30, 3)).astype(float)
    gold = rng.random(scores.shape) < 0.3
    result = ranking_measures(scores=scores, gold=gold, ks=(10, 35))
    drawn = [
        ranking_measures(scores=scores + rng.random(scores.shape) / 2, gold=gold, ks=(10, 35))
        for _ in range(1500)
    ]
    for name in (f"{what}_at_{k}" for k in (10, 35) for what in ("precision", "correct_relations_covered")):
        values = np.array([one[name] for one in drawn])
        assert abs(values.mean() - result[name]) < 5 * values.std() / len(drawn) ** 0.5 + 1e-12


@needs_data
@pytest.mark.parametrize("track", ["sent2sent", "bag2bag"])
def test_golden_values_of_an_independent_implementation(track):
    """Source: expected_ranking.json, a slow implementation of SPEC part 3; tolerance 1e-9."""
    system = {"sent2sent": "sent_svm_all_scores", "bag2bag": "bag_svm_all_scores"}[track]
    expected = json.loads((DATA / "expected_ranking.json").read_text())[f"{track}/{system}"]
    names = json.loads((DATA / "rel2id.json").read_text())
    relations = [name for name in sorted(names, key=names.get) if name != "NA"]
    key = "instance_id" if track == "sent2sent" else "bag_id"
    rows = [json.loads(line) for line in (DATA / "test.json").read_text().splitlines()]
    units = list(dict.fromkeys(row[key] for row in rows))
    place = {unit: i for i, unit in enumerate(units)}
    dsgt = np.zeros((len(units), len(relations)), dtype=bool)
    magt = np.zeros_like(dsgt)
    for row in rows:
        if row["relation"] in relations:
            cell = place[row[key]], relations.index(row["relation"])
            dsgt[cell] = True
            magt[cell] |= row["bag_label"] == "yes"
    lines = (DATA / "predictions" / f"{system}.jsonl").read_text().splitlines()
    predictions = {line[key]: line["scores"] for line in map(json.loads, lines)}
    scores = np.array([[predictions[unit][name] for name in relations] for unit in units])
    ks = (10, 50, 100, 300, 1000, 5000)
    result = {}
    for prefix, gold, candidates in (
        ("dsgt", dsgt, None),
        ("magt", magt, None),
        ("magt_ds_scope", magt, dsgt),
    ):
        measures = ranking_measures(scores=scores, gold=gold, candidates=candidates, ks=ks)
        result |= {f"{prefix}_{name}": value for name, value in measures.items()}
    for name, value in expected.items():
        assert result[name] == (None if value is None else pytest.approx(value, abs=1e-9)), name
    assert all(result[name] is None for name in result if name not in expected)


def test_hit_probability_of_millions_keeps_all_digits():
    # By symmetry C(T - m, q) / C(T, q) with q = 2 is (T - m)(T - m - 1) / (T (T - 1)).
    total, marked = 7_500_000, 3
    exact = 1 - Fraction((total - marked) * (total - marked - 1), total * (total - 1))
    assert _hit_probability(total, marked, 2) == pytest.approx(float(exact), rel=1e-12)
    assert _hit_probability(total, 2, marked) == pytest.approx(float(exact), rel=1e-12)
    assert _hit_probability(total, total // 2, total // 3) == 1.0
    assert _hit_probability(10, 4, 7) == 1.0  # 4 marked do not fit into the 3 left out
    assert _hit_probability(10, 4, 6) < 1.0
    assert _hit_probability(10, 0, 6) == 0.0


def test_one_ranking_serves_several_truths():
    rng = np.random.default_rng(3)
    scores, gold = rng.random((50, 4)), rng.random((2, 50, 4)) < 0.2
    ranked = rank_candidates(scores=scores)
    for truth in gold:
        assert ranked.measures(gold=truth) == ranking_measures(scores=scores, gold=truth)


def test_input_is_left_as_it_was_and_float32_keeps_its_ties():
    scores = np.array([[0.1, 0.3], [0.3, 0.2]], dtype=np.float32)
    before = scores.copy()
    gold = np.array([[False, True], [False, False]])
    assert ranking_measures(scores=scores, gold=gold, ks=(1,))["precision_at_1"] == 0.5
    assert (scores == before).all()
    integers = ranking_measures(scores=[[1, 3], [3, 2]], gold=gold, ks=(1,))
    assert integers["precision_at_1"] == 0.5
    assert ranking_measures(scores=[[0.0], [-0.0]], gold=[[True], [False]], ks=(1,))["precision_at_1"] == 0.5


def test_without_a_gold_pair_nothing_is_nan():
    result = ranking_measures(scores=[[0.2, 0.1]], gold=[[False, False]], ks=(1, 3))
    assert result == {
        "auc": None,
        "average_precision": None,
        "max_f1": None,
        "prevalence": 0.0,
        "precision_at_1": 0.0,
        "relations_covered_at_1": 1.0,
        "correct_relations_covered_at_1": 0.0,
        "precision_at_3": None,
        "relations_covered_at_3": None,
        "correct_relations_covered_at_3": None,
    }
    none = np.zeros((2, 2), dtype=bool)
    empty = ranking_measures(scores=np.ones((2, 2)), gold=none, candidates=none, ks=(1,))
    assert set(empty.values()) == {None}


def test_one_perfect_candidate():
    # A single candidate has no step from one k to the next: the trapezoid has no width.
    result = ranking_measures(scores=[[0.5]], gold=[[True]], ks=(1,))
    assert (result["auc"], result["average_precision"], result["max_f1"]) == (0.0, 1.0, 1.0)


def test_curve_can_be_thinned_for_drawing():
    rng = np.random.default_rng(4)
    scores, gold = rng.random((3000, 4)), rng.random((3000, 4)) < 0.1
    full, thin = pr_curve(scores=scores, gold=gold), pr_curve(scores=scores, gold=gold, max_points=100)
    assert full.k.size == full.num_candidates == 12_000
    assert full.num_gold == gold.sum()
    assert 50 < thin.k.size <= 100
    assert thin.k[0] == 1
    assert thin.k[-1] == 12_000
    np.testing.assert_array_equal(thin.precision, full.precision[thin.k - 1])
    np.testing.assert_array_equal(thin.recall, full.recall[thin.k - 1])
    assert pr_curve(scores=scores, gold=gold, max_points=2).k.tolist() == [1, 12_000]
