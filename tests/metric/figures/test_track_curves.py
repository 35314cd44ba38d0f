"""track_curves: recall of pairs and of units by hand, where nothing can be drawn, the K of the coverage."""

import numpy as np
import pytest

from weighted_f1_metric.figures.track_figures import track_coverage, track_curve
from weighted_f1_metric.ranking import pr_curve, ranking_measures
from weighted_f1_metric.track_statistics import track_statistics

# The distant pairs of b0 are born_in (yes) and lives_in (no), that of b1 is lives_in (yes).
SCORES = np.array([[0.9, 0.8], [0.1, 0.3]])
DISTANT = np.array([[True, True], [False, True]])
CONFIRMED = np.array([[True, False], [False, True]])


def statistics(rows, *, with_scores=True):
    records = [{"bag_id": name, "pred": "born_in"} for name in ("b0", "b1")]
    if with_scores:
        relations = ("born_in", "lives_in")
        for record, scores in zip(records, SCORES.tolist(), strict=True):
            record["scores"] = dict(zip(relations, scores, strict=True))
    return track_statistics(
        track="bag2bag", references=rows, predictions=records, relations=["born_in", "lives_in"]
    )


@pytest.mark.parametrize(
    ("prefix", "gold", "candidates", "num_units"),
    [
        ("dsgt", DISTANT, np.ones_like(DISTANT), 2),
        ("magt", CONFIRMED, np.ones_like(DISTANT), 2),
        ("magt_ds_scope", CONFIRMED, DISTANT, 2),
    ],
)
def test_curves_by_truth(rows, prefix, gold, candidates, num_units):
    own = statistics(rows)
    expected = pr_curve(scores=SCORES, gold=gold, candidates=candidates)
    pairs = track_curve(own, prefix)
    np.testing.assert_array_equal(pairs.recall, expected.recall)
    np.testing.assert_array_equal(pairs.precision, expected.precision)
    units = track_curve(own, prefix, recall_of="units")
    np.testing.assert_allclose(units.recall, expected.recall * gold.sum() / num_units)
    assert units.num_gold == gold.sum(), "the prevalence stays that of the pairs"
    assert track_curve(own, prefix, max_points=2).k.tolist() == [1, candidates.sum()]


def test_coverage_by_k(rows):
    own = track_coverage(statistics(rows), "dsgt", max_k=3)
    assert own == ranking_measures(scores=SCORES, gold=DISTANT, ks=(1, 2, 3))
    assert "relations_covered_at_4" in track_coverage(statistics(rows), "magt")
    assert "relations_covered_at_2" in track_coverage(statistics(rows), "magt", num_points=2)
    assert "relations_covered_at_1" not in track_coverage(statistics(rows), "magt", num_points=2)


def test_nothing_to_draw(rows):
    without = statistics(rows, with_scores=False)
    assert track_curve(without, "dsgt") is None
    assert track_coverage(without, "dsgt") is None
    for row in rows:
        row["bag_label"] = "no"
    refused = statistics(rows)
    assert track_curve(refused, "magt") is None
    assert track_coverage(refused, "magt") is None
    assert track_curve(refused, "dsgt") is not None


def test_what_recall_counts_is_checked(rows):
    with pytest.raises(ValueError, match="`recall_of` must be one of 'pairs', 'units'; got 'bags'"):
        track_curve(statistics(rows), "dsgt", recall_of="bags")
