"""Records, or a mapping of columns -> plain lists, one a key, with errors that name the row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .validation import quoted


def read_columns(
    rows: Any, *, required: Sequence[str], optional: Sequence[str] = (), name: str
) -> dict[str, Any]:
    """Key -> list of the values of all rows; an optional key that no row has is left out.

    Args:
        rows: an iterable of records (mappings), or one mapping of columns (lists, arrays, Dataset columns).
        required, optional: the keys to read; others are ignored.
        name: how messages call the argument.

    >>> read_columns([{"id": "a", "n": 1}, {"id": "b", "n": 2}], required=["id"], optional=["x"], name="rows")
    {'id': ['a', 'b']}
    >>> read_columns({"id": ["a", "b"]}, required=["id"], name="rows")
    {'id': ['a', 'b']}

    Raises:
        TypeError: neither records nor columns.
        ValueError: no rows, a key that is missing (in which row), columns of unequal length.
    """
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise TypeError(f"`{name}` must be records or a dict of columns; got {type(rows).__name__}.")
    if isinstance(rows, Mapping):
        columns = _from_mapping(rows, required, optional, name)
    else:
        columns = _from_records(rows, required, optional, name)
    if not columns or not len(columns[required[0]]):
        raise ValueError(f"`{name}` is empty; there is nothing to score.")
    return columns


def _from_mapping(
    rows: Mapping[str, Any], required: Sequence[str], optional: Sequence[str], name: str
) -> dict[str, Any]:
    missing = [key for key in required if rows.get(key) is None]
    if missing:
        raise ValueError(f"`{name}` lacks the column {quoted(missing)}; it has {quoted(rows)}.")
    keys = [*required, *(key for key in optional if rows.get(key) is not None)]
    columns = {key: _plain(rows[key]) for key in keys}
    lengths = {key: len(column) for key, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"The columns of `{name}` differ in length: {lengths}.")
    return columns


def _plain(column: Any) -> Any:
    """A list, or the array itself where it has two dimensions (scores)."""
    if isinstance(column, list):
        return column
    if hasattr(column, "detach"):
        column = column.detach().cpu().numpy()
    if isinstance(column, np.ndarray):
        return column if column.ndim > 1 else column.tolist()
    if hasattr(column, "to_pylist"):
        return column.to_pylist()
    return list(column)


def _from_records(
    rows: Iterable[Any], required: Sequence[str], optional: Sequence[str], name: str
) -> dict[str, Any]:
    records = rows if isinstance(rows, list) else list(rows)
    for position, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise TypeError(
                f"`{name}` must hold records (dicts); {name}[{position}] is {record!r:.60} of type "
                f"{type(record).__name__}."
            )
    columns: dict[str, Any] = {}
    for key in required:
        try:
            columns[key] = [record[key] for record in records]
        except KeyError:
            lacking = [position for position, record in enumerate(records) if key not in record]
            raise ValueError(
                f"{len(lacking)} of {len(records)} records in `{name}` lack the key {key!r}; the first is "
                f"{name}[{lacking[0]}] with the keys {quoted(records[lacking[0]], 8)}."
            ) from None
    for key in optional:
        values = [record.get(key) for record in records]
        if any(value is not None for value in values):
            columns[key] = values
    return columns


def check_ids(ids: Sequence[Any], key: str, name: str) -> None:
    """Checks that every id is a str or an int.

    Raises:
        TypeError: one is not; the message names the first such row.
    """
    if all(issubclass(kind, (str, int, np.integer)) for kind in set(map(type, ids))):
        return
    position = next(n for n, value in enumerate(ids) if not isinstance(value, (str, int, np.integer)))
    raise TypeError(
        f"`{key}` in `{name}` must be a string (or an int); {name}[{position}] has {ids[position]!r:.60}."
    )


def first_repeat(ids: Sequence[Any]) -> list[Any]:
    """The ids that occur more than once, in order.

    >>> first_repeat(["b", "a", "b", "a", "b", "c"])
    ['b', 'a']
    """
    if len(set(ids)) == len(ids):
        return []
    seen: set[Any] = set()
    repeated: dict[Any, None] = {}
    for value in ids:
        if value in seen:
            repeated[value] = None
        seen.add(value)
    return list(repeated)
