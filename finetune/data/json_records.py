"""JSON data files as raw records with their places: an object a line, or one array."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weighted_f1_metric import parse_json

from .relation_rows import RowError

BOM = b"\xef\xbb\xbf"


def json_lines(path: Path, *, shape: str) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of every line that is not blank; `parsed_line` makes an object of them.

    Args:
        path: The file.
        shape: What the file should look like, for the messages.

    Raises:
        ValueError: The file is empty, or is one JSON array.
    """
    is_empty = True
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            line = line.rstrip(b"\n").removeprefix(BOM if number == 1 else b"")
            if not line.strip():
                continue
            if is_empty and line.lstrip().startswith(b"["):
                raise ValueError(f"{path} begins with a JSON array; it must hold {shape}.")
            is_empty = False
            yield number, line
    if is_empty:
        raise ValueError(f"{path} is empty; it must hold {shape}.")


def parsed_line(line: bytes) -> dict[str, Any]:
    """Return the object of a line.

    Raises:
        RowError: Bytes that are not UTF-8, or anything but one JSON object.
    """
    try:
        record = parse_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RowError(f"byte {error.start + 1} is not UTF-8; convert the file to UTF-8") from error
    except json.JSONDecodeError as error:
        raise RowError(f"not a JSON object: {error.msg}, column {error.colno}") from error
    except ValueError as error:
        raise RowError(str(error)) from error
    return as_object(record)


def as_object(record: Any) -> dict[str, Any]:
    """Return the record, which must be a JSON object (RowError)."""
    if not isinstance(record, dict):
        raise RowError(f"a record must be a JSON object; got {json.dumps(record):.60}")
    return record


def json_array(path: Path, *, shape: str) -> Iterator[tuple[str, Any]]:
    """Yield file and number, and the value, of every entry of an array.

    Raises:
        ValueError: The file is empty, not UTF-8, not JSON, or holds anything but an array.
    """
    content = path.read_bytes().removeprefix(BOM)
    if not content.strip():
        raise ValueError(f"{path} is empty; it must hold {shape}.")
    try:
        records = parse_json(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: not UTF-8; convert the file to UTF-8.") from error
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and content.lstrip().startswith(b"{"):
            raise ValueError(
                f"{path} holds a JSON object a line; it must hold {shape}. Lines are read with `--data "
                "opennre`."
            ) from error
        raise ValueError(f"{path}, line {error.lineno}: not JSON: {error.msg}.") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}.") from error
    if not isinstance(records, list):
        raise ValueError(f"{path} holds a JSON {type(records).__name__}; it must hold {shape}.")
    for number, record in enumerate(records, start=1):
        name = record.get("id") if isinstance(record, dict) else None
        yield f"{path}, record {number}" + ("" if name is None else f" (id {name})"), record
