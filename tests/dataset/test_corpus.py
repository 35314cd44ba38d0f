"""Somebody's own corpus: read from every kind of source, written in NYT-H's layout, loaded like NYT-H."""

import json
import re
import tracemalloc

import datasets
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nyt_h_dataset import load_nyt_h
from nyt_h_dataset.__main__ import main
from nyt_h_dataset.conversion import convert_corpus
from nyt_h_dataset.corpus import corpus_rows


def row(relation="left", head="Ann Lee", tail="Bonn", **changes):
    name = head["word"] if isinstance(head, dict) else head
    return {
        "sentence": f"{name} saw {tail} .",
        "head": head,
        "tail": tail,
        "relation": relation,
    } | changes


TRAIN = [
    row(),
    row("no_relation"),
    row("born", head={"word": "Bo Ek", "guid": "Q1", "type": "person"}),
    row(head="ANN LEE", tail="BONN"),
    row("no_relation", head="Bo Ek"),
    row("no_relation", head="Cy Dun"),
]
TEST = [row(bag_label="yes"), row("born", bag_label="no"), row("no_relation", head="Di Fay")]


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def convert(out, train=TRAIN, validation=TRAIN[:1], test=TEST, **options):
    """Convert lists of rows, written as JSON lines beside `out`."""
    given = {"train": train, "validation": validation, "test": test}
    paths = {
        split: None if rows is None else write_lines(out.parent / f"{split}.jsonl", rows)
        for split, rows in given.items()
    }
    return convert_corpus(out, **paths, **{"negative_relation": "no_relation"} | options)


def records(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_both_configs_load_what_was_converted(out, cache):
    info = convert(out)
    assert info.relations == ("NA", "born", "left")
    assert info.num_rows == {
        "train_nonna.json": 3,
        "na_train.json": 2,
        "na_rest.json": 1,
        "dev.json": 1,
        "test.json": 3,
    }
    data = load_nyt_h(out, na="all", cache_dir=cache)
    assert data["train"].num_rows == len(TRAIN)
    first, test = data["train"][0], data["test"]
    assert first["instance_id"] == "TRAIN#0"
    assert (first["head"]["start"], first["head"]["end"], first["tail"]["start"]) == (0, 7, 12)
    assert first["head"]["guid"] == "word:ann lee"
    assert data["train"][1]["head"] == {"guid": "Q1", "word": "Bo Ek", "type": "person", "start": 0, "end": 5}
    assert test["bag_label"][:] == [1, 0, 2]
    bags = load_nyt_h(out, "bag", cache_dir=cache)
    names = bags["test"].features["relations"]
    names = getattr(names, "feature", names[0] if isinstance(names, list) else names).names
    both = bags["test"][0]
    assert [names[i] for i in both["relations"]] == ["left", "born"]
    assert [names[i] for i in both["manual_relations"]] == ["left"]
    # Spelt differently, one entity: the rows 0, 1 and 3 of train make a bag.
    assert len(bags["train"][0]["instances"]) == 3
    assert bags["train"][0]["bag_id"] == both["bag_id"]


def test_the_same_files_from_every_kind_of_source(out, tmp_path):
    convert(out)
    expected = {path.name: path.read_bytes() for path in out.iterdir()}
    # A column of a table has one type, so every head is an object.
    flat = [r | {"head": r["head"] if isinstance(r["head"], dict) else {"word": r["head"]}} for r in TRAIN]
    parquet = tmp_path / "train.parquet"
    datasets.Dataset.from_list(flat).to_parquet(parquet)
    halves = [write_lines(tmp_path / "a.jsonl", TRAIN[:2]), write_lines(tmp_path / "b.jsonl", TRAIN[2:])]
    labels = datasets.ClassLabel(names=["left", "no_relation", "born"])
    labelled = datasets.Dataset.from_list(flat).cast_column("relation", labels)
    sources = {
        "parquet": parquet,
        "files": halves,
        "dataset": labelled,
        "stream": labelled.to_iterable_dataset(),
    }
    for name, source in sources.items():
        info = convert_corpus(
            tmp_path / name,
            train=source,
            validation=tmp_path / "validation.jsonl",
            test=tmp_path / "test.jsonl",
            negative_relation="no_relation",
        )
        assert {path.name: path.read_bytes() for path in info.path.iterdir()} == expected, name


def test_parquet_written_by_dask_is_read_in_the_order_of_its_parts(tmp_path, cache):
    frames = pytest.importorskip("dask.dataframe", reason="dask with its data frames is not installed")
    rows = [row("left" if i % 3 else "NA", head=f"Ann{i} Lee") for i in range(36)]
    frame = frames.from_pandas(pd.DataFrame(rows), npartitions=12)
    frame.to_parquet(tmp_path / "corpus")
    assert len(list((tmp_path / "corpus").glob("part.*.parquet"))) == 12
    assert [found.head.word for found in corpus_rows(tmp_path / "corpus")] == [r["head"] for r in rows]
    test = write_lines(tmp_path / "test.jsonl", TEST[:1])
    info = convert_corpus(tmp_path / "out", train=tmp_path / "corpus", test=test, validation=test)
    loaded = load_nyt_h(info.path, na="all", cache_dir=cache)["train"]
    assert sorted(loaded["sentence"][:]) == sorted(r["sentence"] for r in rows)


def test_files_that_spark_puts_beside_the_data_are_passed_over(tmp_path):
    folder = tmp_path / "spark"
    folder.mkdir()
    name = "part-{:05}-4f2c.c000.snappy.parquet"
    for number in (1, 0):
        frame = pd.DataFrame([row(head=f"Ann{number}")])
        frame.to_parquet(folder / name.format(number), compression="snappy")
    (folder / "_SUCCESS").touch()
    (folder / ("." + name.format(0) + ".crc")).write_bytes(b"crc")
    (folder / "_temporary.parquet").write_bytes(b"")
    assert [found.head.word for found in corpus_rows(folder)] == ["Ann0", "Ann1"]


def test_columns_by_their_own_names(out):
    renamed = [
        {"text": r["sentence"], "subj": r["head"], "obj": r["tail"], "label": r["relation"], "head": 7}
        for r in TRAIN
    ]
    names = {"sentence": "text", "head": "subj", "tail": "obj", "relation": "label"}
    convert(out, train=renamed, validation=renamed, test=renamed, columns=names)
    assert records(out / "test.json")[0]["head"]["word"] == "Ann Lee"


def test_ids_of_the_corpus_are_kept(out):
    with_ids = [record | {"instance_id": f"my-{i}"} for i, record in enumerate(TRAIN)]
    convert(out, train=with_ids)
    assert [r["instance_id"] for r in records(out / "na_train.json")] == ["my-1", "my-4"]


def pairs(*paths):
    return {record["bag_id"] for path in paths for record in records(path)}


def test_validation_is_drawn_by_pair_and_seed_whatever_the_order(tmp_path):
    rows = [row("left" if i % 3 else "no_relation", head=f"Ann{i % 60}") for i in range(180)]

    def drawn(name, rows, seed):
        (tmp_path / name).mkdir()
        info = convert(tmp_path / name / "out", train=rows, validation=None, seed=seed)
        train = [info.path / file for file in ("train_nonna.json", "na_train.json", "na_rest.json")]
        assert sum(info.num_rows.values()) == len(rows) + len(TEST)
        assert not pairs(info.path / "dev.json") & pairs(*train)
        return pairs(info.path / "dev.json")

    first = drawn("a", rows, 0)
    assert 1 <= len(first) <= 18
    assert drawn("b", rows[::-1], 0) == first
    assert drawn("c", rows, 1) != first


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["left", "born", "no_relation"]), st.sampled_from(["A", "B", "É", "a "])),
        min_size=1,
        max_size=12,
    )
)
def test_no_row_is_lost(tmp_path_factory, drawn):
    out = tmp_path_factory.mktemp("lossless") / "out"
    rows = [*TRAIN, *(row(relation, head=head) for relation, head in drawn)]
    info = convert(out, train=rows, validation=rows, test=rows)
    for files in (["train_nonna.json", "na_train.json", "na_rest.json"], ["dev.json"], ["test.json"]):
        written = [record for name in files for record in records(info.path / name)]
        assert sorted(r["sentence"] for r in written) == sorted(r["sentence"] for r in rows)
    by_id = {r["instance_id"]: r for name in info.num_rows for r in records(info.path / name)}
    assert len(by_id) == 3 * len(rows)
    for number, given_row in enumerate(rows):
        relation = given_row["relation"]
        assert by_id[f"TEST#{number}"]["relation"] == ("NA" if relation == "no_relation" else relation)


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    test = write_lines(tmp_path / "test.jsonl", TEST)

    def peak(times):
        rows = (row(r["relation"], head=f"Ann{i}") for i in range(times) for r in TRAIN)
        train = write_lines(tmp_path / f"{times}.jsonl", rows)
        tracemalloc.start()
        convert_corpus(
            tmp_path / str(times), train=train, validation=test, test=test, negative_relation="no_relation"
        )
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(1000) < 1.5 * peak(50)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentence": 3}, r"train\.jsonl:2: `sentence` must be a string; got int '3'"),
        ({"sentence": " "}, r"train\.jsonl:2: `sentence` is empty; every row needs one"),
        ({"tail": None}, r"train\.jsonl:2: `tail` must be a string; got NoneType"),
        ({"head": {"name": "x"}}, r"train\.jsonl:2: `head` has no key `word`; it has 'name'"),
        ({"head": {"word": "x", "guid": 5}}, r"train\.jsonl:2: `head\.guid` must be a string; got int '5'"),
        ({"bag_label": "maybe"}, r"train\.jsonl:2: `bag_label` must be one of 'no', 'yes', 'unk'; got str"),
        ({"sentence": "\ud83d"}, r"train\.jsonl:2: `sentence` holds half of a surrogate pair"),
        ({"relation": "NA"}, r"train\.jsonl:2: the relation 'NA' means 'no relation' in NYT-H, and"),
    ],
)
def test_a_bad_value_is_named_with_file_and_line(out, change, message):
    with pytest.raises(ValueError, match=message):
        convert(out, train=[TRAIN[0], TRAIN[1] | change])
    assert not out.exists()
    assert sorted(path.suffix for path in out.parent.iterdir()) == [".jsonl"] * 3


def test_a_missing_column_is_named(out):
    bad = {"text": "x", "head": "a", "tail": "b"}
    with pytest.raises(
        ValueError, match=r":1: the column 'sentence' is missing \(2 of 4\); the row has 'text'"
    ):
        convert(out, train=[bad])


def test_lines_that_are_no_objects(out, tmp_path):
    convert(out)
    (tmp_path / "train.jsonl").write_bytes(json.dumps(TRAIN[0]).encode() + b'\n{"sentence": "caf\xe9"}\n')
    with pytest.raises(ValueError, match=r"train\.jsonl:2: byte 18 of the line \(0xe9\) is not UTF-8"):
        list(corpus_rows(tmp_path / "train.jsonl"))
    (tmp_path / "train.jsonl").write_bytes(b"\xef\xbb\xbf\n" + json.dumps(TRAIN[0]).encode() + b'\n{"a": ')
    with pytest.raises(ValueError, match=r"train\.jsonl:3: not valid JSON"):
        list(corpus_rows(tmp_path / "train.jsonl"))


def test_ids_that_come_twice(out):
    twice = [TRAIN[0] | {"instance_id": "x"}, TRAIN[1] | {"instance_id": "x"}]
    with pytest.raises(
        ValueError, match=r"train\.jsonl:2: the instance id 'x' was there before; ids must be"
    ):
        convert(out, train=twice)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"train": TRAIN[:1]},
            r"train has 0 rows of the negative relation 'no_relation', and two are needed",
        ),
        ({"train": TRAIN[:2]}, r"train has 1 rows of the negative relation"),
        (
            {"train": [TRAIN[1]] * 3},
            r"there are no rows for train with a relation; every split needs some\.$",
        ),
        ({"test": []}, r"there are no rows for test; every split needs some"),
        ({"validation": []}, r"there are no rows for validation; every split needs some\.$"),
        (
            {"validation": None, "validation_fraction": 1e-9},
            r"no rows for validation; every split needs some\. Give a validation file, or a larger",
        ),
        ({"validation_fraction": 1.0}, r"`validation_fraction` must lie between 0 and 1; got 1\.0"),
        (
            {"columns": {"subj": "head"}},
            r"`columns` must name some of 'sentence', .*; got 'subj' \(1 unknown",
        ),
        ({"columns": {"head": "tail"}}, r"`columns` uses the column 'tail' for two things"),
    ],
)
def test_what_cannot_be_converted(out, changes, message):
    with pytest.raises(ValueError, match=message):
        convert(out, **changes)
    assert not out.exists()


def test_sources_that_are_none(out, tmp_path):
    path = write_lines(tmp_path / "x.jsonl", TEST)
    with pytest.raises(TypeError, match=r"`seed` must be an int; got '1'"):
        convert(out, seed="1")
    with pytest.raises(
        TypeError, match=r"a corpus must be a path, several paths, or a Dataset .*; got DatasetDict"
    ):
        corpus_rows(datasets.DatasetDict(train=datasets.Dataset.from_list(TRAIN[:1])))
    with pytest.raises(ValueError, match=r"a corpus must be at least one file; got an empty list"):
        corpus_rows([])
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jsonl does not exist; give a JSON-lines file"):
        list(corpus_rows([path, tmp_path / "nowhere.jsonl"]))
    with pytest.raises(FileNotFoundError, match=r"is a folder without a Parquet file"):
        list(corpus_rows(tmp_path))
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"x\.parquet is not a readable Parquet file .* Is it cut off\?"):
        list(corpus_rows(tmp_path / "x.parquet"))
    unlabelled = datasets.Dataset.from_list([row()]).cast_column(
        "relation", datasets.ClassLabel(names=["left"])
    )
    unlabelled = unlabelled.map(lambda record: {"relation": -1})
    with pytest.raises(ValueError, match=r"row 0 of the Dataset: `relation` must be a string; got NoneType"):
        list(corpus_rows(unlabelled))


def test_the_command_converts(out, tmp_path, cache, capsys):
    train = write_lines(tmp_path / "train.jsonl", [r | {"subj": r["head"]} for r in TRAIN])
    test = write_lines(tmp_path / "test.jsonl", [r | {"subj": r["head"]} for r in TEST])
    arguments = ["convert", "--train", str(train), "--validation", str(test), "--test", str(test)]
    arguments += ["--out", str(out), "--columns", "head=subj", "--negative_relation", "no_relation"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert re.search(r"train_nonna\.json +3 rows", shown)
    assert load_nyt_h(out, "bag", cache_dir=cache)["test"].num_rows == 2
    assert main(arguments) == 2
    assert "is not empty" in capsys.readouterr().err
    assert main([*arguments, "--overwrite"]) == 0
    with pytest.raises(SystemExit):
        main([*arguments, "--columns", "head"])
    assert "'head' is no pair; write OURS=THEIRS" in capsys.readouterr().err
