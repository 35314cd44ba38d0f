"""Triples as texts, from generative and zero-shot systems, beside the entity pair of a unit."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

from ..validation import check_real, quoted

# What systems call the parts: this project and GLiNER's and GLiREL's outputs, subject and object elsewhere.
_HEADS = ("head", "head_text", "source", "subject")
_RELATIONS = ("relation", "label", "predicate", "type")
_TAILS = ("tail", "tail_text", "target", "object")
_REBEL = re.compile(r"<(triplet|subj|obj)>")
_SPECIAL = re.compile(r"</?s>|<pad>")
# The folding of the data set's `folding` module, of which only whether two words are the same is needed here:
# this package uses nothing of the other one. A test compares the two.
_ESCAPE = re.compile(r"-[lr][rsc]b-", re.IGNORECASE)
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | dict.fromkeys("‘’`´ʼ", "'")
    | dict.fromkeys("‐‑‒–—−", "-")
)


@dataclass(frozen=True)
class Triple:
    """A statement: this relation holds between two entities that are named as texts."""

    head: str
    relation: str
    tail: str
    score: float | None = None


def read_triples(value: Any, where: str) -> list[Triple]:
    """Return the triples of one record, from any of the shapes that systems print.

    Args:
        value: A list of `{head, relation, tail, score?}` (also `head_text`, `label`, `tail_text` of GLiREL,
            whose texts may be lists of tokens; `source` and `target` of GLiNER; `subject`, `predicate` and
            `object`), a list of `[head, relation, tail]`, or REBEL's line
            `<triplet> head <subj> tail <obj> relation`.
        where: How messages call the record.

    >>> read_triples("<s><triplet> Ann <subj> Bonn <obj> place of birth</s>", "line 1")
    [Triple(head='Ann', relation='place of birth', tail='Bonn', score=None)]

    Raises:
        TypeError: A value of another shape.
        ValueError: A part that is missing, or has no text.
    """
    if isinstance(value, str):
        return _rebel(value)
    if isinstance(value, Mapping) or not isinstance(value, Sequence):
        raise TypeError(f"{where}: triples must be a list or REBEL's text; got {value!r:.60}.")
    return [_triple(item, f"{where}, triple {number}") for number, item in enumerate(value, start=1)]


def _triple(item: Any, where: str) -> Triple:
    score = None
    if isinstance(item, Mapping):
        found = [next((item[key] for key in keys if key in item), None) for keys in _PARTS.values()]
        score = item.get("score")
    elif isinstance(item, (list, tuple)) and len(item) in (3, 4):
        found, score = list(item[:3]), item[3] if len(item) == 4 else None
    else:
        raise TypeError(f"{where}: expected head, relation and tail; got {item!r:.80}.")
    texts = [" ".join(map(str, part)) if isinstance(part, (list, tuple)) else part for part in found]
    without = [
        name
        for name, text in zip(_PARTS, texts, strict=True)
        if not isinstance(text, str) or not text.strip()
    ]
    if without:
        raise ValueError(f"{where}: {quoted(without)} without text; it is {item!r:.80}.")
    if score is not None:
        score = check_real(f"{where}: score", score, low=-inf, high=inf)
    head, relation, tail = map(str, texts)
    return Triple(head, relation, tail, score)


_PARTS = {"head": _HEADS, "relation": _RELATIONS, "tail": _TAILS}


def _rebel(text: str) -> list[Triple]:
    """REBEL's linearised triples; one that generation cut off is none."""
    parts = _REBEL.split(_SPECIAL.sub("", text))
    triples, head, tail = [], "", ""
    for mark, part in zip(parts[1::2], parts[2::2], strict=True):
        part = part.strip()
        if mark == "triplet":
            head = part
        elif mark == "subj":
            tail = part
        elif head and tail and part:
            triples.append(Triple(head, part, tail))
    return triples


@lru_cache(maxsize=65536)
def folded(text: str) -> str:
    """Return the letters and digits of a text without case and accents; other text without blanks.

    >>> folded("Zoë K."), folded("J.K. -LRB-x-RRB-"), folded("++ +")
    ('zoek', 'jkx', '+++')
    """
    kept = _ESCAPE.sub(" ", text).replace("_", " ")
    if not kept.isascii():
        decomposed = unicodedata.normalize("NFKD", kept)
        kept = "".join(char for char in decomposed if unicodedata.category(char)[0] != "M")
    kept = kept.casefold().translate(_LETTERS)
    return "".join(filter(str.isalnum, kept)) or "".join(kept.split())


def place_of(triple: Triple, pairs: Sequence[tuple[str, str]]) -> str:
    """Return whether a triple is about one of a unit's pairs (head, tail): "same", "reversed" or "other".

    >>> place_of(Triple("bonn", "born in", "Ann"), [("Ann", "Bonn")])
    'reversed'
    """
    head, tail = folded(triple.head), folded(triple.tail)
    known = {(folded(one), folded(other)) for one, other in pairs}
    if (head, tail) in known:
        return "same"
    return "reversed" if (tail, head) in known else "other"
