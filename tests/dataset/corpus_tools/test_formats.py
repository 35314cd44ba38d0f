"""Corpora as people have them: converted without hand work, ids and positions kept, rows in = rows out."""

import json

import datasets
import pandas as pd
import pytest

from nyt_h_dataset import convert_corpus, load_nyt_h
from nyt_h_dataset.card.export import export_nyt_h
from nyt_h_dataset.corpus_tools.corpus import corpus_rows
from tests.dataset.conftest import make_record

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
    relation = {"left": "Entity-Origin(e1,e2)", "none": "Other"}[relation]
    return f'{number + 1}\t"{tagged}"\n{relation}\nComment:\n\n'


def flat(path, records):
    """Parquet with a column for each thing, as people export it."""
    columns = {
        "text": [TEXT] * len(records),
        "subj": ["Ann Lee"] * len(records),
        "obj": ["Bonn"] * len(records),
    }
    columns |= {"subj_id": [r["head"]["id"] for r in records], "subj_from": [0] * len(records)}
    columns |= {"subj_to": [7] * len(records), "tail_pos": [[22, 26]] * len(records)}
    pd.DataFrame(columns | {"label": [r["relation"] for r in records]}).to_parquet(path)


FORMATS = {
    "opennre text": (lines, opennre),
    "opennre tokens": (lines, lambda *row: opennre(*row, tokens=True)),
    "opennre array": (array, opennre),
    "tacred": (array, tacred),
    "columns": (lines, named),
    "columns of Parquet": (flat, named),
    "semeval": (semeval, semeval_record),
}


# How the columns of the Parquet file are called.
NAMES = {"sentence": "text", "head": "subj", "tail": "obj", "relation": "label"}
NAMES |= {"head_id": "subj_id", "head_start": "subj_from", "head_end": "subj_to"}


@pytest.mark.parametrize("relations", [["left", "none"] * 2, ["left", "none"], ["left"] * 3], ids=len)
@pytest.mark.parametrize("name", FORMATS)
def test_a_corpus_is_converted_as_it_is(name, relations, tmp_path, cache):
    """With several rows of the negative relation, with one and with none."""
    write, record = FORMATS[name]
    ending = "parquet" if write is flat else "txt"
    sources = {split: tmp_path / f"{split}.{ending}" for split in ("train", "validation", "test")}
    for at, path in enumerate(sources.values()):
        write(path, [record(relation, 10 * at + i) for i, relation in enumerate(relations)])
    info = convert_corpus(
        tmp_path / "out",
        **sources,
        negative_relation="Other" if name == "semeval" else "none",
        columns=NAMES if write is flat else None,
    )
    data = load_nyt_h(info.path, na="all", cache_dir=cache)
    assert {len(data[split]) for split in sources} == {len(relations)}, "rows in = rows out"
    assert len(data.get("na", ())) == relations.count("none")
    for row in [*data["train"], *data["test"]]:
        assert {e: (row[e]["start"], row[e]["end"]) for e in SPANS} == SPANS
        assert row["mention_status"] == 0
    guids = {row["head"]["guid"] for row in data["test"]}
    assert len(guids) == (1 if name in ("tacred", "semeval") else len(relations)), "ids are kept"


@pytest.mark.parametrize("config", ["sentence", "bag"])
def test_a_corpus_without_negative_rows_streams_and_is_exported(config, tmp_path, cache, caplog):
    lines(tmp_path / "a.jsonl", [named("left", i) for i in range(3)])
    path = tmp_path / "a.jsonl"
    convert_corpus(tmp_path / "out", train=path, validation=path, test=path)
    assert "'NA'" in caplog.text
    assert "'left'" in caplog.text, "a misspelt name would be seen"
    streams = load_nyt_h(tmp_path / "out", config, streaming=True)
    assert {split: len(list(rows)) for split, rows in streams.items()} == {
        "train": 3, "validation": 3, "test": 3,
    }  # fmt: skip
    info = export_nyt_h(tmp_path / "out", tmp_path / "hub", cache_dir=cache, figures=False)
    assert info.num_rows[config] == dict.fromkeys(streams, 3)
    loaded = datasets.load_dataset(str(tmp_path / "hub"), config, cache_dir=str(cache))
    assert {split: len(rows) for split, rows in loaded.items()} == info.num_rows[config]
    (tmp_path / "out" / "ABOUT.json").unlink()
    with pytest.raises(ValueError, match=r"na_train\.json holds no records"):
        load_nyt_h(tmp_path / "out", config, cache_dir=tmp_path / "another")


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
def test_places_that_contradict_the_word_are_refused_and_counted(tmp_path, head):
    """USER_REPORTS 51."""
    wrong = named("left", 1) | {"head": head}
    lines(tmp_path / "a.jsonl", [named("left", 0), wrong, named("left", 2), wrong])
    start, end = head.get("pos") or (head["start"], head["end"])
    with pytest.raises(ValueError, match=rf"a\.jsonl:2: .*'Ann Lee', but {TEXT[start:end]!r}.* 2 of 4\."):
        list(corpus_rows(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("streaming", [False, True])
def test_a_place_in_a_data_file_is_compared_with_the_word(folder, cache, streaming):
    folder.records["test.json"] += [make_record(f"TEST#{i}") for i in (2, 3)]
    for number in (1, 3):
        folder.records["test.json"][number]["head"] |= {"start": 0, "end": 3}
    folder.write()
    with pytest.raises(ValueError, match=r"test\.json:2: .*'Ann Lee', but 'Ann'.* 2 of 4\b"):
        list(load_nyt_h(folder.path, split="test", cache_dir=cache, streaming=streaming))


def test_keys_of_an_entity_that_are_not_known_are_reported(tmp_path, caplog):
    record = named("left", 0)
    record["head"]["wikidata"] = "Q1"
    lines(tmp_path / "a.jsonl", [record, record | {"instance_id": 7}])
    assert [row.instance_id for row in corpus_rows(tmp_path / "a.jsonl")] == ["", "7"]
    assert caplog.text.count("wikidata") == 1
