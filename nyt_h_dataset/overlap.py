"""What rows share: duplicates, twins, what one split has in common with another (pure; Arrow tables in)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# Two rows are duplicates when they agree in these; twins agree in TWIN_KEY and differ in the relation.
ROW_KEY = ("head_guid", "tail_guid", "relation", "sentence")
PAIR_KEY = ("head_guid", "tail_guid")
TWIN_KEY = ("bag_id", "sentence")
_COLUMNS = ("bag_id", "relation", "bag_label", "mention_status")


def flat_table(rows: pa.Table) -> pa.Table:
    """Return the columns that are compared, flat; outer blanks of the sentences are stripped.

    `rows` is a split of the `sentence` config as an Arrow table; its sentences may be left out.
    """
    table = rows.select(_COLUMNS)
    if "sentence" in rows.column_names:
        table = table.append_column("sentence", pc.utf8_trim_whitespace(rows["sentence"]))
    for entity in ("head", "tail"):
        table = table.append_column(f"{entity}_guid", pc.struct_field(rows[entity], "guid"))
    return table


def num_distinct(table: pa.Table, key: tuple[str, ...]) -> int:
    """Return the number of different values of `key`.

    >>> num_distinct(pa.table({"a": [1, 1, 2]}), ("a",))
    2
    """
    return table.select(key).group_by(list(key)).aggregate([]).num_rows


def num_duplicates(table: pa.Table, key: tuple[str, ...] = ROW_KEY) -> int:
    """Return how many rows repeat the `key` of an earlier row.

    >>> num_duplicates(pa.table({"a": [1, 1, 1, 2]}), ("a",))
    2
    """
    return table.num_rows - num_distinct(table, key)


def twins(table: pa.Table) -> dict[str, int]:
    """Return the numbers of twins: sentences of one bag that come with several relations.

    `sentences` counts those sentences, `rows` their rows, `mixed` the sentences with a yes and a no.

    >>> rows = {"bag_id": ["x"] * 3, "sentence": ["s", "s", "t"], "relation": [1, 2, 1]}
    >>> twins(pa.table({**rows, "bag_label": [0, 1, 1]}))
    {'sentences': 1, 'rows': 2, 'mixed': 1}
    """
    groups = table.group_by(list(TWIN_KEY)).aggregate(
        [("relation", "count_distinct"), ("relation", "count"), ("bag_label", "distinct")]
    )
    groups = groups.filter(pc.greater(groups["relation_count_distinct"], 1))
    mixed = sum({0, 1} <= set(labels) for labels in groups["bag_label_distinct"].to_pylist())
    rows = pc.sum(groups["relation_count"]).as_py() or 0
    return {"sentences": groups.num_rows, "rows": rows, "mixed": mixed}


def _joined(table: pa.Table, key: tuple[str, ...]) -> pa.ChunkedArray:
    """One string per row that stands for its key; the length before each part keeps parts apart."""
    parts = []
    for name in key:
        text = table[name].cast(pa.string())
        parts += [pc.utf8_length(text).cast(pa.string()), text]
    return pc.binary_join_element_wise(*parts, ":") if len(key) > 1 else table[key[0]]


def num_shared(table: pa.Table, other: pa.Table, key: tuple[str, ...]) -> tuple[int, int]:
    """Return how many different keys are in both, and how many rows of `table` have one of them.

    >>> num_shared(pa.table({"a": ["x", "x", "y"]}), pa.table({"a": ["x", "z"]}), ("a",))
    (1, 2)
    """
    here = _joined(table, key)
    shared = here.filter(pc.is_in(here, value_set=_joined(other, key).unique()))
    return len(shared.unique()), len(shared)
