"""The files of SemEval-2010 Task 8: sentences with <e1> and <e2> tags -> text and character spans.

One record is four lines::

    8001<TAB>"The most common <e1>audits</e1> were about <e2>waste</e2> and recycling."
    Message-Topic(e1,e2)
    Comment: ...
    <empty>
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nyt_h_dataset import semeval_blocks, semeval_row

from .relation_rows import (
    RelationData,
    RelationRecord,
    all_labels,
    collected,
    entity_pair,
    plain_row,
    relation_data,
)

SEMEVAL_NEGATIVE = "Other"
FILES = {"train": "TRAIN_FILE.TXT", "test": "TEST_FILE_FULL.TXT"}


def read_semeval2010(data_dir: str) -> RelationData:
    """Return SemEval-2010 Task 8: directed labels; e1 is the head and e2 the tail; no validation split.

    Raises:
        FileNotFoundError: A file is not there.
        ValueError: Records that cannot be used (the first and the total), no label is "Other", or a split is
            empty.
    """
    splits = {split: read_semeval(Path(data_dir) / name) for split, name in FILES.items()}
    label_names = all_labels(splits)
    if label_names and SEMEVAL_NEGATIVE not in label_names:
        raise ValueError(
            f"{data_dir}: no sentence has the label {SEMEVAL_NEGATIVE!r}, the negative relation."
        )
    return relation_data(
        name="semeval2010",
        splits=splits,
        label_names=label_names,
        negative_relation=SEMEVAL_NEGATIVE,
        groups={name: name.partition("(")[0] for name in label_names if name != SEMEVAL_NEGATIVE},
    )


def read_semeval(path: Path) -> list[RelationRecord]:
    """Return all records of a file, in order.

    Raises:
        FileNotFoundError: The file is not there.
        ValueError: Records are broken or a number repeats: the first (file and line) and the total; the file
            is not UTF-8.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there; `data_dir` must hold TRAIN_FILE.TXT and TEST_FILE_FULL.TXT of "
            "SemEval-2010 Task 8."
        )
    blocks = ((f"{path}, line {number}", block) for number, block in semeval_blocks(path))
    return collected(blocks, rows_of)


def rows_of(block: list[str]) -> Iterator[RelationRecord]:
    """Yield the one row of a record's lines.

    Raises:
        RecordError: No number, relation or tag where it should be, or lines that are no record.
    """
    plain = semeval_row(block)
    pair = entity_pair(plain["head"]["word"], plain["tail"]["word"])
    yield plain_row(plain, name=plain["instance_id"], pair=pair)
