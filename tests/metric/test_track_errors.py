"""Each message of score_track for references, predictions, scores and options that make no sense."""

import numpy as np
import pytest

from weighted_f1_metric import score_track

RELATIONS = ["born_in", "lives_in", "works_for"]


def sent(*relations):
    return [{"instance_id": f"i{number}", "pred": relation} for number, relation in enumerate(relations)]


def bags(*relations):
    return [{"bag_id": f"b{number}", "pred": relation} for number, relation in enumerate(relations)]


def score(rows, predictions, **options):
    given = {"track": "sent2sent", "relations": RELATIONS, **options}
    return score_track(references=rows, predictions=predictions, **given)


GOOD = ("born_in", "NA", "NA", "NA")


def changed(rows, **values):
    return [{**rows[0], **values}, *rows[1:]]


def without(rows, key):
    return [{k: v for k, v in row.items() if k != key} for row in rows]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda r: changed(r, bag_label="maybe"),
            ValueError,
            "'yes', 'no' or 'unk'.*'maybe' at instance_id 'i0'",
        ),
        (lambda r: changed(r, bag_label=["yes"]), ValueError, "'yes', 'no' or 'unk'"),
        (lambda r: changed(r, instance_id=None), TypeError, r"references\[0\] has None"),
        (
            lambda r: changed(r, bag_id=["b0"]),
            TypeError,
            r"`bag_id` in `references` must be a string.*\['b0'\]",
        ),
        (lambda r: changed(r, relation="likes"), ValueError, r"rel2id.json\) lacks: 'likes'"),
        (lambda r: changed(r, relation=3), TypeError, "relation name .str., as in test.json; got 3.*rel2id"),
        (lambda r: changed(r, instance_id="i1"), ValueError, "instance_ids more than once: 'i1'"),
        (
            lambda r: without(r, "bag_label"),
            ValueError,
            "4 of 4 records in `references` lack the key 'bag_label'",
        ),
        (lambda r: [], ValueError, "`references` is empty"),
        (lambda r: "rows", TypeError, "`references` must be records, columns or a table; got str"),
        (lambda r: [["i0"]], TypeError, r"references\[0\] is \['i0'\]"),
        (lambda r: {"instance_id": ["i0"]}, ValueError, "`references` lacks the column 'bag_id', 'relation'"),
        (
            lambda r: {**{key: [row[key] for row in r] for key in r[0]}, "bag_id": ["b0"]},
            ValueError,
            "columns of `references` differ in length",
        ),
    ],
)
def test_bad_references(rows, change, error, message):
    with pytest.raises(error, match=message):
        score(change(rows), sent(*GOOD))


@pytest.mark.parametrize(
    ("predictions", "error", "message"),
    [
        (sent(*GOOD[:3]), ValueError, "1 units have no prediction: 'i3'"),
        (sent(*GOOD, "NA"), ValueError, "1 instance_ids are not in the references: 'i4'"),
        (sent(*GOOD) + sent("NA"), ValueError, "holds instance_ids more than once: 'i0'"),
        (
            [{"instance_id": f"i{n + 1}", "pred": "NA"} for n in range(4)],
            ValueError,
            "shifted by 1: the references start at 0, the predictions at 1 .1-based instead of 0-based.",
        ),
        (
            [{"instance_id": n, "pred": "NA"} for n in range(4)],
            ValueError,
            "Ids are str in the references, int here",
        ),
        (bags("NA", "NA"), ValueError, "'sent2sent' takes predictions by 'instance_id', these have 'bag_id'"),
        (sent("likes", "NA", "NA", "NA"), ValueError, r"rel2id.json\) lacks: 'likes'; the first is at 'i0'"),
        (sent(["born_in", "likes"], "NA", "NA", "NA"), ValueError, "lacks: 'likes'"),
        (
            sent(1, "NA", "NA", "NA"),
            TypeError,
            "`pred` must be a relation name or a list of them; got 1 for 'i0'",
        ),
        (sent(None, "NA", "NA", "NA"), TypeError, "got None for 'i0'"),
        (
            [*sent(*GOOD[:3]), {"instance_id": 3.0, "pred": "NA"}],
            TypeError,
            r"`instance_id` in `predictions` must be a string.*predictions\[3\] has 3.0",
        ),
        ([{"instance_id": "i0"}], ValueError, "1 of 1 records in `predictions` lack the key 'pred'"),
        ([], ValueError, "`predictions` is empty"),
    ],
)
def test_bad_predictions(rows, predictions, error, message):
    with pytest.raises(error, match=message):
        score(rows, predictions)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((4, 2)), r"shape \(4, 3\), predictions x positive relations.*got \(4, 2\)"),
        (np.full((4, 3), np.nan), "12 are not, the first is nan for 'born_in' of 'i0'"),
        (np.full((4, 3), np.inf), "`scores` must be finite"),
        ([{"born_in": 1, "lives_in": 0}] * 4, "`scores` of 'i0' lack 1 of 3 relations: 'works_for'"),
        (
            [{"born_in": 1, "lives_in": 0, "works_for": 0, "likes": 0}] * 4,
            "`scores` of 'i0' hold relations that `relations` lacks: 'likes'",
        ),
        ([[0, 0, 0], None, None, [0, 0, 0]], "2 of 4 predictions have no `scores`, the first is 'i1'"),
    ],
)
def test_bad_scores(rows, scores, message):
    columns = {"instance_id": [f"i{n}" for n in range(4)], "pred": list(GOOD), "scores": scores}
    with pytest.raises(ValueError, match=message):
        score(rows, columns)


EACH = dict.fromkeys(RELATIONS, 0.5)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([["0.5", "0", "1"]] * 4, "`scores` must be numbers"),
        ([[True, False, True]] * 4, "values of type bool"),
        ([[10**400, 0, 1]] * 4, "values of type object"),
        ([{**EACH, "born_in": "0.5"}] * 4, "`scores` must be numbers"),
        ([EACH, EACH, EACH, 0.5], "in all predictions or in none; those of 'i3' are 0.5"),
        ([0.5, EACH, EACH, EACH], "in all predictions or in none; those of 'i0' are 0.5"),
    ],
)
def test_scores_that_are_no_numbers(rows, scores, message):
    columns = {"instance_id": [f"i{n}" for n in range(4)], "pred": list(GOOD), "scores": scores}
    with pytest.raises(TypeError, match=message):
        score(rows, columns)


def test_scores_of_rows_of_different_lengths(rows):
    columns = {
        "instance_id": [f"i{n}" for n in range(4)],
        "pred": list(GOOD),
        "scores": [[1], [1, 2], [1], [1]],
    }
    with pytest.raises(ValueError, match="these have rows of different lengths"):
        score(rows, columns)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"track": "bag2Bag"}, ValueError, "`track` must be one of 'sent2sent', 'bag2sent', 'bag2bag'"),
        ({"by": "bags"}, ValueError, "`by` must be one of 'rows', 'sentences'"),
        ({"by": "sentences", "track": "bag2bag"}, ValueError, "units of 'bag2bag' are bags"),
        ({"unk": "drop"}, ValueError, "`unk` must be one of 'error', 'exclude'"),
        ({"truths": "manual"}, ValueError, "`truths` must be one of 'dsgt', 'magt', 'magt_ds_scope'"),
        ({"truths": ("dsgt", "dsgt")}, ValueError, "'auto' or distinct prefixes"),
        ({"truths": None}, TypeError, "`truths` must be 'auto', a prefix or several; got None"),
        ({"relations": None}, TypeError, "Name the `relations`"),
        ({"truths": ()}, ValueError, "'auto' or distinct prefixes"),
        ({"relations": []}, ValueError, "`relations` is empty"),
        ({"relations": ["NA", *RELATIONS]}, ValueError, "holds the negative relation 'NA'"),
        ({"relations": RELATIONS + RELATIONS[:1]}, ValueError, "`relations` holds names twice: 'born_in'"),
        ({"relations": [1, 2]}, TypeError, "`relations` must be a list of relation names"),
        ({"relations": "born_in"}, TypeError, "`relations` must be a list of relation names"),
        ({"negative_relation": 0}, TypeError, "`negative_relation` must be a relation name; got 0"),
        ({"ks": (0,)}, ValueError, "0"),
        ({"averages": "Macro"}, ValueError, "Did you mean 'macro'"),
        ({"entropy_total": "x"}, ValueError, "`entropy_total`"),
    ],
)
def test_bad_options(rows, options, error, message):
    with pytest.raises(error, match=message):
        score(rows, sent(*GOOD), **options)


def test_sentences_are_needed_to_join_by_them(rows):
    with pytest.raises(ValueError, match="4 of 4 have none or a blank one"):
        score(without(rows, "sentence"), sent(*GOOD), by="sentences")
    assert score(without(rows, "sentence"), sent(*GOOD))["num_twins"] is None
