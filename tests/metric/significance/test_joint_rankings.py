"""Ranking measures in ranks: drawn bags against a test set that holds these bags, and every error."""

import json

import numpy as np
import pytest

from weighted_f1_metric import rank_intervals, score_track, track_statistics
from weighted_f1_metric.significance.joint_rankings import ranked_bags, ranking_scores

RELATIONS = ["r", "s"]
NAMES = ["auc", "average_precision", "max_f1", "precision_at_3", "precision_at_40"]


def rows_of(num_bags=12, size=2):
    answers = ["yes", "no", "yes"]
    return [
        {
            "instance_id": f"i{bag}-{row}",
            "bag_id": f"b{bag}",
            "relation": RELATIONS[(bag + row) % 2],
            "bag_label": answers[(bag + row) % 3],
        }
        for bag in range(num_bags)
        for row in range(size)
    ]


def scored(rows, seed, levels=6, skill=2.0):
    """Predictions with few distinct scores, so that candidates tie; the higher the skill, the better."""
    rng = np.random.default_rng(seed)
    found = []
    for row in rows:
        scores = {name: rng.integers(levels) + skill * (name == row["relation"]) for name in RELATIONS}
        best = max(scores, key=scores.__getitem__)
        found.append({"instance_id": row["instance_id"], "pred": best, "scores": scores})
    return found


def drawn(rows, predictions, times):
    """The test set that holds each bag so many times, under new names."""
    number = {f"b{bag}": int(n) for bag, n in enumerate(times)}
    copies = [
        (row, p, n) for row, p in zip(rows, predictions, strict=True) for n in range(number[row["bag_id"]])
    ]
    named = [
        {**row, "instance_id": f"{row['instance_id']}#{n}", "bag_id": f"{row['bag_id']}#{n}"}
        for row, _, n in copies
    ]
    return named, [{**p, "instance_id": f"{p['instance_id']}#{n}"} for _, p, n in copies]


@pytest.mark.parametrize("truth", ["dsgt", "magt", "magt_ds_scope"])
def test_sums_of_bags_score_as_the_drawn_test_set_does(truth):
    rows = rows_of()
    predictions = scored(rows, 0)
    options = {"track": "sent2sent", "relations": RELATIONS}
    statistics = track_statistics(references=rows, predictions=predictions, **options)
    counts, ids = ranked_bags(statistics, truth).counts, statistics.units.bag_ids
    rng = np.random.default_rng(1)
    for times in rng.multinomial(12, np.full(12, 1 / 12), size=8):
        in_order = times[[int(bag.removeprefix("b")) for bag in ids]]
        found = ranking_scores((counts.T @ in_order)[None, :].astype(float), NAMES)
        test, said = drawn(rows, predictions, times)
        expected = score_track(references=test, predictions=said, ks=(3, 40), **options)
        for name in NAMES:
            value = expected[f"{truth}_{name}"]
            assert found.undefined[name].tolist() == [value is None]
            assert found.values[name][0] == pytest.approx(value or 0.0, abs=1e-12)


def test_rankings_stand_beside_f1_in_one_call():
    rows = rows_of(60)
    systems = {f"x{skill}": scored(rows, skill, skill=skill) for skill in (0, 1, 5)}
    systems["again"] = systems["x1"]
    # Two runs that decide alike and rank differently.
    raised = [
        {**p, "scores": {name: value + 3 * (n % 7) for name, value in p["scores"].items()}}
        for n, p in enumerate(systems["x1"])
    ]
    systems["two"] = [systems["x1"], raised]
    shared = {"references": rows, "track": "sent2sent", "relations": RELATIONS}
    measures = ["magt_auc", "dsgt_precision_at_30", "magt_micro_f1", "magt_ds_scope_max_f1"]
    result = rank_intervals(systems=systems, seed=0, n_resamples=400, measures=measures, **shared)
    assert list(result.rankings) == measures
    one = {name: said for name, said in systems.items() if name != "two"}
    expected = {name: score_track(predictions=said, ks=(30,), **shared) for name, said in one.items()}
    for measure, ranking in result.rankings.items():
        for system in ranking.systems:
            if system.name != "two":
                assert system.score == pytest.approx(expected[system.name][measure], abs=1e-12)
    ranking = result.rankings["magt_auc"]
    place = {system.name: number for number, system in enumerate(ranking.systems)}
    assert ranking.probability_better[place["x1"], place["again"]] == 0.5
    assert ranking.separated[place["x5"], place["x0"]]
    shuffled = {name: systems[name][::-1] for name in reversed(systems)}
    other = rank_intervals(
        systems=shuffled, seed=0, n_resamples=400, measures=measures, **{**shared, "references": rows[::-1]}
    )
    assert json.dumps(other.to_json()["rankings"]) == json.dumps(result.to_json()["rankings"])


def test_scores_that_differ_on_few_bags_separate_nobody():
    """All scores of five bags are lowered: the ranks of hundreds of candidates move, but five bags differ."""
    rows = rows_of(40)
    first = scored(rows, 3)
    options = {
        "seed": 0,
        "n_resamples": 200,
        "track": "sent2sent",
        "references": rows,
        "relations": RELATIONS,
    }
    for num_lowered, is_open in ((5, False), (8, True)):
        lowered = {f"b{bag}" for bag in range(num_lowered)}
        second = [
            {**p, "scores": {name: value - 100 for name, value in p["scores"].items()}}
            if row["bag_id"] in lowered
            else p
            for row, p in zip(rows, first, strict=True)
        ]
        result = rank_intervals(systems={"x": first, "y": second}, measures=["dsgt_auc"], **options)
        assert not result.notes  # they decide alike, and are not the same
        assert (result.rankings["dsgt_auc"].critical_value is not None) is is_open


@pytest.mark.parametrize(
    ("measure", "without_scores", "named"),
    [
        ("magt_auc", True, r"Run 0 of 'y'.*'magt_auc'"),
        # 23 rows have 46 candidates, many drawn test sets have 48.
        ("magt_precision_at_47", False, "'magt_precision_at_47' is not defined here"),
        ("magt_precision_at_0", False, "'magt_precision_at_0'"),
        ("other_auc", False, "'other_auc'"),
    ],
)
def test_bad_input(measure, without_scores, named):
    rows = rows_of()[:-1]
    systems = {"x": scored(rows, 0), "y": scored(rows, 1)}
    if without_scores:
        systems["y"] = [{"instance_id": row["instance_id"], "pred": "r"} for row in rows]
    with pytest.raises(ValueError, match=named):
        rank_intervals(
            systems=systems,
            references=rows,
            track="sent2sent",
            relations=RELATIONS,
            seed=0,
            measures=[measure],
        )
