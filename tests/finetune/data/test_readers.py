"""Readers: the spans of tagged sentences, one label list for all splits, and what broken files get."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from finetune.data.nyt_h_rows import read_nyt_h
from finetune.data.relation_rows import RelationData, RelationRows
from finetune.data.semeval import read_semeval, read_semeval2010
from nyt_h_dataset import convert_corpus, write_sample
from nyt_h_dataset.corpus_tools.formats import untagged
from tests.folders import SHARED

TRAIN = (
    '1\t"The <e1>child</e1> was bound into the <e2>cradle</e2>."\r\nEntity-Destination(e1,e2)\r\n'
    "Comment: a\r\n\r\n"
    '2\t"A <e2>disassembler</e2>, says the <e1>author</e1>."\r\nOther\r\nComment:\r\n\r\n'
)
TEST = '8001\t"<e1>Audits</e1> of <e2>waste</e2>"\r\nMessage-Topic(e1,e2)\r\nComment:\r\n\r\n'


def semeval_folder(folder: Path, train: str | bytes = TRAIN, test: str = TEST) -> Path:
    (folder / "TRAIN_FILE.TXT").write_bytes(train if isinstance(train, bytes) else train.encode())
    (folder / "TEST_FILE_FULL.TXT").write_bytes(test.encode())
    return folder


def test_semeval(tmp_path: Path) -> None:
    data = read_semeval2010(str(semeval_folder(tmp_path)))
    assert data.label_names == ("Entity-Destination(e1,e2)", "Message-Topic(e1,e2)", "Other")
    assert data.negative_relation == "Other"
    assert data.groups == {
        "Entity-Destination(e1,e2)": "Entity-Destination",
        "Message-Topic(e1,e2)": "Message-Topic",
    }
    train, test = data.splits["train"], data.splits["test"]
    assert train.row_names == ["1", "2"]
    assert train.sentences == ["The child was bound into the cradle.", "A disassembler, says the author."]
    cut = [
        [row[a:b] for a, b in (span[:2], span[2:])]
        for row, span in zip(train.sentences, train.spans, strict=True)
    ]
    assert cut == [["child", "cradle"], ["author", "disassembler"]], (
        "e1 is the head, also when it comes second"
    )
    assert train.labels.tolist() == [0, 2]
    assert test.labels.tolist() == [1]
    assert train.pair_names == train.entity_pairs == ["child\tcradle", "author\tdisassembler"]
    assert test.pair_names == ["audits\twaste"]
    assert train.types is None
    assert not data.has_human_labels


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    first = read_semeval2010(str(semeval_folder(tmp_path))).fingerprint
    assert read_semeval2010(str(semeval_folder(tmp_path))).fingerprint == first
    for change in ({"pair_names": ["a", "b"]}, {"entity_pairs": ["a", "b"]}, {"types": [("a", "b")] * 2}):
        data = read_semeval2010(str(tmp_path))
        changed = replace(data.splits["train"], **change)
        assert replace(data, splits={**data.splits, "train": changed}).fingerprint != first, change
    semeval_folder(tmp_path, train=TRAIN.replace("bound", "put"))
    assert read_semeval2010(str(tmp_path)).fingerprint != first
    semeval_folder(tmp_path, train=TRAIN.replace("Other", "Message-Topic(e1,e2)"), test=TEST + TRAIN[-60:])
    assert read_semeval2010(str(semeval_folder(tmp_path))).fingerprint == first


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (TRAIN.replace("<e1>child", "child"), r"TRAIN_FILE.TXT, line 1: the tag <e1> is missing. .*: 1 of 2"),
        (TRAIN.replace("<e1>", ""), r"line 1: the tag <e1> is missing. Records that cannot be used: 2 of 2"),
        (TRAIN.replace("<e2>cradle</e2>", "</e2>cradle<e2>"), "line 1: an entity is empty or closes before"),
        (TRAIN.replace("the <e1>author", "<e1>the <e1>author"), "line 5: the tag <e1> occurs twice"),
        (
            TRAIN.replace("2\t", "2 "),
            "line 1: after the record, expected a number, a tab and .* got '2 \"A <e2>dis",
        ),
        (TRAIN.replace("1\t", "1 "), "line 1: expected a number, a tab and a sentence"),
        (TRAIN.replace("2\t", "1\t"), r"line 5: the id '1' is there already \(.*TRAIN_FILE.TXT, line 1\)"),
        (TRAIN.replace("Other", ""), r"TRAIN_FILE.TXT, line 5: expected a relation such as .* got ''"),
        (TRAIN.encode().replace(b"author", b"auth\xf6r"), "TRAIN_FILE.TXT, line 5: not UTF-8"),
        (TRAIN.replace("Other", "Message-Topic(e1,e2)"), "no sentence has the label 'Other'"),
    ],
)
def test_broken_semeval_files(tmp_path: Path, broken: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_semeval2010(str(semeval_folder(tmp_path, train=broken)))


def test_an_empty_split_is_refused() -> None:
    none = RelationRows([], [], np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64), [], [])
    with pytest.raises(ValueError, match="the split 'train' of mine has no rows"):
        RelationData(name="mine", splits={"train": none}, label_names=("NA",), negative_relation="NA")


def test_tags_within_tags() -> None:
    sentence, head, tail = untagged("a <e1>b <e2>c</e2></e1>")
    assert (sentence, head, tail) == ("a b c", (2, 5), (4, 5))


def test_nyt_h_sample(tmp_path: Path) -> None:
    write_sample(tmp_path / "data", size="tiny")
    data = read_nyt_h(str(tmp_path))
    assert list(data.splits) == ["train", "validation", "test"]
    assert data.label_names[0] == data.negative_relation == "NA"
    assert data.has_human_labels
    test = data.splits["test"]
    assert len(test) == len(test.references) == 90
    for name, label, record in zip(test.row_names, test.labels, test.references, strict=True):
        assert set(record) == {"instance_id", "bag_id", "relation", "bag_label", "sentence"}
        assert record["instance_id"] == name
        assert record["relation"] == data.label_names[label]
        assert record["bag_label"] in ("yes", "no")
    assert {record["bag_label"] for record in data.splits["validation"].references} == {"unk"}
    assert (data.splits["train"].labels == 0).any(), "train has its sampled NA rows"
    assert not (test.labels == 0).any()
    first = json.loads((tmp_path / "data" / "test.json").read_text().splitlines()[0])
    assert test.pair_names == [record["bag_id"] for record in test.references]
    assert test.entity_pairs[0] == f"{first['head']['guid']}\t{first['tail']['guid']}"
    assert test.types[0][0] == first["head"]["type"]
    assert "," in test.types[0][0], "the sample's entities have several types"
    assert test.short_types[0][0] == first["head"]["type"].split(",")[0].split("/")[-1]
    shared = [set(rows.entity_pairs) for rows in (data.splits["train"], data.splits["validation"])]
    assert shared[0] & shared[1], "the same key in every split, though bags are counted anew"
    assert not set(data.splits["train"].pair_names) & set(data.splits["validation"].pair_names)
    found = test.spans[(test.spans >= 0).all(axis=1)]
    assert len(found) > 80


@pytest.mark.skipif(not (SHARED / "semeval2010").is_dir(), reason="../shared/data/semeval2010 is not there")
def test_real_semeval_files() -> None:
    train = read_semeval(SHARED / "semeval2010" / "TRAIN_FILE.TXT")
    data = read_semeval2010(str(SHARED / "semeval2010"))
    assert (len(train), len(data.splits["test"]), len(data.label_names)) == (8000, 2717, 19)
    assert set(data.groups.values()) == {name.partition("(")[0] for name in data.label_names} - {"Other"}
    key = dict(
        line.split("\t")
        for line in (SHARED / "semeval2010" / "TEST_KEY_DIRECTED.txt").read_text().splitlines()
    )
    test = data.splits["test"]
    assert key == {
        name: data.label_names[label] for name, label in zip(test.row_names, test.labels, strict=True)
    }


@pytest.mark.skipif(not (SHARED / "nyt_h_shaped").is_dir(), reason="../shared/data/nyt_h_shaped is not there")
def test_real_sentences_in_nyt_h_format() -> None:
    data = read_nyt_h(str(SHARED / "nyt_h_shaped"))
    assert {split: len(rows) for split, rows in data.splits.items()} == {
        "train": 566,
        "validation": 54,
        "test": 232,
    }
    assert [record["bag_label"] for record in data.splits["test"].references].count("yes") == 81


def test_what_a_corpus_says_of_itself_is_kept(tmp_path: Path) -> None:
    rows = [{"sentence": "Ann left Bonn .", "head": "Ann", "tail": "Bonn", "relation": "left"}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    paths = dict.fromkeys(("train", "validation", "test"), tmp_path / "a.json")
    convert_corpus(tmp_path / "own", **paths, name="Reef", licence="mit", citation="@misc{reef}")
    data = read_nyt_h(str(tmp_path / "own"))
    about = {key: data.about[key] for key in ("name", "licence", "citation", "judged")}
    assert about == {"name": "Reef", "licence": "mit", "citation": "@misc{reef}", "judged": "nobody"}
    assert not data.is_synthetic
    write_sample(tmp_path / "sample", size="tiny")
    sample = read_nyt_h(str(tmp_path / "sample"))
    assert (sample.is_synthetic, sample.about) == (True, None)
