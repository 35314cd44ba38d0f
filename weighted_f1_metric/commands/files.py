"""Files in and out, for all commands: text from paths, pipes and standard input, JSON, whole files written.

A file may be gzipped (its first bytes say so, whatever it is called) and may start with a byte order mark of
UTF-8, UTF-16 or UTF-32; without one it is UTF-8. `-` is standard input or output.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TextIO

STANDARD = "-"
# The longer marks first: that of UTF-32 starts like that of UTF-16.
BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike[str], *, hint: str = "") -> Iterator[IO[bytes]]:
    """Open a file, a pipe or standard input for reading, its gzip unpacked.

    Args:
        path: The path, or "-".
        hint: What the message about a missing file adds.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A folder; gzip that is broken or cut.
    """
    with contextlib.ExitStack() as opened:
        if str(path) == STANDARD:
            stream: Any = sys.stdin.buffer
        else:
            if not os.path.exists(path):
                raise FileNotFoundError(f"There is no file {path}.{f' {hint}' if hint else ''}")
            if os.path.isdir(path):
                raise ValueError(f"{path} is a folder; a file is needed here.")
            stream = opened.enter_context(open(path, "rb"))
        if stream.peek(2)[:2] == b"\x1f\x8b":
            stream = opened.enter_context(gzip.GzipFile(fileobj=stream))
        try:
            yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path}: gzip that cannot be unpacked ({error}).") from None


def encoding_of(head: bytes) -> str:
    """Return the encoding that a byte order mark names, or UTF-8.

    >>> encoding_of("é".encode("utf-16")), encoding_of(b"a")
    ('utf-16', 'utf-8')
    """
    return next((name for mark, name in BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")


def read_text(path: str | os.PathLike[str], *, hint: str = "") -> str:
    """Return the text of a file, without byte order mark.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `open_bytes`; bytes that are no text, with the line.
    """
    with open_bytes(path, hint=hint) as stream:
        content = stream.read()
    encoding = encoding_of(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        name = encoding.removesuffix("-sig").upper()
        raise ValueError(f"{path}, line {line}: not {name} text ({error.reason}).") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(
            f"{path}, line {line}: a NUL character, as in UTF-16 without its mark; save as UTF-8."
        )
    return text


def read_json(path: str | os.PathLike[str], *, hint: str = "") -> Any:
    """Return the one JSON value that a file holds.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_text` and `json_values`.
    """
    return _parsed(read_text(path, hint=hint), path, 1)


def read_json_records(path: str | os.PathLike[str], *, hint: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return the records of a JSON-lines or JSON-array file, each with its place; blank lines hold none.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_text` and `json_values`; a value that is no object; a file without records.
    """
    records = json_values(read_text(path, hint=hint), path)
    for where, record in records:
        if not isinstance(record, dict):
            raise ValueError(f"{where}: expected a JSON object; got {record!r:.60}.")
    if not records:
        raise ValueError(f"{path} holds no records.")
    return records


def json_values(
    text: str, path: str | os.PathLike[str], *, broken: list[str] | None = None
) -> list[tuple[str, Any]]:
    """Return the values of JSON lines or of a JSON array, each with its place: "FILE, line 3" or "entry 3".

    Args:
        text: The content of the file; only line feeds end a line.
        path: How messages call the file.
        broken: Where lines that are no JSON value go, each with its place; None: the first one is an error.

    Raises:
        ValueError: A line that is not one JSON value, NaN or Infinity (which are not JSON), a key that stands
            twice in one object, nesting or numbers beyond what Python reads; with file and line.
    """
    if text.lstrip()[:1] == "[":
        entries = _parsed(text, path, 1)
        return [(f"{path}, entry {number}", value) for number, value in enumerate(entries, start=1)]
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append((f"{path}, line {number}", _parsed(line, path, number)))
        except ValueError as error:
            if broken is None:
                raise
            broken.append(f"{error} {line:.80}")
    return values


def parse_json(text: str) -> Any:
    """Return the one JSON value of a text.

    Raises:
        json.JSONDecodeError: (a ValueError) It is not JSON.
        ValueError: NaN or Infinity, a key that stands twice in one object, nesting or numbers beyond what
            Python reads.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    weighted_f1_metric.commands.files._NotJsonError: the key 'a' stands twice in one object
    """
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, _NotJsonError):
        raise
    except RecursionError:
        raise ValueError("JSON that nests too deeply to be read") from None
    except ValueError:  # Python reads no number of more than 4,300 digits
        raise ValueError("a number has too many digits to be read") from None


def _parsed(text: str, path: str | os.PathLike[str], number: int) -> Any:
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        line = number + error.lineno - 1
        place = f"{error.msg}, column {error.colno}"
        raise ValueError(f"{path}, line {line}: not valid JSON ({place}).") from None
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {error}.") from None


class _NotJsonError(ValueError):
    """What Python's decoder takes and JSON does not have."""


def _refuse_constant(name: str) -> Any:
    raise _NotJsonError(f"{name} is not JSON; write a finite number")


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NotJsonError(f"the key {twice!r} stands twice in one object")
    return values


# json.loads would build a decoder for each line.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_distinct_keys)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file, whole or not at all; the folder is made when it is not there.

    Standard output ("-") and what is no plain file (a pipe, /dev/stdout) are written to as they are.

    Raises:
        OSError: The folder cannot be made or written.
    """
    if str(path) == STANDARD:
        sys.stdout.write(text)
        return
    file = Path(path)
    if file.exists() and not file.is_file():
        with file.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        return
    with atomic_file(file) as stream:
        stream.write(text)


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[TextIO]:
    """Yield a UTF-8 text file that gets its name when the block ends without an error.

    Its content is on the disk before it gets the name: the file is whole, or not there.
    """
    with atomic_path(path) as part, part.open("w", encoding="utf-8", newline="\n") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield where to write a file that gets its name when the block ends without an error.

    The folder is made when it is not there. No two processes write to the same place.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def is_part_of(name: str, file: str) -> bool:
    """Return whether a file's name is that of a part which `atomic_path` left when its process was killed.

    >>> is_part_of(".run.json.123.part", "run.json"), is_part_of("run.json", "run.json")
    (True, False)
    """
    return name.startswith(f".{file}.") and name.endswith(".part")


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write `content` as indented JSON.

    Raises:
        ValueError: NaN or an infinity in `content`, which JSON does not have.
        OSError: The folder cannot be made or written.
    """
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
