"""Calibration and selective prediction against definitions written out, one prediction after the other."""

import numpy as np
import pytest

from weighted_f1_metric import calibration, scored_track

RELATIONS = ["r0", "r1"]


def scored(scores, right, *, relation="r0"):
    """A system that predicts r0 everywhere, with these scores; wrong units have the other relation."""
    references = [
        {"instance_id": n, "bag_id": n, "relation": "r0" if good else "r1", "bag_label": "yes"}
        for n, good in enumerate(right)
    ]
    predictions = [
        {"instance_id": n, "pred": relation, "scores": {"r0": score, "r1": 0.25}}
        for n, score in enumerate(scores)
    ]
    return scored_track(
        track="sent2sent", references=references, predictions=predictions, relations=RELATIONS
    ).statistics


def test_by_hand():
    found = calibration(scored([0.9, 0.8, 0.6, 0.4], [True, True, False, True]), "magt", num_bins=2)
    assert (found.num_predictions, found.precision) == (4, 0.75)
    # Bins (0.4, 0.6) with one of two right and (0.8, 0.9) with both: 0.5 |0.5 - 0.5| + 0.5 |0.85 - 1|.
    assert found.bins == ((0.5, 0.5, 2), (pytest.approx(0.85), 1.0, 2))
    assert found.ece == pytest.approx(0.075)
    assert found.aurc == pytest.approx((0 + 0 + 1 / 3 + 1 / 4) / 4)
    assert (found.coverage_at, found.threshold_at) == (0.5, 0.8)
    assert found.curve == ((0.25, 0.0), (0.5, 0.0), (0.75, pytest.approx(1 / 3)), (1.0, 0.25))


@pytest.mark.parametrize("seed", range(3))
def test_area_in_expectation_over_orders_of_ties(seed):
    rng = np.random.default_rng(seed)
    score, right = rng.choice([0.1, 0.5, 0.7], size=12), rng.random(12) < 0.6
    found = calibration(scored(score, right), "dsgt", wanted=0.6)
    areas = []
    for _ in range(4000):
        order = np.lexsort((rng.random(12), -score))
        areas.append(np.mean(1 - np.cumsum(right[order]) / np.arange(1, 13)))
    assert found.aurc == pytest.approx(np.mean(areas), abs=5 * np.std(areas) / 4000**0.5)
    allowed = [np.mean(score >= t) for t in set(score) if right[score >= t].mean() >= 0.6 - 1e-12]
    assert found.coverage_at == pytest.approx(max(allowed, default=0))


def test_equal_scores_are_one_bin_and_none_can_be_kept():
    found = calibration(scored([0.5] * 6, [True] + [False] * 5), "magt")
    assert found.bins == ((0.5, pytest.approx(1 / 6), 6),)
    assert (found.coverage_at, found.threshold_at) == (0, None)
    assert found.aurc == pytest.approx(5 / 6)


def test_scores_that_are_no_probabilities():
    found = calibration(scored([2.5, -1.0], [True, False]), "magt")
    assert (found.ece, found.mean_score, found.bins) == (None, None, ())
    assert found.coverage_at == 0.5
    assert (found.least_sum, found.greatest_sum) == (-0.75, 2.75)


def test_nothing_to_look_at():
    assert calibration(scored([0.5], [True], relation="NA"), "magt") is None
    bare = scored_track(
        track="sent2sent",
        references=[{"instance_id": 0, "bag_id": 0, "relation": "r0", "bag_label": "yes"}],
        predictions=[{"instance_id": 0, "pred": "r0"}],
        relations=RELATIONS,
    )
    assert calibration(bare.statistics, "magt") is None


@pytest.mark.parametrize(
    ("options", "error"),
    [({"num_bins": 0}, ValueError), ({"num_bins": 2.0}, TypeError), ({"wanted": 0}, ValueError)],
)
def test_wrong_options(options, error):
    with pytest.raises(error):
        calibration(scored([0.5], [True]), "magt", **options)
