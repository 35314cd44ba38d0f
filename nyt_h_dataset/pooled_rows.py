"""The rows of all splits in one table, with what decides about them in numbers (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .record_lines import ENTITIES, ENTITY_KEYS
from .release_folder import pair_id
from .schema import BAG_LABELS
from .selection import Mask, Rows, joint_codes

# Of rows that are alike the first stays, so test comes first.
SPLITS = ("test", "train", "validation")
_SLICE_ROWS = 10_000


@dataclass(frozen=True)
class PooledRows:
    """The rows of a corpus, those of test first; every array has the shape (rows,).

    `relation` and `answer` are ids that may be changed, `table` holds what came in; `pair` and `sentence` are
    the same number where these are the same (sentences without outer blanks).
    """

    negative_id: int
    table: pa.Table
    relation: Rows
    answer: Rows
    pair: Rows
    sentence: Rows
    in_test: Mask
    in_dev: Mask

    @property
    def negative(self) -> Mask:
        """Which rows are of the negative relation."""
        return self.relation == self.negative_id

    def only(self, kept: Mask) -> PooledRows:
        """Return the `kept` rows, in order."""
        arrays = {field.name: getattr(self, field.name)[kept] for field in fields(self)[2:]}
        return PooledRows(self.negative_id, self.table.filter(pa.array(kept)), **arrays)


def pool_rows(data: Mapping[str, datasets.Dataset], negative_id: int) -> PooledRows:
    """Return the rows of the splits of the `sentence` config; `negative_id` is the id of NA."""
    kept = ["instance_id", "relation", "bag_label", "sentence", "head", "tail"]
    tables = [data[split].select_columns(kept).with_format("arrow")[:] for split in SPLITS]
    table = pa.concat_tables(tables).combine_chunks()
    origin = np.repeat(np.array(SPLITS), [len(part) for part in tables])
    return PooledRows(
        negative_id=negative_id,
        table=table,
        relation=table["relation"].to_numpy().copy(),
        answer=table["bag_label"].to_numpy().copy(),
        pair=joint_codes(*(_codes(_guids(table[entity])) for entity in ENTITIES)),
        sentence=_codes(pc.utf8_trim_whitespace(table["sentence"])),
        in_test=origin == "test",
        in_dev=origin == "validation",
    )


def _guids(entity: pa.ChunkedArray) -> pa.ChunkedArray:
    """The guids; where one is empty, the word stands for it, as in the bags."""
    guid, word = (pc.struct_field(entity, name) for name in ("guid", "word"))
    return pc.if_else(pc.equal(guid, ""), word, guid)


def _codes(column: pa.ChunkedArray) -> Rows:
    return column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)


def row_records(rows: PooledRows, numbers: Rows, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of these `numbers` as records of a data file; `names` are the relations by their ids."""
    for start in range(0, len(numbers), _SLICE_ROWS):
        part = numbers[start : start + _SLICE_ROWS]
        for number, row in zip(part, rows.table.take(pa.array(part)).to_pylist(), strict=True):
            head, tail = ({key: row[entity][key] for key in ENTITY_KEYS} for entity in ENTITIES)
            yield {
                "instance_id": row["instance_id"],
                "bag_id": pair_id(head["guid"] or head["word"], tail["guid"] or tail["word"]),
                "relation": names[rows.relation[number]],
                "bag_label": BAG_LABELS[rows.answer[number]],
                "sentence": row["sentence"],
                "head": head,
                "tail": tail,
            }
