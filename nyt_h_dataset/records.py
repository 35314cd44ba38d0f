"""Raw line-JSON files -> blocks of checked columns (pure; pyarrow and the standard library).

Blocks of lines go through ``pyarrow.json``. It accepts what is not one JSON object a line (NaN, two objects
on a line) and does not say which line it refuses, so wherever a block is not plainly right, it is read again
line by line with ``json`` (record_lines), which names the fault or finds that all is well after all.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from .record_lines import (
    COLUMNS,
    DECODER,
    ENTITIES,
    ENTITY_KEYS,
    SPAN_COLUMNS,
    SPAN_KEYS,
    TEXT_KEYS,
    RecordError,
    check_line,
    check_record,
    decode_line,
    kind,
)
from .schema import ALL_ROWS

_SPACE = re.compile(r"[ \t\r\n]*")
_MAX_RECORD = 1 << 26
_SHOWN = 20


class ArrayItem(NamedTuple):
    """An object of the array and where it begins: ``file:line (record 3)``, records counted from 1."""

    record: dict[str, Any]
    where: str


def array_items(path: str, *, chunk_bytes: int = 1 << 22) -> Iterator[ArrayItem]:
    """Yield the objects of the JSON array in `path`, with no more than a chunk of the file in memory.

    Raises:
        RecordError: not UTF-8, not one array of objects, cut off, something behind the array.
    """
    with _Text(path, chunk_bytes) as text:
        first = text.peek()
        if not first:
            return
        if first != "[":
            hint = (
                " It looks like the newer release, one object a line: its files are named train_nonna.json, "
                "na_train.json and so on."
                if first == "{"
                else " Is it another file under this name?"
            )
            raise RecordError(f"{text.where}: a JSON array must begin here; got {text.shown()}.{hint}")
        text.skip()
        number = 0
        while (char := text.peek()) != "]" or number:
            number += 1
            where = f"{text.where} (record {number})"
            if char != "{":
                raise RecordError(f"{where}: an object must begin here; got {text.shown()}.{_hint(char)}")
            yield ArrayItem(text.take_object(where), where)
            char = text.peek()
            if char == "]":
                break
            if char != ",":
                raise RecordError(
                    f"{text.where}: a comma or the end of the array must follow record {number}; got "
                    f"{text.shown()}.{_hint(char)}"
                )
            text.skip()
        text.skip()
        if text.peek():
            raise RecordError(f"{text.where}: something follows the array: {text.shown()}.")


def _hint(char: str) -> str:
    return "" if char else " Is the file cut off?"


class _Text:
    """The text of a file in a window that moves on; knows its line."""

    def __init__(self, path: str, chunk_bytes: int) -> None:
        self._path, self._chunk_bytes = path, chunk_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._window, self._at, self._line, self._ended = "", 0, 1, False

    def __enter__(self) -> _Text:
        self._file = open(self._path, "rb")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def where(self) -> str:
        return f"{self._path}:{self._line}"

    def shown(self) -> str:
        while len(self._window) - self._at < _SHOWN and not self._ended:
            self._read()
        return repr(self._window[self._at :][:_SHOWN]) if self.peek() else "the end of the file"

    def peek(self) -> str:
        """Return the next character that is no white space; "" at the end of the file."""
        while True:
            match = _SPACE.match(self._window, self._at)
            self._move(match.end() if match else self._at)
            if self._at < len(self._window) or self._ended:
                return self._window[self._at : self._at + 1]
            self._read()

    def skip(self) -> None:
        self._move(self._at + 1)

    def take_object(self, where: str) -> dict[str, Any]:
        while True:
            try:
                record, end = DECODER.raw_decode(self._window, self._at)
            except json.JSONDecodeError as error:
                # Perhaps the window ends inside the object.
                if self._ended or len(self._window) - self._at > _MAX_RECORD:
                    cut_off = error.pos >= len(self._window) or "Unterminated" in error.msg
                    hint = " Is the file cut off?" if cut_off else ""
                    raise RecordError(f"{where}: not valid JSON ({error.msg}).{hint}") from error
                self._read()
            except (ValueError, RecursionError) as error:
                raise RecordError(f"{where}: not valid JSON ({error}).") from error
            else:
                self._move(end)
                if not isinstance(record, dict):
                    raise RecordError(f"{where}: a record must be an object; got {kind(record)}.")
                return record

    def _move(self, to: int) -> None:
        self._line += self._window.count("\n", self._at, to)
        self._at = to

    def _read(self) -> None:
        data = self._file.read(self._chunk_bytes)
        self._ended = not data
        try:
            text = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            ahead = self._window.count("\n", self._at) + error.object.count(b"\n", 0, error.start)
            raise RecordError(
                f"{self._path}:{self._line + ahead}: the byte 0x{error.object[error.start]:02x} is not "
                "UTF-8; convert the file to UTF-8."
            ) from error
        self._window, self._at = self._window[self._at :] + text, 0


_ENTITY = pa.struct([*((key, pa.string()) for key in ENTITY_KEYS), *((key, pa.int64()) for key in SPAN_KEYS)])
_TYPES = {**dict.fromkeys(COLUMNS, pa.string()), **dict.fromkeys(SPAN_COLUMNS, pa.int64())}
_SCHEMA = pa.schema([*((key, pa.string()) for key in TEXT_KEYS), *((name, _ENTITY) for name in ENTITIES)])
_PARSE = pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="infer")
_READ = pj.ReadOptions(block_size=1 << 21, use_threads=False)
_PARSERS = 2
_BOM = b"\xef\xbb\xbf"
_NEWLINE, _BRACE = ord("\n"), ord("{")


class Shard(NamedTuple):
    """The lines of a file that begin in the bytes [start, end); `number` is the file's place in order.

    `array`: the file is a JSON array, all of it. `kept`: which of its rows, by relation ("all", "positive",
    "negative"). `null_types`: an entity's type may be null, and is then "".
    """

    path: str
    start: int
    end: int
    number: int
    array: bool = False
    kept: str = ALL_ROWS
    null_types: bool = False


class Block(NamedTuple):
    """A run of records: flat columns (COLUMNS, SPAN_COLUMNS), keys that were kept out, where it begins.

    `offset` is the byte at which the run begins; in an array, the index of its first record.
    `num_null_types`: how many types were null.
    """

    columns: pa.Table
    extra_keys: tuple[str, ...]
    shard: Shard
    offset: int
    num_null_types: int = 0

    def where(self, row: int) -> str:
        """Return ``file:line`` of a row of this block."""
        if self.shard.array:
            return next(islice(array_items(self.shard.path), self.offset + row, None)).where
        with open(self.shard.path, "rb") as file:
            number = _count_lines(file, self.offset)
            for text in file:
                number += 1
                if text.strip():
                    if row == 0:
                        break
                    row -= 1
        return f"{self.shard.path}:{number}"


def each_record(path: str, *, array: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ``file:line`` and object of every record that can be read; faults are somebody else's matter."""
    if array:
        try:
            yield from ((item.where, item.record) for item in array_items(path))
        except RecordError:
            return
    else:
        with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(record, dict):
                    yield f"{path}:{number}", record


def json_records(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ``file:line`` and object of every record of an array or of lines; blank lines hold none.

    Raises:
        FileNotFoundError: there is no such file.
        RecordError: a line, or an item of the array, that is not one JSON object in UTF-8.
    """
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path}.")
    if is_array(path):
        yield from ((item.where, item.record) for item in array_items(os.fspath(path)))
        return
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            line = line.removeprefix(_BOM if number == 1 else b"")
            if line.strip():
                where = f"{path}:{number}"
                yield where, decode_line(line, where)


def _count_lines(file: BinaryIO, offset: int) -> int:
    """Number of line ends before the byte `offset`; leaves `file` there."""
    file.seek(0)
    count, left = 0, offset
    while left and (chunk := file.read(min(left, 1 << 20))):
        count += chunk.count(b"\n")
        left -= len(chunk)
    return count


def shards(path: str, number: int, *, array: bool = False, shard_bytes: int = 1 << 26) -> list[Shard]:
    """Return byte ranges of about `shard_bytes` that together hold each line of the file once.

    An array is one shard.
    """
    size = os.path.getsize(path)
    if array:
        return [Shard(path, 0, size, number, array=True)]
    starts = range(0, max(size, 1), shard_bytes)
    return [Shard(path, start, min(start + shard_bytes, size), number) for start in starts]


def interleaved(files: Iterable[list[Shard]]) -> list[Shard]:
    """Return the shards of all `files` in an order in which each stretch holds its share of each file.

    >>> a, b = shards(__file__, 0, shard_bytes=5_000)[:4], shards(__file__, 1, shard_bytes=5_000)[:2]
    >>> [shard.number for shard in interleaved([a, b])]
    [0, 1, 0, 0, 1, 0]
    """
    placed = [((index + 0.5) / len(file), shard) for file in files for index, shard in enumerate(file)]
    return [shard for _, shard in sorted(placed, key=lambda entry: (entry[0], entry[1].number))]


def is_array(path: str | os.PathLike[str]) -> bool:
    """Return whether the file begins as a JSON array does."""
    with open(path, "rb") as file:
        return file.read(100).removeprefix(_BOM).lstrip().startswith(b"[")


def read_blocks(shard: Shard, *, block_bytes: int = 1 << 23) -> Iterator[Block]:
    """Yield the records of `shard` in blocks of about `block_bytes`, checked for shape and type.

    Each column of a block is a string column without nulls, named as in COLUMNS ("head.word" for the key
    `word` of `head`), or one of offsets, null where the corpus gives none, named as in SPAN_COLUMNS. A
    byte order mark and blank lines are skipped; keys that are not known are kept out and named in
    `extra_keys`.

    Raises:
        RecordError: a line (an item of an array) that is not one JSON object in UTF-8, a missing key, a value
            that is not a string, an empty id, a file without records, a file that changes while it is read.
    """
    before = _state(shard.path)
    num_rows = 0
    for block in _array_blocks(shard) if shard.array else _line_blocks(shard, block_bytes):
        if block.columns.num_rows:
            num_rows += block.columns.num_rows
            yield block
    if _state(shard.path) != before:
        raise RecordError(
            f"{shard.path} was replaced or written to while it was read; load again when it is complete."
        )
    if not num_rows and shard.start == 0 and shard.end >= os.path.getsize(shard.path):
        raise RecordError(
            f"{shard.path} holds no records; a split may not be empty. Was it cut off when it was copied?"
        )


def read_ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the same blocks; while one is in use, the next is being read (Arrow parses without the GIL)."""
    with ThreadPoolExecutor(max_workers=1) as reader:
        coming = reader.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield block


def _state(path: str) -> tuple[int, int, int]:
    state = os.stat(path)
    return state.st_ino, state.st_size, state.st_mtime_ns


def _line_blocks(shard: Shard, block_bytes: int) -> Iterator[Block]:
    """Blocks are checked and parsed whole, each by one thread, so that no step of it waits for the others."""
    coming: deque[Future[Block]] = deque()
    with ThreadPoolExecutor(max_workers=_PARSERS) as parsers:
        for data, offset in _line_bytes(shard, block_bytes):
            coming.append(parsers.submit(_parse, data, shard, offset))
            if len(coming) >= _PARSERS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def _line_bytes(shard: Shard, block_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines, about `block_bytes` at a time, and the byte at which they begin."""
    with open(shard.path, "rb") as file:
        if shard.start:
            # The line that begins before the range belongs to the shard before.
            file.seek(shard.start - 1)
            file.readline()
        while (offset := file.tell()) < shard.end:
            data = file.read(min(block_bytes, shard.end - offset))
            if not data:
                return
            if not data.endswith(b"\n"):
                data += file.readline()
            yield data if offset else data.removeprefix(_BOM), offset


def _array_blocks(shard: Shard, rows: int = 10_000) -> Iterator[Block]:
    items = array_items(shard.path)
    offset = 0
    while batch := list(islice(items, rows)):
        checked = [check_record(item.record, item.where, null_types=shard.null_types) for item in batch]
        yield _block(checked, shard, offset)
        offset += len(batch)


def _block(checked: list[tuple[list[Any], list[str]]], shard: Shard, offset: int) -> Block:
    """A block of checked records, each with the keys that are kept out."""
    extra = dict.fromkeys(key for _, keys in checked for key in keys)
    values = zip(*(record for record, _ in checked), strict=True) if checked else [()] * len(_TYPES)
    arrays = [pa.array(column, kind) for column, kind in zip(values, _TYPES.values(), strict=True)]
    columns, num_null_types = _without_null_types(pa.table(arrays, names=list(_TYPES)), shard)
    return Block(columns, tuple(extra), shard, offset, num_null_types)


def _without_null_types(columns: pa.Table, shard: Shard) -> tuple[pa.Table, int]:
    """The columns with "" for a type that is null, where the shard may have such, and how many there were."""
    found = 0
    for name in (f"{entity}.type" for entity in ENTITIES):
        if shard.null_types and (num_null := columns[name].null_count):
            found += num_null
            place = columns.schema.get_field_index(name)
            columns = columns.set_column(place, name, columns[name].fill_null(""))
    return columns, found


def _parse(data: bytes, shard: Shard, offset: int) -> Block:
    """The fast road where the block is plainly right, else the careful one."""
    text = np.frombuffer(data, np.uint8)
    (line_ends,) = np.nonzero(text[:-1] == _NEWLINE)
    num_lines = len(line_ends) + 1
    # Every line begins an object: nothing spans lines, and no bare `null` comes first (pyarrow 26 crashes
    # on it).
    if data.startswith(b"{") and (text[line_ends + 1] == _BRACE).all() and _is_utf8(data):
        try:
            table = pj.read_json(pa.BufferReader(data), _READ, _PARSE)
        except pa.ArrowException:
            # Also "not implemented": a key that NYT-H does not have holds values of several kinds.
            table = None
        if table is not None and table.num_rows == num_lines:
            extra_keys = _extra_keys(table.schema)
            if not (extra_keys and (b"NaN" in data or b"Inf" in data)):
                columns, num_null_types = _without_null_types(_flatten(table), shard)
                if all(columns[name].null_count == 0 for name in COLUMNS) and not _has_empty_id(columns):
                    return Block(columns, extra_keys, shard, offset, num_null_types)
    return _parse_lines(data, shard, offset)


def _parse_lines(data: bytes, shard: Shard, offset: int) -> Block:
    with open(shard.path, "rb") as file:
        first_line = _count_lines(file, offset) + 1
    lines = enumerate(data.split(b"\n"), start=first_line)
    checked = [
        check_line(raw, f"{shard.path}:{number}", null_types=shard.null_types)
        for number, raw in lines
        if raw.strip()
    ]
    return _block(checked, shard, offset)


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    # Arrow looks at the bytes where they lie; decoding would make a text of them only to throw it away.
    ends = pa.py_buffer(np.array([0, len(data)], np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _flatten(table: pa.Table) -> pa.Table:
    columns = [table[key] for key in TEXT_KEYS]
    for entity in ENTITIES:
        columns += [pc.struct_field(table[entity], key) for key in ENTITY_KEYS]
    columns += [pc.struct_field(table[entity], key) for entity in ENTITIES for key in SPAN_KEYS]
    return pa.table(columns, names=list(_TYPES))


def _has_empty_id(columns: pa.Table) -> bool:
    return any(pc.min(pc.binary_length(columns[key])).as_py() == 0 for key in ("instance_id", "bag_id"))


def _extra_keys(schema: pa.Schema) -> tuple[str, ...]:
    extra = [name for name in schema.names if name not in _SCHEMA.names]
    for entity in ENTITIES:
        fields = schema.field(entity).type
        names = [fields.field(i).name for i in range(fields.num_fields)]
        extra += [f"{entity}.{name}" for name in names if name not in (*ENTITY_KEYS, *SPAN_KEYS)]
    return tuple(extra)
