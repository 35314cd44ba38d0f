"""A sheet for annotators: a CSV or TSV file with a row per question, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from .mentions import OVERLAPPING, locate

ID_COLUMN, ANSWER_COLUMN = "instance_id", "answer"
SHEET_COLUMNS = (ID_COLUMN, "head", "relation", "tail", "sentence", ANSWER_COLUMN)
ANSWERS = ("yes", "no")
# A cell that begins so is a formula to a spreadsheet; an apostrophe before it makes it text.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}

Place: TypeAlias = str | os.PathLike[str]


def marked_sentence(sentence: str, head: str, tail: str) -> str:
    """Return the sentence with its head as ``[H: ...]`` and its tail as ``[T: ...]``, where they are found.

    Where one lies inside the other, the longer one is marked.

    >>> marked_sentence("Ann Lee left Bonn .", "Ann Lee", "Bonn")
    '[H: Ann Lee] left [T: Bonn] .'
    >>> marked_sentence("New York City Opera sang .", "New York City Opera", "New York City")
    '[H: New York City Opera] sang .'
    """
    head_span, tail_span, status = locate(sentence, head.strip(), tail.strip())
    spans = [("H", *head_span), ("T", *tail_span)]
    if status == OVERLAPPING:
        spans = [max(spans, key=lambda span: span[2] - span[1])]
    for name, start, end in sorted(spans, key=lambda span: -span[1]):
        if start >= 0:
            sentence = f"{sentence[:start]}[{name}: {sentence[start:end]}]{sentence[end:]}"
    return sentence


def write_questions(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write a row per record of a data file, in one step; the column for the answer is empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, delimiter=_DELIMITERS[path.suffix], lineterminator="\r\n")
            writer.writerow(SHEET_COLUMNS)
            for record in records:
                head, tail = record["head"]["word"], record["tail"]["word"]
                marked = marked_sentence(record["sentence"], head, tail)
                writer.writerow(map(_safe, (record[ID_COLUMN], head, record["relation"], tail, marked, "")))
        os.replace(beside, path)
    finally:
        Path(beside).unlink(missing_ok=True)


def read_answers(sheet: Place, *, instance_ids: Iterable[str]) -> dict[str, str]:
    """Return instance id -> "yes" or "no" from a filled sheet, in the order of `instance_ids`.

    Upper and lower case and outer blanks do not matter; other columns are not looked at.

    Raises:
        FileNotFoundError: `sheet` is not there.
        ValueError: a missing column, an id that is not among `instance_ids` or comes twice, an answer that is
            neither yes nor no, ids without a row or without an answer (the first five and the total).
    """
    path = sheet_path(sheet)
    asked = dict.fromkeys(instance_ids)
    found: dict[str, str] = {}
    empty: list[str] = []
    for where, row in _sheet_rows(path):
        number, answer = row[ID_COLUMN] or "", (row[ANSWER_COLUMN] or "").strip().casefold()
        number = number if number in asked else number.removeprefix("'")
        if number not in asked:
            raise ValueError(
                f"{where}: {number!r} is no row that was asked about: the annotators agree on it, or it is "
                "of another data set."
            )
        if number in found:
            raise ValueError(f"{where}: the row {number!r} is there twice; leave one of them.")
        if answer and answer not in ANSWERS:
            raise ValueError(f"{where}: the answer must be yes or no; got {row[ANSWER_COLUMN]!r}.")
        if not answer:
            empty.append(number)
        found[number] = answer
    for numbers, what in ((empty, "have no answer"), ([n for n in asked if n not in found], "are missing")):
        if numbers:
            shown = ", ".join(map(repr, numbers[:5]))
            raise ValueError(
                f"{path}: {len(numbers)} of {len(asked)} rows {what}: {shown}. Each needs a yes or no."
            )
    return {number: found[number] for number in asked}


def sheet_path(sheet: Place) -> Path:
    """Return the absolute path of a sheet; ValueError unless its suffix is .csv or .tsv."""
    path = Path(os.path.abspath(os.path.expanduser(sheet)))
    if path.suffix not in _DELIMITERS:
        raise ValueError(f"a sheet must be named {' or '.join(_DELIMITERS)}; got {path.name!r}.")
    return path


def _sheet_rows(path: Path) -> Iterator[tuple[str, Mapping[str, str | None]]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter=_DELIMITERS[path.suffix], strict=True)
            missing = [name for name in (ID_COLUMN, ANSWER_COLUMN) if name not in (reader.fieldnames or [])]
            if missing:
                raise ValueError(
                    f"{path}:1: the column {missing[0]!r} is missing; the sheet has "
                    f"{', '.join(map(repr, reader.fieldnames or ['nothing']))}. Was it saved with another "
                    "delimiter?"
                )
            for row in reader:
                yield f"{path}:{reader.line_num}", row
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8; save the sheet as CSV in UTF-8.") from error
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable sheet ({error}).") from error


def _safe(cell: str) -> str:
    return "'" + cell if cell.startswith(_FORMULA_STARTS) else cell
