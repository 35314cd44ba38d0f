"""`verify`: every fact is compared, the numbers of the report are right, the exit status says the verdict."""

import copy
import json
import random

import numpy as np
import pyarrow as pa
import pytest

from nyt_h_dataset import load_nyt_h, published
from nyt_h_dataset.__main__ import main
from nyt_h_dataset.card import verification
from nyt_h_dataset.card.corpus_statistics import (
    flat_table,
    imbalance_ratio,
    jensen_shannon,
    perplexity,
    shares,
    twins,
)
from nyt_h_dataset.card.verification import published_checks, verify_nyt_h


def change(record, instance_id, **changes):
    return copy.deepcopy(record) | {"instance_id": instance_id} | changes


def pair(record, number):
    """The record with another entity pair."""
    record = copy.deepcopy(record)
    record["head"]["guid"], record["bag_id"] = f"/guid/{number}", f"BAG#{number}"
    return record


@pytest.fixture
def corpus(folder):
    """Two test bags, one with twins; a pair and a row of train come again."""
    test = [pair(record, 50 + n) for n, record in enumerate(folder.records["test.json"])]
    yes = test[0] | {"bag_label": "yes", "relation": "/alpha/first"}
    folder.records["test.json"] = [
        yes,
        change(yes, "TEST#t", relation="/zeta/last", bag_label="no", sentence=" " + yes["sentence"]),
        change(yes, "TEST#d"),
        test[1] | {"bag_label": "no"},
    ]
    train = [pair(record, 60 + n) for n, record in enumerate(folder.records["train_nonna.json"])]
    folder.records["train_nonna.json"] = [*train, change(yes, "TRAIN#t", bag_label="unk")]
    folder.records["dev.json"] = [change(train[0], "DEV#0", sentence="Bonn pleased Ann Lee .")]
    folder.records["na_train.json"] = [pair(folder.records["na_train.json"][0], 70)]
    folder.records["na_rest.json"] = [pair(record, 71) for record in folder.records["na_rest.json"]]
    return folder.write()


@pytest.fixture
def right(monkeypatch, corpus):
    """Publish the numbers of `corpus`, and its first record as the one of the README."""
    record = corpus.records["test.json"][0]
    example = {key: record[key] for key in ("instance_id", "bag_id", "relation")}
    for entity in ("head", "tail"):
        example |= {
            f"{entity}_guid": record[entity]["guid"],
            f"{entity}_word": record[entity]["word"].lower(),
        }
    monkeypatch.setattr(published, "EXAMPLE", example)
    values = {
        "NUM_RELATIONS": 3,
        "TRAIN_ROWS": 4,
        "NA_ROWS": 3,
        "NA_BAGS": 1,
        "TEST_ROWS": 4,
        "TEST_YES_ROWS": 2,
        "TEST_BAGS": 2,
        "TEST_PAIRS": 3,
        "TEST_YES_PAIRS": 1,
        "TEST_BAG_SIZES": {"1": 1, "2": 0, "3": 1, "4": 0, "5+": 0},
    }
    for name, value in values.items():
        monkeypatch.setattr(published, name, value)
    return values


def differing(result):
    return [check.name for check in result.checks if not check.ok]


def test_the_published_numbers_are_those_of_the_specification():
    assert (published.TRAIN_ROWS, published.NA_ROWS, published.NA_BAGS) == (193_662, 550_720, 357_196)
    assert (published.TEST_ROWS, published.TEST_YES_ROWS, published.TEST_BAGS) == (9_955, 5_202, 3_548)
    assert (published.TEST_PAIRS, published.TEST_YES_PAIRS) == (3_735, 2_277)
    assert sum(published.TEST_BAG_SIZES.values()) == published.TEST_BAGS
    assert published.NUM_RELATIONS == 22


def test_a_copy_with_all_the_published_numbers_is_the_published_one(corpus, cache, right):
    result = verify_nyt_h(corpus.path, cache_dir=cache)
    assert differing(result) == []
    assert result.is_published
    assert "This is the published copy" in result.to_markdown()
    assert "DIFFERS" not in result.to_markdown()


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("NUM_RELATIONS", "relations, NA among them"),
        ("TRAIN_ROWS", "train_nonna and na_train rows"),
        ("NA_ROWS", "NA rows"),
        ("NA_BAGS", "NA bags"),
        ("TEST_ROWS", "test rows"),
        ("TEST_YES_ROWS", "test rows with yes"),
        ("TEST_BAGS", "test bags"),
        ("TEST_PAIRS", "test (bag, relation) pairs"),
        ("TEST_YES_PAIRS", "test (bag, relation) pairs with a yes"),
    ],
)
def test_each_published_number_is_compared(corpus, cache, right, monkeypatch, name, fact):
    monkeypatch.setattr(published, name, right[name] + 1)
    result = verify_nyt_h(corpus.path, cache_dir=cache)
    assert differing(result) == [fact]
    assert not result.is_published
    assert "not the published copy: 1 of 19 facts differ" in result.to_markdown()


@pytest.mark.parametrize(
    ("file", "changes", "fact"),
    [
        ("test.json", {"relation": "NA"}, "NA rows in test"),
        ("dev.json", {"relation": "NA"}, "NA rows in dev"),
        ("test.json", {"bag_label": "unk"}, "test rows without yes or no"),
        ("dev.json", {"bag_label": "yes"}, "yes or no outside test"),
        ("na_rest.json", {"relation": "/zeta/last"}, "other relations in the NA set"),
    ],
)
def test_each_rule_of_the_release_is_checked(corpus, cache, right, file, changes, fact):
    corpus.records[file][-1] |= changes
    corpus.write()
    assert fact in differing(verify_nyt_h(corpus.path, cache_dir=cache))


def test_the_size_of_train_is_published_with_its_sampled_na_rows_only(corpus, cache):
    data = load_nyt_h(corpus.path, na="none", cache_dir=cache)
    tables = {name: flat_table(split.with_format("arrow")[:]) for name, split in data.items()}
    names = data["test"].features["relation"].names
    sampled, none = (published_checks(tables, names, na=na) for na in ("sampled", "none"))
    assert [check for check in sampled if check.name != "train_nonna and na_train rows"] == list(none)
    assert len(none) == len(sampled) - 1


def test_the_twins_of_the_real_sentences_are_those_of_the_expected_counts(real_data, cache):
    """Joined by sentence there are 133 units and 166 (unit, relation) pairs; other rows are duplicates."""
    expected = json.loads((real_data / "expected_scores.json").read_text())
    counts = expected["sent2sent/majority"]["expected_by_sentence"]["counts"]
    report = verify_nyt_h(real_data, cache_dir=cache).report
    # Every twin sentence of these data has exactly two relations.
    assert report["twins"]["test"]["sentences"] == counts["num_pairs"] - counts["num_units"] == 33
    assert report["duplicate rows within"]["test"] == report["rows"]["test"] - counts["num_pairs"] == 66
    assert report["bags"]["test"] == expected["bag2bag/majority"]["counts"]["num_units"]


def test_the_numbers_of_the_report(corpus, cache):
    report = verify_nyt_h(corpus.path, cache_dir=cache).report
    assert report["rows"] == {"train": 4, "validation": 1, "test": 4, "na": 3}
    assert report["bags"] == {"train": 4, "validation": 1, "test": 2, "na": 2}
    # The two NA rows of pair 71 have one sentence; TEST#d repeats the first test row.
    assert report["duplicate rows within"] == {"train": 0, "validation": 0, "test": 1, "na": 1}
    # Both test rows that say what TRAIN#t says.
    assert report["duplicate rows across"] == {
        "train/validation": 0,
        "train/test": 2,
        "validation/test": 0,
        "validation/na": 0,
        "test/na": 0,
    }
    assert report["entity pairs shared between"]["train/validation"] == 1
    assert report["entity pairs shared between"]["train/test"] == 1
    assert report["entity pairs shared between"]["validation/test"] == 0
    assert report["rows with a sentence that is also in the first"]["train/test"] == 4
    assert report["rows with a sentence that is also in the first"]["train/validation"] == 0
    assert report["twins"]["test"] == {"sentences": 1, "rows": 3, "mixed": 1}
    assert report["twins"]["train"] == {"sentences": 0, "rows": 0, "mixed": 0}
    assert report["relations only in train"] == []
    assert report["relations only in test"] == []
    assert report["relations without a yes in test"] == ["/zeta/last"]
    assert report["mentions"]["test"] == {"unique": 4, "ambiguous": 0, "overlapping": 0, "missing": 0}
    divergence = report["label divergence in bits (Jensen-Shannon, base 2)"]
    assert divergence["train/test"] == pytest.approx(jensen_shannon([0, 1, 2], [0, 1, 3]))
    assert divergence["train/test yes"] == pytest.approx(jensen_shannon([0, 1, 2], [0, 0, 1]))


@pytest.mark.parametrize(("answers", "mixed"), [([1, 0], 1), ([1, 1], 0), ([0, 0], 0), ([1, 2], 0)])
def test_mixed_twins_have_a_yes_and_a_no(answers, mixed):
    table = pa.table({"bag_id": ["b"] * 2, "sentence": ["s"] * 2, "relation": [1, 2], "bag_label": answers})
    assert twins(table) == {"sentences": 1, "rows": 2, "mixed": mixed}


def test_relations_that_are_missing_on_one_side_are_named(corpus, cache):
    corpus.records["train_nonna.json"] = [corpus.records["train_nonna.json"][0]]
    corpus.records["test.json"] = [
        corpus.records["test.json"][1] | {"relation": "/zeta/last", "bag_label": "yes"}
    ]
    report = verify_nyt_h(corpus.write().path, cache_dir=cache).report
    assert report["relations only in train"] == ["/alpha/first"]
    assert report["relations only in test"] == ["/zeta/last"]
    assert report["label divergence in bits (Jensen-Shannon, base 2)"]["train/test"] == 1.0


def test_the_sample_agrees_with_a_plain_count(sample, cache):
    """The same numbers by dicts over the raw files."""
    report = verify_nyt_h(sample, cache_dir=cache).report
    test = [json.loads(line) for line in (sample / "test.json").read_text(encoding="utf-8").splitlines()]
    rows = {}
    for r in test:
        rows.setdefault((r["bag_id"], r["sentence"].strip()), []).append(r["relation"])
    twins = [relations for relations in rows.values() if len(set(relations)) > 1]
    assert report["twins"]["test"]["sentences"] == len(twins) > 10
    assert report["twins"]["test"]["rows"] == sum(map(len, twins))
    dev, train = (
        {(r["head"]["guid"], r["tail"]["guid"]) for r in map(json.loads, (sample / name).open())}
        for name in ("dev.json", "train_nonna.json")
    )
    assert report["entity pairs shared between"]["train/validation"] == len(dev & train) > 10


def test_divergence_against_scipy_and_its_edges():
    from scipy.spatial.distance import jensenshannon

    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 9, (2, 6)) + np.eye(6, dtype=int)[:2]
        assert jensen_shannon(a, b) == pytest.approx(jensenshannon(a, b, base=2) ** 2, abs=1e-12)
        assert jensen_shannon(a, b) == pytest.approx(jensen_shannon(b, 7 * a))
    assert jensen_shannon([0, 0], [1, 0]) is None
    assert perplexity([0, 0]) is None
    assert perplexity([3]) == 1.0
    assert imbalance_ratio([0]) is None
    assert shares([0, 0]) == [0.0, 0.0]


def test_the_command_prints_writes_and_says_it_by_its_exit_status(corpus, cache, right, tmp_path, capsys):
    out = tmp_path / "numbers.json"
    words = ["verify", "--data_dir", str(corpus.path), "--cache_dir", str(cache), "--json", str(out)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].startswith("| fact | published | here |")
    assert "| twins | train: sentences 0, rows 0, mixed 0; validation: " in printed
    written = json.loads(out.read_text())
    assert written == verify_nyt_h(corpus.path, cache_dir=cache).to_json()
    assert written["checks"][1] == {
        "name": "train_nonna and na_train rows",
        "published": 4,
        "here": 4,
        "source": published.RELEASE,
        "ok": True,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "data", "numbers.json"]
    corpus.records["test.json"].pop()
    corpus.write()
    assert main(words) == 1
    assert json.loads(out.read_text())["is_published"] is False


def test_a_synthetic_corpus_is_never_the_published_one(corpus, cache, right):
    (corpus.path / "SYNTHETIC.md").write_text("# Synthetic data")
    result = verify_nyt_h(corpus.path, cache_dir=cache)
    assert differing(result) == []
    assert result.is_synthetic
    assert not result.is_published
    assert "This is a synthetic corpus; 0 of 19 facts differ from NYT-H." in result.to_markdown()


def test_a_fault_in_the_data_is_exit_status_two(corpus, cache, capsys):
    corpus.write_lines("dev.json", "{")
    assert main(["verify", "--data_dir", str(corpus.path), "--cache_dir", str(cache)]) == 2
    assert "dev.json:1: not valid JSON" in capsys.readouterr().err
    assert main(["verify", "--data_dir", str(corpus.root / "nowhere")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_the_order_of_rows_changes_nothing(corpus, cache, tmp_path):
    before = verify_nyt_h(corpus.path, cache_dir=cache).to_json()
    for records in corpus.records.values():
        random.Random(1).shuffle(records)
    assert verify_nyt_h(corpus.write().path, cache_dir=cache).to_json() == before
    assert verification.Check("x", 1, 2).ok is False


@pytest.mark.parametrize("key", ["instance_id", "bag_id", "relation", "head", "tail"])
def test_counts_without_the_record_of_the_readme_are_not_the_published_copy(corpus, cache, right, key):
    """A program can write as many rows; what the README prints it does not know."""
    record = corpus.records["test.json"][0]
    if key == "relation":
        published.EXAMPLE["relation"] = "/zeta/last"
    elif key in ("head", "tail"):
        published.EXAMPLE[f"{key}_guid"] += "0"
    else:
        published.EXAMPLE[key] = record[key] + "0"
    result = verify_nyt_h(corpus.path, cache_dir=cache)
    assert differing(result) == []
    assert not result.has_example
    assert not result.is_published
    assert "consistent with the published counts" in result.to_markdown()


def test_the_record_is_the_one_that_the_readme_prints():
    assert published.EXAMPLE["instance_id"] == "NONNADEV#193662"
    words = published.EXAMPLE["head_word"], published.EXAMPLE["tail_word"]
    assert words == ("stanford white", "new york city")


def test_na_bags_are_counted_by_words_and_mismatched_ids_are_reported(corpus, cache):
    """As the authors' code counts; two ids for a pair and two pairs under an id are both told."""
    corpus.records["na_rest.json"][1]["tail"] = {"guid": "/g", "word": "Rome", "type": ""}
    corpus.records["na_train.json"][0]["head"]["guid"] = corpus.records["na_rest.json"][0]["head"]["guid"]
    corpus.records["na_rest.json"].append(
        change(corpus.records["na_train.json"][0], "NAREST#2", bag_id="BAG#72")
    )
    corpus.write()
    result = verify_nyt_h(corpus.path, cache_dir=cache)
    assert result.report["bags"]["na"] == 3
    assert next(check.here for check in result.checks if check.name == "NA bags") == 2
    assert result.report["entity pairs with several bag ids"]["na"] == 1
    assert result.report["bag ids with several entity pairs"]["na"] == 1
    assert result.report["bag ids with several entity pairs"]["test"] == 0
