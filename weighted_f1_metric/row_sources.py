"""Rows in any form -> plain columns: records, columns, DataFrames, Arrow tables and splits of a Dataset.

Class ids become names through the features that come with a Dataset or an Arrow table, and the nested
`instances` of a table of bags become rows. Every form is recognised by what it can do: nothing is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .validation import is_integer, quoted

REFERENCE_KEYS = ("instance_id", "bag_id", "relation", "bag_label")
NESTED = "instances"  # the column of a table of bags that holds their rows


class Columns(dict[str, Any]):
    """Key -> the values of all rows.

    Attributes:
        class_names: key -> names by id, for columns that came with ClassLabel features.
    """

    def __init__(self, columns: Mapping[str, Any], class_names: Mapping[str, Sequence[str]]) -> None:
        """Keeps both."""
        super().__init__(columns)
        self.class_names = dict(class_names)


@dataclass(frozen=True)
class RowSource:
    """Rows that can be read column by column.

    Attributes:
        name: how messages call them.
        keys: the columns; of records, the keys of the first.
        read: (required keys, optional keys) -> columns; an optional key that is not there is left out.
        class_names: key, or the path to a nested one -> names by id; None where values are no class ids.
    """

    name: str
    keys: Sequence[str]
    read: Callable[[Sequence[str], Sequence[str]], dict[str, Any]]
    class_names: Callable[..., Sequence[str] | None] = lambda *path: None


def is_table(rows: Any) -> bool:
    """Return whether `rows` are a table (records, columns, ...) rather than one column of labels.

    >>> is_table([{"relation": "a"}]), is_table({"relation": ["a"]}), is_table(["a"])
    (True, True, False)
    """
    if isinstance(rows, Mapping) or hasattr(rows, "column_names") or hasattr(rows, "features"):
        return True
    if hasattr(rows, "columns") and hasattr(rows, "iloc"):
        return True
    return isinstance(rows, (list, tuple)) and len(rows) > 0 and isinstance(rows[0], Mapping)


def row_source(rows: Any, name: str) -> RowSource:
    """Return the rows, ready to be read.

    Raises:
        TypeError: no rows in any of the forms.
        ValueError: a mapping of splits.
    """
    is_iterable = isinstance(rows, Iterable) and not isinstance(rows, (str, bytes))
    if not is_iterable and not hasattr(rows, "column_names"):  # an Arrow batch is not iterable everywhere
        raise TypeError(f"`{name}` must be records, columns or a table; got {type(rows).__name__}.")
    if isinstance(rows, Mapping):
        return _of_mapping(rows, name)
    if hasattr(rows, "features") and hasattr(rows, "with_format"):
        return _of_dataset(rows, name)
    if hasattr(rows, "to_arrow") and not hasattr(rows, "iloc"):  # polars
        rows = rows.to_arrow()
    if hasattr(rows, "column_names") and hasattr(rows, "schema"):
        return _of_arrow(rows, name, _stored_features(rows.schema.metadata))
    if hasattr(rows, "iloc") and hasattr(rows, "columns"):
        return _of_columns(list(map(str, rows.columns)), lambda key: _of_series(rows[key]), name)
    return _of_records(rows, name)


def _of_columns(
    keys: Sequence[str], column: Callable[[str], Any], name: str, features: Any = None
) -> RowSource:
    """Rows of which each column can be had."""

    def read(required: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
        missing = [key for key in required if key not in keys]
        if missing:
            raise ValueError(f"`{name}` lacks the column {quoted(missing)}; it has {quoted(keys)}.")
        columns = {key: column(key) for key in dict.fromkeys((*required, *optional)) if key in keys}
        columns = {key: values for key, values in columns.items() if key in required or not _is_void(values)}
        lengths = {key: len(values) for key, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"The columns of `{name}` differ in length: {lengths}.")
        return columns

    return RowSource(name, keys, read, lambda *path: _class_names(features, path))


def _is_void(values: Any) -> bool:
    return isinstance(values, list) and all(value is None for value in values)


def _of_mapping(rows: Mapping[Any, Any], name: str) -> RowSource:
    keys = [key for key, values in rows.items() if values is not None]
    if keys and all(is_table(rows[key]) for key in keys):
        raise ValueError(
            f"`{name}` holds several tables ({quoted(keys)}); pass one of them, as {name}[{keys[-1]!r}]."
        )
    source = _of_columns(keys, lambda key: _plain(rows[key]), name)
    if isinstance(rows, Columns):
        known = rows.class_names
        return RowSource(name, keys, source.read, lambda *path: known.get(path[-1]))
    return source


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
    if hasattr(column, "iloc"):
        return _of_series(column)
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise TypeError(f"A column must be a list or an array; got {column!r:.60}.")
    return list(column)


def _of_series(series: Any) -> list[Any]:
    """The values of a pandas column; whatever it calls missing is None."""
    values: list[Any] = series.astype(object).tolist()
    there = series.notna().tolist()
    return values if all(there) else [v if own else None for v, own in zip(values, there, strict=True)]


def _of_dataset(rows: Any, name: str) -> RowSource:
    """A Dataset is read as an Arrow table, of the columns needed; a streamed one as records."""
    if not hasattr(rows, "__len__"):
        source = _of_records(rows.with_format(None), name)
        features = rows.features
        return RowSource(name, source.keys, source.read, lambda *path: _class_names(features, path))

    def column(key: str) -> list[Any]:
        values: list[Any] = rows.select_columns([key]).with_format("arrow")[:].column(key).to_pylist()
        return values

    return _of_columns(list(rows.column_names), column, name, rows.features)


def _of_arrow(table: Any, name: str, features: Any) -> RowSource:
    return _of_columns(list(table.schema.names), lambda key: table.column(key).to_pylist(), name, features)


def _stored_features(metadata: Mapping[bytes, bytes] | None) -> Any:
    """The features that `datasets` writes into the schema of its tables and files."""
    try:
        return json.loads((metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, ValueError):
        return None


def _class_names(features: Any, path: Sequence[str]) -> Sequence[str] | None:
    """The names of a ClassLabel, of features as objects or as `datasets` stores them."""
    feature = features
    for key in path:
        if isinstance(feature, (list, tuple)) and feature:
            feature = feature[0]
        feature = getattr(feature, "feature", feature)
        if isinstance(feature, Mapping) and "_type" in feature and "feature" in feature:
            feature = feature["feature"]
        if not isinstance(feature, Mapping) or key not in feature:
            return None
        feature = feature[key]
    if hasattr(feature, "int2str"):
        return list(feature.names)
    if isinstance(feature, Mapping) and feature.get("_type") == "ClassLabel":
        return list(feature["names"])
    return None


def _of_records(rows: Iterable[Any], name: str) -> RowSource:
    records = rows if isinstance(rows, list) else list(rows)
    for position, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise TypeError(
                f"`{name}` must hold records (dicts); {name}[{position}] is {record!r:.60} of type "
                f"{type(record).__name__}."
            )

    def read(required: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for key in required:
            try:
                columns[key] = [record[key] for record in records]
            except KeyError:
                lacking = [position for position, record in enumerate(records) if key not in record]
                raise ValueError(
                    f"{len(lacking)} of {len(records)} records in `{name}` lack the key {key!r}; the first "
                    f"is {name}[{lacking[0]}] with the keys {quoted(records[lacking[0]], 8)}."
                ) from None
        for key in optional:
            values = [record.get(key) for record in records]
            if not _is_void(values):
                columns[key] = values
        return columns

    return RowSource(name, list(records[0]) if records else [], read)


def read_columns(rows: Any, *, required: Sequence[str], optional: Sequence[str] = (), name: str) -> Columns:
    """Return key -> list of the values of all rows; an optional key that no row has is left out.

    Args:
        rows: records (mappings), a mapping of columns (lists, arrays, Dataset columns), a pandas or polars
            DataFrame, an Arrow table, or a split of a Dataset (streamed too); or their `RowSource`. Where
            they are bags with their rows under `instances`, and `instance_id` is required, each of these is a
            row.
        required, optional: the keys to read; others are ignored.
        name: how messages call the argument.

    >>> read_columns([{"id": "a", "n": 1}, {"id": "b", "n": 2}], required=["id"], optional=["x"], name="rows")
    {'id': ['a', 'b']}
    >>> read_columns({"id": ["a", "b"]}, required=["id"], name="rows")
    {'id': ['a', 'b']}
    >>> bags = [{"bag_id": "b", "instances": [{"instance_id": "i"}, {"instance_id": "j"}]}]
    >>> read_columns(bags, required=["instance_id", "bag_id"], name="rows")
    {'instance_id': ['i', 'j'], 'bag_id': ['b', 'b']}

    Raises:
        TypeError: rows in none of these forms.
        ValueError: no rows, a key that is missing (in which row), columns of unequal length.
    """
    source = rows if isinstance(rows, RowSource) else row_source(rows, name)
    if "instance_id" in required and "instance_id" not in source.keys and NESTED in source.keys:
        columns = _rows_of_bags(source, required, optional)
    else:
        columns = source.read(required, optional)
    if not columns or not len(columns[required[0]]):
        raise ValueError(f"`{name}` is empty; there is nothing to score.")
    class_names = {}
    for key, values in columns.items():
        names = source.class_names(key) or source.class_names(NESTED, key)
        if names is not None:
            class_names[key] = names
            columns[key] = named_classes(values, names)
    return Columns(columns, class_names)


def named_classes(values: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the values with class ids as names; what is no id of a name stays as it is.

    >>> named_classes([1, 0, "a", 7], ["NA", "a"])
    ['a', 'NA', 'a', 7]
    """
    return [names[value] if is_integer(value) and 0 <= value < len(names) else value for value in values]


def _rows_of_bags(source: RowSource, required: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
    """The columns of the rows within bags; a key that the rows lack is that of their bag."""
    bags = [_members(value) for value in source.read([NESTED], [])[NESTED]]
    rows = [row for members in bags for row in members]
    within = set(rows[0]) if rows else set()
    of_bag = [key for key in (*required, *optional) if key not in within and key in source.keys]
    columns = _of_records(rows, f"{source.name}[...][{NESTED!r}]").read(
        [key for key in required if key not in of_bag], [key for key in optional if key not in of_bag]
    )
    for key, values in (source.read(of_bag, []) if of_bag else {}).items():
        columns[key] = [value for value, members in zip(values, bags, strict=True) for _ in members]
    return {key: columns[key] for key in (*required, *optional) if key in columns}


def _members(instances: Any) -> list[Any]:
    """The rows of one bag, from a list of records or from a record of lists."""
    if isinstance(instances, Mapping):
        keys = list(instances)
        return [dict(zip(keys, row, strict=True)) for row in zip(*instances.values(), strict=True)]
    return [] if instances is None else list(instances)
