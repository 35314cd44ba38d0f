"""The files of SemEval-2010 Task 8: sentences with <e1> and <e2> tags -> text and character spans.

One record is four lines::

    8001<TAB>"The most common <e1>audits</e1> were about <e2>waste</e2> and recycling."
    Message-Topic(e1,e2)
    Comment: ...
    <empty>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..model.markers import Span
from .relation_rows import (
    RelationData,
    RelationRecord,
    RowError,
    all_labels,
    collected,
    entity_pair,
    relation_data,
)

SEMEVAL_NEGATIVE = "Other"
FILES = {"train": "TRAIN_FILE.TXT", "test": "TEST_FILE_FULL.TXT"}
NUMBERED = re.compile(r"\d+\t")
TAG = re.compile(r"</?e[12]>")
TAGS = ("<e1>", "</e1>", "<e2>", "</e2>")
LABEL = re.compile(r"[A-Z][A-Za-z]*(-[A-Z][A-Za-z]*)*(\(e1,e2\)|\(e2,e1\))?")


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
    content = path.read_bytes()
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: not UTF-8; convert the file to UTF-8.") from error
    return collected(_blocks(path, lines), rows_of)


def _blocks(path: Path, lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each record; a line that no record begins with belongs to the one before."""
    starts = [at for at, line in enumerate(lines) if NUMBERED.match(line)]
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    if first < len(lines) and first not in starts:
        starts.insert(0, first)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield f"{path}, line {start + 1}", [line.strip() for line in lines[start:end]]


def rows_of(block: list[str]) -> Iterator[RelationRecord]:
    """Yield the one row of a record's lines.

    Raises:
        RowError: No number, relation or tag where it should be, or lines that are no record.
    """
    number, tab, quoted = block[0].partition("\t")
    if not tab:
        raise RowError(f"expected a number, a tab and a sentence in quotes; got {block[0]!r:.60}")
    label = block[1] if len(block) > 1 else ""
    if not LABEL.fullmatch(label):
        raise RowError(
            "expected a relation such as Cause-Effect(e1,e2) on the line after the sentence; got "
            f"{label!r:.60}"
        )
    rest = [line for line in block[2:] if line]
    if rest and rest[0].startswith("Comment"):
        del rest[0]
    if rest:
        raise RowError(
            f"after the record, expected a number, a tab and a sentence in quotes; got {rest[0]!r:.60}"
        )
    sentence, head, tail = untagged(quoted.strip().removeprefix('"').removesuffix('"'))
    pair = entity_pair(sentence[head.start : head.end], sentence[tail.start : tail.end])
    yield RelationRecord(number, sentence, head, tail, label, pair, pair)


def untagged(tagged: str) -> tuple[str, Span, Span]:
    """Return the sentence without its four tags, and the spans of e1 and e2.

    Raises:
        RowError: A tag is missing, occurs twice, or closes before it opens.

    >>> untagged("a <e1>child</e1> in the <e2>cradle</e2>.")
    ('a child in the cradle.', Span(start=2, end=7), Span(start=15, end=21))
    """
    found: dict[str, int] = {}
    removed = 0
    for match in TAG.finditer(tagged):
        if match.group() in found:
            raise RowError(f"the tag {match.group()} occurs twice")
        found[match.group()] = match.start() - removed
        removed += len(match.group())
    for tag in TAGS:
        if tag not in found:
            raise RowError(f"the tag {tag} is missing")
    head, tail = Span(found["<e1>"], found["</e1>"]), Span(found["<e2>"], found["</e2>"])
    if head.start >= head.end or tail.start >= tail.end:
        raise RowError("an entity is empty or closes before it opens")
    return TAG.sub("", tagged), head, tail
