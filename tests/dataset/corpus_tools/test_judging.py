"""Sheets of a pool and of a sample, their design, and the judgments file."""

import csv
import itertools
import json
from pathlib import Path

import pytest

from nyt_h_dataset import choose_pairs, merge_judgments, write_pool_sheet, write_sample_sheet
from nyt_h_dataset.__main__ import main
from nyt_h_dataset.corpus_tools.judging import read_judgments
from nyt_h_dataset.corpus_tools.sampling import allocated, drawn_sample
from weighted_f1_metric import (
    estimate_magt,
    order_bounds,
    read_references,
    read_relations,
    score_track,
)

SHARED = Path(__file__).parents[4] / "shared" / "data" / "nyt_h_shaped"


def cells(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(sheet, answers, to):
    """Answer the rows of `sheet` with what `answers` gives for (instance id, relation), into `to`."""
    rows = cells(sheet)
    with open(to, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for row in rows:
            pair = (row["instance_id"], row["relation"])
            writer.writerow(row | {"answer": answers(pair) if callable(answers) else answers.get(pair, "")})
    return to


def made_row(number, bag, relation, label, sentence=None):
    entity = {"guid": "g", "word": "Ann", "type": "PERSON"}
    return {
        "instance_id": f"i{number}",
        "bag_id": bag,
        "relation": relation,
        "bag_label": label,
        "sentence": sentence or f"Ann saw Bonn {number} .",
        "head": entity,
        "tail": {**entity, "word": "Bonn"},
    }


ROWS = [
    made_row(0, "b0", "born_in", "yes", "Ann left Bonn ."),
    made_row(1, "b0", "lives_in", "no", " Ann left Bonn . "),  # the twin of i0
    made_row(2, "b0", "born_in", "no"),
    made_row(3, "b1", "NA", "unk"),
    made_row(4, "b2", "works_for", "unk"),
]
RELATIONS = ["born_in", "lives_in", "works_for"]


@pytest.fixture
def corpus(folder):
    """A data set whose test set is ROWS."""
    folder.records["test.json"] = ROWS
    (folder.path / "rel2id.json").parent.mkdir(parents=True, exist_ok=True)
    folder.write()
    names = json.loads((folder.path / "rel2id.json").read_text())
    ids = names | {name: len(names) + place for place, name in enumerate(set(RELATIONS) - set(names))}
    (folder.path / "rel2id.json").write_text(json.dumps(ids))
    return folder.path


def predictions(path, **said):
    key = "bag_id" if any(name.startswith("b") for name in said) else "instance_id"
    path.write_text("".join(json.dumps({key: unit, "pred": pred}) + "\n" for unit, pred in said.items()))
    return path


def chosen(systems, **options):
    options = {"records": ROWS, "relations": RELATIONS, "budget": 99, **options}
    return choose_pairs(systems=systems, **options)


def test_open_pairs_are_predicted_and_unanswered_or_unk():
    systems = {"a": {"i0": ["works_for"], "i1": ["lives_in"], "i3": ["born_in"]}, "b": {"i3": ["born_in"]}}
    pool = chosen(systems)
    assert set(pool.pairs) == {("i0", "works_for"), ("i3", "born_in"), ("i4", "works_for")}
    assert (pool.num_open, pool.num_answers) == (3, 3)
    assert pool.pairs[0] == ("i0", "works_for")  # the one that only one system predicts
    answered = [{"instance_id": "i1", "relation": "works_for", "answer": "no"}]  # said of the twin
    assert ("i0", "works_for") not in chosen(systems, judgments=answered).pairs


def test_a_bag_costs_an_answer_per_sentence():
    systems = {"a": {"b0": ["works_for"]}, "b": {}}
    pool = chosen(systems, by_bag=True)
    assert set(pool.pairs) == {("i0", "works_for"), ("i2", "works_for"), ("i4", "works_for")}
    assert chosen(systems, by_bag=True, budget=1).pairs == (("i4", "works_for"),)  # b0 does not fit
    yes = [{"instance_id": "i2", "relation": "works_for", "answer": "yes"}]
    assert chosen(systems, by_bag=True, judgments=yes).pairs == (("i4", "works_for"),)


def test_a_rare_relation_comes_first():
    rows = [made_row(n, f"b{n}", "born_in", "yes") for n in range(20)] + [
        made_row(20, "b20", "lives_in", "yes")
    ]
    rows += [made_row(30, "b30", "NA", "unk"), made_row(31, "b31", "NA", "unk")]
    right = {row["instance_id"]: [row["relation"]] for row in rows[:21]}
    systems = {"a": right | {"i30": ["born_in"], "i31": ["lives_in"]}, "b": right}
    pool = chosen(systems, records=rows, budget=1)
    assert pool.pairs == (("i31", "lives_in"),)
    micro, macro = pool.orders
    assert (micro.systems, micro.high > 0 > micro.low) == (("a", "b"), True)
    assert (micro.can_be_settled, macro.can_be_settled) == (True, True)
    asked = (("i30", "born_in"), ("i31", "lives_in"))
    answers = [{"instance_id": n, "relation": r, "answer": "no"} for n, r in asked]
    with pytest.raises(ValueError, match="nothing"):
        chosen(systems, records=rows, judgments=answers)


def test_it_says_what_the_budget_cannot_settle():
    rows = [made_row(n, f"b{n}", "NA", "unk") for n in range(12)]
    systems = {
        name: {row["instance_id"]: ["born_in"] for row in rows[start::2]}
        for name, start in (("a", 0), ("b", 1))
    }
    assert {order.can_be_settled for order in chosen(systems, records=rows, budget=2).orders} == {False}
    assert {order.can_be_settled for order in chosen(systems, records=rows, budget=12).orders} == {True}
    same = chosen({"a": systems["a"], "b": systems["a"]}, records=rows)
    assert {(order.low, order.high, order.can_be_settled) for order in same.orders} == {(0, 0, False)}


@pytest.mark.parametrize("track", ["sent2sent", "bag2bag"])
def test_ranges_are_the_metrics_bounds(track):
    if not SHARED.is_dir():
        pytest.skip("the shared data folder nyt_h_shaped is not beside the repository")
    references, relations = read_references(SHARED / "test.json"), read_relations(SHARED / "rel2id.json")
    prefix, key = ("bag", "bag_id") if track == "bag2bag" else ("sent", "instance_id")
    files = {
        name: [
            json.loads(line)
            for line in (SHARED / f"predictions/{prefix}_{name}.jsonl").read_text().splitlines()
        ]
        for name in ("lr_between", "majority", "svm_all")
    }
    pool = choose_pairs(
        records=references,
        relations=relations,
        budget=20,
        by_bag=track == "bag2bag",
        systems={
            name: {r[key]: [] if r["pred"] == "NA" else [r["pred"]] for r in records}
            for name, records in files.items()
        },
    )
    found = {(order.systems, order.measure): (order.low, order.high) for order in pool.orders}
    for a, b in itertools.combinations(files, 2):
        bounds = order_bounds(
            track=track,
            references=references,
            relations=relations,
            predictions_a=files[a],
            predictions_b=files[b],
            by="rows" if track == "bag2bag" else "sentences",
        )
        assert found[(a, b), "micro F1"] == pytest.approx(bounds["micro_f1"])
        assert found[(a, b), "macro F1 over all relations"] == pytest.approx(bounds["macro_all_f1"])


def test_from_a_pool_to_a_judgments_file_that_the_metric_reads(corpus, tmp_path, capsys):
    a = predictions(tmp_path / "a.jsonl", i0="works_for", i1="NA", i2="NA", i3="born_in", i4="NA")
    b = predictions(
        tmp_path / "b.jsonl", i0="NA", i1="NA", i2="NA", i3=["born_in", "lives_in"], i4="works_for"
    )
    sheet, judgments = tmp_path / "sheet.csv", tmp_path / "judgments.jsonl"
    shared = ["--data_dir", str(corpus)]
    pool = ["--pool", str(a), str(b)]
    assert main(["sheet", *shared, "--out", str(sheet), *pool, "--budget", "3"]) == 0
    assert "a - b, micro F1" in capsys.readouterr().out
    assert len(cells(sheet)) == 3
    one = fill(sheet, lambda pair: "yes" if pair[0] == "i3" else "no", tmp_path / "one.csv")
    two = fill(sheet, lambda pair: "yes", tmp_path / "two.csv")
    merge = ["merge", *shared, "--judgments", str(judgments), "--annotators", str(one), str(two)]
    assert main(merge) == 2  # they differ, and nobody decides
    assert not judgments.exists()
    capsys.readouterr()
    assert main([*merge, "--adjudicator", str(one)]) == 0
    assert "kappa" in capsys.readouterr().out
    scores = score_track(
        track="sent2sent",
        references=ROWS,
        predictions=[json.loads(line) for line in a.read_text().splitlines()],
        relations=RELATIONS,
        unk="exclude",
        judgments=read_judgments(judgments),
    )
    assert "judgments:" in scores["signatures"]["magt"]
    again = tmp_path / "again.csv"
    assert (
        main(["sheet", *shared, "--out", str(again), *pool, "--budget", "9", "--judgments", str(judgments)])
        == 0
    )
    asked = [{(row["instance_id"], row["relation"]) for row in cells(path)} for path in (sheet, again)]
    assert not asked[0] & asked[1]
    whole = tmp_path / "whole.jsonl"
    rest = fill(again, lambda pair: "no", tmp_path / "rest.csv")
    merged = merge_judgments(corpus, whole, annotators=[rest], earlier=judgments)
    assert len(read_judgments(whole)) == 3 + merged.num_no
    with pytest.raises(ValueError, match="exists"):
        merge_judgments(corpus, whole, annotators=[rest])
    with pytest.raises(ValueError, match="already"):
        merge_judgments(corpus, tmp_path / "new.jsonl", annotators=[one], earlier=judgments)


def test_pairs_without_an_answer_stay_open(corpus, tmp_path):
    a = predictions(tmp_path / "a.jsonl", b0="works_for", b1="born_in", b2="NA")
    sheet = tmp_path / "sheet.csv"
    write_pool_sheet(corpus, sheet, predictions=[a], budget=9)
    some = fill(sheet, {("i3", "born_in"): "yes"}, tmp_path / "some.csv")
    merged = merge_judgments(corpus, tmp_path / "j.jsonl", annotators=[some])
    assert (merged.num_yes, merged.num_no, merged.num_unanswered, merged.agreement) == (1, 0, 3, None)
    with pytest.raises(ValueError, match="no answer"):
        merge_judgments(corpus, tmp_path / "k.jsonl", annotators=[fill(sheet, {}, tmp_path / "none.csv")])


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("i9,born_in,yes", "i9"),
        ("i0,eats,yes", "eats"),
        ("i0,NA,yes", "NA"),
        ("i0,born_in,perhaps", "perhaps"),
        ("i3,born_in,yes\ni3,born_in,no", "twice"),
    ],
)
def test_a_bad_sheet_is_named(corpus, tmp_path, line, named):
    (tmp_path / "s.csv").write_text(f"instance_id,relation,answer\n{line}\n")
    with pytest.raises(ValueError, match=named):
        merge_judgments(corpus, tmp_path / "j.jsonl", annotators=[tmp_path / "s.csv"])


def test_bad_prediction_files_are_named(corpus, tmp_path):
    fine = {"i0": "NA", "i1": "NA", "i2": "NA", "i3": "born_in"}
    for said, named in (
        ({**fine}, "i4"),
        ({**fine, "i4": "eats"}, "eats"),
        ({**fine, "i4": "NA", "i9": "NA"}, "i9"),
    ):
        path = predictions(tmp_path / "p.jsonl", **said)
        with pytest.raises(ValueError, match=named):
            write_pool_sheet(corpus, tmp_path / "s.csv", predictions=[path], budget=3)
    mixed = [
        predictions(tmp_path / "q.jsonl", **fine, i4="NA"),
        predictions(tmp_path / "r.jsonl", b0="NA", b1="NA", b2="NA"),
    ]
    with pytest.raises(ValueError, match="mixed"):
        write_pool_sheet(corpus, tmp_path / "s.csv", predictions=mixed, budget=3)
    with pytest.raises(ValueError, match="budget"):
        write_pool_sheet(corpus, tmp_path / "s.csv", predictions=mixed[:1], budget=0)
    with pytest.raises(FileNotFoundError):
        write_pool_sheet(corpus, tmp_path / "s.csv", predictions=[tmp_path / "absent"], budget=1)
    assert not (tmp_path / "s.csv").exists()


def test_shares_of_a_sample():
    sizes = {"often": 900, "seldom": 90, "rare": 9, "once": 1}
    assert allocated(sizes, num_drawn=100) == {"often": 88, "seldom": 9, "rare": 2, "once": 1}
    even = allocated(sizes, num_drawn=100, allocation="sqrt")
    assert sum(even.values()) == 100
    assert even["rare"] > 2
    assert even["once"] == 1
    assert even["seldom"] > 15
    assert allocated(sizes, num_drawn=1000) == sizes
    for num_drawn in (6, 1001):
        with pytest.raises(ValueError, match=str(num_drawn)):
            allocated(sizes, num_drawn=num_drawn)
    with pytest.raises(ValueError, match="cubic"):
        allocated(sizes, num_drawn=100, allocation="cubic")


def test_a_seed_draws_the_same_pairs():
    pairs = [(f"i{n}", f"r{n % 3}") for n in range(60)]
    draw = [drawn_sample(pairs, num_drawn=12, seed=seed) for seed in (0, 0, 1)]
    assert draw[0] == draw[1] != draw[2]
    together = drawn_sample(pairs, num_drawn=12, stratify="none")
    assert together["strata"] == [{"name": "", "size": 60, "drawn": 12}]
    with pytest.raises(ValueError, match="seed"):
        drawn_sample(pairs, num_drawn=12, seed=-1)


@pytest.mark.parametrize("unit", ["sentence", "bag"])
def test_from_a_sample_to_an_estimate(corpus, tmp_path, unit, capsys):
    truth = {f"i{n}": ("yes", "no")[n % 5 < 2] for n in range(60)}
    rows = [made_row(n, f"b{n // 2}", RELATIONS[n // 2 % 2], "unk") for n in range(60)]
    (corpus / "test.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sheet, judgments = tmp_path / "sheet.csv", tmp_path / "judgments.jsonl"
    shared = ["--data_dir", str(corpus)]
    size = ["--sample", "20", "--unit", unit, "--stratify", "relation"]
    assert main(["sheet", *shared, "--out", str(sheet), *size]) == 0
    assert "born_in" in capsys.readouterr().out
    design = json.loads((tmp_path / "sheet.design.json").read_text())
    assert len(design["drawn"]) == 20
    assert len(cells(sheet)) == (20 if unit == "sentence" else 40)
    filled = fill(sheet, lambda pair: truth[pair[0]], tmp_path / "filled.csv")
    assert main(["merge", *shared, "--judgments", str(judgments), "--annotators", str(filled)]) == 0
    key, track = ("instance_id", "sent2sent") if unit == "sentence" else ("bag_id", "bag2bag")
    found = estimate_magt(
        track=track,
        references=rows,
        relations=RELATIONS,
        predictions=[{key: one, "pred": "born_in"} for one in dict.fromkeys(row[key] for row in rows)],
        judgments=read_judgments(judgments),
        design=design,
    )
    assert (found.num_judged, found.num_population) == (20, 60 if unit == "sentence" else 30)
    one = found.measures["magt_micro_f1"]
    assert 0 < one.low < one.value < one.high < 1
    assert (
        main(["sheet", *shared, "--out", str(sheet), *size]) == 2
    )  # the sheet is there, with answers perhaps
    with pytest.raises(ValueError, match=r"design\.json"):
        write_sample_sheet(corpus, tmp_path / "sheet.tsv", num_drawn=20)


def test_a_pool_needs_a_budget_and_answers_a_place(corpus, tmp_path):
    a = predictions(tmp_path / "a.jsonl", b0="works_for", b1="born_in", b2="NA")
    assert main(["sheet", "--data_dir", str(corpus), "--out", str(tmp_path / "s.csv"), "--pool", str(a)]) == 2
    assert main(["merge", "--data_dir", str(corpus), "--annotators", "a.csv", "b.csv"]) == 2
