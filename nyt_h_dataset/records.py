"""Raw data files -> checked columns, every fault with its file and line (pure; pyarrow and the standard library).

Blocks of lines go through ``pyarrow.json``. It accepts what is not one JSON object a line (NaN, two objects on a
line) and does not say which line it refuses, so wherever a block is not plainly right, the block is read again
line by line with ``json``, which either names the fault or finds that all is well after all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

TEXT_KEYS = ("instance_id", "bag_id", "relation", "bag_label", "sentence")
ENTITIES = ("head", "tail")
ENTITY_KEYS = ("guid", "word", "type")
COLUMNS = (*TEXT_KEYS, *(f"{entity}.{key}" for entity in ENTITIES for key in ENTITY_KEYS))

_ENTITY = pa.struct([(key, pa.string()) for key in ENTITY_KEYS])
_SCHEMA = pa.schema([*((key, pa.string()) for key in TEXT_KEYS), *((name, _ENTITY) for name in ENTITIES)])
_PARSE = pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="infer")
_BOM = b"\xef\xbb\xbf"


class RecordError(ValueError):
    """A fault in a data file; the message says where it is and what to do."""


class Shard(NamedTuple):
    """The lines of a file that begin in the byte range [start, end); `number` is the file's place in its order."""

    path: str
    start: int
    end: int
    number: int


class Block(NamedTuple):
    """A run of records: flat string columns (COLUMNS), the keys that were kept out, and where the run begins."""

    columns: pa.Table
    extra_keys: tuple[str, ...]
    shard: Shard
    offset: int

    def line(self, row: int) -> int:
        """The 1-based line of a row of this block in its file."""
        with open(self.shard.path, "rb") as file:
            number = _count_lines(file, self.offset)
            for text in file:
                number += 1
                if text.strip():
                    if row == 0:
                        return number
                    row -= 1
        raise RecordError(f"{self.shard.path} was changed while it was read; load it again.")

    def where(self, row: int) -> str:
        """``file:line`` of a row of this block."""
        return f"{self.shard.path}:{self.line(row)}"


def _count_lines(file: Any, offset: int) -> int:
    """Number of line ends before the byte `offset`; leaves `file` there."""
    file.seek(0)
    count, left = 0, offset
    while left and (chunk := file.read(min(left, 1 << 20))):
        count += chunk.count(b"\n")
        left -= len(chunk)
    return count


def shards(path: str, number: int, *, shard_bytes: int = 1 << 26) -> list[Shard]:
    """Return byte ranges of about `shard_bytes` that together hold each line of the file once."""
    size = os.path.getsize(path)
    starts = range(0, max(size, 1), shard_bytes)
    return [Shard(path, start, min(start + shard_bytes, size), number) for start in starts]


def read_blocks(shard: Shard, *, block_bytes: int = 1 << 23) -> Iterator[Block]:
    """Yield the records of `shard` in blocks of about `block_bytes`, checked for shape and type.

    Each column of a block is a string column without nulls, named as in COLUMNS ("head.word" for the key `word`
    of `head`). A byte order mark and blank lines are skipped.

    Raises:
        RecordError: a line that is not one JSON object in UTF-8, a missing key, a value that is not a string, an
            empty id, a file without records.
    """
    num_rows = 0
    with open(shard.path, "rb") as file:
        if shard.start:
            file.seek(shard.start - 1)
            file.readline()
        elif file.read(3) != _BOM:
            file.seek(0)
        while (offset := file.tell()) < shard.end:
            data = file.read(min(block_bytes, shard.end - offset))
            if not data.endswith(b"\n"):
                data += file.readline()
            block = _parse(data, shard, offset)
            num_rows += block.columns.num_rows
            if block.columns.num_rows:
                yield block
        if not num_rows and shard.start == 0 and shard.end >= os.path.getsize(shard.path):
            raise RecordError(
                f"{shard.path} holds no records; a split may not be empty. Was the file cut off when it was copied?"
            )


def _parse(data: bytes, shard: Shard, offset: int) -> Block:
    num_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    # Every line begins an object, so nothing spans lines and no bare `null` (which crashes pyarrow 26) comes first.
    if data.count(b"\n{") + data.startswith(b"{") == num_lines and _is_utf8(data):
        try:
            table = pj.read_json(pa.BufferReader(data), pj.ReadOptions(block_size=1 << 20), _PARSE)
        except pa.ArrowInvalid:
            table = None
        if table is not None and table.num_rows == num_lines:
            extra_keys = _extra_keys(table.schema)
            if not (extra_keys and (b"NaN" in data or b"Infinity" in data)):
                columns = _flatten(table)
                if all(column.null_count == 0 for column in columns.columns) and not _has_empty_id(columns):
                    return Block(columns, extra_keys, shard, offset)
    return _parse_lines(data, shard, offset)


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _flatten(table: pa.Table) -> pa.Table:
    columns = [table[key] for key in TEXT_KEYS]
    for entity in ENTITIES:
        columns += [pc.struct_field(table[entity], key) for key in ENTITY_KEYS]
    return pa.table(columns, names=list(COLUMNS))


def _has_empty_id(columns: pa.Table) -> bool:
    return any(pc.min(pc.binary_length(columns[key])).as_py() == 0 for key in ("instance_id", "bag_id"))


def _extra_keys(schema: pa.Schema) -> tuple[str, ...]:
    extra = [name for name in schema.names if name not in _SCHEMA.names]
    for entity in ENTITIES:
        fields = schema.field(entity).type
        names = [fields.field(i).name for i in range(fields.num_fields)]
        extra += [f"{entity}.{name}" for name in names if name not in ENTITY_KEYS]
    return tuple(extra)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} is there twice")
    return record


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)


def _parse_lines(data: bytes, shard: Shard, offset: int) -> Block:
    """The careful road: line by line, naming the first fault."""
    with open(shard.path, "rb") as file:
        first_line = _count_lines(file, offset) + 1
    values: list[list[str]] = [[] for _ in COLUMNS]
    extra: dict[str, None] = {}
    for number, raw in enumerate(data.split(b"\n"), start=first_line):
        if raw.strip():
            for column, value in zip(values, _check_line(raw, f"{shard.path}:{number}", extra), strict=True):
                column.append(value)
    arrays = [pa.array(column, pa.string()) for column in values]
    return Block(pa.table(arrays, names=list(COLUMNS)), tuple(extra), shard, offset)


def _check_line(raw: bytes, where: str, extra: dict[str, None]) -> list[str]:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise RecordError(
            f"{where}: byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8; convert the file to UTF-8."
        ) from error
    try:
        record, end = _DECODER.raw_decode(text.strip())
    except json.JSONDecodeError as error:
        hint = " Is the last line cut off?" if error.pos >= len(text.strip()) else ""
        raise RecordError(f"{where}: not valid JSON ({error.msg}, column {error.colno}).{hint}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{where}: not valid JSON ({error}).") from error
    if end < len(text.strip()):
        raise RecordError(f"{where}: more than one JSON value on the line; write one record a line.")
    if not isinstance(record, dict):
        raise RecordError(f"{where}: a line must hold one JSON object; got {_kind(record)}.")
    extra.update(dict.fromkeys(key for key in record if key not in _SCHEMA.names))
    values = [_text(record, key, key, where) for key in TEXT_KEYS]
    for entity in ENTITIES:
        inner = _get(record, entity, entity, where)
        if not isinstance(inner, dict):
            raise RecordError(f"{where}: `{entity}` must be an object; got {_kind(inner)}.")
        extra.update(dict.fromkeys(f"{entity}.{key}" for key in inner if key not in ENTITY_KEYS))
        values += [_text(inner, key, f"{entity}.{key}", where) for key in ENTITY_KEYS]
    for key, value in zip(("instance_id", "bag_id"), values, strict=False):
        if not value:
            raise RecordError(f"{where}: `{key}` is empty; every record needs one.")
    return values


def _kind(value: Any) -> str:
    return "null" if value is None else f"{type(value).__name__} {json.dumps(value)[:60]}"


def _get(record: dict[str, Any], key: str, name: str, where: str) -> Any:
    if key not in record:
        raise RecordError(f"{where}: the key `{name}` is missing; the record has {sorted(record)}.")
    return record[key]


def _text(record: dict[str, Any], key: str, name: str, where: str) -> str:
    value = _get(record, key, name, where)
    if not isinstance(value, str):
        raise RecordError(f"{where}: `{name}` must be a string; got {_kind(value)}.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise RecordError(f"{where}: `{name}` holds half of a surrogate pair ({error.reason}).") from error
    return value


class IdRegistry:
    """Remembers where each `instance_id` was read, so that one that comes twice is an error, across files too.

    Reading the same place again (a second pass over a stream, a file that serves two splits) is no duplicate.
    """

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._places: dict[str, int] = {}

    def add(self, block: Block, files: Sequence[str]) -> None:
        """Note the ids of `block`; `files` are all data files in order, for the message.

        Raises:
            RecordError: an id was already read at another place.
        """
        ids = block.columns["instance_id"].to_pylist()
        # One number a record that is the same whenever the same record is read: a record has at least one byte.
        base = block.shard.number * (1 << 48) + block.offset
        remember = self._places.setdefault
        for place, instance_id in enumerate(ids, start=base):
            if remember(instance_id, place) != place:
                raise RecordError(_duplicate_message(instance_id, files))


def _duplicate_message(instance_id: str, files: Sequence[str]) -> str:
    seen: dict[str, str] = {}
    first_two, total = "", 0
    for number, path in enumerate(files):
        line = 0
        with open(path, "rb") as file:
            for line, raw in enumerate(file, start=1):
                if not raw.strip():
                    continue
                try:
                    found = json.loads(raw.decode("utf-8-sig" if line == 1 else "utf-8"))["instance_id"]
                except (ValueError, KeyError, TypeError):
                    continue
                place = f"{path}:{line}"
                if found in seen:
                    total += 1
                    if found == instance_id and not first_two:
                        first_two = f"{place}, first at {seen[found]}"
                else:
                    seen[found] = place
    return (
        f"duplicate `instance_id` {instance_id!r}: {first_two} ({total} records in all repeat an id). Ids must be "
        "unique over all files; remove or rename the repeated records."
    )
