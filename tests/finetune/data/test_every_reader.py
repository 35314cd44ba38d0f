"""Every reader: the same three splits in each format give the same rows, and the same faults are named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from finetune.data.hub_rows import read_hub
from finetune.data.nyt_h_rows import read_nyt_h
from finetune.data.opennre import read_opennre
from finetune.data.relation_rows import RelationData
from finetune.data.semeval import read_semeval2010
from finetune.data.tacred import read_tacred
from nyt_h_dataset import convert_corpus

LEFT = "Entity-Origin(e1,e2)"


class Row(NamedTuple):
    """A sentence of words divided by blanks, head and tail as places of words, and its relation."""

    words: str
    head: tuple[int, int]
    tail: tuple[int, int]
    relation: str | None

    def text(self, place: tuple[int, int]) -> str:
        return " ".join(self.words.split()[slice(*place)])


SPLITS = {
    "train": [
        Row("Ann Lee left Bonn .", (0, 2), (3, 4), LEFT),
        Row("In Rome , Bob Li saw Zürich .", (3, 5), (6, 7), None),
        Row("Eve left Rome and Rome left Eve .", (0, 1), (2, 3), LEFT),
    ],
    "test": [
        Row("Rome saw Ann .", (2, 3), (0, 1), None),
        Row("Bob left Graz .", (0, 1), (2, 3), LEFT),
    ],
}


def semeval(folder: Path, splits: dict[str, list[Row]]) -> Path:
    number = 0
    for name, file in (("train", "TRAIN_FILE.TXT"), ("test", "TEST_FILE_FULL.TXT")):
        lines = []
        for row in splits.get(name, []):
            number, words = number + 1, row.words.split()
            for tag, (start, end) in (("e1", row.head), ("e2", row.tail)):
                words[start] = f"<{tag}>{words[start]}"
                words[end - 1] += f"</{tag}>"
            lines.append(f'{number}\t"{" ".join(words)}"\r\n{row.relation or "Other"}\r\nComment:\r\n\r\n')
        if name in splits:
            (folder / file).write_bytes("".join(lines).encode())
    return folder / "TEST_FILE_FULL.TXT"


def tacred(folder: Path, splits: dict[str, list[Row]]) -> Path:
    for name, rows in splits.items():
        records = [
            {
                "id": f"{name}{number}", "token": row.words.split(),
                "relation": row.relation or "no_relation",
                "subj_start": row.head[0], "subj_end": row.head[1] - 1, "subj_type": "X",
                "obj_start": row.tail[0], "obj_end": row.tail[1] - 1, "obj_type": "Y",
            }
            for number, row in enumerate(rows)
        ]  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(records, ensure_ascii=False))
    return folder / "test.json"


def opennre(folder: Path, splits: dict[str, list[Row]]) -> Path:
    for name, rows in splits.items():
        records = [
            {
                "token": row.words.split(), "relation": row.relation or "NA",
                "h": {"name": row.text(row.head), "pos": row.head},
                "t": {"name": row.text(row.tail), "pos": row.tail},
            }
            for row in rows
        ]  # fmt: skip
        (folder / f"{name}.txt").write_text(lines_of(records))
    (folder / "rel2id.json").write_text(json.dumps({"NA": 0, LEFT: 1}))
    return folder / "test.txt"


def columns(folder: Path, splits: dict[str, list[Row]]) -> Path:
    for name, rows in splits.items():
        records = [
            {
                "sentence": row.words, "relation": row.relation or "NA",
                **{
                    role: {"word": row.text(place), "start": at(row, place[0]), "end": at(row, place[1]) - 1}
                    for role, place in (("head", row.head), ("tail", row.tail))
                },
            }
            for row in rows
        ]  # fmt: skip
        (folder / f"{name}.jsonl").write_text(lines_of(records))
    return folder / "test.jsonl"


def nyt_h(folder: Path, splits: dict[str, list[Row]]) -> Path:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    columns(source, splits)
    paths = {name: source / f"{name}.jsonl" for name in ("train", "test") if name in splits}
    convert_corpus(folder / "own", **paths, validation=source / "train.jsonl", overwrite=True)
    return folder / "own" / "test.json"


def at(row: Row, word: int) -> int:
    """Return the place of a word's first character."""
    return len(" ".join([*row.words.split()[:word], ""]))


def lines_of(records: list[Any]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


class Format(NamedTuple):
    """What writes splits and returns the file of test, and what reads the folder."""

    write: Callable[[Path, dict[str, list[Row]]], Path]
    read: Callable[[Path], RelationData]


FORMATS = {
    "semeval2010": Format(semeval, lambda folder: read_semeval2010(str(folder))),
    "tacred": Format(tacred, lambda folder: read_tacred(str(folder))),
    "opennre": Format(opennre, lambda folder: read_opennre(str(folder))),
    "hub": Format(columns, lambda folder: read_hub(str(folder), negative_relation="NA")),
    "nyt_h": Format(nyt_h, lambda folder: read_nyt_h(str(folder / "own"))),
}


@pytest.fixture(params=FORMATS)
def one(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Format:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("cache")))
    return FORMATS[request.param]


def test_the_same_rows(one: Format, tmp_path: Path) -> None:
    one.write(tmp_path, SPLITS)
    data = one.read(tmp_path)
    assert set(data.label_names) == {LEFT, data.negative_relation}
    for split, rows in SPLITS.items():
        found = data.splits[split]
        assert len(set(found.row_names)) == len(found)
        read = [
            (sentence, sentence[a:b], sentence[c:d], data.label_names[label], pair.replace("word:", ""))
            for sentence, (a, b, c, d), label, pair in zip(
                found.sentences, found.spans, found.labels, found.entity_pairs, strict=True
            )
        ]
        written = [
            (
                row.words, row.text(row.head), row.text(row.tail), row.relation or data.negative_relation,
                f"{row.text(row.head)}\t{row.text(row.tail)}".lower(),
            )
            for row in rows
            # NYT-H keeps the NA rows of train in a file of their own.
            if row.relation or (data.name, split) != ("nyt_h", "train")
        ]  # fmt: skip
        assert read == written


def test_the_fingerprint_follows_the_content(one: Format, tmp_path: Path) -> None:
    one.write(tmp_path, SPLITS)
    first = one.read(tmp_path).fingerprint
    assert one.read(tmp_path).fingerprint == first
    seen = {first}
    row = SPLITS["test"][1]
    for other in (
        row._replace(words="Bob quit Graz ."),
        row._replace(relation=None),
        row._replace(tail=(3, 4)),
    ):
        one.write(tmp_path, {**SPLITS, "test": [SPLITS["test"][0], other]})
        seen.add(one.read(tmp_path).fingerprint)
    assert len(seen) == 4


def test_a_file_that_is_not_there(one: Format, tmp_path: Path) -> None:
    one.write(tmp_path, SPLITS).unlink()
    with pytest.raises((FileNotFoundError, ValueError), match=r"(?i)test"):
        one.read(tmp_path)
    with pytest.raises((FileNotFoundError, ValueError), match="nowhere"):
        one.read(tmp_path / "nowhere")


def test_a_split_without_rows(one: Format, tmp_path: Path) -> None:
    one.write(tmp_path, SPLITS).write_bytes(b"")
    with pytest.raises(ValueError, match="test"):
        one.read(tmp_path)


def test_bytes_that_are_no_text(one: Format, tmp_path: Path) -> None:
    path = one.write(tmp_path, SPLITS)
    path.write_bytes(path.read_bytes().replace(b"Graz", b"Gr\xe4z"))
    with pytest.raises(ValueError, match=r"(?s)test.*UTF-8"):
        one.read(tmp_path)


def test_a_file_that_was_cut_off(one: Format, tmp_path: Path) -> None:
    path = one.write(tmp_path, SPLITS)
    content = path.read_bytes()
    path.write_bytes(content[: content.index(b"Graz")])
    with pytest.raises(ValueError, match=r"(?i)test"):
        one.read(tmp_path)
