"""Sentences of the synthetic corpus with the true places of head and tail, hard cases among them (pure)."""

from __future__ import annotations

import random
import re
import unicodedata
from typing import NamedTuple

from .sample_names import Entity

# Sentences that mention two entities and express no relation between them.
NEUTRAL = (
    "a letter about {h} and {t} was read aloud",
    "{h} and {t} were named in the same report",
    "the film shows {h} , a long bridge and , in the end , {t}",
    "she wrote a book on {h} before she had heard of {t}",
    "the quarrel over {h} had nothing to do with {t}",
    "a photograph of {h} hung beside a map that showed {t}",
    "nobody asked about {h} when the talk turned to {t}",
    "{t} was the first item , {h} the second",
    "the program mentioned {t} , a recipe and {h}",
)

OPENINGS = (
    "On Monday ,",
    "Last week",
    "According to two officials ,",
    "In a long interview ,",
    "As the storm passed ,",
    "The newspaper said that",
    "Early in the morning ,",
    "It was reported that",
)
CLOSINGS = (
    ", a spokesman said",
    ", according to the report",
    ", and the crowd went home",
    "after a long winter",
    "while it rained",
    ", witnesses recalled",
    "for the second time",
)
# The same name again, before or after the place that counts; {n} is the name, {x} something that contains it.
NAME_BEFORE = ("The talk was of {n} at first ;", "{n} again :", "Asked about {n} , an aide said :")
NAME_AFTER = (", and {n} was not named again", ", which is all that is known of {n}")
LONGER_BEFORE = ("At the {n} Institute they said :", "The {n} Gazette wrote :")
PART_BEFORE = ("A {n}ese choir sang ;", "The {n}ists objected :")

_SLOT = re.compile(r"\{([ht])\}")


class Sentence(NamedTuple):
    """A text with the true spans of its head and tail, half-open character offsets."""

    text: str
    head: tuple[int, int]
    tail: tuple[int, int]


def _escaped(word: str) -> str:
    """The word as the corpus prints it: brackets are escaped and set apart."""
    return word.replace("(", "-LRB- ").replace(")", " -RRB-")


def _varied(rng: random.Random, word: str) -> str:
    """The name in another spelling, which only folding finds."""
    without_accents = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    forms = [word.upper(), word.lower(), word.replace(" ", "_"), without_accents]
    return rng.choice([form for form in forms if form != word])


def _glued(rng: random.Random, surface: str) -> tuple[str, str, str]:
    before, after = rng.choice((("(", ")"), ("``", "''"), ("-LRB-", "-RRB-"), ("", "'s"), ("", "-based")))
    return before, surface, after


def write_sentence(rng: random.Random, head: Entity, tail: Entity, template: str) -> Sentence:
    """Return `template` with both entities in it, framed at random; one in six is hard to find them in.

    The hard cases: another spelling (case, accents, underscores), something glued to the name, the name
    once more before or after the place that counts, inside a longer name or a longer word, and a short form
    that cannot be found at all.
    """
    entities = {"h": head, "t": tail}
    surfaces = {slot: ("", _escaped(entity.word), "") for slot, entity in entities.items()}
    slot = rng.choice("ht")
    name = surfaces[slot][1]
    opening = rng.choice(OPENINGS) if rng.random() < 0.6 else ""
    closing = rng.choice(CLOSINGS) if rng.random() < 0.6 else ""
    luck = rng.random()
    if luck < 0.03 and "-LRB-" not in name:
        surfaces[slot] = ("", _varied(rng, name), "")
    elif luck < 0.06:
        surfaces[slot] = _glued(rng, name)
    elif luck < 0.10:
        opening = rng.choice(NAME_BEFORE).format(n=name)
    elif luck < 0.12:
        closing = rng.choice(NAME_AFTER).format(n=name)
    elif luck < 0.14:
        opening = rng.choice(LONGER_BEFORE).format(n=name)
    elif luck < 0.16 and " " not in name:
        opening = rng.choice(PART_BEFORE).format(n=name)
    elif luck < 0.18 and entities[slot].kind == "person":
        surfaces[slot] = ("", "Mx. " + name.split()[-1], "")
    text, spans, done = "", {}, 0
    frame = " ".join(part for part in (opening, template + (" " + closing if closing else ""), ".") if part)
    frame = frame[0].upper() + frame[1:] if frame[0] != "{" else frame
    for match in _SLOT.finditer(frame):
        before, surface, after = surfaces[match[1]]
        text += frame[done : match.start()] + before
        spans[match[1]] = (len(text), len(text) + len(surface))
        text += surface + after
        done = match.end()
    return Sentence(text + frame[done:], spans["h"], spans["t"])


def write_overlapping(rng: random.Random, longer: Entity, part: Entity, *, longer_is_head: bool) -> Sentence:
    """Return a sentence in which `part` is named only inside `longer`, whose name begins with it."""
    text = rng.choice(
        ("{n} had a good year .", "Nothing was said about {n} .", "A song about {n} was played .")
    )
    start = text.index("{n}")
    outer, inner = (start, start + len(longer.word)), (start, start + len(part.word))
    head, tail = (outer, inner) if longer_is_head else (inner, outer)
    return Sentence(text.format(n=longer.word), head, tail)
