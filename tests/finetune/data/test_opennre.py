"""OpenNRE's lines: characters or tokens, the list of relations, annotated tests, and broken files."""

import json
from pathlib import Path
from typing import Any

import pytest

from finetune.data.opennre import read_label_list, read_opennre
from weighted_f1_metric import score_track

LIVED, BORN = "/people/person/place_lived", "/people/person/place_of_birth"
LABELS = {"NA": 0, LIVED: 1, BORN: 2}
ANN = {
    "text": "Ann left Rome.",
    "relation": LIVED,
    "h": {"id": "m.1", "name": "Ann", "pos": [0, 3]},
    "t": {"id": "m.2", "name": "Rome", "pos": [9, 13]},
}
BOB = {
    "token": ["Rome", "saw", "Bob", "Li", "."],
    "relation": "NA",
    "h": {"name": "Bob Li", "pos": [2, 4]},
    "t": {"name": "ROME", "pos": [0, 1]},
}


def write(folder: Path, labels: Any = LABELS, prefix: str = "nyt_", **splits: Any) -> str:
    for name, records in {"train": [ANN, BOB], "test": [BOB], **splits}.items():
        lines = records if isinstance(records, bytes) else "\n".join(map(json.dumps, records)).encode()
        (folder / f"{prefix}{name}.txt").write_bytes(lines)
    (folder / f"{prefix}rel2id.json").write_text(json.dumps(labels))
    return str(folder)


@pytest.mark.parametrize("prefix", ["nyt_", ""])
def test_rows(tmp_path: Path, prefix: str) -> None:
    data = read_opennre(write(tmp_path, prefix=prefix, val=[BOB, ANN]))
    assert data.label_names == ("NA", LIVED, BORN), "as in rel2id.json, with a relation that no row has"
    assert data.negative_relation == "NA"
    assert list(data.splits) == ["train", "validation", "test"]
    train = data.splits["train"]
    assert train.sentences == ["Ann left Rome.", "Rome saw Bob Li ."]
    cut = [
        [text[a:b] for a, b in (s[:2], s[2:])] for text, s in zip(train.sentences, train.spans, strict=True)
    ]
    assert cut == [["Ann", "Rome"], ["Bob Li", "Rome"]]
    assert train.labels.tolist() == [1, 0]
    assert train.row_names == ["train#0", "train#1"]
    assert train.pair_names == train.entity_pairs == ["m.1\tm.2", "bob li\trome"]
    assert train.types is None
    assert not data.has_human_labels


def test_the_negative_relation_is_found_by_name(tmp_path: Path) -> None:
    records = [ANN | {"relation": "Other"}, ANN]
    data = read_opennre(write(tmp_path, {LIVED: 0, "Other": 1}, train=records, test=records))
    assert data.negative_relation == "Other"
    with pytest.raises(ValueError, match=r"which relation means that there is none.*none is given.*'R'"):
        read_opennre(
            write(tmp_path, {"R": 0}, train=[ANN | {"relation": "R"}], test=[ANN | {"relation": "R"}])
        )
    assert read_opennre(str(tmp_path), negative_relation="none").label_names == ("R", "none")


def test_annotated_facts_are_exactly_the_human_truth(tmp_path: Path) -> None:
    test = [
        ANN | {"anno_relation_list": [BORN]},  # the distant label is wrong, another relation is right
        ANN | {"anno_relation_list": [LIVED, BORN]},
        ANN | {"anno_relation_list": []},
        BOB | {"anno_relation_list": ["NA"]},
        {key: BOB[key] for key in ("token", "h", "t")} | {"anno_relation_list": [BORN]},
    ]
    data = read_opennre(write(tmp_path, test=test))
    references = data.splits["test"].references
    assert [(r["instance_id"], r["relation"], r["bag_label"]) for r in references] == [
        ("test#0", LIVED, "no"),
        (f"test#0|{BORN}", BORN, "yes"),
        ("test#1", LIVED, "yes"),
        (f"test#1|{BORN}", BORN, "yes"),
        ("test#2", LIVED, "no"),
        ("test#3", "NA", "unk"),
        ("test#4", BORN, "yes"),
    ]
    assert {r["bag_label"] for r in data.splits["train"].references} == {"unk"}
    assert "test: 5 records with anno_relation_list, 7 rows (one per relation)" in data.notes
    # OpenNRE's loader makes these facts of the file: (m.1, m.2, born), (m.1, m.2, lived), (bob, rome, born).
    scores = score_track(
        track="bag2bag",
        references=references,
        predictions=[
            {"bag_id": "m.1\tm.2", "pred": [BORN, LIVED]},
            {"bag_id": "bob li\trome", "pred": LIVED},
        ],
        relations=[LIVED, BORN],
    )
    assert scores["magt_micro_recall"] == pytest.approx(2 / 3)
    assert scores["magt_micro_precision"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            ANN | {"h": {"pos": [0, 99]}},
            "nyt_train.txt, line 2: the head's span 0 to 99 is not within the text .14 ch",
        ),
        (ANN | {"h": {"pos": [3, 3]}}, "the head's span 3 to 3 is not within"),
        (ANN | {"h": {"pos": [9, 13]}}, "head and tail have the same span, 9 to 13"),
        (ANN | {"h": {"pos": [1]}}, r"`h.pos` must be two integers, start and end; got \[1\]"),
        (ANN | {"h": {"id": "m"}}, "the key `pos` is missing; the record has id"),
        (ANN | {"h": "Ann"}, "`h` must be dict; got 'Ann'"),
        (BOB | {"t": {"pos": [4, 6]}}, r"the tail's tokens 4 to 6 \(exclusive\) are not among the 5 tokens"),
        ({key: ANN[key] for key in ("h", "t", "relation")}, "the keys `text` and `token` are missing"),
        ({key: ANN[key] for key in ("h", "t", "text")}, "the key `relation` is missing"),
        ([1], r"line 2: a record must be a JSON object; got \[1\]"),
    ],
)
def test_broken_records(tmp_path: Path, second: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message + r".*\. Records that cannot be used: 1 of 2\."):
        read_opennre(write(tmp_path, train=[ANN, second]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "nyt_train.txt is empty; it must hold one JSON object a line"),
        (b"[{}]", "nyt_train.txt begins with a JSON array; .* `--data tacred`"),
        (b'{"text": "a\n', "nyt_train.txt, line 1: not a JSON object: Unterminated string .* 1 of 1"),
        (b'\n{"text": "\xff"}', "nyt_train.txt, line 2: byte 11 is not UTF-8; convert the file"),
        (b"{'text': 'a'}", "line 1: not a JSON object: Expecting property name"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_opennre(write(tmp_path, train=content))


def test_relations_outside_the_list(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=rf"nyt_train.txt, line 1: the relation '{LIVED}' is not in the list"
    ):
        read_opennre(write(tmp_path, {"NA": 0}))


def test_an_annotated_record_among_others(tmp_path: Path) -> None:
    folder = write(tmp_path, test=[ANN | {"anno_relation_list": []}, BOB])
    with pytest.raises(ValueError, match=r"nyt_test.txt, line 2: the key `anno_relation_list` is missing"):
        read_opennre(folder)
    with pytest.raises(ValueError, match="`anno_relation_list` must hold names of relations; got 3"):
        read_opennre(write(tmp_path, test=[ANN | {"anno_relation_list": [3]}]))


def test_files_that_are_missing_or_too_many(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"`data_dir` '.*nowhere' is not a folder"):
        read_opennre(str(tmp_path / "nowhere"))
    write(tmp_path)
    (tmp_path / "train.txt").write_text("{}")
    with pytest.raises(ValueError, match=r"several files for train: nyt_train.txt, train.txt; leave one"):
        read_opennre(str(tmp_path))
    (tmp_path / "train.txt").unlink()
    (tmp_path / "nyt_rel2id.json").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"has no rel2id.json and no \*_rel2id.json; it is needed for"
    ):
        read_opennre(str(tmp_path))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("{", "rel2id.json: not JSON"),
        ("[]", "must hold one JSON object from relation names to integers"),
        ('{"NA": 0, "a": 2}', r"the ids must be 0 to 1, each once; got \[0, 2\]"),
    ],
)
def test_broken_label_lists(tmp_path: Path, labels: str, message: str) -> None:
    (tmp_path / "rel2id.json").write_text(labels)
    with pytest.raises(ValueError, match=message):
        read_label_list(tmp_path / "rel2id.json")
