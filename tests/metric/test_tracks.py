"""score_track on records made by hand: units, truths, scopes, several relations, unk, twins, each message."""

import numpy as np
import pytest

from weighted_f1_metric import class_counts, family_from_counts, score_track, track_statistics
from weighted_f1_metric.ranking import rank_candidates

RELATIONS = ["born_in", "lives_in", "works_for"]


def sent(*relations):
    return [{"instance_id": f"i{number}", "pred": relation} for number, relation in enumerate(relations)]


def bags(*relations):
    return [{"bag_id": f"b{number}", "pred": relation} for number, relation in enumerate(relations)]


def score(rows, predictions, track="sent2sent", **options):
    return score_track(
        track=track, references=rows, predictions=predictions, **{"relations": RELATIONS, **options}
    )


def test_truths_and_scope_by_hand(rows):
    scores = score(rows, sent("born_in", "lives_in", "works_for", "NA"))
    # DSGT: 2 of 3 predictions right, 4 gold. MAGT: gold (i0, born_in), (i3, lives_in); i0 right.
    assert scores["dsgt_micro_precision"] == pytest.approx(2 / 3)
    assert scores["dsgt_micro_recall"] == 2 / 4
    assert scores["magt_micro_precision"] == pytest.approx(1 / 3)
    assert scores["magt_micro_recall"] == 1 / 2
    assert scores["magt_ds_scope_micro_precision"] == 1 / 2  # works_for is no DS relation of i2
    assert scores["num_units"] == scores["num_pairs"] == 4
    assert scores["num_judged_no"] == 1  # lives_in of i1
    assert scores["num_unjudged"] == 1  # works_for of i2
    assert scores["magt_num_supported"] == 2
    assert scores["magt_macro_all_recall"] == pytest.approx((1 + 0 + 0) / 3)


def test_truths_that_rank_every_pair_share_one_sort(rows, monkeypatch):
    given = {"born_in": 0.5, "lives_in": 0.25, "works_for": 0.5}
    predictions = [{**record, "scores": given} for record in sent("NA", "NA", "NA", "NA")]
    apart = [score(rows, predictions, truths=prefix) for prefix in ("dsgt", "magt", "magt_ds_scope")]
    sorts = []

    def counted(**inputs):
        sorts.append(inputs.get("candidates"))
        return rank_candidates(**inputs)

    monkeypatch.setattr("weighted_f1_metric.tracks.rank_candidates", counted)
    together = score(rows, predictions)
    assert [candidates is None for candidates in sorts] == [True, False]
    for alone in apart:
        ranking = {key: value for key, value in alone.items() if key.endswith(("auc", "prevalence"))}
        assert len(ranking) == 2
        assert ranking.items() <= together.items()


def test_bag_is_yes_if_any_row_with_that_relation_is(rows):
    scores = score(rows, bags("born_in", "lives_in"), track="bag2bag")
    # b0: born_in yes (i0), lives_in no; b1: lives_in yes. Pairs: (b0, born), (b0, lives), (b1, lives).
    assert (scores["num_units"], scores["num_pairs"]) == (2, 3)
    assert scores["magt_micro_f1"] == 1
    assert scores["dsgt_micro_recall"] == pytest.approx(2 / 3)
    assert scores["dsgt_max_single_recall"] == pytest.approx(2 / 3)
    assert scores["magt_max_single_recall"] == 1
    assert scores["echo"]["dsgt_micro_f1"] == 1
    assert scores["echo"]["magt_micro_precision"] == pytest.approx(2 / 3)
    assert "num_twins" not in scores


def test_several_relations_per_unit(rows):
    one = score(rows, bags("born_in", "lives_in"), track="bag2bag")
    listed = score(rows, bags(["born_in", "NA"], ("lives_in", "lives_in")), track="bag2bag")
    assert listed == one
    both = score(rows, bags(["born_in", "lives_in"], []), track="bag2bag")
    assert both["dsgt_micro_recall"] == pytest.approx(2 / 3)
    assert both["num_judged_no"] == 1
    arrays = score(rows, bags(np.array(["born_in", "lives_in"]), []), track="bag2bag")
    assert arrays == both


def test_twins_are_joined_by_sentences(rows):
    predictions = sent("lives_in", "born_in", "NA", "lives_in")
    by_rows = score(rows, predictions)
    assert by_rows["num_twins"] == 2
    joined = score(rows, predictions, by="sentences")
    assert joined["num_units"] == 3
    assert joined["num_twins"] == 2
    assert by_rows["dsgt_micro_recall"] == 1 / 4
    assert joined["dsgt_micro_recall"] == 3 / 4  # the union says both relations of the joined unit
    assert joined["num_judged_no"] == 1


def test_same_sentence_in_another_bag_is_no_twin(rows):
    rows[3]["sentence"] = rows[0]["sentence"]
    assert score(rows, sent("NA", "NA", "NA", "NA"), by="sentences")["num_units"] == 3


def test_unit_with_only_the_negative_relation_counts_one_in_n(rows):
    rows.append({**rows[3], "instance_id": "i4", "bag_id": "b2", "relation": "NA", "bag_label": "unk"})
    statistics = track_statistics(
        track="bag2bag", references=rows, predictions=bags("NA", "NA", "born_in"), relations=RELATIONS
    )
    assert statistics.unit_total.tolist() == [2, 1, 1]
    counts = statistics.class_counts("dsgt")
    assert (counts.total, counts.negative_support) == (4, 1)
    scores = score(rows, bags("NA", "NA", "born_in"), track="bag2bag")
    assert scores["num_pairs"] == 3
    assert scores["num_unjudged"] == 1
    assert "magt_micro_f1" in scores  # NA rows may be unk


def test_unk_exclude_leaves_unjudged_pairs_out(rows):
    rows[1]["bag_label"] = rows[2]["bag_label"] = "unk"
    predictions = sent("born_in", "lives_in", "born_in", "works_for")
    with pytest.raises(
        ValueError, match=r"2 of 4 rows with a positive relation have bag_label 'unk'.*exclude"
    ):
        score(rows, predictions)
    assert "magt_micro_f1" not in score(rows, predictions, truths=("dsgt",))
    scores = score(rows, predictions, unk="exclude")
    # magt: gold i0 born_in, i3 lives_in; i1 and i2 count neither way, works_for of i3 is wrong.
    assert scores["magt_micro_precision"] == 1 / 2
    assert scores["magt_micro_recall"] == 1 / 2
    assert scores["magt_ds_scope_micro_precision"] == 1
    assert scores["dsgt_micro_precision"] == 3 / 4
    assert (scores["num_judged_no"], scores["num_unjudged"]) == (0, 3)
    # In the bag b0 born_in has a yes beside the unk: it is a yes. lives_in has only an unk.
    in_bags = score(rows, bags(["born_in", "lives_in"], "lives_in"), track="bag2bag", unk="exclude")
    assert in_bags["magt_micro_f1"] == 1


def test_auto_truths(rows):
    for row in rows:
        row["bag_label"] = "unk"
    scores = score(rows, sent("born_in", "NA", "NA", "NA"))
    assert list(scores["signatures"]) == ["dsgt"]
    assert scores["num_unjudged"] == 1
    with pytest.raises(ValueError, match=r"nothing was judged; score them with truths=\('dsgt',\)"):
        score(rows, sent("born_in", "NA", "NA", "NA"), truths="magt")


def test_columns_records_and_order_agree(rows):
    predictions = sent("born_in", "lives_in", "works_for", "NA")
    expected = score(rows, predictions)
    as_columns = {key: [row[key] for row in rows] for key in rows[0]}
    given = {key: np.array([record[key] for record in predictions]) for key in predictions[0]}
    assert score(as_columns, given) == expected
    assert score(rows[::-1], predictions[1:] + predictions[:1]) == expected


def test_score_columns_and_mappings_agree(rows):
    matrix = np.random.default_rng(0).random((4, 3))
    predictions = sent("born_in", "lives_in", "works_for", "NA")
    mapped = [
        {**record, "scores": {"NA": 5.0, **dict(zip(RELATIONS, line.tolist(), strict=True))}}
        for record, line in zip(predictions, matrix, strict=True)
    ]
    columns = {key: [record[key] for record in predictions] for key in predictions[0]}
    by_mapping = score(rows, mapped, ks=(1, 3))
    assert score(rows, {**columns, "scores": matrix}, ks=(1, 3)) == by_mapping
    assert 0 < by_mapping["dsgt_auc"] <= 1
    assert by_mapping["magt_ds_scope_prevalence"] == 2 / 4
    joined = score(rows, {**columns, "scores": matrix}, by="sentences", ks=(1,))
    assert joined["dsgt_prevalence"] == pytest.approx(4 / 9)
    # The joined unit has the higher score of its two rows.
    single = matrix.copy()
    single[0] = single[1] = matrix[:2].max(axis=0)
    assert score(rows, {**columns, "scores": single}, by="sentences", ks=(1,)) == joined


def test_statistics_sum_to_the_scores(nyt_h_shaped):
    for key in ("bag2bag/svm_all", "sent2sent/lr_between"):
        track, predictions = nyt_h_shaped.predictions_of(key)
        statistics = track_statistics(
            track=track,
            references=nyt_h_shaped.references,
            predictions=predictions,
            relations=nyt_h_shaped.relations,
        )
        for prefix, expected in nyt_h_shaped.expected[key]["expected"].items():
            per_bag = statistics.bag_counts(prefix)
            counts = statistics.class_counts(prefix)
            vectors = [counts.true_positives, counts.predicted, counts.support]
            assert [values.sum(axis=0).tolist() for values in per_bag[:3]] == [v.tolist() for v in vectors]
            assert per_bag[3].sum() == counts.total
            assert family_from_counts(counts)["dodrans_f1"] == pytest.approx(
                expected["dodrans_f1"], abs=1e-12
            )
            assert len(statistics.units.bag_ids) == 111


def test_dsgt_of_rows_is_the_plain_family(nyt_h_shaped):
    _, predictions = nyt_h_shaped.predictions_of("sent2sent/svm_all")
    by_id = {record["instance_id"]: record["pred"] for record in predictions}
    counts = class_counts(
        predictions=[by_id[record["instance_id"]] for record in nyt_h_shaped.references],
        references=[record["relation"] for record in nyt_h_shaped.references],
        labels=[*nyt_h_shaped.relations, "NA"],
        negative_label="NA",
    )
    scores = score_track(
        track="sent2sent",
        references=nyt_h_shaped.references,
        predictions=predictions,
        relations=nyt_h_shaped.relations,
    )
    for key, value in family_from_counts(counts).items():
        if key != "undefined":
            assert scores[f"dsgt_{key}"] == value


def test_no_gold_pair_is_undefined_not_nan(rows):
    for row in rows:
        row["bag_label"] = "no"
    scores = score(rows, sent("born_in", "NA", "NA", "NA"), zero_division=0.25)
    assert scores["magt_macro_f1"] == scores["magt_max_single_recall"] == 0.25
    assert {"magt_macro_f1", "magt_entropy_f1", "magt_max_single_recall"} <= set(scores["undefined"])
    assert not [key for key in scores["undefined"] if key.startswith("dsgt")]


def test_options_reach_the_family(rows):
    scores = score(rows, sent("born_in", "NA", "NA", "NA"), averages=["n^0.5"], beta=2, per_class=True)
    assert "magt_n^0.5_fbeta" in scores
    assert "magt_macro_all_fbeta" in scores
    assert scores["magt_per_class"]["born_in"]["support"] == 1
    assert "averages:n^0.5|beta:2" in scores["signatures"]["magt"]
