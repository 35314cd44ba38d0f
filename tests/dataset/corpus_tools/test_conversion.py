"""A corpus written in NYT-H's layout and loaded like NYT-H."""

import json
import re
import tracemalloc

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nyt_h_dataset import convert_corpus, load_nyt_h
from nyt_h_dataset.__main__ import main


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


@settings(max_examples=25)
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


def test_ids_that_come_twice(out):
    twice = [TRAIN[0] | {"instance_id": "x"}, TRAIN[1] | {"instance_id": "x"}]
    with pytest.raises(
        ValueError, match=r"train\.jsonl:2: the instance id 'x' was there before; ids must be"
    ):
        convert(out, train=twice)


def test_a_fault_leaves_nothing(out):
    message = r"train\.jsonl:2: the relation 'NA' means 'no relation' in NYT-H, and `negative_relation` is"
    with pytest.raises(ValueError, match=message):
        convert(out, train=[TRAIN[0], TRAIN[1] | {"relation": "NA"}])
    assert {path.suffix for path in out.parent.iterdir()} == {".jsonl"}
    with pytest.raises(TypeError, match=r"`seed` must be an int; got '1'"):
        convert(out, seed="1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
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
