"""Reading somebody's own corpus: JSON lines, Parquet as Dask and Spark write it, a Dataset."""

import json

import datasets
import pandas as pd
import pytest

from nyt_h_dataset import convert_corpus, load_nyt_h
from nyt_h_dataset.corpus_tools.corpus import corpus_rows


def row(relation="left", head="Ann Lee", tail="Bonn", **changes):
    name = head["word"] if isinstance(head, dict) else head
    return {
        "sentence": f"{name} saw {tail} .",
        "head": head,
        "tail": tail,
        "relation": relation,
    } | changes


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_parquet_written_by_dask_is_read_in_the_order_of_its_parts(tmp_path, cache):
    frames = pytest.importorskip("dask.dataframe", reason="dask with its data frames is not installed")
    rows = [row("left" if i % 3 else "NA", head=f"Ann{i} Lee") for i in range(36)]
    frame = frames.from_pandas(pd.DataFrame(rows), npartitions=12)
    frame.to_parquet(tmp_path / "corpus")
    assert len(list((tmp_path / "corpus").glob("part.*.parquet"))) == 12
    assert [found.head.word for found in corpus_rows(tmp_path / "corpus")] == [r["head"] for r in rows]
    test = write_lines(tmp_path / "test.jsonl", [row()])
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentence": 3}, r"train\.jsonl:2: `sentence` must be a string; got int '3'"),
        ({"sentence": " "}, r"train\.jsonl:2: `sentence` is empty; every row needs one"),
        ({"tail": None}, r"train\.jsonl:2: `tail` must be a string; got NoneType"),
        ({"head": {"text": "x"}}, r"train\.jsonl:2: `head` has no key `word`; it has 'text'"),
        ({"head": {"word": "x", "guid": 0.5}}, r"train\.jsonl:2: `head\.guid` must be a string; got float"),
        ({"bag_label": "maybe"}, r"train\.jsonl:2: `bag_label` must be one of 'no', 'yes', 'unk'; got str"),
        ({"sentence": "\ud83d"}, r"train\.jsonl:2: `sentence` holds half of a surrogate pair"),
        ({"relation": 3}, r"train\.jsonl:2: `relation` must be a string; got int '3'"),
    ],
)
def test_a_bad_value_is_named_with_file_and_line(tmp_path, change, message):
    path = write_lines(tmp_path / "train.jsonl", [row(), row() | change])
    with pytest.raises(ValueError, match=message):
        list(corpus_rows(path))


def test_a_missing_column_is_named(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", [{"text": "x", "head": "a", "tail": "b"}])
    with pytest.raises(
        ValueError, match=r":1: the column 'sentence' is missing \(2 of 4\); the row has 'text'"
    ):
        list(corpus_rows(path))


def test_lines_that_are_no_objects(tmp_path):
    (tmp_path / "train.jsonl").write_bytes(json.dumps(row()).encode() + b'\n{"sentence": "caf\xe9"}\n')
    with pytest.raises(ValueError, match=r"train\.jsonl:2: byte 18 of the line \(0xe9\) is not UTF-8"):
        list(corpus_rows(tmp_path / "train.jsonl"))
    (tmp_path / "train.jsonl").write_bytes(b"\xef\xbb\xbf\n" + json.dumps(row()).encode() + b'\n{"a": ')
    with pytest.raises(ValueError, match=r"train\.jsonl:3: not valid JSON"):
        list(corpus_rows(tmp_path / "train.jsonl"))


def test_sources_that_are_none(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", [row()])
    with pytest.raises(
        TypeError, match=r"a corpus must be a path, several paths, or a Dataset .*; got DatasetDict"
    ):
        corpus_rows(datasets.DatasetDict(train=datasets.Dataset.from_list([row()])))
    with pytest.raises(ValueError, match=r"a corpus must be at least one file; got an empty list"):
        corpus_rows([])
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jsonl does not exist; give a JSON-lines file"):
        list(corpus_rows([path, tmp_path / "nowhere.jsonl"]))
    with pytest.raises(FileNotFoundError, match=r"is a folder without a Parquet file"):
        list(corpus_rows(tmp_path))
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"x\.parquet is not a readable Parquet file .* Is it cut off or"):
        list(corpus_rows(tmp_path / "x.parquet"))
    pd.DataFrame([row(head=f"Ann{i}") for i in range(2000)]).to_parquet(tmp_path / "y.parquet")
    damaged = bytearray((tmp_path / "y.parquet").read_bytes())
    damaged[100:4000] = b"\xff" * 3900
    (tmp_path / "y.parquet").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"y\.parquet is not a readable Parquet file .* or damaged\?"):
        list(corpus_rows(tmp_path / "y.parquet"))
    unlabelled = datasets.Dataset.from_list([row()]).cast_column(
        "relation", datasets.ClassLabel(names=["left"])
    )
    unlabelled = unlabelled.map(lambda record: {"relation": -1})
    with pytest.raises(ValueError, match=r"row 0 of the Dataset: `relation` must be a string; got NoneType"):
        list(corpus_rows(unlabelled))
