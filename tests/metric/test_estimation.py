"""MAGT from a sample: point estimate, error and refusals, against formulas and repeated draws."""

import json

import numpy as np
import pytest

from weighted_f1_metric import estimate_magt, score_track
from weighted_f1_metric.units import read_units
from weighted_f1_metric.unjudged.estimation import Sample, estimate, pair_population, rescaled_draws
from weighted_f1_metric.weighting import AVERAGES, named_averages

RELATIONS = ["born_in", "lives_in"]


def row(number, relation, label, **more):
    return {
        "instance_id": f"i{number}",
        "bag_id": f"b{number}",
        "relation": relation,
        "bag_label": label,
        **more,
    }


def design(strata, drawn):
    return {
        "strata": [dict(zip(("name", "size", "drawn"), part, strict=True)) for part in strata],
        "drawn": [list(pair) for pair in drawn],
    }


@pytest.mark.parametrize("key", ["sent2sent/svm_all", "bag2bag/lr_between", "bag2bag/echo_ds_label"])
def test_everything_judged_is_the_score(nyt_h_shaped, key):
    track, predictions = nyt_h_shaped.predictions_of(key)
    inputs = {
        "track": track,
        "references": nyt_h_shaped.references,
        "predictions": predictions,
        "relations": nyt_h_shaped.relations,
    }
    scores, found = score_track(**inputs), estimate_magt(**inputs)
    assert found.not_estimable == {}
    assert len(found.measures) == 3 * (len(AVERAGES) + 1)
    for name, one in found.measures.items():
        assert (one.value, one.low, one.high, one.se) == pytest.approx((scores[name],) * 3 + (0,))
    assert set(found.rows_for().values()) == {found.num_population}
    json.dumps(found.to_json(), allow_nan=False)


def relabelled(seed=0, num_units=200, num_judged=60):
    """Every unit has a relation and a prediction, all of one stratum; precision is a mean over units."""
    rng = np.random.default_rng(seed)
    ds, human, said = (rng.choice(2, num_units, p=(0.7, 0.3)) for _ in range(3))
    human = np.where(rng.random(num_units) < 0.8, ds, human)
    said = np.where(rng.random(num_units) < 0.6, human, said)
    drawn = set(rng.choice(num_units, num_judged, replace=False).tolist())
    rows = [
        row(n, RELATIONS[ds[n]], "unk", revised_relation=RELATIONS[human[n]] if n in drawn else None)
        for n in range(num_units)
    ]
    inputs = {
        "track": "sent2sent",
        "references": rows,
        "predictions": [{"instance_id": f"i{n}", "pred": RELATIONS[said[n]]} for n in range(num_units)],
        "relations": RELATIONS,
        "human": "relation",
        "design": design([("", num_units, num_judged)], [(f"i{n}", RELATIONS[ds[n]]) for n in sorted(drawn)]),
    }
    return inputs, human == said, ds == said, np.array(sorted(drawn))


def test_a_mean_is_the_prediction_powered_mean():
    inputs, right, right_by_label, drawn = relabelled()
    one = estimate_magt(**inputs).measures["revised_micro_precision"]
    assert 0 < one.label_weight < 1
    by_hand = right[drawn].mean() + one.label_weight * (right_by_label.mean() - right_by_label[drawn].mean())
    assert one.value == pytest.approx(by_hand)
    assert one.alone == pytest.approx(right[drawn].mean())
    # The error of a mean without replacement: sd / sqrt(n) times the square root of 1 - n / N.
    n, size = len(drawn), len(right)
    finite = np.sqrt(1 - n / size)
    assert one.alone_se == pytest.approx(right[drawn].std(ddof=1) / np.sqrt(n) * finite, rel=0.05)
    rest = right[drawn] - one.label_weight * right_by_label[drawn]
    assert one.se == pytest.approx(rest.std(ddof=1) / np.sqrt(n) * finite, rel=0.05)
    assert (one.low, one.high) == pytest.approx((one.value - 1.96 * one.se, one.value + 1.96 * one.se))
    ratio = (one.se / one.alone_se) ** 2
    assert 1 / one.worth - 1 / size == pytest.approx((1 / n - 1 / size) * ratio)
    assert one.worth > n


def test_rows_for_a_width():
    found = estimate_magt(**relabelled()[0])
    one = found.measures["revised_micro_f1"]
    half = (one.high - one.low) / 2
    assert found.rows_for(half)["revised_micro_f1"] == found.num_judged
    assert found.num_judged < found.rows_for(half / 2)["revised_micro_f1"] < found.num_population
    with pytest.raises(ValueError, match="half_width"):
        found.rows_for(0)


def test_the_same_seed_gives_the_same_estimate():
    inputs = relabelled()[0]
    assert estimate_magt(**inputs, seed=0) == estimate_magt(**inputs)
    assert estimate_magt(**inputs, seed=1) != estimate_magt(**inputs)


def judged_population(seed=0, num_rows=600):
    rng = np.random.default_rng(seed)
    relation = rng.choice(2, num_rows, p=(0.8, 0.2))
    yes = rng.random(num_rows) < np.where(relation, 0.4, 0.6)
    units = read_units(
        track="sent2sent",
        references=[row(n, RELATIONS[r], ("no", "yes")[int(yes[n])]) for n, r in enumerate(relation)],
        relations=RELATIONS,
    )
    predicted = np.zeros((num_rows, 2), dtype=bool)
    said = np.where(rng.random(num_rows) < 0.7, relation, 1 - relation)
    predicted[np.arange(num_rows), said] = True
    predicted[rng.random(num_rows) < 0.2] = False
    return pair_population(units, predicted), relation


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    population, relation = judged_population()
    members = [np.flatnonzero(relation == number) for number in (0, 1)]
    whole = Sample(np.arange(600), np.zeros(600, dtype=np.int64), np.array([600]))
    averages = named_averages(AVERAGES)
    truth = estimate(population, whole, averages=averages, n_resamples=2).measures
    held = dict.fromkeys(truth, 0)
    errors = {name: [] for name in truth}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        item = np.concatenate(
            [rng.choice(members[0], 80, replace=False), rng.choice(members[1], 40, replace=False)]
        )
        sample = Sample(item, relation[item], np.array([len(m) for m in members]))
        found = estimate(population, sample, averages=averages, n_resamples=200, seed=seed).measures
        for name, one in found.items():
            held[name] += one.low <= truth[name].value <= one.high
            errors[name].append(one.value - truth[name].value)
    assert all(0.89 <= times / 150 <= 1 for times in held.values()), held
    # Unbiased: the mean of 150 errors lies within three of its own standard errors (and a rounding).
    for name, values in errors.items():
        assert abs(np.mean(values)) < 3.5 * np.std(values) / np.sqrt(150) + 1e-9, name


def test_resamples_keep_each_stratum_and_its_variance():
    times, stratum = np.array([6, 4, 5, 3, 1]), np.array([0, 0, 1, 2, 2])
    drawn = rescaled_draws(times, stratum, np.array([50, 5, 40]), 20_000, np.random.default_rng(0))
    assert np.allclose(drawn[:, :2].sum(axis=1), 10)
    assert np.allclose(drawn[:, 3:].sum(axis=1), 4)
    assert (drawn[:, 2] == 5).all()  # drawn whole: no variance
    assert (drawn >= 0).all()
    # A count of 6 in 10, of 50: n^2 times s^2 (1 - f) / n with s^2 = 0.24 * 10 / 9.
    assert drawn[:, 0].var() == pytest.approx(10 * 0.24 * 10 / 9 * (1 - 10 / 50), rel=0.03)


def test_strata_of_one_share_their_draw():
    ones = rescaled_draws(np.array([1, 1]), np.array([0, 1]), np.array([4, 4]), 500, np.random.default_rng(0))
    assert ones.std() > 0
    assert np.allclose(ones.sum(axis=1), 2)
    joined = rescaled_draws(
        np.array([1, 2, 3]), np.array([0, 1, 1]), np.array([4, 20]), 500, np.random.default_rng(0)
    )
    assert joined[:, 0].std() > 0


def test_a_relation_that_nobody_can_tell_about_is_refused():
    rows = [row(n, "born_in", "yes" if n % 2 else "no") for n in range(20)]
    rows += [row(20 + n, "lives_in", "yes" if n < 2 else "unk") for n in range(10)]
    inputs = {
        "track": "sent2sent",
        "references": rows,
        "predictions": [{"instance_id": r["instance_id"], "pred": "born_in"} for r in rows],
        "relations": RELATIONS,
    }
    drawn = [(f"i{n}", "born_in") for n in range(20)] + [("i20", "lives_in"), ("i21", "lives_in")]
    found = estimate_magt(**inputs, design=design([("born_in", 20, 20), ("lives_in", 10, 2)], drawn))
    assert set(found.not_estimable) == {"weighted", "dodrans", "entropy", "macro", "macro_all"}
    assert set(found.measures) == {f"magt_micro_{name}" for name in ("precision", "recall", "f1")}
    # Six answers, none a yes: macro does not know whether lives_in has support, nor macro_all its score.
    for r in rows[20:]:
        r["bag_label"] = "no" if r["instance_id"] < "i26" else "unk"
    drawn = drawn[:20] + [(f"i{n}", "lives_in") for n in range(20, 26)]
    found = estimate_magt(**inputs, design=design([("born_in", 20, 20), ("lives_in", 10, 6)], drawn))
    assert {"macro", "macro_all"} <= set(found.not_estimable)
    assert "micro" not in found.not_estimable


HALF = [row(0, "born_in", "yes"), row(1, "born_in", "no"), row(2, "born_in", "unk"), row(3, "born_in", "unk")]
TWO = [("i0", "born_in"), ("i1", "born_in")]


def half(rows=HALF, **options):
    predictions = [{"instance_id": r["instance_id"], "pred": "born_in"} for r in rows]
    return estimate_magt(
        track="sent2sent", references=rows, predictions=predictions, relations=RELATIONS, **options
    )


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (None, "design"),
        ({"strata": []}, "drawn"),
        ({"strata": ["born_in"], "drawn": TWO}, "number 0"),
        ({"strata": [{"name": "born_in"}], "drawn": TWO}, "size"),
        ({"strata": [1, 2], "drawn": []}, "number 0"),
        (design([("born_in", 4, 2)], [("i0",)]), "number 0"),
        (design([("born_in", 4, 2)], [TWO[0], (["i1"], "born_in")]), "number 1"),
        (design([("born_in", 4, 2), ("born_in", 4, 2)], TWO), "more than once"),
        (design([("born_in", 4, 3)], TWO), "3, and 2"),
        (design([("born_in", 4, 2)], [("i0", "born_in"), ("i7", "born_in")]), "i7"),
        (design([("born_in", 4, 2)], [TWO[0], TWO[0]]), "once"),
        (design([("born_in", 4, 0)], []), "design"),
        (design([("born_in", 9, 2)], TWO), "born_in"),
        (design([("born_in", 4, 2), ("lives_in", 4, 2)], TWO), "lives_in"),
        (design([("born_in", 4, 2)], [("i0", "born_in"), ("i2", "born_in")]), "i2"),  # no answer
    ],
)
def test_a_design_that_does_not_fit(given, named):
    with pytest.raises(ValueError, match=named):
        half(design=given)


def test_a_stratum_of_which_nothing_was_drawn():
    rows = [*HALF, row(4, "lives_in", "unk")]
    with pytest.raises(ValueError, match="lives_in"):
        half(rows, design=design([("born_in", 4, 2), ("lives_in", 1, 0)], TWO))


def test_answers_beside_the_design_are_left_out_with_a_warning():
    plan = design([("born_in", 4, 2)], TWO)
    known = half(design=plan)
    rows = [*HALF[:2], row(2, "born_in", "yes"), HALF[3]]
    with pytest.warns(UserWarning, match="1 judged"):
        assert half(rows, design=plan) == known


def test_judgments_answer_what_was_drawn():
    unanswered = [row(n, "born_in", "unk") for n in range(4)]
    judgments = [
        {"instance_id": "i0", "relation": "born_in", "answer": "yes"},
        {"instance_id": "i1", "relation": "born_in", "answer": "no"},
    ]
    plan = design([("born_in", 4, 2)], TWO)
    assert half(unanswered, judgments=judgments, design=plan) == half(design=plan)


def test_a_bag_is_judged_by_a_yes_or_by_all_its_rows():
    rows = [{**row(n, "born_in", label), "bag_id": bag} for n, (bag, label) in enumerate(
        [("b0", "yes"), ("b0", "unk"), ("b1", "no"), ("b1", "unk"), ("b2", "no")]
    )]  # fmt: skip
    inputs = {
        "track": "bag2bag",
        "references": rows,
        "predictions": [{"bag_id": f"b{n}", "pred": "born_in"} for n in range(3)],
        "relations": RELATIONS,
    }
    assert estimate_magt(**inputs, design=design([("born_in", 3, 2)], [("b0", "born_in"), ("b2", "born_in")]))
    with pytest.raises(ValueError, match="b1"):
        estimate_magt(**inputs, design=design([("born_in", 3, 2)], [("b0", "born_in"), ("b1", "born_in")]))


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"human": "both"}, ValueError, "human"),
        ({"human": "relation"}, ValueError, "revised_relation"),
        ({"n_resamples": 1.5}, TypeError, "n_resamples"),
        ({"seed": -1}, ValueError, "seed"),
        ({"design": 3}, TypeError, "design"),
    ],
)
def test_bad_arguments(options, error, named):
    with pytest.raises(error, match=named):
        half(**options)


def test_an_unknown_revised_relation():
    inputs = relabelled()[0]
    drawn = next(r for r in inputs["references"] if r["revised_relation"])
    drawn["revised_relation"] = "eats"
    with pytest.raises(ValueError, match="eats"):
        estimate_magt(**inputs)
