"""The human side of a test set: a sheet for annotators, and their answers back into the data.

The question of each row is that of NYT-H: does this sentence express this relation between head and tail?
Two annotators answer every row, an adjudicator the rows on which they differ (Zhu et al. 2020, section 3).
With two answers out of yes and no, the adjudicator's answer is also the majority of the three.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .agreement import Agreement, cohen_kappa
from .annotation_sheet import ID_COLUMN, Place, read_answers, sheet_path, write_questions
from .folder import check_bag_labels, data_paths, find_data_folder, is_older_release, read_relations
from .instance_ids import IdRegistry, RecordFile
from .records import read_blocks, shards
from .release_folder import release_folder
from .schema import NEGATIVE_RELATION, RECORD_FILES, TEST


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
    rows = list(_asked_records(_folder(data_dir)))
    if differing is not None:
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
    folder = _folder(data_dir)
    ids = [record[ID_COLUMN] for record in _asked_records(folder)]
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
            for record in _file_records(folder, name):
                if name == TEST:
                    record["bag_label"] = final.get(record[ID_COLUMN], record["bag_label"])
                writer.write(name, record)
        writer.write_labels(read_relations(folder))
    agreement = cohen_kappa(answers_a=list(a.values()), answers_b=list(b.values()))
    num_yes = sum(answer == "yes" for answer in final.values())
    return Judged(Path(os.path.abspath(os.path.expanduser(out))), num_yes, len(ids) - num_yes, agreement)


def _folder(data_dir: Place) -> Path:
    folder = find_data_folder(data_dir)
    if is_older_release(folder):
        raise ValueError(
            f"{folder} holds the older release's JSON arrays; answers are merged into line-JSON files only. "
            "`build_corpus` makes a folder of these."
        )
    check_bag_labels(folder)
    return folder


def _file_records(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """The records of one file, checked for shape and type; ids that come twice in it are an error."""
    path = str(data_paths(folder)[name])
    ids = IdRegistry([RecordFile(path)])
    for shard in shards(path, 0):
        for block in read_blocks(shard):
            ids.add(block)
            for flat in block.columns.to_pylist():
                record: dict[str, Any] = {}
                for key, value in flat.items():
                    entity, dot, inner = key.partition(".")
                    if dot:
                        record.setdefault(entity, {})[inner] = value
                    else:
                        record[key] = value
                yield record
    ids.check()


def _asked_records(folder: Path) -> Iterator[dict[str, Any]]:
    return (record for record in _file_records(folder, TEST) if record["relation"] != NEGATIVE_RELATION)
