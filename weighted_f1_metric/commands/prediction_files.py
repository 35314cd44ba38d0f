"""The files of the NYT-H authors' evaluator, in and out: test set, relation ids, predictions.

    test.json    one JSON record a line (or an array): instance_id, bag_id, relation, bag_label, sentence
    rel2id.json  {"NA": 0, "/people/person/place_lived": 1, ...}
    predictions  one JSON record a line: {"instance_id": ..., "pred": ...} on the sentence tracks,
                 {"bag_id": ..., "pred": ...} on bag2bag; optionally "scores": {relation: number}

Blank lines are accepted: each record names its unit. What else a file may be, `files` says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..row_sources import REFERENCE_KEYS
from ..validation import is_integer, quoted
from .files import read_json, read_json_records, write_text

HINT = "NYT-H is published at https://github.com/Spico197/NYT-H."


def read_references(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the records of a test file in the authors' format.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a broken line, or a record without one of the keys, with file and line.
    """
    records = read_json_records(path, hint=HINT)
    for where, record in records:
        missing = [key for key in REFERENCE_KEYS if key not in record]
        if missing:
            raise ValueError(f"{where}: the record lacks {quoted(missing)}; it has {quoted(record)}.")
    return [record for _, record in records]


def read_relations(path: str | os.PathLike[str], *, negative_relation: str = "NA") -> list[str]:
    """Return the positive relations of a rel2id.json, in id order.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: not a JSON object of distinct ints, or without `negative_relation`.
    """
    ids = read_json(path, hint=HINT)
    if not isinstance(ids, dict) or not all(is_integer(value) for value in ids.values()):
        raise ValueError(f"{path}: expected one JSON object relation -> id (int).")
    if len(set(ids.values())) < len(ids):
        twice = [name for name, value in ids.items() if list(ids.values()).count(value) > 1]
        raise ValueError(f"{path}: relations share an id: {quoted(twice)}.")
    if negative_relation not in ids:
        raise ValueError(
            f"{path} has no relation {negative_relation!r}, the negative one; it has {quoted(ids)}. "
            "Name the negative relation of your data."
        )
    return [name for name in sorted(ids, key=ids.__getitem__) if name != negative_relation]


def read_predictions(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the records of a prediction file: an id, `pred`, and `scores` where given.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a broken line; a record without `pred`, without an id or with both ids, or of another kind
            than the first, with file and line.
    """
    return checked_predictions(read_json_records(path, hint=HINT))


def checked_predictions(records: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return prediction records, each with an id of one kind and `pred`.

    Args:
        records: The place and the content of each.

    Raises:
        ValueError: As `read_predictions`.
    """
    first_key = ""
    for where, record in records:
        if not isinstance(record, dict):
            raise ValueError(f"{where}: expected a JSON object; got {record!r:.60}.")
        keys = [key for key in ("instance_id", "bag_id") if key in record]
        if len(keys) != 1:
            found = "both 'instance_id' and 'bag_id'" if keys else "neither 'instance_id' nor 'bag_id'"
            raise ValueError(
                f"{where}: a prediction names its unit by one id; this one has {found}. "
                "Sentence tracks take 'instance_id', bag2bag takes 'bag_id'."
            )
        if "pred" not in record:
            raise ValueError(f"{where}: the prediction lacks 'pred'; it has {quoted(record)}.")
        first_key = first_key or keys[0]
        if keys[0] != first_key:
            raise ValueError(f"{where}: this prediction has {keys[0]!r}, those before it {first_key!r}.")
    return [record for _, record in records]


def read_judgments(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the records of a judgments file: JSON lines with `instance_id`, `relation` and `answer`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a broken line, a missing key or an answer other than yes and no, with file and line.
    """
    records = read_json_records(path, hint="`nyt_h_dataset merge --judgments` writes one.")
    for where, record in records:
        missing = [key for key in ("instance_id", "relation", "answer") if key not in record]
        if missing:
            raise ValueError(f"{where}: the judgment lacks {quoted(missing)}; it has {quoted(record)}.")
        if record["answer"] not in ("yes", "no"):
            raise ValueError(f"{where}: the answer must be 'yes' or 'no'; got {record['answer']!r}.")
    return [record for _, record in records]


def write_predictions(path: str | os.PathLike[str], predictions: Iterable[Mapping[str, Any]]) -> None:
    """Write predictions as JSON lines in the authors' format; the file is there whole or not at all.

    Raises:
        ValueError: a score that is NaN or infinite, which JSON cannot hold.
    """
    lines = [json.dumps(dict(record), ensure_ascii=False, allow_nan=False) for record in predictions]
    write_text(path, "".join(f"{line}\n" for line in lines))
