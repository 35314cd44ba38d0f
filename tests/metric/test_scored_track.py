"""One scored track: what was scored is what is drawn and shown; units read once serve several systems."""

import pytest

from weighted_f1_metric import (
    TRUTHS,
    read_unit_predictions,
    read_units,
    score_track,
    score_units,
    scored_track,
    truth_name,
    unit_id_key,
)
from weighted_f1_metric.tables import average_names, averages_by_truth

RELATIONS = ["born_in", "lives_in"]


def system(rows, key, pred):
    ids = dict.fromkeys(row[key] for row in rows)
    return [{key: unit, "pred": pred, "scores": {"born_in": 0.9, "lives_in": 0.1}} for unit in ids]


@pytest.mark.parametrize("track", ["sent2sent", "bag2bag"])
def test_it_holds_what_score_track_returns_and_what_it_was_made_from(rows, track):
    inputs = {"track": track, "references": rows, "relations": RELATIONS}
    predictions = system(rows, unit_id_key(track), "born_in")
    scored = scored_track(predictions=predictions, **inputs)
    assert scored.scores == score_track(predictions=predictions, **inputs)
    assert scored.units.id_key == unit_id_key(track)
    assert scored.predictions.predicted[:, 0].all()
    assert scored.predictions.scores.shape == (scored.units.num_units, 2)
    assert list(scored.signatures) == list(scored.statistics.truths) == list(TRUTHS)


def test_units_read_once_serve_several_systems(rows):
    inputs = {"track": "bag2bag", "references": rows, "relations": RELATIONS}
    units = read_units(**inputs)
    for pred in ("born_in", "lives_in", []):
        predictions = system(rows, "bag_id", pred)
        scored = score_units(units, read_unit_predictions(predictions, units), per_class=True, beta=2.0)
        assert scored.scores == score_track(predictions=predictions, per_class=True, beta=2.0, **inputs)


def test_figures_draw_the_scores_that_were_computed(rows):
    """With another beta and other averages: they were drawn from F1 and the five averages before."""
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    from weighted_f1_metric import draw_track_figures

    scored = scored_track(
        track="bag2bag",
        references=rows,
        relations=RELATIONS,
        predictions=system(rows, "bag_id", "born_in"),
        beta=2.0,
        averages=["micro", "n^0.5"],
    )
    axes = draw_track_figures(scored)["averages"].axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["micro", "n^0.5"]
    assert axes.get_ylabel() == "F-beta"
    dsgt = next(line for line in axes.lines if line.get_label().startswith("DSGT"))
    assert list(dsgt.get_ydata()) == [scored.scores["dsgt_micro_fbeta"], scored.scores["dsgt_n^0.5_fbeta"]]


def test_names_of_averages_leave_out_other_truths_and_measures(rows):
    predictions = system(rows, "bag_id", "born_in")
    scores = score_track(track="bag2bag", references=rows, relations=RELATIONS, predictions=predictions)
    five = ["micro", "weighted", "dodrans", "entropy", "macro"]
    assert [average_names(scores, truth) for truth in TRUTHS] == [five] * 3
    table = averages_by_truth(scores)
    assert [row[0] for row in table.rows] == [*five, "macro, all relations"]
    assert list(table.header[1:4]) == [truth_name(truth) for truth in TRUTHS]
