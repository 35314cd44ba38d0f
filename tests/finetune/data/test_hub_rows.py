"""Datasets with columns: ours as exported, others by name, and what does not fit."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from finetune.arguments import DataArguments
from finetune.data.hub_rows import read_hub
from finetune.data.nyt_h_rows import read_nyt_h
from finetune.data.readers import read_data

ROW = {
    "token": ["Ann", "Lee", "heads", "Acme"],
    "rel": "per:employee_of",
    "subj_start": 0, "subj_end": 2, "obj_start": 3, "obj_end": 4,
    "subj_type": "PERSON", "obj_type": "ORG",
}  # fmt: skip
COLUMNS = [
    "sentence=token", "relation=rel", "head_start=subj_start", "head_end=subj_end", "tail_start=obj_start",
    "tail_end=obj_end", "head_type=subj_type", "tail_type=obj_type",
]  # fmt: skip


def write(folder: Path, **splits: list[dict[str, Any]]) -> str:
    """A local folder that `load_dataset` takes: a JSON lines file a split."""
    other = ROW | {"rel": "no_relation"}
    for name, rows in {"train": [ROW, other], "test": [other], **splits}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_other_columns_and_tokens(tmp_path: Path) -> None:
    data = read_hub(write(tmp_path), columns=COLUMNS, negative_relation="no_relation")
    assert data.label_names == ("no_relation", "per:employee_of")
    train = data.splits["train"]
    assert train.sentences == ["Ann Lee heads Acme"] * 2
    assert train.spans.tolist() == [[0, 7, 14, 18]] * 2
    assert train.labels.tolist() == [1, 0]
    assert train.types == [("PERSON", "ORG")] * 2
    assert train.row_names == ["train#0", "train#1"]
    assert train.pair_names == ["ann lee\tacme"] * 2
    assert not data.has_human_labels


def test_an_export_gives_what_the_release_gives(sample: Path, tmp_path: Path) -> None:
    """`nyt_h_dataset export`, then `--data hub`: the same rows as `--data nyt_h`, with the NA split."""
    from nyt_h_dataset.__main__ import main

    out = tmp_path / "export"
    assert main(["export", "--no_figures", "--data_dir", str(sample), "--out", str(out)]) == 0
    ours = read_nyt_h(str(sample), with_na=True)
    theirs = read_hub(str(out), dataset_config="sentence", negative_relation="NA", with_na=True)
    # The export mixes NA rows among the others of train, so that the beginning of a stream is like the whole.
    order = np.argsort(theirs.splits["train"].row_names), np.argsort(ours.splits["train"].row_names)
    theirs, ours = (
        replace(data, name="nyt_h", splits={**data.splits, "train": data.splits["train"].select(rows)})
        for data, rows in zip((theirs, ours), order, strict=True)
    )
    assert theirs.fingerprint == ours.fingerprint
    assert theirs.splits["test"].references == ours.splits["test"].references
    assert "na" not in read_hub(str(out), negative_relation="NA").splits


def class_labels(names: list[str]) -> Dataset:
    features = Features(
        {
            "sentence": Value("string"),
            "relation": ClassLabel(names=names),
            "subj": {"start": Value("int32"), "end": Value("int32"), "word": Value("string")},
            "tail": {"start": Value("int32"), "end": Value("int32")},
            "bag_id": Value("string"),
            "bag_label": ClassLabel(names=["unk", "yes", "no"]),
        }
    )
    subj, tail = {"start": 0, "end": 3, "word": "Ann"}, {"start": -1, "end": -1}
    row = {
        "sentence": "Ann left Rome.",
        "relation": 0,
        "subj": subj,
        "tail": tail,
        "bag_id": "b",
        "bag_label": 2,
    }
    return Dataset.from_list([row], features=features)


def loader(monkeypatch: pytest.MonkeyPatch, **splits: Dataset) -> None:
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: DatasetDict(splits))


def test_class_labels_and_human_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["lived", "none_of_them", "born"]
    loader(monkeypatch, train=class_labels(names), dev=class_labels(names), test=class_labels(names))
    data = read_hub("x", columns=["head=subj"], negative_relation="none_of_them")
    assert data.label_names == ("lived", "none_of_them", "born"), "in the order of the ids; 0 is no NA"
    assert list(data.splits) == ["train", "validation", "test"]
    test = data.splits["test"]
    assert test.spans.tolist() == [[0, 3, -1, -1]]
    assert test.references == [
        {
            "instance_id": "test#0",
            "bag_id": "b",
            "relation": "lived",
            "bag_label": "no",
            "sentence": "Ann left Rome.",
        }
    ]
    assert test.entity_pairs == ["ann\t"], "an entity without a place and a word"
    loader(monkeypatch, train=class_labels(names), test=class_labels(["lived", "born"]))
    with pytest.raises(
        ValueError, match=r"x, test: the relations are not .* difference is \['none_of_them'\]"
    ):
        read_hub("x", columns=["head=subj"], negative_relation="born")
    loader(monkeypatch, train=class_labels(names), test=class_labels(names[::-1]))
    with pytest.raises(ValueError, match="the difference is their order"):
        read_hub("x", columns=["head=subj"], negative_relation="born")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subj_end": 5}, r"test, row 0: the head's tokens 0 to 5 \(exclusive\) are not among the 4 tokens"),
        ({"subj_end": None}, "the head's place must be two integers; got 0 and None"),
        ({"rel": None}, "`relation` must be a string or a class with a name; got None"),
        ({"token": None}, "`sentence` must be a text or a list of tokens; got None"),
        ({"obj_start": 0, "obj_end": 2}, "head and tail have the same span"),
        ({"bag_label": "maybe"}, "`bag_label` must be one of no, yes, unk; got 'maybe'"),
        ({"instance_id": ""}, "`instance_id` is empty"),
    ],
)
def test_broken_rows(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    whole = ROW | {"rel": "no_relation", "bag_label": "yes", "instance_id": "7"}
    folder = write(tmp_path, train=[whole], test=[whole | change])
    with pytest.raises(ValueError, match=message + r".* cannot be used: 1 of 1\."):
        read_hub(folder, columns=COLUMNS, negative_relation="no_relation")


@pytest.mark.parametrize("types", [["PERSON", "ARTIST"], 3])
def test_types_that_are_no_texts(types: object, tmp_path: Path) -> None:
    rows = [ROW | {"subj_type": types}]
    folder = write(tmp_path, train=rows, test=rows)
    with pytest.raises(ValueError, match="train, row 0: the head's type must be a text, several divided by"):
        read_hub(folder, columns=COLUMNS, negative_relation="per:employee_of")


def test_duplicate_ids(tmp_path: Path) -> None:
    folder = write(tmp_path, train=[ROW | {"instance_id": 7}], test=[ROW | {"instance_id": 7}] * 2)
    with pytest.raises(ValueError, match=r"test, row 1: the id '7' is there already \(.*test, row 0\)"):
        read_hub(folder, columns=COLUMNS, negative_relation="no_relation")


def test_columns_and_splits_that_are_not_there(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with pytest.raises(
        ValueError, match=r"no column 'sentence' for `sentence`; .* `--columns sentence=COLUMN`"
    ):
        read_hub(folder, negative_relation="no_relation")
    with pytest.raises(ValueError, match="there is no column 'label' for `bag_label`"):
        read_hub(folder, columns=[*COLUMNS, "bag_label=label"], negative_relation="no_relation")
    with pytest.raises(
        ValueError, match=r"`--columns` takes entries such as head=subj .* got 'subject=subj'"
    ):
        read_hub(folder, columns=["subject=subj"])
    with pytest.raises(ValueError, match="got 'head'"):
        read_hub(folder, columns=["head"])
    with pytest.raises(ValueError, match=r"which relation means that there is none. none is given"):
        read_hub(folder, columns=COLUMNS)
    (tmp_path / "test.jsonl").unlink()
    with pytest.raises(ValueError, match="has no test split; it has train"):
        read_hub(folder, columns=COLUMNS, negative_relation="no_relation")


def test_datasets_that_do_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"`--dataset_name` '.*nowhere':"):
        read_hub(str(tmp_path / "nowhere"), negative_relation="NA")
    for error in (RuntimeError("scripts are no\nlonger supported"), ConnectionError("no\nlonger")):

        def fail(*_: Any, error: Exception = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr("datasets.load_dataset", fail)
        with pytest.raises(ValueError, match=r"`--dataset_name` 'a/b' does not load: .*no longer"):
            read_hub("a/b", negative_relation="NA")


def test_name_config_and_revision_reach_the_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load(*words: Any, **options: Any) -> DatasetDict:
        asked.append((words, options))
        return DatasetDict(train=class_labels(["r", "NA"]), test=class_labels(["r", "NA"]))

    monkeypatch.setattr("datasets.load_dataset", load)
    arguments = DataArguments(
        data="hub", dataset_name="a/b", dataset_config="c", dataset_revision="d", columns=["head=subj"],
        negative_relation="NA", validation_fraction=0,
    )  # fmt: skip
    assert read_data(arguments).negative_relation == "NA"
    assert asked == [(("a/b", "c"), {"revision": "d"})]


def test_rows_of_parquet_without_names(tmp_path: Path) -> None:
    """Integers are no relation: their names are nowhere."""
    row = {
        "sentence": "Ann left",
        "relation": 1,
        "head": {"start": 0, "end": 3},
        "tail": {"start": 4, "end": 8},
    }
    for split in ("train", "test"):
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / f"{split}.parquet")
    with pytest.raises(ValueError, match="`relation` must be a string or a class with a name; got 1"):
        read_hub(str(tmp_path), negative_relation="NA")


def test_the_command_says_it_in_one_line(
    tmp_path: Path, words_for: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    from finetune.__main__ import main

    words = words_for(tmp_path, tmp_path / "run", "--data", "hub", "--dataset_name", str(tmp_path / "x"))
    assert main(words) == 2
    assert "`--data_dir` is a flag of `--data nyt_h` or" in capsys.readouterr().err
    words = [word for word in words if word not in ("--data_dir", str(tmp_path))]
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1
