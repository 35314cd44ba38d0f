"""Corpora as people have them: converted without hand work, ids and positions kept, rows in = rows out."""

import json

import pytest

from nyt_h_dataset import convert_corpus, load_nyt_h
from nyt_h_dataset.corpus_tools.corpus import corpus_rows

TEXT = "Ann Lee left Bonn for Bonn ."
TOKENS = TEXT.split()
# The second "Bonn" is meant, which a search for the first would miss.
SPANS = {"head": (0, 7), "tail": (22, 26)}


def opennre(relation, number, *, tokens=False, **changes):
    place = {"h": [0, 2], "t": [5, 6]} if tokens else {"h": [0, 7], "t": [22, 26]}
    sentence = {"token": TOKENS} if tokens else {"text": TEXT}
    entities = {
        "h": {"id": f"Q{number}", "name": "ann lee", "pos": place["h"]},
        "t": {"id": "Q586", "name": "Bonn", "pos": place["t"]},
    }
    return {**sentence, **entities, "relation": relation} | changes


def tacred(relation, number):
    spans = {"subj_start": 0, "subj_end": 1, "obj_start": 5, "obj_end": 5}
    types = {"subj_type": "PERSON", "obj_type": "CITY"}
    return {"id": f"t{number}", "token": TOKENS, "relation": relation, **spans, **types}


def named(relation, number):
    head = {"word": "Ann Lee", "id": number, "start": 0, "end": 7}
    return {"sentence": TEXT, "head": head, "tail": {"word": "Bonn", "pos": [22, 26]}, "relation": relation}


def lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def array(path, records):
    path.write_text(json.dumps(records))


def semeval(path, records):
    path.write_text("".join(records))


def semeval_record(relation, number):
    tagged = "<e1>Ann Lee</e1> left Bonn for <e2>Bonn</e2> ."
    return f'{number + 1}\t"{tagged}"\n{relation}\nComment:\n\n'


FORMATS = {
    "opennre text": (lines, opennre),
    "opennre tokens": (lines, lambda *row: opennre(*row, tokens=True)),
    "opennre array": (array, opennre),
    "tacred": (array, tacred),
    "columns": (lines, named),
    "semeval": (semeval, semeval_record),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_corpus_is_converted_as_it_is(name, tmp_path, cache):
    write, record = FORMATS[name]
    for split in ("train", "test"):
        relations = ["left", "none", "left", "none", "left"]
        number = 0 if split == "train" else 5
        path = tmp_path / f"{split}.txt"
        write(path, [record(relation, number + i) for i, relation in enumerate(relations)])
    sources = {"train": tmp_path / "train.txt", "validation": tmp_path / "test.txt"}
    if name in ("tacred", "semeval"):
        del sources["validation"]
        sources["validation"] = tmp_path / "dev.txt"
        write(sources["validation"], [record("left", 99)])
    info = convert_corpus(tmp_path / "out", **sources, test=tmp_path / "test.txt", negative_relation="none")
    data = load_nyt_h(info.path, na="all", cache_dir=cache)
    assert len(data["train"]) == len(data["test"]) == 5, "rows in = rows out"
    for row in [*data["train"], *data["test"]]:
        assert {e: (row[e]["start"], row[e]["end"]) for e in SPANS} == SPANS
        assert row["mention_status"] == 0
    guids = {row["head"]["guid"] for row in data["test"]}
    expected = {"opennre": 5, "columns": 5}.get(name.split()[0], 1)
    assert len(guids) == expected, "ids are kept"


def test_nyt10m_has_a_row_for_each_relation_that_is_distant_or_annotated(tmp_path):
    record = opennre("left", 0) | {"anno_relation_list": ["born", "left"]}
    other = opennre("left", 1) | {"anno_relation_list": ["NA"]}
    none = {k: v for k, v in opennre("", 2).items() if k != "relation"} | {"anno_relation_list": []}
    lines(tmp_path / "a.txt", [record, other, none])
    found = [(row.relation, row.bag_label) for row in corpus_rows(tmp_path / "a.txt")]
    assert found == [("left", "yes"), ("born", "yes"), ("left", "no"), ("NA", "unk")]


@pytest.mark.parametrize(
    "head",
    [
        {"word": "Ann Lee", "start": 0, "end": 2},
        {"word": "Ann Lee", "start": 1, "end": 8},
        {"name": "Ann Lee", "pos": [0, 3]},
    ],
)
def test_a_place_that_contradicts_the_word_is_refused(tmp_path, head):
    """USER_REPORTS 51."""
    lines(tmp_path / "a.jsonl", [named("left", 0), named("left", 1) | {"head": head}])
    start, end = head.get("pos") or (head["start"], head["end"])
    with pytest.raises(ValueError, match=rf"a\.jsonl:2: .*'Ann Lee', but {TEXT[start:end]!r}"):
        list(corpus_rows(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("streaming", [False, True])
def test_a_place_in_a_data_file_is_compared_with_the_word(folder, cache, streaming):
    folder.records["test.json"][1]["head"] |= {"start": 0, "end": 3}
    folder.write()
    with pytest.raises(ValueError, match=r"'TEST#1'.*'Ann Lee' is said to be 'Ann'"):
        list(load_nyt_h(folder.path, split="test", cache_dir=cache, streaming=streaming))


def test_keys_of_an_entity_that_are_not_known_are_reported(tmp_path, caplog):
    record = named("left", 0)
    record["head"]["wikidata"] = "Q1"
    lines(tmp_path / "a.jsonl", [record, record | {"instance_id": 7}])
    assert [row.instance_id for row in corpus_rows(tmp_path / "a.jsonl")] == ["", "7"]
    assert caplog.text.count("wikidata") == 1
