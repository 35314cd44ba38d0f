"""resampling on tracks: scores of every truth, resamples against scoring the drawn bags, strata."""

import json

import numpy as np
import pytest

from tests.folders import SHARED
from weighted_f1_metric.significance.resampling import bootstrap_interval, randomization_test
from weighted_f1_metric.tracks import score_track

DATA = SHARED / "nyt_h_shaped"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the shared data folder is not beside the repository"
)


def load_track(track):
    names = json.loads((DATA / "rel2id.json").read_text())
    unit = "bag" if track == "bag2bag" else "sent"
    systems = [
        [
            json.loads(line)
            for line in (DATA / "predictions" / f"{unit}_{name}.jsonl").read_text().splitlines()
        ]
        for name in ("svm_all", "typepair")
    ]
    rows = [json.loads(line) for line in (DATA / "test.json").read_text().splitlines()]
    relations = [name for name in sorted(names, key=names.get) if name != "NA"]
    return systems, {"track": track, "references": rows, "relations": relations}


@needs_data
@pytest.mark.parametrize("track", ["sent2sent", "bag2bag"])
def test_tracks_draw_bags_and_report_every_truth(track):
    (first, second), shared = load_track(track)
    scores = [score_track(predictions=p, **shared) for p in (first, second)]
    result = bootstrap_interval(predictions=first, seed=0, n_resamples=2000, **shared)
    assert result.num_bags == len({row["bag_id"] for row in shared["references"]})
    assert set(result.lost_support) == {"dsgt", "magt", "magt_ds_scope"}
    assert len(result.intervals) == 3 * (5 + 1) * 3
    for name, interval in result.intervals.items():
        assert interval.estimate == pytest.approx(scores[0][name], abs=1e-12), name
        assert interval.low <= interval.high
    test = randomization_test(predictions_a=first, predictions_b=second, seed=0, n_resamples=200, **shared)
    for name, difference in test.differences.items():
        assert difference == pytest.approx(scores[0][name] - scores[1][name], abs=1e-12), name
    same = randomization_test(predictions_a=first, predictions_b=first, seed=0, n_resamples=20, **shared)
    assert set(same.p_values.values()) == {1.0}


@needs_data
def test_a_resample_of_a_track_equals_scoring_the_drawn_bags():
    (first, _), shared = load_track("sent2sent")
    rows, by_id = shared["references"], {p["instance_id"]: p for p in first}
    bags = list(dict.fromkeys(row["bag_id"] for row in rows))
    rng, drawn = np.random.default_rng(0), []
    for _ in range(100):
        references, predictions = [], []
        for copy, bag in enumerate(rng.choice(bags, len(bags))):
            for row in (row for row in rows if row["bag_id"] == bag):
                new = {"instance_id": f"{copy}/{row['instance_id']}", "bag_id": f"{copy}/{bag}"}
                references.append(row | new)
                predictions.append(by_id[row["instance_id"]] | new)
        drawn.append(score_track(predictions=predictions, **(shared | {"references": references})))
    result = bootstrap_interval(predictions=first, seed=0, **shared)
    for name in ("magt_micro_f1", "magt_dodrans_f1", "dsgt_macro_all_f1", "magt_ds_scope_entropy_f1"):
        values = np.array([one[name] for one in drawn])
        assert result.intervals[name].sd == pytest.approx(values.std(ddof=1), rel=0.25), name
        noise = values.std() / len(values) ** 0.5
        middle = (result.intervals[name].low + result.intervals[name].high) / 2
        assert values.mean() == pytest.approx(middle, abs=6 * noise), name


@needs_data
def test_stratified_tracks_lose_no_distant_relation():
    (first, _), shared = load_track("bag2bag")
    free, held = (
        bootstrap_interval(predictions=first, seed=0, n_resamples=500, stratify=s, **shared)
        for s in (False, True)
    )
    assert free.lost_support["dsgt"] > 0
    assert held.lost_support["dsgt"] == 0.0
