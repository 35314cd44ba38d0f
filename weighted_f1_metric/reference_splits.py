"""Reference records by split, and which split a set of row ids belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import read_columns
from .validation import quoted


@dataclass(frozen=True)
class ReferenceSplit:
    """One split.

    Attributes:
        name: its name.
        records: its reference records or columns, as given.
        start: the row id of its first unit.
        unit_ids: the ids of its units, in row order.
        relations: the relation of each row, or None where the units are bags.
    """

    name: str
    records: Any
    start: int
    unit_ids: list[Any]
    relations: list[Any] | None


def read_splits(references: Any, track: str) -> list[ReferenceSplit]:
    """The splits, with their row ids counted on from one to the next.

    Raises:
        TypeError, ValueError: see `read_columns`.
    """
    is_split_map = isinstance(references, Mapping) and "instance_id" not in references
    named = dict(references) if is_split_map else {"references": references}
    splits: list[ReferenceSplit] = []
    start = 0
    for name, records in named.items():
        records = records if isinstance(records, Mapping) else list(records)
        columns = read_columns(
            records, required=["instance_id", "bag_id", "relation"], name=f"references[{name!r}]"
        )
        if track == "bag2bag":
            split = ReferenceSplit(name, records, start, list(dict.fromkeys(columns["bag_id"])), None)
        else:
            split = ReferenceSplit(name, records, start, columns["instance_id"], columns["relation"])
        splits.append(split)
        start += len(split.unit_ids)
    return splits


def split_of_rows(rows: np.ndarray, splits: list[ReferenceSplit]) -> tuple[ReferenceSplit, np.ndarray]:
    """The split that the row ids are from, and the position of each row in it.

    Raises:
        ValueError: ids of no split or of several, there twice, or not all there.
    """
    end = splits[-1].start + len(splits[-1].unit_ids)
    if rows.min() < 0 or rows.max() >= end:
        raise ValueError(f"Row ids must lie in 0 to {end - 1}; got {rows.min()} to {rows.max()}.")
    split = next(part for part in reversed(splits) if rows.min() >= part.start)
    positions = rows - split.start
    num_units = len(split.unit_ids)
    if positions.max() >= num_units:
        raise ValueError(
            f"The row ids {rows.min()} to {rows.max()} reach over split {split.name!r}, which ends at "
            f"{split.start + num_units - 1}; evaluate one split at a time."
        )
    times = np.bincount(positions, minlength=num_units)
    repeated, missing = np.flatnonzero(times > 1), np.flatnonzero(times == 0)
    if len(repeated) or len(missing):
        parts = [
            f"{len(where)} of {num_units} units of split {split.name!r} {what}: "
            f"{quoted(split.unit_ids[position] for position in where)}"
            for where, what in ((repeated, "came more than once"), (missing, "are missing"))
            if len(where)
        ]
        raise ValueError(f"{'; '.join(parts)}. Every unit needs exactly one prediction.")
    return split, positions
