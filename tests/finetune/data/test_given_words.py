"""A given word and what stands at its place must agree, on every road (USER_REPORTS 51)."""

import json
from pathlib import Path
from typing import Any

import pytest

from finetune.data.hub_rows import read_hub
from finetune.data.opennre import read_opennre
from finetune.model.relation_pipeline import read_unit

SENTENCE = "John Smith works at Acme Corporation in New York ."
HEAD, TAIL = (0, 10), (20, 36)
WRONG = {"tokens as characters": ((0, 2), (4, 6)), "shifted": ((1, 11), TAIL)}


def entity(word: str, span: tuple[int, int]) -> dict[str, Any]:
    return {"word": word, "start": span[0], "end": span[1]}


def hub(folder: Path, head: tuple[int, int], tail: tuple[int, int], word: str) -> object:
    row = {"sentence": SENTENCE, "relation": "works_at"}
    row |= {"head": entity(word, head), "tail": entity("Acme Corporation", tail)}
    for name in ("train", "test"):
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    return read_hub(str(folder), negative_relation="none")


def opennre(folder: Path, head: tuple[int, int], tail: tuple[int, int], word: str) -> object:
    row: dict[str, Any] = {"text": SENTENCE, "relation": "works_at"}
    row |= {"h": {"name": word, "pos": head}, "t": {"name": "Acme Corporation", "pos": tail}}
    for name in ("train", "test"):
        (folder / f"{name}.txt").write_text(json.dumps(row) + "\n")
    (folder / "rel2id.json").write_text('{"NA": 0, "works_at": 1}')
    return read_opennre(str(folder))


def pipeline(folder: Path, head: tuple[int, int], tail: tuple[int, int], word: str) -> object:
    record = {"sentence": SENTENCE, "head": entity(word, head), "tail": entity("Acme Corporation", tail)}
    return read_unit(record, where="line 1")


def flat_pipeline(folder: Path, head: tuple[int, int], tail: tuple[int, int], word: str) -> object:
    record = {"sentence": SENTENCE, "head": word, "head_start": head[0], "head_end": head[1]}
    record |= {"tail": "Acme Corporation", "tail_start": tail[0], "tail_end": tail[1]}
    return read_unit(record, where="line 1")


ROADS = [hub, opennre, pipeline, flat_pipeline]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("spans", WRONG.values(), ids=WRONG)
def test_a_place_that_contradicts_the_word_is_refused_with_both_texts(
    road: Any, spans: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    there = SENTENCE[slice(*spans[0])]
    with pytest.raises(ValueError, match=f"'John Smith', but {there!r}"):
        road(tmp_path, *spans, "John Smith")


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("word", ["John Smith", "john_smith", "JOHN-SMITH"])
def test_another_spelling_is_no_contradiction(
    road: Any, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    assert road(tmp_path, HEAD, TAIL, word)
