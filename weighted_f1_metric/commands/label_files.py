"""Label files, one label a row: text, CSV, TSV, semicolons, JSON lines, a JSON array, SemEval-2010 Task 8.

    text         one label a line
    table        cells between tabs, semicolons or commas; with a header the column that it names, without one
                 the last column
    JSON         strings, or records with a key, a line each or as one array
    SemEval      TRAIN_FILE.TXT: number and sentence, label, comment and an empty line for each row

Rows are never dropped: a line without label is an error with its number, since one row less would shift all
rows after it.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..columns import repeated_ids
from ..validation import quoted
from .files import json_values, read_text

# Tiers of names, upper-case or not: one of the first tier counts before one of the second.
Names = tuple[tuple[str, ...], ...]
_SHARED = ("relation", "label", "labels")
_GOLD = ("gold", "reference", "references")
_PREDICTED = ("pred", "prediction", "predictions")
GOLD_NAMES: Names = (_GOLD, _SHARED)
PREDICTED_NAMES: Names = (_PREDICTED, _SHARED)
ANY_NAMES: Names = (_SHARED, _GOLD, _PREDICTED)
ID_NAMES = ("instance_id", "id")


@dataclass(frozen=True)
class LabelColumn:
    """The labels of a file.

    Attributes:
        path: The file.
        labels: One label per row.
        ids: One id per row, where the file names its rows.
    """

    path: str
    labels: list[str]
    ids: list[str] | None = None


def read_label_file(
    path: str | os.PathLike[str], *, key: str | None = None, names: Names = ANY_NAMES
) -> list[str]:
    """Return the labels of a file in its order; see `read_label_column`."""
    return read_label_column(path, key=key, names=names).labels


def read_label_column(
    path: str | os.PathLike[str], *, key: str | None = None, names: Names = ANY_NAMES
) -> LabelColumn:
    """Return the labels of a file in its order, and the ids of its rows where it has some.

    Args:
        path: A file of a kind that this module's docstring lists.
        key: The key or column of the label. None: the one that has one of `names`.
        names: Tiers of names.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: No label; a blank line or empty label; a broken line; a row of another width; a comment; a
            record without label, a label that is no text; several columns that could be meant. With the line.
    """
    text = read_text(path)
    if not text.strip():
        raise ValueError(f"{path} holds no label; it must have one a line, or records.")
    first = text.lstrip().split("\n", 1)[0]
    if _SENTENCE.match(first):
        return LabelColumn(str(path), *_semeval(text, path))
    if first[0] in "[{" or (first[0] == '"' and _JSON_STRING.fullmatch(first.strip())):
        return LabelColumn(str(path), *_from_json(text, path, key, names))
    return LabelColumn(str(path), *_from_table(_rows(text, path), path, key, names))


_SENTENCE = re.compile(r'\d+\s+"?.*<e1>.*</e1>')
_COMMENT = re.compile(r"#.*\s\S")
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)+"')


def _semeval(text: str, path: Any) -> tuple[list[str], list[str]]:
    """Return the labels and numbers of SemEval-2010 Task 8's own format."""
    labels, ids = [], []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if _SENTENCE.match(line):
            label = lines[number + 1].strip() if number + 1 < len(lines) else ""
            if not label or _SENTENCE.match(label):
                raise ValueError(
                    f"{path}, line {number + 1}: a sentence of SemEval-2010 Task 8 without a label below it. "
                    "Labels are in TRAIN_FILE.TXT, TEST_FILE_FULL.TXT or the key."
                )
            labels.append(label)
            ids.append(line.split(None, 1)[0])
    return labels, ids


def _from_json(text: str, path: Any, key: str | None, names: Names) -> tuple[list[str], list[str] | None]:
    values = json_values(text, path)
    if not values:
        raise ValueError(f"{path} holds no label.")
    if text.lstrip()[0] != "[":
        lines = text.removesuffix("\n").split("\n")
        blank = next((number for number, line in enumerate(lines, start=1) if not line.strip()), None)
        if blank:
            raise _blank_line(path, blank)
    labels = []
    for where, value in values:
        if isinstance(value, dict):
            key = key or _named(list(value), names, where)
            if key not in value:
                raise ValueError(
                    f"{where}: the record has no {key or 'label'!r}; it has {quoted(value) or 'nothing'}. "
                    "Name the key of the label."
                )
            value = value[key]
        if not isinstance(value, str):
            raise ValueError(f"{where}: a label must be a text; got {value!r:.60}.")
        labels.append(_label(value, where))
    records = [value for _, value in values if isinstance(value, dict)]
    if len(records) < len(values):
        return labels, None
    id_key = next((name for name in ID_NAMES if all(name in record for record in records)), None)
    return labels, None if id_key is None else [str(record[id_key]) for record in records]


def _label(text: str, where: str) -> str:
    label = text.strip()
    if not label:
        raise ValueError(f"{where}: the label is empty.")
    return label


def _blank_line(path: Any, number: int) -> ValueError:
    return ValueError(
        f"{path}, line {number} is blank. Every line is a row: write its label, or take the row out of all "
        "files that belong together."
    )


def _named(columns: Sequence[str], names: Names, where: str) -> str | None:
    """Return the column that has a name of the first tier that names one."""
    for tier in names:
        found = [column for column in columns if column.strip().casefold() in tier]
        if len(found) > 1:
            raise ValueError(f"{where}: {quoted(found)} could all be the labels; name the one that is meant.")
        if found:
            return found[0]
    return None


Row = tuple[int, list[str]]


def _rows(text: str, path: Any) -> list[Row]:
    """Return the line number and the cells of each row."""
    lines = re.split(r"\r\n|\n|\r", text)
    if not lines[-1]:
        del lines[-1]
    if any("\t" in line for line in lines):
        split = (line.split("\t") for line in lines)
        rows = [(number, list(map(_unquoted, cells))) for number, cells in enumerate(split, start=1)]
        return _checked_rows(rows, path)
    for separator in ";,":
        try:
            first = next(csv.reader(lines[:1], delimiter=separator))
        except csv.Error:  # a cell longer than the reader takes: no table
            continue
        if len(first) < 2 or not _balanced(first):
            continue
        # A file that says what it is has rows of one width; other text may have commas in its labels.
        says_so = str(path).lower().removesuffix(".gz").endswith(".csv") or _is_header(first)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            rows = [(reader.line_num, cells) for cells in reader]
        except csv.Error as error:
            if says_so:
                raise ValueError(f"{path}, line {reader.line_num}: not valid CSV ({error}).") from None
            continue
        if says_so or all(len(cells) in (0, len(first)) and _balanced(cells) for _, cells in rows):
            return _checked_rows(rows, path)
    return _checked_rows([(number, [_unquoted(line)]) for number, line in enumerate(lines, start=1)], path)


def _balanced(cells: Sequence[str]) -> bool:
    """Whether no cell cuts brackets apart, as a comma in R(e1,e2) would."""
    return all(cell.count("(") == cell.count(")") for cell in cells)


def _unquoted(cell: str) -> str:
    """Return a cell without the quotes around it; a label that is a quote itself is kept."""
    text = cell.strip()
    if len(text) > 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    return text


def _is_header(cells: Sequence[str]) -> bool:
    known = {name for tier in ANY_NAMES for name in tier} | set(ID_NAMES)
    return any(cell.lstrip("#").strip().casefold() in known for cell in cells)


def _checked_rows(rows: list[Row], path: Any) -> list[Row]:
    width = len(rows[0][1])
    for number, cells in rows:
        if not any(cell.strip() for cell in cells):
            raise _blank_line(path, number)
        if len(cells) != width:
            raise ValueError(
                f"{path}, line {number}: {len(cells)} cells, where the first line has {width}. All "
                "lines have the same columns, and none is a comment."
            )
        if (width == 1 or cells is rows[0][1]) and _COMMENT.match(cells[0]) and not _is_header(cells):
            raise ValueError(f"{path}, line {number} is a comment ({cells[0]!r:.40}); take it out.")
    return rows


def _from_table(
    rows: list[Row], path: Any, key: str | None, names: Names
) -> tuple[list[str], list[str] | None]:
    header = [cell.lstrip("#").strip() for cell in rows[0][1]]
    column, has_header = _label_column(rows, header, path, key, names)
    body = rows[has_header:]
    if not body:
        raise ValueError(f"{path} holds a header and no label.")
    labels = [_label(cells[column], f"{path}, line {number}") for number, cells in body]
    if has_header:
        id_column = next((i for i, name in enumerate(header) if name.casefold() in ID_NAMES), None)
    else:
        id_column = 0 if column else None
    if id_column is None or id_column == column:
        return labels, None
    ids = [cells[id_column].strip() for _, cells in body]
    return labels, None if repeated_ids(ids) else ids


def _label_column(
    rows: list[Row], header: list[str], path: Any, key: str | None, names: Names
) -> tuple[int, bool]:
    """Return the position of the label column, and whether the first row names the columns."""
    if key is not None:
        if key in header:
            return header.index(key), True
        if len(header) > 1:
            raise ValueError(f"{path} has no column {key!r} in its first line; it has {quoted(header, 12)}.")
        return 0, False
    name = _named(header, names, f"{path}, line 1")
    if name is not None:
        column = header.index(name)
        # A class may be called as a column is: then it occurs again.
        if all(cells[column].strip() != name for _, cells in rows[1:]):
            return column, True
    if len(header) > 1 and (_is_header(header) or _numbers_below(rows, header)):
        known = [name for tier in names for name in tier]
        raise ValueError(
            f"{path}: none of its columns {quoted(header, 12)} has a name of labels ({quoted(known, 20)}). "
            "Name the one that is meant."
        )
    return len(header) - 1, False


def _numbers_below(rows: list[Row], header: list[str]) -> bool:
    """Whether some column holds numbers in every row but the first."""
    return any(
        not header[column].isdigit() and all(cells[column].strip().isdigit() for _, cells in rows[1:])
        for column in range(len(header))
        if len(rows) > 1
    )
