"""The synthetic corpus: its format, its facts, and that the same seed gives the same bytes."""

import filecmp
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from nyt_h_dataset import SampleInfo, load_nyt_h, write_sample
from nyt_h_dataset.sample.names import ENTAILED, RELATIONS

FILES = ("train_nonna.json", "na_train.json", "na_rest.json", "dev.json", "test.json")


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def records(sample):
    return {name: read(sample / name) for name in FILES}


@pytest.fixture(scope="module")
def spans(sample):
    return {record["instance_id"]: record for record in read(sample / "true_spans.jsonl")}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4), ("d", 0)):
        info = write_sample(tmp_path / name, seed=seed, size="tiny")
        assert info == SampleInfo(tmp_path / name, seed, "tiny", info.num_rows)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted([*FILES, "rel2id.json", "bag_label2id.json", "true_spans.jsonl", "SYNTHETIC.md"])
    assert filecmp.cmpfiles(tmp_path / "a", tmp_path / "b", names, shallow=False)[0] == names
    for other in ("c", "d"):
        assert not filecmp.cmp(tmp_path / "a" / "test.json", tmp_path / other / "test.json", shallow=False)


def test_records_have_exactly_the_keys_of_the_release(records):
    for name, prefix in zip(FILES, ("NONNATRAIN", "NATRAIN", "NAREST", "NONNADEV", "TEST"), strict=True):
        for number, record in enumerate(records[name]):
            assert list(record) == [
                "instance_id",
                "bag_id",
                "relation",
                "bag_label",
                "sentence",
                "head",
                "tail",
            ]
            assert record["instance_id"] == f"{prefix}#{number}"
            assert record["bag_id"].startswith(prefix + "#")
            for entity in (record["head"], record["tail"]):
                assert list(entity) == ["guid", "word", "type"]
                assert entity["guid"].startswith("/guid/9202")
                assert all(part.startswith("/") for part in entity["type"].split(","))


def test_labels_are_where_they_are_in_the_release(sample, records):
    """USER_REPORTS 11: the number of relations is the one that is announced, NA counted once."""
    rel2id = json.loads((sample / "rel2id.json").read_text())
    assert len(rel2id) == 22
    assert rel2id["NA"] == 0
    assert json.loads((sample / "bag_label2id.json").read_text()) == {"no": 0, "yes": 1, "unk": 2}
    for name in FILES:
        na = name.startswith("na_")
        assert all((record["relation"] == "NA") == na for record in records[name])
        labels = {record["bag_label"] for record in records[name]}
        assert labels == ({"yes", "no"} if name == "test.json" else {"unk"})


def test_a_bag_id_is_a_pair_of_entities(records):
    for name in FILES:
        pairs = {(r["bag_id"], r["head"]["guid"], r["tail"]["guid"]) for r in records[name]}
        assert len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1:] for pair in pairs})


def test_the_distribution_has_a_long_tail_and_every_relation_on_both_sides(records):
    for name in ("train_nonna.json", "test.json"):
        counts = Counter(record["relation"] for record in records[name])
        assert set(counts) == set(RELATIONS)
        assert max(counts.values()) > 10 * min(counts.values())


def test_distant_labels_are_often_wrong_and_some_bags_are_mixed(records):
    test = records["test.json"]
    assert 0.4 < sum(record["bag_label"] == "yes" for record in test) / len(test) < 0.7
    answers = defaultdict(set)
    sizes = Counter(record["bag_id"] for record in test)
    for record in test:
        answers[record["bag_id"]].add(record["bag_label"])
    assert sum(len(labels) == 2 for labels in answers.values()) >= 10
    assert sum(size == 1 for size in sizes.values()) > len(sizes) / 2
    assert max(sizes.values()) >= 5


def test_twins_are_the_same_sentence_judged_for_each_relation(records):
    twins = defaultdict(dict)
    for record in records["test.json"]:
        labels = twins[record["bag_id"], record["sentence"]]
        answer = labels.setdefault(record["relation"], record["bag_label"])
        assert answer == record["bag_label"], "a row that repeats another has its answer"
    twins = [labels for labels in twins.values() if len(labels) == 2]
    assert len(twins) >= 10
    assert any(set(labels.values()) == {"yes", "no"} for labels in twins)
    for labels in twins:
        for relation, implied in ENTAILED.items():
            if labels.get(relation) == "yes" and implied[0] in labels:
                assert labels[implied[0]] == "yes"


def pair(record):
    return record["head"]["guid"], record["tail"]["guid"]


def test_entities_repeat_and_files_share_pairs_as_those_of_the_release_do(records):
    """The bounds hold what nyt_h_shaped, a part of the release, has: a tenth of test's pairs in train."""
    pairs = {name: {pair(record) for record in records[name]} for name in FILES}
    assert max(Counter(head for head, _ in pairs["train_nonna.json"]).values()) >= 3

    def shared(name, other):
        return len(pairs[name] & pairs[other]) / min(len(pairs[name]), len(pairs[other]))

    assert shared("dev.json", "train_nonna.json") > 0.5, "split by row"
    assert 0.05 < shared("test.json", "train_nonna.json") < 0.15
    assert 0.05 < shared("na_rest.json", "na_train.json") < 0.25
    assert 0.02 < shared("na_rest.json", "train_nonna.json") < 0.2


def test_sentences_are_as_long_as_those_of_news_and_an_eighth_holds_two_pairs(records):
    pairs = defaultdict(set)
    for name in FILES:
        lengths = sorted(len(record["sentence"].split()) for record in records[name])
        assert 32 <= lengths[len(lengths) // 2] <= 46, "as in nyt_h_shaped"
        assert sum(20 <= length <= 120 for length in lengths) > 0.98 * len(lengths)
        for record in records[name]:
            pairs[record["sentence"]].add(pair(record))
    assert 0.11 < sum(len(found) == 2 for found in pairs.values()) / len(pairs) < 0.14


@pytest.mark.parametrize(
    ("name", "low", "high"), [("test.json", 0.2, 0.35), ("na_rest.json", 0.02, 0.06), ("dev.json", 0, 0)]
)
def test_rows_repeat_as_in_the_release(records, name, low, high):
    rows = Counter((pair(r), r["relation"], r["sentence"]) for r in records[name])
    assert low <= (rows.total() - len(rows)) / rows.total() <= high


def test_true_spans_are_there_for_every_row_and_hold_the_entities(records, spans):
    rows = [record for name in FILES for record in records[name]]
    assert list(spans) == [record["instance_id"] for record in rows]
    exact = 0
    for record in rows:
        for entity in ("head", "tail"):
            start, end = spans[record["instance_id"]][entity]
            assert 0 <= start < end <= len(record["sentence"])
            text = record["sentence"][start:end]
            assert text.strip() == text
            exact += text == record[entity]["word"]
    assert 0.9 < exact / (2 * len(rows)) < 0.99, "nearly all are as written, some are not"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_marked_unique_have_the_true_spans_and_hard_cases_exist(tmp_path, seed):
    path = write_sample(tmp_path / "sample", seed=seed).path
    spans = {record["instance_id"]: record for record in read(path / "true_spans.jsonl")}
    exact = Counter()
    for split in load_nyt_h(path, na="all", streaming=True).values():
        for row in split:
            true = spans[row["instance_id"]]
            chosen = {entity: [row[entity]["start"], row[entity]["end"]] for entity in ("head", "tail")}
            exact[row["mention_status"], chosen == {entity: true[entity] for entity in chosen}] += 1
    assert exact[0, True] > 3000
    assert exact[0, False] <= 0.001 * exact[0, True]
    assert exact[1, True] > 50
    assert exact[1, False] > 50, "the policy `first` is not always right"
    assert exact[2, True] > 20
    assert exact[3, False] > 10


def test_it_says_that_it_is_synthetic(sample):
    text = (sample / "SYNTHETIC.md").read_text()
    assert text.startswith("# Synthetic data")
    assert "size small, seed 0" in text


def test_a_folder_with_anything_else_is_refused_and_left_alone(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    write_sample(out, size="tiny")
    before = (out / "test.json").read_bytes()
    write_sample(out, size="tiny", seed=1)
    assert (out / "test.json").read_bytes() != before
    (out / "notes.txt").write_text("mine")
    kept = (out / "test.json").read_bytes()
    with pytest.raises(
        ValueError, match=r"is not empty and not a sample written before \(it holds notes.txt\)"
    ):
        write_sample(out, size="tiny", seed=2)
    assert (out / "test.json").read_bytes() == kept
    real = tmp_path / "real"
    real.mkdir()
    (real / "test.json").write_text("real data")
    with pytest.raises(ValueError, match=r"it holds test.json"):
        write_sample(real, size="tiny")
    with pytest.raises(ValueError, match="is a file"):
        write_sample(real / "test.json", size="tiny")


def test_nothing_half_written_stays_when_writing_fails(tmp_path, monkeypatch):
    write_text = Path.write_text

    def fail(path, *given, **named):
        if path.name == "bag_label2id.json":
            raise OSError("No space left on device")
        return write_text(path, *given, **named)

    out = write_sample(tmp_path / "out", size="tiny").path
    before = (out / "test.json").read_bytes()
    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="No space left"):
        write_sample(out, size="tiny", seed=5)
    assert (out / "test.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_wrong_arguments_are_named(tmp_path):
    with pytest.raises(ValueError, match="`size` must be one of 'tiny', 'small', 'full'; got 'huge'"):
        write_sample(tmp_path / "x", size="huge")
    with pytest.raises(TypeError, match="`seed` must be an int; got '1'"):
        write_sample(tmp_path / "x", seed="1")
