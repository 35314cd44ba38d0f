"""The files of the NYT-H authors' evaluator, in and out: test set, relation ids, predictions.

    test.json    one JSON record a line (or an array): instance_id, bag_id, relation, bag_label, sentence
    rel2id.json  {"NA": 0, "/people/person/place_lived": 1, ...}
    predictions  one JSON record a line: {"instance_id": ..., "pred": ...} on the sentence tracks,
                 {"bag_id": ..., "pred": ...} on bag2bag; optionally "scores": {relation: number}

A byte order mark, CRLF line ends and blank lines are accepted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..validation import is_integer, quoted


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a UTF-8 text file; the folder is made when it is not there.

    Raises:
        OSError: the folder cannot be made or written.
    """
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Writes `content` as indented JSON.

    Raises:
        ValueError: NaN or an infinity in `content`, which JSON does not have.
        OSError: the folder cannot be made or written.
    """
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


AUTHORS_PAGE = "https://github.com/Spico197/NYT-H"
REFERENCE_KEYS = ("instance_id", "bag_id", "relation", "bag_label")


def read_json_values(path: str | os.PathLike[str]) -> list[tuple[str, Any]]:
    """The values of a JSON-lines or JSON-array file, each with its place: "FILE, line 3" or "FILE, entry 3".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: bytes that are not UTF-8, a line that is not one JSON value, NaN or Infinity (which are
            not JSON), nesting or numbers beyond what Python reads, with file and line.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}. NYT-H is published at {AUTHORS_PAGE}.")
    content = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if content.lstrip()[:1] == b"[":
        return [
            (f"{file}, entry {number}", value)
            for number, value in enumerate(_parsed(content, file, 1), start=1)
        ]
    return [
        (f"{file}, line {number}", _parsed(line, file, number))
        for number, line in enumerate(content.split(b"\n"), start=1)
        if line.strip()
    ]


def read_json_records(path: str | os.PathLike[str]) -> list[tuple[str, dict[str, Any]]]:
    """The records of a JSON-lines or JSON-array file, each with its place.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: as `read_json_values`; a value that is no object; a file without records.
    """
    records = read_json_values(path)
    for where, record in records:
        if not isinstance(record, dict):
            raise ValueError(f"{where}: expected a JSON object; got {record!r:.60}.")
    if not records:
        raise ValueError(f"{path} holds no records.")
    return records


def _parsed(line: bytes, file: Path, number: int) -> Any:
    try:
        return _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}, line {number}: not UTF-8 text ({error.reason}).") from None
    except json.JSONDecodeError as error:
        where = number + error.lineno - 1
        raise ValueError(
            f"{file}, line {where}: not valid JSON ({error.msg}, column {error.colno})."
        ) from None
    except RecursionError:
        raise ValueError(f"{file}, line {number}: JSON that nests too deeply to be read.") from None
    except ValueError:  # Python reads no number of more than 4,300 digits
        raise ValueError(f"{file}, line {number}: a number has too many digits to be read.") from None
    except _NotJsonError as error:
        raise ValueError(f"{file}, line {number}: {error} is not JSON; write a finite number.") from None


class _NotJsonError(Exception):
    """NaN or Infinity in a JSON text."""


def _refuse_constant(name: str) -> Any:
    raise _NotJsonError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)  # json.loads would build one for each line


def read_references(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The records of a test file in the authors' format.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a broken line, or a record without one of the keys, with file and line.
    """
    records = read_json_records(path)
    for where, record in records:
        missing = [key for key in REFERENCE_KEYS if key not in record]
        if missing:
            raise ValueError(f"{where}: the record lacks {quoted(missing)}; it has {quoted(record)}.")
    return [record for _, record in records]


def read_relations(path: str | os.PathLike[str], *, negative_relation: str = "NA") -> list[str]:
    """The positive relations of a rel2id.json, in id order.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: not a JSON object of distinct ints, or without `negative_relation`.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}. NYT-H is published at {AUTHORS_PAGE}.")
    ids = _parsed(file.read_bytes().removeprefix(b"\xef\xbb\xbf"), file, 1)
    if not isinstance(ids, dict) or not all(is_integer(value) for value in ids.values()):
        raise ValueError(f"{file}: expected one JSON object relation -> id (int).")
    if len(set(ids.values())) < len(ids):
        twice = [name for name, value in ids.items() if list(ids.values()).count(value) > 1]
        raise ValueError(f"{file}: relations share an id: {quoted(twice)}.")
    if negative_relation not in ids:
        raise ValueError(
            f"{file} has no relation {negative_relation!r}, the negative one; it has {quoted(ids)}. "
            "Name the negative relation of your data."
        )
    return [name for name in sorted(ids, key=ids.__getitem__) if name != negative_relation]


def read_predictions(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The records of a prediction file: an id, `pred`, and `scores` where given.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a broken line; a record without `pred`, without an id or with both ids, or of another kind
            than the first, with file and line.
    """
    records = read_json_records(path)
    first_key = ""
    for where, record in records:
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


def write_predictions(path: str | os.PathLike[str], predictions: Iterable[Mapping[str, Any]]) -> None:
    """Writes predictions as JSON lines in the authors' format; the file is there whole or not at all.

    Raises:
        ValueError: a score that is NaN or infinite, which JSON cannot hold.
    """
    lines = [json.dumps(dict(record), ensure_ascii=False, allow_nan=False) for record in predictions]
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_label_file(path: str | Path, *, key: str = "relation") -> list[str]:
    """Return the labels of a file in its order.

    Accepts JSON lines or a JSON array of records with `key` (NYT-H's `relation`) or of plain labels; and text
    with one label a line, the last tab-separated field where there are several. A byte order mark, CRLF and
    blank lines do not matter.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: No label, a broken line, a record without `key`, or a label that is not a text; with the
            line or the entry.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"No label file {str(path)!r}.")
    text = file.read_text(encoding="utf-8-sig")
    if text.lstrip()[:1] in ("[", "{"):
        labels = [_label(value, key, where) for where, value in read_json_values(file)]
    else:
        labels = [line.rsplit("\t", 1)[-1].strip() for line in text.split("\n") if line.strip()]
    if not labels:
        raise ValueError(f"{file} holds no label; it must have one a line, or records with {key!r}.")
    return labels


def _label(record: Any, key: str, where: str) -> str:
    if isinstance(record, dict):
        if key not in record:
            raise ValueError(
                f"{where}: the record has no {key!r}; it has {', '.join(map(repr, record)) or 'nothing'}. "
                "Name the key with --key."
            )
        record = record[key]
    if not isinstance(record, str):
        raise ValueError(f"{where}: a label must be a text; got {record!r}.")
    return record
