"""The files of SemEval-2010 Task 8: sentences with <e1> and <e2> tags -> text and character spans.

One record is four lines::

    8001<TAB>"The most common <e1>audits</e1> were about <e2>waste</e2> and recycling."
    Message-Topic(e1,e2)
    Comment: ...
    <empty>
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from .markers import Span

SEMEVAL_NEGATIVE = "Other"
TAG = re.compile(r"</?e[12]>")
TAGS = ("<e1>", "</e1>", "<e2>", "</e2>")
LABEL = re.compile(r"[A-Z][A-Za-z]*(-[A-Z][A-Za-z]*)*(\(e1,e2\)|\(e2,e1\))?")


class SemevalRecord(NamedTuple):
    """A sentence without tags, its number, label and spans; e1 is the head and e2 the tail."""

    number: str
    sentence: str
    label: str
    head: Span
    tail: Span


def read_semeval(path: Path) -> list[SemevalRecord]:
    """All records of a file, in order.

    Raises:
        FileNotFoundError: The file is not there.
        ValueError: A record is broken or its number repeats; the message has file and line.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there; `data_dir` must hold TRAIN_FILE.TXT and TEST_FILE_FULL.TXT of "
            "SemEval-2010 Task 8."
        )
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    records: dict[str, SemevalRecord] = {}
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        where = f"{path}, line {at + 1}"
        number, tab, quoted = lines[at].strip().partition("\t")
        if not tab or not number.isdigit():
            raise ValueError(
                f"{where}: expected a number, a tab and a sentence in quotes; got {lines[at][:60]!r}."
            )
        label = lines[at + 1].strip() if at + 1 < len(lines) else ""
        if not LABEL.fullmatch(label):
            raise ValueError(
                f"{path}, line {at + 2}: expected a relation such as Cause-Effect(e1,e2); got {label!r}."
            )
        if number in records:
            raise ValueError(f"{where}: the sentence number {number} occurs twice.")
        sentence, head, tail = untagged(quoted.strip().removeprefix('"').removesuffix('"'), where=where)
        records[number] = SemevalRecord(number, sentence, label, head, tail)
        at += 2
        if at < len(lines) and lines[at].startswith("Comment"):
            at += 1
    return list(records.values())


def untagged(tagged: str, *, where: str) -> tuple[str, Span, Span]:
    """The sentence without its four tags, and the spans of e1 and e2.

    Raises:
        ValueError: A tag is missing, occurs twice, or closes before it opens.

    >>> untagged("a <e1>child</e1> in the <e2>cradle</e2>.", where="example")
    ('a child in the cradle.', Span(start=2, end=7), Span(start=15, end=21))
    """
    found: dict[str, int] = {}
    removed = 0
    for match in TAG.finditer(tagged):
        if match.group() in found:
            raise ValueError(f"{where}: the tag {match.group()} occurs twice.")
        found[match.group()] = match.start() - removed
        removed += len(match.group())
    for tag in TAGS:
        if tag not in found:
            raise ValueError(f"{where}: the tag {tag} is missing.")
    head, tail = Span(found["<e1>"], found["</e1>"]), Span(found["<e2>"], found["</e2>"])
    if head.start >= head.end or tail.start >= tail.end:
        raise ValueError(f"{where}: an entity is empty or closes before it opens.")
    return TAG.sub("", tagged), head, tail
