"""Invented names for the synthetic corpus, no two entities alike and none taken from the world (pure)."""

from __future__ import annotations

import random
from typing import NamedTuple

from .sample_language import TYPES

_ONSETS = (
    "v",
    "tr",
    "k",
    "m",
    "z",
    "dr",
    "s",
    "l",
    "gr",
    "n",
    "p",
    "th",
    "b",
    "f",
    "sk",
    "r",
    "h",
    "d",
    "kl",
    "j",
)
_VOWELS = ("a", "e", "i", "o", "u", "ae", "ou", "y")
_CODAS = ("l", "r", "n", "sk", "m", "rd", "x", "th", "v", "z", "lt", "nk")
_ENDINGS = {
    "country": ("ovia", "estan", "aria", "und"),
    "region": ("mark", "shire", "ara", "oland"),
    "city": ("burg", "ovo", "ona", "ette", "ham"),
    "neighborhood": ("side", "gate", "wick"),
    "religion": ("ism",),
    "ethnicity": ("i", "ek"),
}
_ACCENTED = str.maketrans({"a": "á", "e": "é", "o": "ö", "u": "ü"})
_COMPANY = ("Industries", "& Sons", "Group", "Holdings", "Works")
_TEAM = ("Hawks", "Otters", "Comets", "Badgers", "Rovers")


class Entity(NamedTuple):
    """An entity of the corpus; `part` is another entity's name that lies inside this one's, or ""."""

    kind: str
    word: str
    guid: str
    part: str = ""

    def record(self) -> dict[str, str]:
        """The entity as a record has it."""
        return {"guid": self.guid, "word": self.word, "type": TYPES[self.kind]}


class NameMaker:
    """Makes entities; every stem is used once, so that names meet only where they are meant to."""

    def __init__(self, rng: random.Random) -> None:
        """Draw all names from `rng`."""
        self._rng = rng
        self._stems: set[str] = set()
        self._count = 0

    def _stem(self, ending: str = "") -> str:
        rng = self._rng
        while True:
            stem = rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
            stem += rng.choice(_VOWELS) + (ending or rng.choice(_CODAS))
            if len(self._stems) > 20_000:
                stem = rng.choice(_ONSETS) + rng.choice(_VOWELS) + stem
            if stem not in self._stems:
                self._stems.add(stem)
                return stem

    def _name(self, kind: str) -> str:
        rng = self._rng
        stem = self._stem(rng.choice(_ENDINGS[kind]) if kind in _ENDINGS else "")
        if rng.random() < 0.08:
            stem = stem[0] + stem[1:].translate(_ACCENTED)
        return stem.capitalize()

    def entity(self, kind: str, inside: str = "") -> Entity:
        """Return a new entity of `kind`; `inside` is a name that its own name begins with, if any."""
        rng = self._rng
        if kind == "person":
            word = f"{self._name(kind)} {self._name(kind)}"
        elif kind == "company":
            word = f"{inside or self._name(kind)} {rng.choice(_COMPANY)}"
        elif kind == "team":
            word = f"{inside or self._name(kind)} {rng.choice(_TEAM)}"
        else:
            word = f"{inside} City" if inside else self._name(kind)
            if kind in ("city", "region") and not inside and rng.random() < 0.05:
                word = f"{word} ({rng.choice(['Lower', 'Upper', 'Old'])})"
        self._count += 1
        return Entity(kind, word, f"/guid/9202a8c04000641f8{self._count:015x}", inside)
