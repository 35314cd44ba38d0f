"""Output of systems that know nothing of NYT-H, in the shapes that they print, written by hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nyt_h_dataset import same_words
from tests.folders import SHARED
from weighted_f1_metric import (
    ForeignRules,
    false_alarms,
    fit_predictions,
    read_any_records,
    read_predictions,
    read_references,
    read_relations,
    score_track,
)
from weighted_f1_metric.__main__ import main
from weighted_f1_metric.systems.foreign import PARTS
from weighted_f1_metric.systems.triples import Triple, folded, read_triples

RELATIONS = ["born_in", "works_for"]
REFERENCES = [
    {
        "instance_id": f"i{number}",
        "bag_id": bag,
        "relation": relation,
        "bag_label": "yes",
        "head": {"word": head},
        "tail": {"word": tail},
    }
    for number, (bag, relation, head, tail) in enumerate(
        [
            ("b0", "born_in", "Zoë Kl_ein", "Bonn"),
            ("b0", "born_in", "Zoë Kl_ein", "Bonn"),
            ("b1", "works_for", "Ann", "Acme -LRB- US -RRB-"),
            ("b2", "NA", "Bob", "Rome"),
        ]
    )
]


def fitted(records, *, track="sent2sent", relations=RELATIONS, **rules):
    return fit_predictions(
        records, track=track, references=REFERENCES, relations=relations, rules=ForeignRules(**rules)
    )


def said(fit):
    key = next(iter(fit.records[0]))
    return {record[key]: record["pred"] for record in fit.records}


ALL = {"missing": "negative", "unknown": "negative", "extra": "ignore"}
MAP = {"place of birth": "born_in", "birthplace": "born_in", "employer": "works_for", "none": "NA"}
# One statement of one system about i0, in the shape of each.
SHAPES = {
    "GLiREL": {
        "triples": [
            {"head_text": ["Zoe", "Kl ein"], "tail_text": ["Bonn"], "label": "place of birth", "score": 0.9}
        ]
    },
    "GLiNER": {
        "triples": [{"source": "ZOË KL EIN", "relation": "place of birth", "target": "Bonn", "score": 0.9}]
    },
    "REBEL": {"triples": "<s><triplet> Zoë Kl_ein <subj> Bonn <obj> place of birth</s>"},
    "OpenNRE": {"pred": ["place of birth", 0.51]},
    "chat model": {"pred": " place of birth "},
    "list": {"pred": ["birthplace", "place of birth"]},
    "subject and object": {
        "triples": [{"subject": "Zoe Kl_ein", "predicate": "birthplace", "object": "bonn"}]
    },
    "rows": {"triples": [["Zoe Kl_ein", "birthplace", "bonn"]]},
    "scores": {"scores": {"place of birth": 0.7, "employer": 0.2, "none": 0.1}},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_statement_in_the_shape_of_each_system(shape):
    fit = fitted([{"instance_id": "i0", **SHAPES[shape]}], label_map=MAP, missing="negative")
    assert said(fit) == {"i0": ["born_in"], "i1": [], "i2": [], "i3": []}
    assert fit.report["num_missing"] == 3


def test_the_parts_sum_to_what_was_read():
    pair = {"head": "Ann", "tail": "Acme (US)"}
    records = [
        {"instance_id": "i0", "triples": []},
        {"instance_id": "i1", "pred": "marries"},
        {
            "instance_id": "i2",
            "triples": [
                {**pair, "relation": "employer", "score": 0.8},
                {**pair, "relation": "employer", "score": 0.1},
                {"head": "Acme (US)", "tail": "ann", "relation": "employer", "score": 0.8},
                {"head": "Acme (US)", "tail": "Rome", "relation": "employer", "score": 0.8},
            ],
        },
        {"instance_id": "elsewhere", "pred": "born_in"},
    ]
    with pytest.raises(ValueError, match="marries"):
        fitted(records, label_map=MAP, missing="negative", extra="ignore")
    records[1]["score"] = records[3]["score"] = 0.8
    fit = fitted(records, label_map=MAP, threshold=0.5, **ALL)
    assert said(fit) == {"i0": [], "i1": [], "i2": ["works_for"], "i3": []}
    assert {part: fit.report[part] for part in PARTS} == {
        "num_mapped": 1,
        "num_empty": 1,
        "num_unknown": 1,
        "num_reversed": 1,
        "num_other_pair": 1,
        "num_below_threshold": 1,
        "num_extra": 1,
        "num_broken": 0,
    }
    assert fit.report["num_statements"] == sum(fit.report[part] for part in PARTS) == 7
    assert (fit.report["num_records"], fit.report["num_missing"]) == (4, 1)
    assert fit.report["unknown_labels"] == {"marries": 1}


def test_a_bag_gets_what_is_said_of_its_sentences():
    records = [
        {"instance_id": "i0", "scores": {"born_in": 0.1, "works_for": 0.6}},
        {"instance_id": "i1", "scores": {"born_in": 0.7, "works_for": 0.2}},
        {"instance_id": "i2", "scores": {"born_in": 0.3, "works_for": 0.4}},
        {"bag_id": "b2", "scores": {"born_in": 0.2, "works_for": 0.1}},
    ]
    fit = fitted(records, track="bag2bag", threshold=0.35)
    assert said(fit) == {"b0": ["works_for", "born_in"], "b1": ["works_for"], "b2": []}
    assert fit.records[0]["scores"] == {"born_in": 0.7, "works_for": 0.6}
    result = score_track(track="bag2bag", references=REFERENCES, predictions=fit.records, relations=RELATIONS)
    assert result["dsgt_micro_recall"] == 1


def test_scores_of_some_units_only_are_told_and_make_no_ranking():
    records = [{"instance_id": f"i{n}", "pred": "born_in"} for n in range(3)]
    records.append({"instance_id": "i3", "pred": "NA", "scores": {"born_in": 0.1, "works_for": 0.2}})
    fit = fitted(records)
    assert fit.report["num_without_scores"] == 3
    assert all("scores" not in record for record in fit.records)


def test_scores_under_several_labels_of_one_relation_are_the_highest():
    records = [
        {"instance_id": f"i{n}", "probs": {"birthplace": 0.1, "place of birth": 0.3, "employer": 0.2, "x": 9}}
        for n in range(4)
    ]
    fit = fitted(records, label_map=MAP, scores_key="probs", unknown="negative", threshold=0.25)
    assert fit.records[0]["scores"] == {"born_in": 0.3, "works_for": 0.2}
    assert fit.records[0]["pred"] == ["born_in"]


def test_own_names_of_keys():
    records = [{"row": f"i{n}", "answer": "born_in"} for n in range(4)]
    assert said(fitted(records, id_key="row", pred_key="answer"))["i3"] == ["born_in"]


@pytest.mark.parametrize(
    ("records", "rules", "named"),
    [
        ([{"instance_id": "i0", "pred": "born in"}], {"missing": "negative"}, "'born_in'"),
        ([{"instance_id": "i0", "pred": "born_in"}], {}, "3 of 4"),
        ([{"instance_id": "x", "pred": "born_in"}], {"missing": "negative"}, "'x'"),
        ([{"instance_id": "i0", "pred": "NA"}] * 2, ALL, "'i0'"),
        ([{"instance_id": "i0", "pred": "NA"}], {"label_map": {"a": "borne_in"}}, "'borne_in'"),
        ([{"instance_id": "i0", "pred": "NA"}], {**ALL, "threshold": 0.5}, "'NA'"),
        ([{"instance_id": "i0", "triples": [{"head": "Ann", "relation": "x"}]}], ALL, "'tail'"),
        ([{"instance_id": "i0", "answer": "NA"}], ALL, "'answer'"),
        ([{"id": "i0", "pred": "NA"}], ALL, "'id'"),
        ([], ALL, "no records"),
    ],
)
def test_what_does_not_fit_is_named(records, rules, named):
    with pytest.raises(ValueError, match=named):
        fitted(records, **rules)


@pytest.mark.parametrize(
    "wrong",
    [
        {"pred": 3},
        {"pred": [["a"]]},
        {"scores": {"born_in": "high"}},
        {"triples": {"head": "a"}},
        {"triples": ["a"]},
        {"pred": "born_in", "score": True},
    ],
)
def test_values_of_another_type(wrong):
    with pytest.raises(TypeError, match=r"records\[0\]"):
        fitted([{"instance_id": "i0", **wrong}], **ALL)


def test_triples_need_the_entities_of_the_references():
    bare = [
        {key: row[key] for key in ("instance_id", "bag_id", "relation", "bag_label")} for row in REFERENCES
    ]
    with pytest.raises(ValueError, match="head"):
        fit_predictions(
            [{"instance_id": "i0", "triples": [["a", "born_in", "b"]]}],
            track="sent2sent",
            references=bare,
            relations=RELATIONS,
            rules=ForeignRules(**ALL),
        )


def test_a_triple_that_generation_cut_off_is_none():
    text = "<triplet> A <subj> B <obj> born <subj> C <obj> works <triplet> D <subj> E <obj>"
    assert read_triples(text, "x") == [Triple("A", "born", "B"), Triple("A", "works", "C")]


@given(st.text("aZé_ -LRB()'ʼ–ßøæ.İﬁ", max_size=12), st.text("aZé_ -LRB()'ʼ–ßøæ.İﬁ", max_size=12))
def test_words_are_the_same_as_in_the_data(a, b):
    assert (folded(a) == folded(b)) == same_words(a, b)


def test_the_interval_of_false_alarms_knows_bags():
    alone = [{"pred": "born_in"}] * 5 + [{"pred": "NA"}] * 15
    by_row = false_alarms(alone, negative_relation="NA")
    by_bag = false_alarms(alone * 4, negative_relation="NA", bags=list(range(20)) * 4)
    # Wilson's interval of 5 in 20, as scipy.stats.binomtest(5, 20).proportion_ci(method="wilson") has it.
    assert by_row["interval"] == pytest.approx((0.1118617014, 0.4687008776), abs=1e-9)
    # Four copies of each bag know hardly more than the twenty bags (19 / 20 of the variance over bags).
    assert by_bag["share"] == by_row["share"]
    assert by_row["relation_intervals"] == {"born_in": by_row["interval"]}
    assert by_bag["interval"] == pytest.approx(by_row["interval"], abs=0.02)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign")
    for name, rows in {"test.json": REFERENCES}.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "rel2id.json").write_text(json.dumps({"NA": 0, "born_in": 1, "works_for": 2}))
    (folder / "map.json").write_text(json.dumps(MAP))
    (folder / "map.tsv").write_text("".join(f"{label}\t{target}\n" for label, target in MAP.items()))
    (folder / "twice.csv").write_text("a,born_in\na,works_for\n")
    na = [{**REFERENCES[3], "instance_id": f"n{n}", "bag_id": f"nb{n}"} for n in range(3)]
    (folder / "na.json").write_text("".join(json.dumps(row) + "\n" for row in na))
    return folder


def score(files: Path, pred: str, *flags: str, track: str = "sent2sent"):
    (files / "pred").write_text(pred)
    arguments = ["-k", track, "-r", "rel2id.json", "-t", "test.json", "-p", "pred", "--json", "out.json"]
    arguments = [str(files / one) if "." in one or one == "pred" else one for one in arguments]
    flags = [str(files / flag) if flag.endswith((".json", ".tsv", ".csv")) else flag for flag in flags]
    code = main(["score", *arguments, *flags])
    return code, json.loads((files / "out.json").read_text()) if code == 0 else {}


@pytest.mark.parametrize("given_map", ["map.json", "map.tsv"])
def test_the_command_reads_broken_lines_maps_and_rows_of_the_negative_relation(files, capsys, given_map):
    lines = [
        '{"id": "i0", "answer": "birthplace"}',
        '{"id": "i1", "answer": "birth',
        '{"id": "i2", "answer": "nobody knows"}',
        '{"id": "n1", "answer": "employer"}',
    ]
    flags = ["--map", given_map, "--id_key", "id", "--pred_key", "answer", "--missing", "negative"]
    code, scores = score(files, "\n".join(lines), *flags, "--unknown", "negative", "--na_rows", "na.json")
    assert code == 0
    assert (scores["num_broken"], scores["num_unknown"], scores["num_mapped"], scores["num_missing"]) == (
        1,
        1,
        2,
        4,
    )
    assert scores["num_records"] == scores["num_statements"] == 4
    assert scores["dsgt_micro_precision"] == 1
    assert scores["dsgt_micro_recall"] == pytest.approx(1 / 3)
    assert scores["false_alarms"]["relations"] == {"works_for": pytest.approx(1 / 3)}
    assert "line 2" in capsys.readouterr().out


def test_a_table_is_read_as_predictions(files):
    rows = "instance_id;pred\n" + "".join(f"i{n};born_in\n" for n in range(4))
    code, scores = score(files, rows)
    assert code == 0
    assert scores["dsgt_micro_recall"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("pred", "flags", "named"),
    [
        ('{"instance_id": "i0", "pred": "born_in"}', ["--map", "twice.csv"], "line 2"),
        ('{"instance_id": "i0", "pred', [], "line 1"),
        ('{"instance_id": "i0", "pred": "a"}', ["--na_rows", "test.json"], "'i0'"),
        ("a;b\nc\n", [], "line 2"),
    ],
)
def test_the_command_names_what_is_wrong(files, capsys, pred, flags, named):
    assert score(files, pred, *flags)[0] == 2
    assert named in capsys.readouterr().err


SYSTEMS = ["echo_ds_label", "lr_between", "majority", "svm_all", "typepair"]


@pytest.mark.skipif(not SHARED.exists(), reason="the real-shaped data are not here")
@pytest.mark.parametrize("shape", ["triples", "GLiREL", "REBEL", "scores", "table"])
def test_every_shape_gives_the_expected_scores(shape, tmp_path):
    folder = SHARED / "nyt_h_shaped"
    references = read_references(folder / "test.json")
    relations = read_relations(folder / "rel2id.json")
    words = {row["instance_id"]: (row["head"]["word"], row["tail"]["word"]) for row in references}
    theirs = {
        name: name.rsplit("/")[-1].upper() + str(number) for number, name in enumerate(["NA", *relations])
    }
    for system in SYSTEMS:
        plain = read_predictions(folder / f"predictions/sent_{system}.jsonl")
        expected = score_track(
            track="sent2sent", references=references, predictions=plain, relations=relations
        )
        records = []
        for record in plain:
            head, tail = words[record["instance_id"]]
            label = theirs[record["pred"]]
            records.append(
                {"instance_id": record["instance_id"]}
                | {
                    "triples": {"triples": [{"head": head, "relation": label, "tail": tail}]},
                    "GLiREL": {
                        "triples": [{"head_text": [head], "label": label, "tail_text": [tail], "score": 0.6}]
                    },
                    "REBEL": {"triples": f"<triplet> {head} <subj> {tail} <obj> {label}"},
                    "scores": {"scores": {label: 0.6}},
                    "table": {"pred": label},
                }[shape]
            )
        if shape == "table":
            lines = ["instance_id\tpred", *("\t".join(record.values()) for record in records)]
            (tmp_path / "table.tsv").write_text("\n".join(lines))
            records = [record for _, record in read_any_records(tmp_path / "table.tsv")]
        fit = fit_predictions(
            records,
            track="sent2sent",
            references=references,
            relations=relations,
            rules=ForeignRules(label_map={label: name for name, label in theirs.items()}),
        )
        found = score_track(
            track="sent2sent", references=references, predictions=fit.records, relations=relations
        )
        assert fit.report["num_mapped"] == len(plain)
        for key, value in expected.items():
            if isinstance(value, float):
                assert found[key] == pytest.approx(value, abs=1e-12), (system, key)
