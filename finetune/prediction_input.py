"""What is to be predicted: records with a text and two entities -> checked sentences with spans.

This file is flat, because it travels with a saved model. Entities given as words are searched for by the
package nyt-h, where that is installed; spans need no package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .markers import NOT_FOUND, Span, check_span

SIDES = ("head", "tail")
HOW = "[start, end], the entity's words, or an object with 'start' and 'end' or with 'word'"


class Sentence(NamedTuple):
    """A text with two spans, and the types of both entities where they were given."""

    text: str
    head: Span
    tail: Span
    types: tuple[str, str] | None


@dataclass(frozen=True)
class Unit:
    """One thing to predict.

    Attributes:
        name: The `instance_id` of the record, of a bag its `bag_id`; None when it has none.
        sentences: The sentence, or those of a bag.
        is_bag: Whether the record is a bag.
    """

    name: str | None
    sentences: tuple[Sentence, ...]
    is_bag: bool


def read_unit(record: Any, *, where: str) -> Unit:
    """A record as a unit.

    A sentence is an object with `sentence` (or `text`), `head` and `tail`; each entity is [start, end]
    (half-open characters), or its words, or an object as in NYT-H's files and columns, where `start` and
    `end` of -1 say that it was not found. A bag is an object with `instances`, a list of sentences; what they
    lack of `head` and `tail` the bag has.

    Args:
        record: The object, as JSON gives it.
        where: What the record is called in messages, such as file and line.

    Raises:
        ValueError: The record is broken; the message says where, what, and what to give.

    >>> unit = read_unit({"text": "Ann sees Bob.", "head": [0, 3], "tail": [9, 12]}, where="line 1")
    >>> unit.sentences[0].tail
    Span(start=9, end=12)
    """
    if not isinstance(record, Mapping):
        raise ValueError(
            f"{where}: expected an object with 'sentence', 'head' and 'tail'; got {type(record).__name__}."
        )
    is_bag = "instances" in record
    name = record.get("bag_id" if is_bag else "instance_id")
    name = None if name is None else str(name)
    if not is_bag:
        return Unit(name, (_sentence(record, where),), is_bag=False)
    instances = record["instances"]
    if not isinstance(instances, list) or not instances:
        raise ValueError(f"{where}: 'instances' must be a list with the sentences of the bag, at least one.")
    of_bag = {side: record[side] for side in SIDES if side in record}
    sentences = []
    for number, instance in enumerate(instances, start=1):
        here = f"{where}, instance {number}"
        if not isinstance(instance, Mapping):
            raise ValueError(f"{here}: expected an object with 'sentence'; got {type(instance).__name__}.")
        sentences.append(_sentence({**of_bag, **instance}, here))
    return Unit(name, tuple(sentences), is_bag=True)


def _sentence(record: Mapping[str, Any], where: str) -> Sentence:
    text = record.get("sentence", record.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{where}: 'sentence' (or 'text') must be a text; got {text!r}.")
    spans: dict[str, Span] = {}
    words: dict[str, str] = {}
    for side in SIDES:
        found = _span(record, side, where)
        if isinstance(found, Span):
            check_span(found, name=side, length=len(text), row=where)
            spans[side] = found
        else:
            words[side] = found
    if words and spans:
        raise ValueError(
            f"{where}: {next(iter(words))!r} is given by its words and {next(iter(spans))!r} by its span; "
            "give both in the same way."
        )
    if words:
        spans = _located(text, words, where)
    elif spans["head"].found and spans["head"] == spans["tail"]:
        raise ValueError(
            f"{where}: head and tail are the same span {tuple(spans['head'])}; a relation is between two "
            "mentions."
        )
    kinds = [record[side].get("type") if isinstance(record.get(side), Mapping) else None for side in SIDES]
    for side, kind in zip(SIDES, kinds, strict=True):
        if kind is not None and not isinstance(kind, str):
            raise ValueError(f"{where}: the type of {side!r} must be a text; got {kind!r}.")
    types = None if None in kinds else (str(kinds[0]), str(kinds[1]))
    return Sentence(text, spans["head"], spans["tail"], types)


def _span(record: Mapping[str, Any], side: str, where: str) -> Span | str:
    """The span of an entity, or its words."""
    value = record.get(side)
    if f"{side}_start" in record:
        value = [record[f"{side}_start"], record.get(f"{side}_end")]
    elif isinstance(value, Mapping):
        value = [value["start"], value.get("end")] if "start" in value else value.get("word")
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(type(end) is int for end in value):
        return Span(*value)
    got = f"got {record[side]!r}" if side in record else f"{side!r} is missing"
    raise ValueError(f"{where}: {side!r} must be {HOW}; {got}.")


def _located(text: str, words: Mapping[str, str], where: str) -> dict[str, Span]:
    """The mentions of both entities; (-1, -1) where there is none."""
    try:
        from nyt_h_dataset import locate
    except ImportError as error:
        raise ValueError(
            f"{where}: to search for the entities' words the package nyt-h must be installed; give character "
            "spans instead."
        ) from error
    found = locate(text, words["head"], words["tail"])
    if not all(start != NOT_FOUND for start, _ in (found.head, found.tail)):
        return {"head": Span(NOT_FOUND, NOT_FOUND), "tail": Span(NOT_FOUND, NOT_FOUND)}
    return {"head": Span(*found.head), "tail": Span(*found.tail)}
