"""Ranks with confidence sets: against the definitions written out, simulated worlds, and every bad input."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from weighted_f1_metric import f1_family, rank_counts, rank_intervals, score_track, space, track_statistics
from weighted_f1_metric.significance.bag_counts import track_matrix
from weighted_f1_metric.significance.rank_intervals import group_letters
from weighted_f1_metric.significance.variance_parts import variance_parts

NAMES = np.array(["NA", "a", "b", "c"])
OPTIONS = {"negative_label": "NA", "seed": 0, "n_resamples": 300, "averages": ["micro", "macro"]}


def world(seed, levels, n=300, num_runs=1, seed_sd=0.0):
    """Gold labels and systems of these levels (the higher, the more rows are right), all on one hardness."""
    rng = np.random.default_rng(seed)
    gold, hard = rng.choice(4, n, p=[0.3, 0.3, 0.2, 0.2]), rng.normal(0, 1.2, n)
    systems = {}
    for place, level in enumerate(levels):
        right = (hard + rng.normal(0, 1, n) < level + rng.normal(0, seed_sd) for _ in range(num_runs))
        runs = [NAMES[np.where(ok, gold, rng.choice(4, n))].tolist() for ok in right]
        systems[f"s{place}"] = runs if num_runs > 1 else runs[0]
    return systems, NAMES[gold].tolist()


def by_name(ranking):
    return {system.name: system for system in ranking.systems}


def test_scores_and_ranks_are_those_of_the_metric():
    systems, gold = world(0, [1.0, 0.2, 0.6], num_runs=2)
    result = rank_intervals(systems=systems, references=gold, **OPTIONS)
    assert list(result.rankings) == ["micro_f1", "macro_f1"]
    for measure, ranking in result.rankings.items():
        own = by_name(ranking)
        for name, runs in systems.items():
            scores = [f1_family(predictions=p, references=gold, negative_label="NA")[measure] for p in runs]
            assert own[name].score == pytest.approx(np.mean(scores), abs=1e-12)
        assert [system.rank for system in ranking.systems] == [1, 2, 3]
        assert [system.name for system in ranking.systems] == ["s0", "s2", "s1"]


def test_a_system_against_itself_is_one_group():
    systems, gold = world(1, [0.5])
    result = rank_intervals(systems={"x": systems["s0"], "y": systems["s0"]}, references=gold, **OPTIONS)
    for ranking in result.rankings.values():
        assert [(s.rank, s.rank_low, s.rank_high, s.group) for s in ranking.systems] == [(1, 1, 2, "a")] * 2
        assert ranking.probability_better.tolist() == [[0.5, 0.5], [0.5, 0.5]]
        assert ranking.critical_value is None
    assert "'x', 'y'" in result.notes[0]


def test_order_of_systems_rows_and_runs_changes_nothing():
    systems, gold = world(2, [0.9, 0.5, 0.4, 0.0], num_runs=3, seed_sd=0.2)
    order = np.random.default_rng(0).permutation(len(gold)).tolist()
    shuffled = {
        name: [[run[i] for i in order] for run in reversed(systems[name])] for name in reversed(list(systems))
    }
    for question in ("runs", "seeds"):
        one = rank_intervals(systems=systems, references=gold, question=question, **OPTIONS)
        other = rank_intervals(
            systems=shuffled, references=[gold[i] for i in order], question=question, **OPTIONS
        )
        assert json.dumps(one.to_json(), sort_keys=True) == json.dumps(other.to_json(), sort_keys=True)


def test_separation_as_the_definition_says():
    """The step-down procedure written out over the same kind of draws, row by row."""
    systems, gold = world(3, [1.0, 0.9, 0.4, 0.3], n=400)
    ranking = rank_intervals(
        systems=systems, references=gold, **{**OPTIONS, "n_resamples": 4000, "averages": "micro"}
    ).rankings["micro_f1"]
    names = [system.name for system in ranking.systems]

    def micro(rows):
        truth = np.array(gold)[rows]
        found = []
        for name in names:
            said = np.array(systems[name])[rows]
            hits = np.sum((said == truth) & (truth != "NA"))
            found.append(2 * hits / (np.sum(said != "NA") + np.sum(truth != "NA")))
        return np.array(found)

    rng, n = np.random.default_rng(5), len(gold)
    scores = micro(np.arange(n))
    drawn = np.array([micro(rng.integers(0, n, n)) for _ in range(4000)])
    differences = scores[:, None] - scores
    resampled = drawn[:, :, None] - drawn[:, None, :]
    errors = resampled.std(axis=0, ddof=1)
    np.testing.assert_allclose(ranking.standard_errors, errors, rtol=0.06)
    pairs = set(itertools.permutations(range(4), 2))
    half = np.median([errors[i, j] ** 2 for i, j in pairs]) / 2
    scale = np.sqrt(errors**2 / 2 + half)
    first, rejected = None, set()
    while True:
        largest = np.max([(resampled[:, i, j] - differences[i, j]) / scale[i, j] for i, j in pairs], axis=0)
        critical = np.quantile(largest, 0.95)
        critical *= math.sqrt(n / (n - 1)) / math.sqrt(1 - critical**2 / n)
        first = first or critical
        new = {(i, j) for i, j in pairs if differences[i, j] > critical * scale[i, j]}
        if not new:
            break
        rejected |= new
        pairs -= new
    assert ranking.critical_value == pytest.approx(first, rel=0.05)
    assert {tuple(pair) for pair in np.argwhere(ranking.separated).tolist()} == rejected
    assert rejected
    expected = norm.cdf(differences[0, 1] / errors[0, 1])
    assert ranking.probability_better[0, 1] == pytest.approx(expected, abs=0.02)
    low, high = ranking.interval(names[0], names[1])
    assert (low + high) / 2 == pytest.approx(differences[0, 1])
    assert high - low == pytest.approx(2 * 1.96 * errors[0, 1], rel=0.06)


@pytest.mark.parametrize(("different", "open_to_separation"), [(5, False), (6, True)])
def test_pairs_that_differ_on_few_bags_are_never_separated(different, open_to_separation):
    gold = ["a", "b"] * 4
    other = ["b" if label == "a" else "a" for label in gold[:different]] + gold[different:]
    options = {"references": gold, "seed": 0, "averages": "micro"}
    ranking = rank_intervals(systems={"x": gold, "y": other}, **options).rankings["micro_f1"]
    assert ranking.differences[0, 1] > 0.5
    assert (ranking.critical_value is not None) == open_to_separation
    assert ranking.separated[0, 1] == open_to_separation


def test_a_difference_that_no_resample_changes_is_one():
    gold = ["a", "b"] * 20
    wrong = [*gold[1:], gold[0]]
    ranking = rank_intervals(
        systems={"x": gold, "y": wrong}, references=gold, seed=0, averages="micro"
    ).rankings["micro_f1"]
    assert ranking.standard_errors[0, 1] == 0
    assert ranking.separated[0, 1]
    assert ranking.probability_better.tolist() == [[0.5, 1.0], [0.0, 0.5]]


def test_twins_of_one_bag_count_once():
    """Twelve rows in three bags: a difference on all of them is one on three bags."""
    gold = ["a", "b"] * 20
    other = ["b", "a"] * 6 + gold[12:]
    bags = [row // 4 if row < 12 else row for row in range(40)]
    options = {"references": gold, "seed": 0, "averages": "micro"}
    by_rows = rank_intervals(systems={"x": gold, "y": other}, **options).rankings["micro_f1"]
    by_bags = rank_intervals(systems={"x": gold, "y": other}, bags=bags, **options).rankings["micro_f1"]
    assert by_rows.separated[0, 1]
    assert not by_bags.separated[0, 1]


@pytest.mark.parametrize(("question", "num_runs", "seed_sd"), [("runs", 1, 0.0), ("seeds", 3, 0.15)])
def test_sets_hold_in_simulated_worlds(question, num_runs, seed_sd):
    """Systems that are truly equal: at most some worlds in 40 may separate two of them."""
    false = 0
    for seed in range(40):
        systems, gold = world(100 + seed, [0.6] * 6, n=200, num_runs=num_runs, seed_sd=seed_sd)
        options = {**OPTIONS, "averages": "micro", "n_resamples": 400}
        result = rank_intervals(systems=systems, references=gold, question=question, **options)
        false += result.rankings["micro_f1"].separated.any()
    assert false <= 6  # at 5 %, more than 6 of 40 are less likely than 1 %


def test_seeds_that_differ_much_separate_less():
    systems, gold = world(7, [1.0, 0.55], n=600, num_runs=3, seed_sd=0.4)
    bags, seeds = (
        rank_intervals(systems=systems, references=gold, question=question, **OPTIONS).rankings["micro_f1"]
        for question in ("runs", "seeds")
    )
    assert seeds.standard_errors[0, 1] > 1.5 * bags.standard_errors[0, 1]
    assert abs(seeds.probability_better[0, 1] - 0.5) < abs(bags.probability_better[0, 1] - 0.5)


def test_one_run_borrows_the_spread_of_the_others_and_says_so():
    systems, gold = world(8, [0.9, 0.5, 0.3], num_runs=3, seed_sd=0.3)
    systems["single"] = systems.pop("s2")[0]
    result = rank_intervals(systems=systems, references=gold, question="seeds", **OPTIONS)
    assert result.question == "seeds"
    assert "single" in result.notes[0]
    assert {s.name: s.num_runs for s in result.rankings["micro_f1"].systems}["single"] == 1
    alone = {name: runs if isinstance(runs[0], str) else runs[0] for name, runs in systems.items()}
    result = rank_intervals(systems=alone, references=gold, question="seeds", **OPTIONS)
    assert result.question == "runs"
    assert result.notes
    assert result.rankings["micro_f1"].variance is None


def test_parts_of_the_variance_are_those_of_the_simulation():
    """One system's score = seed + bag effects + seed x bag effects of known variances, the mean of worlds."""
    rng = np.random.default_rng(0)
    num_bags, num_runs, worlds = 400, 4, 300
    found = []
    for _ in range(worlds):
        seeds = rng.normal(0, 0.02, num_runs)
        effects = rng.normal(0, 0.5, num_bags) + rng.normal(0, 0.3, (num_runs, num_bags)) + seeds[:, None]
        scores = effects.mean(axis=1)
        # What resampling bags gives in the limit: variances of the means over bags.
        of_mean = effects.mean(axis=0).var() / num_bags
        deviations = effects - effects.mean(axis=0)
        interaction = num_runs / (num_runs - 1) * (deviations.var(axis=1) / num_bags).mean()
        parts = variance_parts(
            spread=np.array([scores.var(ddof=1)]),
            interaction=np.array([interaction]),
            of_mean=np.array([of_mean]),
            num_runs=np.array([num_runs]),
            num_bags=num_bags,
        )
        found.append((parts.seeds.estimate, parts.bags.estimate, parts.seeds_x_bags.estimate))
    seeds, bags, both = np.mean(found, axis=0)
    assert seeds == pytest.approx(0.02**2, rel=0.15)
    assert bags == pytest.approx(0.25 / num_bags, rel=0.05)
    assert both == pytest.approx(0.09 / num_bags, rel=0.05)


def test_what_would_halve_the_interval():
    parts = variance_parts(
        spread=np.array([9.0]),
        interaction=np.array([1.0]),
        of_mean=np.array([0.5 + 1 / 3]),
        num_runs=np.array([3]),
        num_bags=50,
    )
    assert (parts.seeds.estimate, parts.bags.estimate) == (8.0, pytest.approx(0.5))
    assert parts.of_mean == pytest.approx(3.5)
    assert parts.runs_for_half == 24  # 9 / 24 + 0.5 = 3.5 / 4
    assert parts.bags_for_half is None  # 8 / 3 of the seeds alone is more than 3.5 / 4
    assert parts.seeds.low < 8 < parts.seeds.high


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14))
def test_letters_are_shared_by_those_who_are_not_separated(pairs):
    above = np.zeros((7, 7), dtype=bool)
    for i, j in pairs:
        if i < j:
            above[i, j] = True
    letters = [set(text) for text in group_letters(above)]
    assert all(letters)
    for i, j in itertools.combinations(range(7), 2):
        assert bool(letters[i] & letters[j]) is not above[i, j]


def test_a_track_with_lists_of_relations(nyt_h_shaped):
    names = ("echo_ds_label", "lr_between", "majority", "svm_all", "typepair")
    systems = {name: nyt_h_shaped.predictions(f"bag_{name}") for name in names}
    shared = {"references": nyt_h_shaped.references, "relations": nyt_h_shaped.relations, "track": "bag2bag"}
    result = rank_intervals(systems=systems, seed=0, n_resamples=200, **shared)
    assert {"dsgt_micro_f1", "magt_dodrans_f1", "magt_macro_all_f1", "magt_ds_scope_macro_f1"} <= set(
        result.rankings
    )
    for name, predictions in systems.items():
        scores = score_track(predictions=predictions, **shared)
        assert result.signatures == scores["signatures"]
        for measure, ranking in result.rankings.items():
            assert by_name(ranking)[name].score == pytest.approx(scores[measure], abs=1e-12)
    one = rank_intervals(
        systems=systems,
        seed=0,
        n_resamples=200,
        truths=("magt",),
        measures=["magt_macro_all_recall"],
        **shared,
    )
    assert list(one.rankings) == ["magt_macro_all_recall"]


def test_unequal_numbers_of_runs():
    systems, gold = world(9, [0.9, 0.4], num_runs=3)
    systems["s1"] = systems["s1"][:2]
    ranking = rank_intervals(systems=systems, references=gold, question="seeds", **OPTIONS).rankings[
        "micro_f1"
    ]
    assert {system.name: system.num_runs for system in ranking.systems} == {"s0": 3, "s1": 2}
    assert ranking.variance.to_json()["of_mean"] > 0


GOLD = ["a", "b"] * 10


@pytest.mark.parametrize(
    ("changed", "error", "named"),
    [
        ({"systems": {"x": GOLD}}, ValueError, "two systems"),
        ({"systems": [GOLD, GOLD]}, TypeError, "list"),
        ({"systems": {"x": GOLD, "y": []}}, ValueError, "'y'"),
        ({"systems": {"x": GOLD, "y": [GOLD, GOLD[1:]]}}, ValueError, "Run 1 of 'y'"),
        ({"systems": {"x": GOLD, 3: GOLD}}, TypeError, "3"),
        ({"question": "bags"}, ValueError, "bags"),
        ({"measures": ["micro"]}, ValueError, "'micro'"),
        ({"confidence": 1.0}, ValueError, "confidence"),
        ({"n_resamples": 0}, ValueError, "n_resamples"),
        ({"seed": None}, TypeError, "seed"),
        ({"macro_over": "labels"}, ValueError, "labels"),
        ({"bags": [1]}, ValueError, "bags"),
    ],
)
def test_bad_input(changed, error, named):
    good = {"systems": {"x": GOLD, "y": GOLD[::-1]}, "references": GOLD, "seed": 0, "n_resamples": 20}
    rank_intervals(**good)
    with pytest.raises(error, match=named):
        rank_intervals(**{**good, **changed})


def test_a_unit_missing_in_one_run_is_named(rows):
    whole = [{"instance_id": row["instance_id"], "pred": "born_in"} for row in rows]
    systems = {"x": whole, "y": [whole, whole[1:]]}
    with pytest.raises(ValueError, match=r"Run 1 of 'y'.*i0"):
        rank_intervals(
            systems=systems, references=rows, track="sent2sent", relations=["born_in", "lives_in"], seed=0
        )


def test_steps_down_separate_pairs_below_the_first_critical_value():
    systems, gold = world(0, [1.1, 1.0, 0.9, 0.5, 0.3, -0.2, -0.4, -0.9])
    options = {**OPTIONS, "averages": "micro", "n_resamples": 1000}
    ranking = rank_intervals(systems=systems, references=gold, **options).rankings["micro_f1"]
    squares = ranking.standard_errors**2
    scale = np.sqrt(squares / 2 + np.median(squares[np.triu_indices(8, 1)]) / 2)
    first = ranking.differences > ranking.critical_value * scale
    assert np.all(ranking.separated[first])
    assert np.sum(ranking.separated) > np.sum(first)


def test_a_small_standard_error_is_raised_halfway_to_the_usual_one():
    """A pair that hardly differs on 8 rows is no surprise among pairs that differ on many."""
    gold = ["a", "b"] * 60
    flip = {"a": "b", "b": "a"}
    near = [flip[label] if row < 8 else label for row, label in enumerate(gold)]
    rng = np.random.default_rng(3)
    noisy = {
        f"n{i}": [flip[g] if wrong else g for g, wrong in zip(gold, rng.random(120) < 0.5, strict=True)]
        for i in range(4)
    }
    systems = {"good": gold, "near": near, **noisy}
    ranking = rank_intervals(
        systems=systems, references=gold, seed=0, averages="micro", n_resamples=1000
    ).rankings["micro_f1"]
    assert [system.name for system in ranking.systems[:2]] == ["good", "near"]
    ratio = ranking.differences[0, 1] / ranking.standard_errors[0, 1]
    half = np.median(ranking.standard_errors[np.triu_indices(6, 1)] ** 2) / 2
    raised = ranking.differences[0, 1] / np.sqrt(ranking.standard_errors[0, 1] ** 2 / 2 + half)
    assert raised < ranking.critical_value * 0.9
    assert ratio > raised * 1.3
    assert not ranking.separated[0, 1]


def track_counts(truth):
    """Three made-up systems on bag2bag: their predictions, and counts per bag."""
    predictions = {name: space.example_predictions(name) for name in ("rare", "plain", "strong")}
    options = {"track": "bag2bag", "truths": (truth,), **space.example_track()}
    counted = {
        name: track_matrix(track_statistics(predictions=rows, **options))
        for name, rows in predictions.items()
    }
    return predictions, counted, options


def test_counts_that_were_kept_rank_as_the_predictions_do():
    predictions, counted, options = track_counts("magt")
    expected = rank_intervals(systems=predictions, seed=3, n_resamples=200, **options)
    kept = {name: [matrix] for name, matrix in counted.items()}
    given = {"labels": options["relations"], "truths": ["magt"], "seed": 3, "n_resamples": 200}
    found = rank_counts(systems=kept, **given)
    assert found.to_json()["rankings"] == expected.to_json()["rankings"]
    other = counted["rare"].tolil()
    other[0, 2 * 6] += 1  # a support
    with pytest.raises(ValueError, match="'rare'"):
        rank_counts(systems={**kept, "rare": [other.tocsr()]}, **given)
    with pytest.raises(ValueError, match="'strong'"):
        rank_counts(systems={**kept, "strong": [counted["strong"][:, :-1]]}, **given)
    with pytest.raises(ValueError, match="two systems"):
        rank_counts(systems={"rare": kept["rare"], "plain": []}, **given)
