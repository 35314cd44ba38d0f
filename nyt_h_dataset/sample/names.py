"""Invented names for the synthetic corpus, no two entities alike and none taken from the world (pure)."""

from __future__ import annotations

import random
from typing import NamedTuple

# The types that a record of each kind carries, in Freebase's manner.
TYPES = {
    "person": "/people/person,/influence/influence_node",
    "country": "/location/country,/location/location",
    "region": "/location/administrative_division,/location/location",
    "city": "/location/citytown,/location/location",
    "neighborhood": "/location/neighborhood,/location/location",
    "company": "/business/company,/organization/organization",
    "team": "/sports/sports_team,/organization/organization",
    "religion": "/religion/religion",
    "ethnicity": "/people/ethnicity",
}


class Relation(NamedTuple):
    """A relation: kinds of its head and tail, and paraphrases that express it."""

    head: str
    tail: str
    templates: tuple[str, ...]


# Most frequent first: the order is the long tail.
RELATIONS = {
    "/location/location/contains": Relation(
        "country",
        "city",
        (
            "the rains spread across {h} as far as {t}",
            "{t} , one of the larger towns of {h} , was quiet",
            "in the south of {h} , the market at {t} stayed open",
            "{h} closed its airports at {t} and elsewhere",
            "villages all over {h} , among them {t} , held a vote",
        ),
    ),
    "/people/person/place_lived": Relation(
        "person",
        "city",
        (
            "{h} , who lives in {t} , wrote the first chapter",
            "{h} moved to {t} and rented a small house there",
            "{h} of {t} has kept an apartment there for ten years",
            "the neighbors of {h} in {t} remember a quiet resident",
            "{h} settled in {t} with two dogs",
        ),
    ),
    "/business/person/company": Relation(
        "person",
        "company",
        (
            "{h} , the chief executive of {t} , opened the meeting",
            "{h} joined {t} as a vice president",
            "the board of {t} promoted {h} to general manager",
            "{h} has worked for {t} as an engineer",
            "{h} , an analyst at {t} , expected higher prices",
        ),
    ),
    "/people/person/nationality": Relation(
        "person",
        "country",
        (
            "{h} , a citizen of {t} , carried its flag",
            "{h} holds a passport of {t}",
            "{h} ran for {t} at the winter games",
            "{h} , the prime minister of {t} , asked for calm",
            "{h} served {t} as its ambassador",
        ),
    ),
    "/people/person/place_of_birth": Relation(
        "person",
        "city",
        (
            "{h} was born in {t} , the youngest of four",
            "{h} , a native of {t} , left school early",
            "born in {t} to a baker , {h} learned the trade",
            "the birthplace of {h} is {t}",
            "{h} , whose birth in {t} is recorded in a parish book , never returned",
        ),
    ),
    "/location/country/capital": Relation(
        "country",
        "city",
        (
            "in {t} , the capital of {h} , the parliament met",
            "{h} moved its capital to {t}",
            "the government of {h} sat in its capital , {t}",
            "{t} became the capital of {h} in that year",
        ),
    ),
    "/location/neighborhood/neighborhood_of": Relation(
        "neighborhood",
        "city",
        (
            "{h} , a neighborhood of {t} , has narrow streets",
            "the {h} section of {t} was rebuilt",
            "rents in {h} , on the east side of {t} , doubled",
            "{h} is the oldest district of {t}",
        ),
    ),
    "/location/administrative_division/country": Relation(
        "region",
        "country",
        (
            "{h} , a province of {t} , elected a governor",
            "{h} is the smallest province in {t}",
            "{t} granted its province {h} a parliament",
        ),
    ),
    "/people/deceased_person/place_of_death": Relation(
        "person",
        "city",
        (
            "{h} died in {t} after a short illness",
            "{h} was found dead at a hotel in {t}",
            "the death of {h} at a hospital in {t} was announced",
            "{h} , who died on Sunday in {t} , was 81",
        ),
    ),
    "/location/country/administrative_divisions": Relation(
        "country",
        "region",
        (
            "{h} divided its territory and made {t} a state",
            "among the states of {h} , {t} has the longest coast",
            "{h} sent troops to its eastern state , {t}",
        ),
    ),
    "/business/company/founders": Relation(
        "company",
        "person",
        (
            "{t} founded {h} in a garage",
            "{h} was started by {t} with a small loan",
            "{t} , the founder of {h} , sold bicycles at first",
            "{h} , which {t} established after the war , makes pumps",
        ),
    ),
    "/people/person/children": Relation(
        "person",
        "person",
        (
            "{t} , the daughter of {h} , sang",
            "{h} left the farm to a son , {t}",
            "{h} , the father of {t} , applauded",
            "{t} is the eldest child of {h}",
        ),
    ),
    "/sports/sports_team/location": Relation(
        "team",
        "city",
        (
            "the {h} play their home games in {t}",
            "the {h} will stay in {t} and build a stadium",
            "fans of the {h} filled the streets of {t}",
        ),
    ),
    "/sports/sports_team_location/teams": Relation(
        "city",
        "team",
        (
            "{h} welcomed its club , the {t} , with a parade",
            "{h} cheered for its own team , the {t}",
            "the stadium of {h} belongs to the {t}",
        ),
    ),
    "/business/company/place_founded": Relation(
        "company",
        "city",
        (
            "{h} was founded in {t} a century ago",
            "{h} began in {t} as a repair shop",
            "{t} is where {h} was established",
        ),
    ),
    "/business/company/major_shareholders": Relation(
        "company",
        "person",
        (
            "{t} owns a third of the shares of {h}",
            "the largest shareholder of {h} is {t}",
            "{t} raised a stake in {h} to 40 percent",
        ),
    ),
    "/business/company_shareholder/major_shareholder_of": Relation(
        "person",
        "company",
        (
            "{h} controls most of the stock of {t}",
            "{h} , a large investor in {t} , voted no",
            "{h} bought half of the shares in {t}",
        ),
    ),
    "/people/person/religion": Relation(
        "person",
        "religion",
        (
            "{h} was raised in the faith of {t}",
            "{h} converted to {t} as a student",
            "{h} , a believer in {t} , fasted",
        ),
    ),
    "/people/person/ethnicity": Relation(
        "person",
        "ethnicity",
        (
            "{h} , whose parents were {t} , spoke the dialect",
            "{h} is of {t} descent",
            "{h} , an ethnic {t} , collected the songs",
        ),
    ),
    "/business/company/advisors": Relation(
        "company",
        "person",
        (
            "{h} hired {t} as an adviser",
            "{t} advises {h} on its debts",
            "{t} , an outside consultant to {h} , agreed",
        ),
    ),
    "/people/ethnicity/geographic_distribution": Relation(
        "ethnicity",
        "country",
        (
            "the {h} minority of {t} has its own schools",
            "many {h} families live in the hills of {t}",
            "the {h} are a people of {t}",
        ),
    ),
}

# What a sentence that expresses a relation expresses besides: a country contains its capital.
ENTAILED = {"/location/country/capital": ("/location/location/contains",)}


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
        """Return the entity as a record has it."""
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
