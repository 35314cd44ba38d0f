"""The human side of a test set: a sheet for annotators, and their answers back into the data.

The question of each row is that of NYT-H: does this sentence express this relation between head and tail?
Two annotators answer every row, an adjudicator the rows on which they differ (Zhu et al. 2020, section 3).
With two answers out of yes and no, the adjudicator's answer is also the majority of the three.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import datasets

from ..about import read_about
from ..archive import find_archive, unpack
from ..folder import (
    check_bag_labels,
    data_paths,
    find_data_folder,
    is_older_release,
    is_prepared,
    read_relations,
)
from ..instance_ids import IdRegistry, RecordFile
from ..mentions import OVERLAPPING, locate
from ..records import read_blocks, shards
from ..schema import NEGATIVE_RELATION, RECORD_FILES, TEST
from .release_folder import atomic_file, release_folder


@dataclass(frozen=True)
class Agreement:
    """Two annotators on the same items: how often they agree, how often chance would, and Cohen's kappa.

    `observed` and `expected` are shares in [0, 1], `kappa` lies in [-1, 1]; it is None where both gave one
    and the same answer throughout, because there chance agrees as well.
    """

    num_items: int
    num_disagreements: int
    observed: float
    expected: float
    kappa: float | None


def cohen_kappa(*, answers_a: Sequence[str], answers_b: Sequence[str]) -> Agreement:
    """Return the agreement of two annotators; the answers stand in the same order of items.

    ``kappa = (observed - expected) / (1 - expected)``, with `expected` the sum over the answers of the
    product of both annotators' shares of it.

    Raises:
        ValueError: no items, or a different number of answers.

    Of four items they agree on three (3/4). A says yes twice and B three times, so chance agrees on
    2/4 * 3/4 + 2/4 * 1/4 = 1/2, and kappa is (3/4 - 1/2) / (1 - 1/2) = 1/2:

    >>> cohen_kappa(answers_a=["yes", "yes", "no", "no"], answers_b=["yes", "yes", "yes", "no"])
    Agreement(num_items=4, num_disagreements=1, observed=0.75, expected=0.5, kappa=0.5)

    Reference: Cohen 1960, "A Coefficient of Agreement for Nominal Scales", equation 1.
    """
    if len(answers_a) != len(answers_b):
        raise ValueError(
            f"`answers_a` and `answers_b` must be about the same items; got {len(answers_a)} and "
            f"{len(answers_b)} answers."
        )
    if not answers_a:
        raise ValueError("there are no answers to compare; agreement needs at least one item.")
    total = len(answers_a)
    agreed = sum(a == b for a, b in zip(answers_a, answers_b, strict=True))
    counts_a, counts_b = Counter(answers_a), Counter(answers_b)
    # Integers up to here: whether chance agrees always is then no question of rounding.
    by_chance = sum(count * counts_b[answer] for answer, count in counts_a.items())
    kappa = None if by_chance == total**2 else (agreed * total - by_chance) / (total**2 - by_chance)
    return Agreement(total, total - agreed, agreed / total, by_chance / total**2, kappa)


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
    with atomic_file(path, encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=_DELIMITERS[path.suffix], lineterminator="\r\n")
        writer.writerow(SHEET_COLUMNS)
        for record in records:
            head, tail = record["head"]["word"], record["tail"]["word"]
            marked = marked_sentence(record["sentence"], head, tail)
            writer.writerow(map(_safe, (record[ID_COLUMN], head, record["relation"], tail, marked, "")))


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
    for where, row in sheet_rows(path):
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


def sheet_rows(path: Path) -> Iterator[tuple[str, Mapping[str, str | None]]]:
    """Yield ``file:line`` and the cells of each row of a sheet, checked for its columns.

    Read is what spreadsheets save: UTF-8 or UTF-16; comma, semicolon or tab, whichever the line of headers
    has; headers in any case and with blanks around. Rows without any cell are passed over.
    """
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is neither UTF-8 nor UTF-16; save the sheet as CSV in UTF-8.") from error
    header = text.partition("\n")[0]
    delimiter = max(("," if path.suffix == ".csv" else "\t", ",", ";", "\t"), key=header.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        names = [name.strip().casefold() for name in next(reader, [])]
        for name in (ID_COLUMN, ANSWER_COLUMN):
            if names.count(name) != 1:
                what = "missing" if name not in names else f"there {names.count(name)} times"
                raise ValueError(
                    f"{path}:1: the column {name!r} is {what}; the sheet has "
                    f"{', '.join(map(repr, names)) or repr('nothing')}. Was it saved with another delimiter?"
                )
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield f"{path}:{reader.line_num}", dict(itertools.zip_longest(names, cells[: len(names)]))
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable sheet ({error}).") from error


def _refuse_same_sheet(sheets: tuple[Place, Place]) -> None:
    first, second = (sheet_path(sheet) for sheet in sheets)
    if first.exists() and second.exists() and first.samefile(second):
        raise ValueError(f"the sheets of two annotators are needed; {first} was given for both.")


def _safe(cell: str) -> str:
    return "'" + cell if cell.startswith(_FORMULA_STARTS) else cell


@dataclass(frozen=True)
class Judged:
    """What `merge_answers` wrote: the folder, the counts of the final answers, the annotators' agreement."""

    path: Path
    num_yes: int
    num_no: int
    agreement: Agreement


def write_sheet(data_dir: Place, sheet: Place, *, differing: tuple[Place, Place] | None = None) -> int:
    """Write the test rows with a relation as a sheet for an annotator; return their number.

    The sheet (.csv or .tsv, in UTF-8 with a byte order mark, as spreadsheets want it) has the columns
    `instance_id`, `head`, `relation`, `tail`, `sentence` with both marked, and `answer`, which is empty and
    to be filled with yes or no. Answers that the data hold already are not shown. A cell that a spreadsheet
    would take for a formula gets an apostrophe before it, which `read_answers` takes off again.

    Args:
        data_dir: a folder in the newer release's layout.
        sheet: the file to write; an existing one is not overwritten.
        differing: the filled sheets of two annotators: only the rows on which they differ are written, for
            the adjudicator, without their answers.

    Raises:
        FileNotFoundError: `data_dir` or a file is not there.
        ValueError: another suffix, a sheet that exists already, a fault in the data or in a filled sheet, no
            rows to ask about.
    """
    path = sheet_path(sheet)
    if path.exists():
        raise ValueError(f"{path} exists already, perhaps with answers in it; give another file.")
    rows = list(_asked_records(newer_folder(data_dir)))
    if differing is not None:
        _refuse_same_sheet(differing)
        a, b = (read_answers(place, instance_ids=[row[ID_COLUMN] for row in rows]) for place in differing)
        rows = [row for row in rows if a[row[ID_COLUMN]] != b[row[ID_COLUMN]]]
    if not rows:
        raise ValueError(
            "there is nothing to ask: "
            + ("the annotators agree on every row." if differing else "test has no row with a relation.")
        )
    write_questions(path, rows)
    return len(rows)


def merge_answers(
    data_dir: Place,
    out: Place,
    *,
    annotators: tuple[Place, Place],
    adjudicator: Place | None = None,
    overwrite: bool = False,
) -> Judged:
    """Write the data set of `data_dir` to `out` with the answers of two annotators in test's `bag_label`.

    Where the two agree, that is the answer; where they differ, the adjudicator's (a sheet with just these
    rows, see `write_sheet`). Everything else stays as it is, but for keys that NYT-H does not have, which are
    left out.

    Raises:
        FileNotFoundError: `data_dir` or a sheet is not there.
        ValueError: a fault in the data or in a sheet, annotators who differ and no adjudicator, an `out` that
            is not free.
    """
    folder = newer_folder(data_dir)
    ids = [record[ID_COLUMN] for record in _asked_records(folder)]
    _refuse_same_sheet(annotators)
    a, b = (read_answers(sheet, instance_ids=ids) for sheet in annotators)
    differ = [number for number in ids if a[number] != b[number]]
    if differ and adjudicator is None:
        raise ValueError(
            f"the annotators differ on {len(differ)} of {len(ids)} rows "
            f"({', '.join(map(repr, differ[:5]))}) and there is no "
            "`adjudicator`; `sheet --differing A B` makes the sheet for one."
        )
    final = a | (read_answers(adjudicator, instance_ids=differ) if differ and adjudicator is not None else {})
    with release_folder(out, overwrite=overwrite) as writer:
        for name in RECORD_FILES:
            for record in file_records(folder, name):
                if name == TEST:
                    record["bag_label"] = final.get(record[ID_COLUMN], record["bag_label"])
                writer.write(name, record)
        writer.write_labels(read_relations(folder))
        agreement = cohen_kappa(answers_a=list(a.values()), answers_b=list(b.values()))
        kappa = "undefined" if agreement.kappa is None else f"{agreement.kappa:.4f}"
        who = "two annotators" + (" and an adjudicator" if differ else "")
        judged = (
            f"{who} answered {agreement.num_items:,} rows of test; the two agree on "
            f"{agreement.observed:.1%}, Cohen's kappa {kappa}"
        )
        writer.write_about(read_about(folder).after("answers of annotators merged into test", judged=judged))
    num_yes = sum(answer == "yes" for answer in final.values())
    return Judged(Path(os.path.abspath(os.path.expanduser(out))), num_yes, len(ids) - num_yes, agreement)


def newer_folder(data_dir: Place) -> Path:
    """Return the data folder, in the newer release's layout; an archive is unpacked as for loading.

    Raises:
        FileNotFoundError: no data there.
        ValueError: another layout, or other bag labels.
    """
    archive = find_archive(data_dir)
    folder = find_data_folder(
        data_dir if archive is None else unpack(archive, datasets.config.HF_DATASETS_CACHE)
    )
    if is_older_release(folder) or is_prepared(folder):
        raise ValueError(
            f"{folder} is not of the newer release; answers are merged into line-JSON files only. "
            "`build_corpus` makes a folder of these."
        )
    check_bag_labels(folder)
    return folder


def file_records(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of one file, checked for shape and type; ids that come twice in it are an error."""
    path = str(data_paths(folder)[name])
    ids = IdRegistry([RecordFile(path)])
    for shard in shards(path, 0):
        for block in read_blocks(shard):
            ids.add(block)
            for flat in block.columns.to_pylist():
                record: dict[str, Any] = {}
                for key, value in flat.items():
                    entity, dot, inner = key.partition(".")
                    if dot and value is not None:
                        record.setdefault(entity, {})[inner] = value
                    elif not dot:
                        record[key] = value
                yield record
    ids.check()


def _asked_records(folder: Path) -> Iterator[dict[str, Any]]:
    return (record for record in file_records(folder, TEST) if record["relation"] != NEGATIVE_RELATION)
