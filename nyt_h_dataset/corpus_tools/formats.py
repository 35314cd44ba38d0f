"""The records of other corpora -> records of the columns that `corpus` reads (one reader a format).

A record of these columns is ``{"sentence", "head", "tail", "relation"}`` with entities
``{"word", "guid", "type", "start", "end"}``, where `start` and `end` are half-open character offsets.
`convert_corpus` and the readers of `finetune` take them. The errors say what is wrong with a record; who
reads the file adds where it is and how many there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..folding import same_words
from ..record_lines import ENTITIES, RecordError
from ..schema import BAG_LABELS, NO, UNK, YES

ANNOTATED = "anno_relation_list"
TACRED_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
_NUMBERED = re.compile(r"\d+\t")
_TAG = re.compile(r"</?e[12]>")
_TAGS = ("<e1>", "</e1>", "<e2>", "</e2>")
_LABEL = re.compile(r"[A-Z][A-Za-z]*(-[A-Z][A-Za-z]*)*(\(e1,e2\)|\(e2,e1\))?")


def plain_records(raw: dict[str, Any] | list[str], *, negative_relation: str) -> Iterator[dict[str, Any]]:
    """Yield a raw record in the columns of `corpus`; its format is told by its keys.

    OpenNRE (`h` and `t`) and TACRED (`subj_start`) are known, and the lines of SemEval-2010 Task 8; any other
    record comes back as it is (so do OpenNRE's older arrays, with `head.id`).

    Raises:
        RecordError: a key of the format is missing or its value is not what it should be.
    """
    if isinstance(raw, list):
        yield semeval_row(raw)
    elif "h" in raw and "t" in raw:
        yield from opennre_rows(raw, negative_relation=negative_relation)
    elif "subj_start" in raw and "token" in raw:
        yield tacred_row(raw)
    else:
        yield raw


def opennre_rows(
    record: Mapping[str, Any], *, negative_relation: str, annotated: bool | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the row of a record of OpenNRE (`text` or `token`, half-open places in characters or tokens).

    With `anno_relation_list` (NYT10m) there is a row for each distant and each annotated relation, with the
    human answer; the distant one comes first.

    Args:
        record: the record.
        negative_relation: what the corpus calls "no relation".
        annotated: whether the record has annotated relations; None looks for the key.

    Raises:
        RecordError: a key is missing or of the wrong kind, a place that is not within the text or tokens, or
            at which another text stands than the name.

    >>> record = {"token": ["Ann", "left", "Bonn"], "relation": "left", "h": {"id": "Q1", "name": "Ann",
    ...           "pos": [0, 1]}, "t": {"id": "Q2", "name": "Bonn", "pos": [2, 3]}}
    >>> plain, = opennre_rows(record, negative_relation="NA")
    >>> plain["sentence"], plain["tail"]
    ('Ann left Bonn', {'word': 'Bonn', 'start': 9, 'end': 13, 'guid': 'Q2'})
    """
    given = [needed(record, key, dict) for key in ("h", "t")]
    places = []
    for key, entity in zip(("h", "t"), given, strict=True):
        position = needed(entity, "pos", list)
        if len(position) != 2 or not all(_is_integer(value) for value in position):
            raise RecordError(f"`{key}.pos` must be two integers, start and end; got {position!r:.60}")
        places.append(position)
    if "text" not in record and "token" not in record:
        raise RecordError(f"the keys `text` and `token` are missing; the record has {', '.join(record)}")
    if "text" in record:
        sentence, spans = needed(record, "text"), places
        for name, (start, end) in zip(ENTITIES, spans, strict=True):
            check_span(sentence, start, end, name=name)
    else:
        named = [(name, *place) for name, place in zip(ENTITIES, places, strict=True)]
        sentence, spans = joined_tokens(needed(record, "token", list), spans=named)
    plain: dict[str, Any] = {"sentence": sentence}
    for name, entity, (start, end) in zip(ENTITIES, given, spans, strict=True):
        check_word(sentence, start, end, entity.get("name"), name=name)
        plain[name] = {"word": entity.get("name") or sentence[start:end], "start": start, "end": end}
        plain[name] |= {"guid": entity["id"]} if entity.get("id") not in (None, "") else {}
        plain[name] |= {key: entity[key] for key in entity if key not in ("id", "name", "pos")}
    if not (ANNOTATED in record if annotated is None else annotated):
        yield plain | {"relation": needed(record, "relation")}
        return
    for relation, answer in _annotated_relations(record, negative_relation):
        yield plain | {"relation": relation, "bag_label": BAG_LABELS[answer]}


def _annotated_relations(record: Mapping[str, Any], negative_relation: str) -> list[tuple[str, int]]:
    answers = needed(record, ANNOTATED, list)
    for relation in answers:
        if not isinstance(relation, str):
            raise RecordError(f"`{ANNOTATED}` must hold names of relations; got {relation!r:.60}")
    true = [relation for relation in dict.fromkeys(answers) if relation != negative_relation]
    distant = needed(record, "relation") if "relation" in record else negative_relation
    rows = [(relation, YES) for relation in true if relation != distant]
    if distant != negative_relation:
        rows.insert(0, (distant, YES if distant in true else NO))
    return rows or [(negative_relation, UNK)]


def tacred_row(record: Mapping[str, Any], *, typed: bool = False) -> dict[str, Any]:
    """Return the row of a record of TACRED: the subject is the head, bracket tokens become brackets.

    Args:
        record: the record; the places of its entities are tokens, the ends inclusive.
        typed: whether both entities must have a type.

    Raises:
        RecordError: a key is missing or of the wrong kind, or a span is not within the tokens.

    >>> record = {"id": "a", "relation": "per:title", "token": ["Ann", "-LRB-", "chair", "-RRB-"]}
    >>> plain = tacred_row(record | {"subj_start": 0, "subj_end": 0, "obj_start": 2, "obj_end": 2})
    >>> plain["sentence"], plain["tail"]
    ('Ann ( chair )', {'word': 'chair', 'start': 6, 'end': 11})
    """
    tokens = [TACRED_BRACKETS.get(str(token).lower(), token) for token in needed(record, "token", list)]
    spans = []
    for name, key in zip(ENTITIES, ("subj", "obj"), strict=True):
        first, last = needed(record, f"{key}_start", int), needed(record, f"{key}_end", int)
        spans.append((name, first, last + 1))
    sentence, places = joined_tokens(tokens, spans=spans)
    plain: dict[str, Any] = {"sentence": sentence}
    for name, key, (start, end) in zip(ENTITIES, ("subj", "obj"), places, strict=True):
        plain[name] = {"word": sentence[start:end], "start": start, "end": end}
        if typed or f"{key}_type" in record:
            plain[name]["type"] = needed(record, f"{key}_type")
    plain["relation"] = needed(record, "relation")
    if "id" in record:
        if not ((isinstance(record["id"], str) and record["id"]) or _is_integer(record["id"])):
            raise RecordError(f"`id` must be a string or an integer; got {record['id']!r}")
        plain["instance_id"] = record["id"]
    return plain


def semeval_blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number of the first line, and the lines, of each record of a file of SemEval-2010 Task 8.

    A line that no record begins with belongs to the record before.

    Raises:
        RecordError: the file is not UTF-8.
    """
    content = path.read_bytes()
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RecordError(f"{path}, line {line}: not UTF-8; convert the file to UTF-8.") from error
    starts = [at for at, line in enumerate(lines) if _NUMBERED.match(line)]
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    if first < len(lines) and first not in starts:
        starts.insert(0, first)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield start + 1, [line.strip() for line in lines[start:end]]


def semeval_row(block: Sequence[str]) -> dict[str, Any]:
    """Return the row of a record's lines: number, tab and sentence, relation, comment; e1 is the head.

    Raises:
        RecordError: no number, relation or tag where it should be, or lines that are no record.

    >>> lines = ['1\\t"The <e1>child</e1> in the <e2>cradle</e2>."', "Content-Container(e1,e2)", "Comment:"]
    >>> semeval_row(lines)["tail"]
    {'word': 'cradle', 'start': 17, 'end': 23}
    """
    number, tab, quoted = block[0].partition("\t")
    if not tab:
        raise RecordError(f"expected a number, a tab and a sentence in quotes; got {block[0]!r:.60}")
    label = block[1] if len(block) > 1 else ""
    if not _LABEL.fullmatch(label):
        raise RecordError(
            "expected a relation such as Cause-Effect(e1,e2) on the line after the sentence; got "
            f"{label!r:.60}"
        )
    rest = [line for line in block[2:] if line]
    if rest and rest[0].startswith("Comment"):
        del rest[0]
    if rest:
        raise RecordError(
            f"after the record, expected a number, a tab and a sentence in quotes; got {rest[0]!r:.60}"
        )
    sentence, *spans = untagged(quoted.strip().removeprefix('"').removesuffix('"'))
    plain: dict[str, Any] = {"sentence": sentence, "relation": label, "instance_id": number}
    for name, (start, end) in zip(ENTITIES, spans, strict=True):
        plain[name] = {"word": sentence[start:end], "start": start, "end": end}
    return plain


def untagged(tagged: str) -> tuple[str, tuple[int, int], tuple[int, int]]:
    """Return the sentence without its four tags, and the spans of e1 and e2.

    Raises:
        RecordError: a tag is missing, occurs twice, or closes before it opens.

    >>> untagged("a <e1>child</e1> in the <e2>cradle</e2>.")
    ('a child in the cradle.', (2, 7), (15, 21))
    """
    found: dict[str, int] = {}
    removed = 0
    for match in _TAG.finditer(tagged):
        if match.group() in found:
            raise RecordError(f"the tag {match.group()} occurs twice")
        found[match.group()] = match.start() - removed
        removed += len(match.group())
    for tag in _TAGS:
        if tag not in found:
            raise RecordError(f"the tag {tag} is missing")
    head, tail = (found["<e1>"], found["</e1>"]), (found["<e2>"], found["</e2>"])
    if head[0] >= head[1] or tail[0] >= tail[1]:
        raise RecordError("an entity is empty or closes before it opens")
    return _TAG.sub("", tagged), head, tail


def joined_tokens(
    tokens: Sequence[Any], *, spans: Sequence[tuple[str, Any, Any]] = ()
) -> tuple[str, list[tuple[int, int]]]:
    """Return tokens with blanks between them, and the half-open token spans as character spans.

    Args:
        tokens: strings.
        spans: name, first token and the token after the last.

    Raises:
        RecordError: a token is not a string, or a span is not within the tokens.

    >>> joined_tokens(["He", "left", "Rome", "."], spans=[("head", 0, 1), ("tail", 2, 3)])
    ('He left Rome .', [(0, 2), (8, 12)])
    """
    for token in tokens:
        if not isinstance(token, str):
            raise RecordError(f"a token must be a string; got {token!r:.60}")
    starts = list(accumulate((len(token) + 1 for token in tokens), initial=0))
    found = []
    for name, start, end in spans:
        if not (_is_integer(start) and _is_integer(end)):
            raise RecordError(f"the {name}'s place must be two integers; got {start!r} and {end!r}")
        if not 0 <= start < end <= len(tokens):
            raise RecordError(
                f"the {name}'s tokens {start} to {end} (exclusive) are not among the {len(tokens)} tokens"
            )
        found.append((starts[start], starts[end] - 1))
    return " ".join(tokens), found


def check_span(sentence: str, start: int, end: int, *, name: str) -> None:
    """Refuse a half-open span of characters that is empty or not within the sentence.

    Raises:
        RecordError: that it is.
    """
    if not 0 <= start < end <= len(sentence):
        raise RecordError(
            f"the {name}'s span {start} to {end} is not within the text ({len(sentence)} characters; the end "
            "is exclusive)"
        )


def check_word(sentence: str, start: int, end: int, word: object, *, name: str) -> None:
    """Refuse a place at which another text stands than the entity's word (case and punctuation aside).

    Raises:
        RecordError: the texts differ: offsets of tokens taken for characters, or shifted by one.

    >>> check_word("John Smith left .", 0, 2, "John Smith", name="head")
    Traceback (most recent call last):
    nyt_h_dataset.record_lines.RecordError: the head is 'John Smith', but 'Jo' stands at its place, 0 to 2 ...
    """
    there = sentence[start:end]
    if isinstance(word, str) and word and not same_words(word, there):
        raise RecordError(
            f"the {name} is {word!r}, but {there!r} stands at its place, {start} to {end} (exclusive, in "
            f"characters of {sentence[:40]!r}); are the offsets those of tokens, or shifted by one"
        )


def needed(record: Mapping[str, Any], key: str, kind: type[Any] = str) -> Any:
    """Return the value of a key.

    Raises:
        RecordError: the key is not there, or its value is not of the kind.
    """
    if key not in record:
        raise RecordError(f"the key `{key}` is missing; the record has {', '.join(map(str, record))}")
    if not isinstance(record[key], kind) or (kind is int and not _is_integer(record[key])):
        raise RecordError(f"`{key}` must be {kind.__name__}; got {record[key]!r:.60}")
    return record[key]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
