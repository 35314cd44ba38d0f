"""One raw line -> its checked values, or an error that says what is wrong with it (pure)."""

from __future__ import annotations

import json
from typing import Any

TEXT_KEYS = ("instance_id", "bag_id", "relation", "bag_label", "sentence")
ENTITIES = ("head", "tail")
ENTITY_KEYS = ("guid", "word", "type")
# Where a corpus has gold positions: half-open character offsets, which NYT-H itself lacks.
SPAN_KEYS = ("start", "end")
SPAN_COLUMNS = tuple(f"{entity}.{key}" for entity in ENTITIES for key in SPAN_KEYS)
COLUMNS = (*TEXT_KEYS, *(f"{entity}.{key}" for entity in ENTITIES for key in ENTITY_KEYS))


class NytHError(Exception):
    """The base of the errors of this package."""


class RecordError(NytHError, ValueError):
    """A fault in a data file; the message says where it is and what to do."""


def check_line(raw: bytes, where: str, *, null_types: bool = False) -> tuple[list[Any], list[str]]:
    """Return the values of one line, COLUMNS then SPAN_COLUMNS, and the keys that are not known.

    `where` is ``file:line`` for the messages; with `null_types` a type that is null, or not there, is kept as
    None.

    Raises:
        RecordError: not UTF-8, not exactly one JSON object, a key missing or there twice, a value that is not
            a string, an empty id.

    >>> entity = {"guid": "/g/1", "word": "Ann", "type": "PERSON"}
    >>> record = dict.fromkeys(TEXT_KEYS, "x") | {"head": entity, "tail": entity, "pos": 1}
    >>> check_line(json.dumps(record).encode(), "test.json:1")[1]
    ['pos']
    >>> del record["tail"]
    >>> check_line(json.dumps(record).encode(), "test.json:1")
    Traceback (most recent call last):
    nyt_h_dataset.record_lines.RecordError: test.json:1: the key `tail` is missing; the record has ...
    """
    return check_record(decode_line(raw, where), where, null_types=null_types)


def check_record(
    record: dict[str, Any], where: str, *, null_types: bool = False
) -> tuple[list[Any], list[str]]:
    """Return the values of one record as `check_line` does, COLUMNS then SPAN_COLUMNS, and unknown keys.

    Raises:
        RecordError: a key is missing, a value is not a string, an id is empty.
    """
    extra = [key for key in record if key not in TEXT_KEYS and key not in ENTITIES]
    values: list[Any] = [_text(record, key, key, where) for key in TEXT_KEYS]
    spans: list[int | None] = []
    for entity in ENTITIES:
        inner = _get(record, entity, entity, where)
        if not isinstance(inner, dict):
            raise RecordError(f"{where}: `{entity}` must be an object; got {kind(inner)}.")
        extra += [f"{entity}.{key}" for key in inner if key not in (*ENTITY_KEYS, *SPAN_KEYS)]
        spans += [_offset(inner, key, f"{entity}.{key}", where) for key in SPAN_KEYS]
        for key in ENTITY_KEYS:
            if key == "type" and key in inner and inner[key] is None and not null_types:
                raise RecordError(
                    f"{where}: `{entity}.type` must be a string; got null. irregular='repair' takes it."
                )
            is_null = null_types and key == "type" and inner.get(key) is None
            values.append(None if is_null else _text(inner, key, f"{entity}.{key}", where))
    for key, value in zip(("instance_id", "bag_id"), values, strict=False):
        if not value:
            raise RecordError(f"{where}: `{key}` is empty; every record needs one.")
    return [*values, *spans], extra


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; write null or leave the key out")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} is there twice")
    return record


DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)


def decode_line(raw: bytes, where: str) -> dict[str, Any]:
    """Return the one JSON object of a line.

    Raises:
        RecordError: bytes that are not UTF-8, or anything but one object; the message begins with `where`.
    """
    try:
        text = raw.decode().strip()
    except UnicodeDecodeError as error:
        raise RecordError(
            f"{where}: byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8; convert "
            "the file to UTF-8."
        ) from error
    try:
        record, end = DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        hint = " Is the line cut off?" if error.pos >= len(text) or "Unterminated" in error.msg else ""
        raise RecordError(f"{where}: not valid JSON ({error.msg}, column {error.colno}).{hint}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{where}: not valid JSON ({error}).") from error
    if end < len(text):
        raise RecordError(f"{where}: something follows the first JSON value; write one record a line.")
    if not isinstance(record, dict):
        hint = (
            " JSON arrays are read from the older release (train/, release/) only."
            if isinstance(record, list)
            else ""
        )
        raise RecordError(f"{where}: a line must hold one JSON object; got {kind(record)}.{hint}")
    return record


def kind(value: object) -> str:
    """Return type and beginning of a JSON value, for a message."""
    return "null" if value is None else f"{type(value).__name__} {json.dumps(value)[:60]}"


def _get(record: dict[str, Any], key: str, name: str, where: str) -> object:
    if key not in record:
        raise RecordError(
            f"{where}: the key `{name}` is missing; the record has {', '.join(sorted(record))}."
        )
    return record[key]


def _offset(record: dict[str, Any], key: str, name: str, where: str) -> int | None:
    value = record.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise RecordError(f"{where}: `{name}` must be an integer; got {kind(value)}.")
    return value


def _text(record: dict[str, Any], key: str, name: str, where: str) -> str:
    value = _get(record, key, name, where)
    if not isinstance(value, str):
        raise RecordError(f"{where}: `{name}` must be a string; got {kind(value)}.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise RecordError(f"{where}: `{name}` holds half of a surrogate pair ({error.reason}).") from error
    return value
