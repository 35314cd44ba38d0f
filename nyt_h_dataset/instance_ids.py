"""Instance ids are unique over all data files: what notices one that comes twice, or makes it unique."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .record_lines import RecordError
from .records import Block, Shard, each_record, read_blocks, shards
from .schema import NEGATIVE_RELATION


class RecordFile(NamedTuple):
    """A data file of records; `array` as in the older release; `is_empty`: without a record, and meant so."""

    path: str
    array: bool = False
    is_empty: bool = False
    null_types: bool = False

    def shards(self, number: int, *, shard_bytes: int = 1 << 26) -> list[Shard]:
        """Return the shards of the file, which has the place `number` among its kind."""
        if self.is_empty:
            return []
        found = shards(self.path, number, array=self.array, shard_bytes=shard_bytes)
        return [shard._replace(null_types=self.null_types) for shard in found]

    def places(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the offset (as `Block.offset` counts) and the object of every record that can be read."""
        if self.array:
            yield from enumerate(record for _, record in each_record(self.path, array=True))
            return
        offset = 0
        with open(self.path, "rb") as file:
            for line in file:
                with contextlib.suppress(ValueError, RecursionError):
                    record = json.loads(line.decode("utf-8-sig" if not offset else "utf-8"))
                    if isinstance(record, dict):
                        yield offset, record
                offset += len(line)


@dataclass
class _Scope:
    """Records among which an id is unique; the ids seen so far, checked now and then.

    Of the files but `without` these are all records, or, where `whole` names a file, those of this file and
    the positive ones of the others.
    """

    without: int | None = None
    whole: int | None = None
    ids: list[pa.ChunkedArray] = field(default_factory=list)
    num_checked: int = 0
    num_new: int = 0

    def holds(self, number: int, negative: bool) -> bool:
        """Return whether the scope has the negative records of the file `number`, or the others."""
        return number != self.without and (self.whole in (None, number) or not negative)


def _scopes(na_set: int | None) -> list[_Scope]:
    return [_Scope()] if na_set is None else [_Scope(without=na_set), _Scope(whole=na_set)]


class RepeatedIds:
    """Makes repeated instance ids unique: in the order of files the second record with the id X is X|2."""

    def __init__(self, files: Sequence[RecordFile], *, na_set: int | None = None) -> None:
        """Look for ids that come more than once; the arguments are those of `IdRegistry`.

        Raises:
            RecordError: a fault in a file.
        """
        self._scopes, self._na_set = _scopes(na_set), na_set
        blocks = [
            block.columns["instance_id"]
            for number, file in enumerate(files)
            for shard in file.shards(number)
            for block in read_blocks(shard)
        ]
        ids = pa.chunked_array([chunk for column in blocks for chunk in column.chunks], pa.string())
        counts = pc.value_counts(ids)
        twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        # id -> number of the file, offset in it, and whether the relation is NA, of each of its records.
        self._places: dict[str, list[tuple[int, int, bool]]] = {name: [] for name in twice.to_pylist()}
        for number, file in enumerate(files if self._places else ()):
            for offset, record in file.places():
                if (found := record.get("instance_id")) in self._places:
                    negative = record.get("relation") == NEGATIVE_RELATION
                    self._places[found].append((number, offset, negative))

    def made_unique(self, block: Block) -> tuple[Block, int]:
        """Return the block with unique ids, and how many of them were changed."""
        if not self._places:
            return block, 0
        number, ids = block.shard.number, block.columns["instance_id"].to_pylist()
        scope = self._scopes[-1 if number == self._na_set else 0]
        seen: dict[str, int] = {}
        for row, name in enumerate(ids):
            if name not in self._places:
                continue
            if name not in seen:
                before = (number, block.offset)
                seen[name] = sum(
                    scope.holds(place[0], place[2]) for place in self._places[name] if place[:2] < before
                )
            seen[name] += 1
            if seen[name] > 1:
                ids[row] = f"{name}|{seen[name]}"
        num_changed = pc.sum(pc.not_equal(block.columns["instance_id"], pa.chunked_array([ids]))).as_py() or 0
        columns = block.columns.set_column(0, "instance_id", pa.chunked_array([ids], pa.string()))
        return block._replace(columns=columns), num_changed


class IdRegistry:
    """Remembers which `instance_id` were read; one that comes twice is an error, across files too.

    Reading the same place again (a second pass over a stream, a file that serves two splits) is no duplicate.
    In the older release the NA rows of train are a sample of the NA set, so the two share ids by design.
    """

    def __init__(self, files: Sequence[RecordFile], *, na_set: int | None = None) -> None:
        """Start with nothing seen.

        Args:
            files: all record files; a block's `shard.number` is the index of one.
            na_set: the index of the file that train's NA rows are a sample of, if there is one.
        """
        self._files = files
        self._places: set[tuple[int, int]] = set()
        self._scopes = _scopes(na_set)

    def add(self, block: Block) -> None:
        """Note the ids of `block`; they are compared when enough new ones are there, or with `check`.

        Raises:
            RecordError: see `check`.
        """
        number = block.shard.number
        if (number, block.offset) in self._places:
            return
        self._places.add((number, block.offset))
        ids, relation = block.columns["instance_id"], block.columns["relation"]
        for scope in self._scopes:
            if scope.holds(number, False) and scope.holds(number, True):
                scope.ids.append(ids)
            elif scope.holds(number, False):
                scope.ids.append(ids.filter(pc.not_equal(relation, NEGATIVE_RELATION)))
            else:
                continue
            scope.num_new += len(scope.ids[-1])
            if scope.num_new > max(20_000, scope.num_checked):
                self._check(scope)

    def check(self) -> None:
        """Compare the ids that were noted since the last time with all others.

        Raises:
            RecordError: an id was read at two places; the message names both and the total.
        """
        for scope in self._scopes:
            if scope.num_new:
                self._check(scope)

    def _check(self, scope: _Scope) -> None:
        ids = pa.chunked_array([chunk for column in scope.ids for chunk in column.chunks], pa.string())
        if pc.count_distinct(ids).as_py() < len(ids):
            counts = pc.value_counts(ids)
            twice = counts.filter(pc.greater(counts.field("counts"), 1))
            raise RecordError(self._message(twice[0]["values"].as_py(), scope))
        scope.num_checked, scope.num_new = len(ids), 0

    def _message(self, instance_id: str, scope: _Scope) -> str:
        first_at: dict[str, str] = {}
        both, total = "", 0
        for place, found in self._ids_of(scope):
            if found in first_at:
                total += 1
                if found == instance_id and not both:
                    both = f"{place}, first at {first_at[found]}"
            else:
                first_at[found] = place
        return (
            f"duplicate `instance_id` {instance_id!r}: {both} ({total} records in all repeat an id). Ids "
            "must be unique over all files; rename the repeated records, or pass irregular='repair'."
        )

    def _ids_of(self, scope: _Scope) -> Iterator[tuple[str, str]]:
        """``file:line`` and id of every record of the scope that has one."""
        for number, file in enumerate(self._files):
            for place, record in each_record(file.path, array=file.array):
                found = record.get("instance_id")
                if isinstance(found, str) and scope.holds(
                    number, record.get("relation") == NEGATIVE_RELATION
                ):
                    yield place, found
