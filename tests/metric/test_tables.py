"""The Markdown table of a track."""

import pytest

from weighted_f1_metric import score_track, track_table
from weighted_f1_metric.tables import AUC_NOTE, track_notes

KEYS = ["micro", "weighted", "dodrans", "entropy", "macro", "macro_all"]


def flat(prefixes, start):
    return {f"{prefix}_{key}_f1": start + 0.01 * row for prefix in prefixes for row, key in enumerate(KEYS)}


def test_all_prefixes_with_echo_and_deviation():
    prefixes = ["dsgt", "magt", "magt_ds_scope"]
    scores = flat(prefixes, 0.5)
    sd = dict.fromkeys(scores, 0.012)
    lines = track_table(scores, echo=flat(prefixes, 0.7), sd=sd).splitlines()
    assert lines[0] == (
        "| F1 in percent | DSGT | MAGT | MAGT (DS scope) | DSGT of echo | MAGT of echo | MAGT (DS "
        "scope) of echo |"
    )
    assert lines[2] == ("| micro | 50.00 ± 1.20 | 50.00 ± 1.20 | 50.00 ± 1.20 | 70.00 | 70.00 | 70.00 |")
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| micro", "| weighted", "| dodrans", "| entropy", "| macro", "| macro, all relations",
    ]  # fmt: skip
    assert lines[-1].startswith("| macro, all relations | 55.00")


def test_only_the_prefixes_and_averages_that_are_there():
    table = track_table({**flat(["dsgt"], 0.5), "dsgt_max_f1": 0.9, "dsgt_n^0.5_f1": 0.25})
    assert table.splitlines()[0] == "| F1 in percent | DSGT |"
    assert "| n^0.5 | 25.00 |" in table
    assert "max" not in table


def test_echo_of_score_track_is_taken(nyt_h_shaped):
    track, predictions = nyt_h_shaped.predictions_of("sent2sent/svm_all")
    scores = score_track(
        track=track, references=nyt_h_shaped.references, predictions=predictions,
        relations=nyt_h_shaped.relations,
    )  # fmt: skip
    expected = nyt_h_shaped.expected["sent2sent/svm_all"]["expected"]
    echo = nyt_h_shaped.expected["sent2sent/echo_ds_label"]["expected"]
    row = track_table(scores).splitlines()[-1].split(" | ")
    assert row[2] == f"{100 * expected['magt']['macro_all_f1']:.2f}"
    assert row[5] == f"{100 * echo['magt']['macro_all_f1']:.2f}"


def test_fbeta_and_missing_values():
    table = track_table({"magt_macro_all_fbeta": 0.5, "magt_macro_fbeta": None})
    assert table.splitlines()[0] == "| F-beta in percent | MAGT |"
    assert "| macro | - |" in table


def test_no_track_scores():
    with pytest.raises(ValueError, match="holds none of the prefixes dsgt, magt, magt_ds_scope"):
        track_table({"micro_f1": 0.5})


def test_an_auc_comes_with_what_a_perfect_one_is(rows):
    predictions = [
        {"instance_id": f"i{n}", "pred": "NA", "scores": {"born_in": 0.5, "lives_in": 0.25}} for n in range(4)
    ]
    given = {"track": "sent2sent", "references": rows, "relations": ["born_in", "lives_in"]}
    assert AUC_NOTE in track_notes(score_track(predictions=predictions, **given))
    without = [{"instance_id": record["instance_id"], "pred": "NA"} for record in predictions]
    assert AUC_NOTE not in track_notes(score_track(predictions=without, **given))
