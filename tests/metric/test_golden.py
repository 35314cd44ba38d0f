"""Golden values from other implementations: a slow one of the same definitions, the official SemEval-2010
Task 8 scorer, and the NYT-H authors' released evaluator, run elsewhere on the same real predictions.
"""

import pytest

from weighted_f1_metric import f1_family, score_track

SYSTEMS = ["lr_between", "svm_all", "typepair", "majority", "echo_ds_label"]
SENTENCE_KEYS = [f"sent2sent/{system}" for system in SYSTEMS]
ALL_KEYS = SENTENCE_KEYS + [f"bag2bag/{system}" for system in SYSTEMS]


def close(scores, expected, prefix="", tolerance=1e-9):
    assert expected
    for key, value in expected.items():
        assert scores[f"{prefix}{key}"] == pytest.approx(value, abs=tolerance), key


def test_tacrev_all_systems_and_both_truths(tacrev):
    columns, expected = tacrev
    assert len(expected) == 2 * 49
    for key, values in expected.items():
        system, truth = key.rsplit("/", 1)
        scores = f1_family(
            predictions=columns[system], references=columns[f"label_{truth}"], negative_label="no_relation"
        )
        close(scores, values)
        assert scores["undefined"] == []


def test_semeval_family_and_official_score(semeval):
    references, predictions, expected = semeval
    assert len(expected) == 3
    for system, values in expected.items():
        values = dict(values)
        official = values.pop("official_macro_f1_9way_directed_percent")
        given = {"predictions": predictions[system], "references": references, "negative_label": "Other"}
        close(f1_family(**given), values)
        labels = set(references) | set(predictions[system])
        groups = {label: label.split("(")[0] for label in labels - {"Other"}}
        assert len(set(groups.values())) == 9
        assert round(100 * f1_family(**given, groups=groups)["macro_f1"], 2) == official


@pytest.mark.parametrize("key", ALL_KEYS)
def test_tracks_by_rows(nyt_h_shaped, key):
    track, predictions = nyt_h_shaped.predictions_of(key)
    scores = score_track(
        track=track,
        references=nyt_h_shaped.references,
        predictions=predictions,
        relations=nyt_h_shaped.relations,
    )
    expected = nyt_h_shaped.expected[key]
    assert set(expected["expected"]) == {"dsgt", "magt", "magt_ds_scope"}
    for prefix, values in expected["expected"].items():
        close(scores, values, f"{prefix}_")
    for name, value in expected["counts"].items():
        assert scores[name] == value


@pytest.mark.parametrize("key", SENTENCE_KEYS)
def test_tracks_by_sentences(nyt_h_shaped, key):
    _, predictions = nyt_h_shaped.predictions_of(key)
    scores = score_track(
        track="sent2sent",
        references=nyt_h_shaped.references,
        predictions=predictions,
        relations=nyt_h_shaped.relations,
        by="sentences",
    )
    expected = nyt_h_shaped.expected[key]["expected_by_sentence"]
    for prefix, values in expected["scores"].items():
        close(scores, values, f"{prefix}_")
    for name, value in expected["counts"].items():
        assert scores[name] == value


@pytest.mark.parametrize("key", ALL_KEYS)
def test_unambiguous_units_equal_the_authors_evaluator(nyt_h_shaped, key):
    track, predictions = nyt_h_shaped.predictions_of(key)
    id_key = "bag_id" if track == "bag2bag" else "instance_id"
    answers = {}
    for record in nyt_h_shaped.references:
        answers.setdefault(record[id_key], set()).add((record["relation"], record["bag_label"]))
    consistent = {unit for unit, values in answers.items() if len(values) == 1}
    expected = nyt_h_shaped.expected[key]["consistent_units_authors_code"]
    assert len(consistent) == expected["n_units"]
    scores = score_track(
        track=track,
        references=[record for record in nyt_h_shaped.references if record[id_key] in consistent],
        predictions=[record for record in predictions if record[id_key] in consistent],
        relations=nyt_h_shaped.relations,
    )
    close(scores, expected["dsgt"], "dsgt_macro_all_", 1e-12)
    close(scores, expected["magt"], "magt_ds_scope_macro_all_", 1e-12)


@pytest.mark.parametrize("key", SENTENCE_KEYS)
def test_bag2sent_scores_rows_like_sent2sent(nyt_h_shaped, key):
    _, predictions = nyt_h_shaped.predictions_of(key)
    scores = [
        score_track(
            track=track,
            references=nyt_h_shaped.references,
            predictions=predictions,
            relations=nyt_h_shaped.relations,
        )
        for track in ("sent2sent", "bag2sent")
    ]
    lines = [result.pop("signatures") for result in scores]
    assert scores[0] == scores[1]
    assert lines[0] != lines[1]


@pytest.mark.parametrize("key", ["bag2bag/bag_svm_all_scores", "sent2sent/sent_svm_all_scores"])
def test_ranking_within_score_track(nyt_h_shaped, key):
    track, name = key.split("/")
    scores = score_track(
        track=track,
        references=nyt_h_shaped.references,
        predictions=nyt_h_shaped.predictions(name),
        relations=nyt_h_shaped.relations,
        ks=(10, 50, 100, 300, 1000, 5000),
    )
    expected = nyt_h_shaped.expected_ranking[key]
    close(scores, {name: value for name, value in expected.items() if value is not None})
    missing = [name for name, value in expected.items() if value is None]
    assert missing
    assert [scores[name] for name in missing] == [None] * len(missing)


def test_echo_is_the_score_of_the_distant_labels(nyt_h_shaped):
    track, predictions = nyt_h_shaped.predictions_of("sent2sent/svm_all")
    given = {"references": nyt_h_shaped.references, "relations": nyt_h_shaped.relations}
    scores = score_track(track=track, predictions=predictions, **given)
    _, echo = nyt_h_shaped.predictions_of("sent2sent/echo_ds_label")
    copied = score_track(track=track, predictions=echo, **given)
    for name, value in scores["echo"].items():
        assert copied[name] == value
    assert scores["echo"]["dsgt_macro_f1"] == 1
