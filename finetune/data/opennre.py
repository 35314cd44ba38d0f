"""Data in the format of OpenNRE: one JSON object a line, a list of relations beside it.

A record has `text` with character offsets or `token` with token offsets, both half-open::

    {"text": "Ann left Rome.", "relation": "/people/person/place_lived",
     "h": {"id": "m.1", "name": "Ann", "pos": [0, 3]}, "t": {"id": "m.2", "name": "Rome", "pos": [9, 13]}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nyt_h_dataset import opennre_rows
from weighted_f1_metric import parse_json

from .json_records import json_lines, parsed_line
from .relation_rows import (
    RelationData,
    RelationRecord,
    RowError,
    collected,
    entity_pair,
    is_integer,
    plain_row,
    relation_data,
    with_negative,
)

SPLITS = {"train": ("train",), "validation": ("val", "valid", "dev", "validation"), "test": ("test",)}
ENDINGS = (".txt", ".json", ".jsonl")
LABEL_LIST = "rel2id.json"
ANNOTATED = "anno_relation_list"
# The names that OpenNRE itself takes for the negative relation.
NEGATIVES = ("NA", "na", "no_relation", "Other", "Others")
SHAPE = (
    "one JSON object a line with `text` or `token`, `h`, `t` and `relation` (an array is read with `--data "
    "tacred`)"
)


def read_opennre(
    data_dir: str, *, negative_relation: str | None = None, equal_spans: str = "error"
) -> RelationData:
    """Return a folder with [NAME_]train.txt, [NAME_]test.txt, perhaps [NAME_]val.txt, and [NAME_]rel2id.json.

    A bag is the pair of the entities' ids (of their names where they have no id). Where the test records have
    `anno_relation_list` (NYT10m), human labels are told from distant ones: `relation`, where it is there, is
    the distant label, and a row per annotated relation beyond it is added with the answer yes, so that MAGT
    is exactly the annotated facts; DSGT then also counts the annotated relations that were no distant label.

    Args:
        data_dir: The folder.
        negative_relation: Default: the one of NEGATIVES that rel2id.json has.
        equal_spans: "error" or "keep".

    Raises:
        FileNotFoundError: The folder or one of the files is not there.
        ValueError: Several files for one split, records that cannot be used (the first and the total), a
            relation that rel2id.json lacks, an empty split, no negative relation.
    """
    files = _files(Path(data_dir))
    label_names = read_label_list(files.pop("labels"))
    if negative_relation is None:
        negative_relation = next((name for name in NEGATIVES if name in label_names), None)
    label_names = with_negative(label_names, negative_relation, where=data_dir)
    negative = str(negative_relation)
    annotated = ANNOTATED in _first_record(files["test"])
    splits, notes = {}, []
    for split, path in files.items():
        parse = _parser(negative=negative, annotated=annotated and split == "test", split=split)
        lines = enumerate(json_lines(path, shape=SHAPE))
        raws = ((f"{path}, line {number}", (at, line)) for at, (number, line) in lines)
        splits[split] = collected(raws, parse, equal_spans=equal_spans, relations=frozenset(label_names))
    if annotated:
        num_records = len({record.name.partition("|")[0] for record in splits["test"]})
        notes.append(
            f"test: {num_records:,} records with {ANNOTATED}, {len(splits['test']):,} rows (one per relation)"
        )
    return relation_data(
        name="opennre",
        splits=splits,
        label_names=label_names,
        negative_relation=negative,
        notes=notes,
    )


def _files(folder: Path) -> dict[str, Path]:
    """Return split (and "labels") -> its file."""
    if not folder.is_dir():
        raise FileNotFoundError(f"`data_dir` {str(folder)!r} is not a folder.")
    found: dict[str, Path] = {}
    wanted = {
        **{split: (names, ENDINGS) for split, names in SPLITS.items()},
        "labels": (("rel2id",), (".json",)),
    }
    for what, (stems, endings) in wanted.items():
        fitting = sorted(
            path
            for path in folder.iterdir()
            if path.suffix in endings and any(path.stem == s or path.stem.endswith(f"_{s}") for s in stems)
        )
        if len(fitting) > 1:
            listed = ", ".join(path.name for path in fitting)
            raise ValueError(f"{folder} has several files for {what}: {listed}; leave one of them.")
        if fitting:
            found[what] = fitting[0]
        elif what != "validation":
            name = LABEL_LIST if what == "labels" else f"{stems[0]}.txt"
            raise FileNotFoundError(f"{folder} has no {name} and no *_{name}; it is needed for {what}.")
    return found


def _first_record(path: Path) -> dict[str, Any]:
    """Return the first line that is an object; an empty one when there is none."""
    for _, line in json_lines(path, shape=SHAPE):
        try:
            return parsed_line(line)
        except RowError:
            continue
    return {}


def read_label_list(path: Path) -> tuple[str, ...]:
    """Return the names of a rel2id.json in the order of their ids.

    Raises:
        ValueError: Not a JSON object of name -> id, or the ids are not 0, 1, 2, ... each once.
    """
    try:
        ids = parse_json(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}.") from error
    if not isinstance(ids, dict) or not all(is_integer(value) for value in ids.values()):
        raise ValueError(f"{path} must hold one JSON object from relation names to integers.")
    names = sorted(ids, key=ids.__getitem__)
    if [ids[name] for name in names] != list(range(len(ids))):
        raise ValueError(
            f"{path}: the ids must be 0 to {len(ids) - 1}, each once; got {sorted(ids.values())}."
        )
    return tuple(names)


def _parser(
    *, negative: str, annotated: bool, split: str
) -> Callable[[tuple[int, bytes]], Iterator[RelationRecord]]:
    def parse(raw: tuple[int, bytes]) -> Iterator[RelationRecord]:
        number, line = raw
        rows = opennre_rows(parsed_line(line), negative_relation=negative, annotated=annotated)
        for place, plain in enumerate(rows):
            head, tail = plain["head"], plain["tail"]
            entities = [str(entity.get("guid", entity["word"])) for entity in (head, tail)]
            pair = "\t".join(entities) if "guid" in head else entity_pair(*entities)
            name = f"{split}#{number}" + (f"|{plain['relation']}" if place else "")
            yield plain_row(plain, name=name, pair=pair)

    return parse
