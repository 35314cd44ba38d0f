"""Files with one label a row -> a list of labels: NYT-H records, label lists, tab-separated keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .prediction_files import read_json_values

__all__ = ["read_label_file"]


def read_label_file(path: str | Path, *, key: str = "relation") -> list[str]:
    """Return the labels of a file in its order.

    Accepts JSON lines or a JSON array of records with `key` (NYT-H's `relation`) or of plain labels; and text
    with one label a line, the last tab-separated field where there are several. A byte order mark, CRLF and
    blank lines do not matter.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: No label, a broken line, a record without `key`, or a label that is not a text; with the
            line or the entry.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"No label file {str(path)!r}.")
    text = file.read_text(encoding="utf-8-sig")
    if text.lstrip()[:1] in ("[", "{"):
        labels = [_label(value, key, where) for where, value in read_json_values(file)]
    else:
        labels = [line.rsplit("\t", 1)[-1].strip() for line in text.split("\n") if line.strip()]
    if not labels:
        raise ValueError(f"{file} holds no label; it must have one a line, or records with {key!r}.")
    return labels


def _label(record: Any, key: str, where: str) -> str:
    if isinstance(record, dict):
        if key not in record:
            raise ValueError(
                f"{where}: the record has no {key!r}; it has {', '.join(map(repr, record)) or 'nothing'}. "
                "Name the key with --key."
            )
        record = record[key]
    if not isinstance(record, str):
        raise ValueError(f"{where}: a label must be a text; got {record!r}.")
    return record
