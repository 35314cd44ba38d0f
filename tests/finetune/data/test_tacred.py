"""TACRED's arrays: inclusive token spans, brackets, types, and what broken files get."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finetune.data.tacred import read_tacred

TOKENS = ["Ann", "Lee", "-LRB-", "59", "-RRB-", "heads", "Acme", "."]
RECORD = {
    "id": "a1",
    "docid": "ignored",
    "relation": "per:employee_of",
    "token": TOKENS,
    "subj_start": 0,
    "subj_end": 1,
    "obj_start": 6,
    "obj_end": 6,
    "subj_type": "PERSON",
    "obj_type": "ORGANIZATION",
}
SECOND = RECORD | {
    "id": "a2", "relation": "no_relation", "obj_start": 2, "obj_end": 4, "obj_type": "NUMBER",
}  # fmt: skip


def write(folder: Path, **splits: Any) -> str:
    for name, records in {"train": [RECORD, SECOND], "test": [SECOND], **splits}.items():
        content = records if isinstance(records, bytes) else json.dumps(records).encode()
        (folder / f"{name}.json").write_bytes(content)
    return str(folder)


def test_rows(tmp_path: Path) -> None:
    data = read_tacred(write(tmp_path, dev=[RECORD | {"id": 7, "relation": "per:age"}]))
    assert data.label_names == ("no_relation", "per:age", "per:employee_of"), (
        "one list for all splits, sorted"
    )
    assert data.negative_relation == "no_relation"
    assert list(data.splits) == ["train", "validation", "test"]
    train = data.splits["train"]
    assert train.sentences == ["Ann Lee ( 59 ) heads Acme ."] * 2
    cut = [
        [text[a:b] for a, b in (s[:2], s[2:])] for text, s in zip(train.sentences, train.spans, strict=True)
    ]
    assert cut == [["Ann Lee", "Acme"], ["Ann Lee", "( 59 )"]]
    assert train.labels.tolist() == [2, 0]
    assert data.splits["test"].labels.tolist() == [0], "ids are those of the one list"
    assert train.types == [("PERSON", "ORGANIZATION"), ("PERSON", "NUMBER")]
    assert train.pair_names == train.entity_pairs == ["ann lee\tacme", "ann lee\t( 59 )"]
    assert data.splits["validation"].row_names == ["7"]
    assert not data.has_human_labels


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in SECOND.items() if name != key}


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            SECOND | {"obj_end": 8},
            r"train.json, record 2 \(id a2\): the tail's tokens 2 to 9 \(exclusive\) are not",
        ),
        (SECOND | {"obj_start": 3, "obj_end": 2}, "the tail's tokens 3 to 3 .* are not among the 8 tokens"),
        (SECOND | {"obj_start": -1}, "the tail's tokens -1 to 5"),
        (
            SECOND | {"obj_start": 0, "obj_end": 1},
            "head and tail have the same span, 0 to 7; .* `--equal_spans keep`",
        ),
        (SECOND | {"subj_start": "0"}, "`subj_start` must be int; got '0'"),
        (SECOND | {"subj_start": True}, "`subj_start` must be int; got True"),
        (SECOND | {"token": "Ann"}, "`token` must be list; got 'Ann'"),
        (SECOND | {"token": [1] * 8}, "a token must be a string; got 1"),
        (SECOND | {"id": "a1"}, r"record 2 \(id a1\): the id 'a1' is there already \(.*record 1 \(id a1\)\)"),
        (SECOND | {"id": None}, "record 2: `id` must be a string or an integer; got None"),
        (without("obj_type"), "the key `obj_type` is missing; the record has id, docid, relation"),
        (without("relation"), "the key `relation` is missing"),
        (17, "record 2: a record must be a JSON object; got 17"),
    ],
)
def test_broken_records(tmp_path: Path, second: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message + r"(.|\n)*Records that cannot be used: 1 of 2\."):
        read_tacred(write(tmp_path, train=[RECORD, second]))


def test_all_broken_records_are_counted(tmp_path: Path) -> None:
    broken = [SECOND | {"id": str(i), "obj_end": 99} for i in range(3)]
    with pytest.raises(ValueError, match=r"record 2 \(id 0\): .* cannot be used: 3 of 4\."):
        read_tacred(write(tmp_path, train=[RECORD, *broken]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "train.json is empty; it must hold one JSON array"),
        (b'{"id": 1}\n{"id": 2}\n', "train.json holds a JSON object a line; .* `--data opennre`"),
        (b'{"id": 1}', "train.json holds a JSON dict; it must hold one JSON array"),
        (b'[\n{"id": }]', "train.json, line 2: not JSON: Expecting value"),
        (b'[\n\n{"id": "\xff"}]', "train.json, line 3: not UTF-8; convert"),
        (b"[]", "the split 'train' of tacred has no rows"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_tacred(write(tmp_path, train=content))


def test_equal_spans_can_be_kept(tmp_path: Path) -> None:
    same = SECOND | {"obj_start": 0, "obj_end": 1}
    data = read_tacred(write(tmp_path, train=[RECORD, same]), equal_spans="keep")
    assert data.splits["train"].spans[1].tolist() == [0, 7, 0, 7]


def test_the_negative_relation_is_a_relation(tmp_path: Path) -> None:
    folder = write(tmp_path, test=[RECORD | {"id": "t"}])
    with pytest.raises(
        ValueError, match=r"'none_of_these' is no relation of it.*'no_relation', 'per:employee_of'"
    ):
        read_tacred(folder, negative_relation="none_of_these")
    without_one = write(tmp_path, train=[RECORD], test=[RECORD])
    with pytest.raises(ValueError, match=r"'no_relation' is no relation of it.*`--negative_relation none`"):
        read_tacred(without_one)
    data = read_tacred(without_one, negative_relation="none")
    assert data.label_names == ("per:employee_of", "none")


def test_a_run(
    tmp_path: Path, words_for: Callable[..., list[str]], results_of: Callable[[Path], dict]
) -> None:
    """From the arrays to results, with a validation split by entity pair."""
    from finetune.__main__ import main

    records = [
        (RECORD if number % 2 else SECOND) | {"id": f"{number}", "token": [f"A{number}", *TOKENS[1:]]}
        for number in range(40)
    ]
    folder = Path(write(tmp_path, train=records, test=records[:6]))
    out = tmp_path / "run"
    assert main(words_for(folder, out, "--data", "tacred", "--num_train_epochs", "1")) == 0
    results = results_of(out)
    assert results["data"]["splits"]["validation"]["num_rows"] == 4
    assert results["data"]["splits"]["train"]["num_rows"] == 36
    assert results["selected_by"] == "macro_f1"
    note = "validation is 4 of the 40 training rows, those of 4 entity pairs drawn with `--validation_seed 0`"
    assert results["data"]["notes"][0].startswith(note)
    assert note[1:] in (out / "README.md").read_text()
    assert "micro_f1" in results["mean"]
