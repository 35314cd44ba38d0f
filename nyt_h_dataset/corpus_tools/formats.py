"""The records of other corpora -> records of the columns that `corpus` reads (pure; one function a format).

A record of these columns is ``{"sentence", "head", "tail", "relation"}`` with entities
``{"word", "guid", "type", "start", "end"}``, where `start` and `end` are half-open character offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..record_lines import RecordError
from ..schema import BAG_LABELS, NO, UNK, YES

ANNOTATED = "anno_relation_list"
TACRED_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}


def plain_records(record: dict[str, Any], where: str, *, negative_relation: str) -> Iterator[dict[str, Any]]:
    """Yield the record in the columns of `corpus`; formats are told by their keys.

    OpenNRE (`h` and `t`; `text` or `token`), its older arrays (`head.id`) and TACRED (`subj_start`) are
    known; any other record comes back as it is.

    Raises:
        RecordError: a key of the format is missing or its value is not what it should be.

    >>> record = {"token": ["Ann", "left", "Bonn"], "relation": "left", "h": {"id": "Q1", "name": "Ann",
    ...           "pos": [0, 1]}, "t": {"id": "Q2", "name": "Bonn", "pos": [2, 3]}}
    >>> plain, = plain_records(record, "train.txt:1", negative_relation="NA")
    >>> plain["sentence"], plain["tail"]
    ('Ann left Bonn', {'word': 'Bonn', 'start': 9, 'end': 13, 'guid': 'Q2'})
    """
    if "h" in record and "t" in record:
        yield from _opennre(record, where, negative_relation)
    elif "subj_start" in record and "token" in record:
        yield _tacred(record, where)
    else:
        yield record


def _opennre(record: dict[str, Any], where: str, negative_relation: str) -> Iterator[dict[str, Any]]:
    """OpenNRE; with `anno_relation_list` (NYT10m) a row for each distant and annotated relation."""
    tokens = None if "text" in record else record.get("token")
    if tokens is None and "text" not in record:
        raise RecordError(f"{where}: the keys `text` and `token` are missing; it has {', '.join(record)}.")
    plain: dict[str, Any] = {"sentence": record["text"] if tokens is None else joined(tokens, where)}
    for ours, theirs in (("head", "h"), ("tail", "t")):
        entity = record[theirs]
        if not isinstance(entity, dict):
            raise RecordError(f"{where}: `{theirs}` must be an object; got {entity!r:.60}.")
        position = entity.get("pos")
        if not isinstance(position, list) or len(position) != 2:
            raise RecordError(f"{where}: `{theirs}.pos` must be two integers; got {position!r:.60}.")
        plain[ours] = _entity(plain["sentence"], tokens, *position, where=where, name=f"{theirs}.pos")
        plain[ours] |= {"word": entity["name"]} if entity.get("name") else {}
        plain[ours] |= {"guid": entity["id"]} if entity.get("id") not in (None, "") else {}
        plain[ours] |= {key: entity[key] for key in entity if key not in ("id", "name", "pos")}
    if ANNOTATED not in record:
        yield plain | {"relation": record.get("relation")}
        return
    answers = record[ANNOTATED]
    if not isinstance(answers, list) or not all(isinstance(name, str) for name in answers):
        raise RecordError(f"{where}: `{ANNOTATED}` must hold names of relations; got {answers!r:.60}.")
    true = [name for name in dict.fromkeys(answers) if name != negative_relation]
    distant = record.get("relation", negative_relation)
    rows = [(name, YES) for name in true if name != distant]
    if distant != negative_relation:
        rows.insert(0, (distant, YES if distant in true else NO))
    for relation, answer in rows or [(negative_relation, UNK)]:
        yield plain | {"relation": relation, "bag_label": BAG_LABELS[answer]}


def _tacred(record: dict[str, Any], where: str) -> dict[str, Any]:
    """A record of TACRED: the subject is the head, ends are inclusive, bracket tokens become brackets."""
    if not isinstance(record["token"], list):
        raise RecordError(f"{where}: `token` must be a list; got {record['token']!r:.60}.")
    tokens: list[Any] = [TACRED_BRACKETS.get(str(token).lower(), token) for token in record["token"]]
    plain: dict[str, Any] = {"sentence": joined(tokens, where), "relation": record.get("relation")}
    for ours, theirs in (("head", "subj"), ("tail", "obj")):
        first, last = record.get(f"{theirs}_start"), record.get(f"{theirs}_end")
        end = last + 1 if isinstance(last, int) else last
        plain[ours] = _entity(plain["sentence"], tokens, first, end, where=where, name=f"{theirs}_start")
        plain[ours]["type"] = record.get(f"{theirs}_type") or ""
    return plain | ({"instance_id": record["id"]} if "id" in record else {})


def joined(tokens: Sequence[Any], where: str) -> str:
    """Return the tokens with blanks between them; RecordError unless they are strings."""
    if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
        raise RecordError(f"{where}: tokens must be strings in a list; got {tokens!r:.60}.")
    return " ".join(tokens)


def token_span(tokens: Sequence[str], first: int, end: int) -> tuple[int, int]:
    """Return the character span, in the joined text, of the tokens [first, end).

    >>> token_span(["He", "left", "New", "York"], 2, 4)
    (8, 16)
    """
    start = sum(len(token) + 1 for token in tokens[:first])
    return start, start + len(" ".join(tokens[first:end]))


def _entity(
    sentence: Any, tokens: Sequence[str] | None, start: Any, end: Any, *, where: str, name: str
) -> dict[str, Any]:
    size = len(sentence if tokens is None else tokens)
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in (start, end)):
        raise RecordError(f"{where}: `{name}` must be integers; got {start!r} and {end!r}.")
    if not 0 <= start < end <= size:
        raise RecordError(f"{where}: `{name}` {start} to {end} (exclusive) is not within {size}.")
    if tokens is not None:
        start, end = token_span(tokens, start, end)
    return {"word": sentence[start:end], "start": start, "end": end}


def semeval_records(lines: Sequence[str], where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and record of each sentence of SemEval-2010 Task 8 with its relation; e1 is the head.

    >>> lines = ['1\\t"The <e1>child</e1> in the <e2>cradle</e2>."', "Content-Container(e1,e2)", "Comment:"]
    >>> next(semeval_records(lines, "TRAIN_FILE.TXT"))[1]["tail"]
    {'word': 'cradle', 'start': 17, 'end': 23}
    """
    for number, line in enumerate(lines, start=1):
        identity, tab, tagged = line.partition("\t")
        if not (tab and identity.isdigit()):
            continue
        place = f"{where}:{number}"
        text, spans = tagged.strip().removeprefix('"').removesuffix('"'), []
        for name in ("e1", "e2"):
            before, opened, rest = text.partition(f"<{name}>")
            inside, closed, after = rest.partition(f"</{name}>")
            if not (opened and closed and inside):
                raise RecordError(f"{place}: the tags <{name}> and </{name}> must surround an entity.")
            spans.append((len(before), len(before) + len(inside)))
            text = before + inside + after
        (start, end), tail = spans
        # The tags of the tail were still there when the head was measured.
        if tail[0] < start:
            start, end = start - len("<e2></e2>"), end - len("<e2></e2>")
        head = {"word": text[start:end], "start": start, "end": end}
        entity = {"word": text[slice(*tail)], "start": tail[0], "end": tail[1]}
        relation = lines[number].strip() if number < len(lines) else ""
        yield (
            place,
            {
                "sentence": text,
                "head": head,
                "tail": entity,
                "relation": relation,
                "instance_id": identity,
            },
        )
