"""Sentences of the synthetic corpus with the true places of head and tail, hard cases among them (pure)."""

from __future__ import annotations

import random
import re
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from ..schema import NEGATIVE_RELATION
from .names import ENTAILED, RELATIONS, TYPES, Entity, NameMaker

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


# The published sizes of test bags with 1, 2, 3, 4 and more sentences weigh the bag sizes.
_BAG_SIZE_WEIGHTS = (2116, 607, 269, 142, 414)
# How often a sentence of a related pair expresses one of its relations, and how often a pair has two.
_EXPRESSED = 0.5
_SECOND_RELATION = 0.25


@dataclass(frozen=True)
class Row:
    """A row before it has ids; `judged` is the answer a human gives."""

    pair: tuple[Entity, Entity]
    relation: str
    judged: str
    sentence: Sentence


_Drawn = tuple[tuple[Entity, Entity], str]


class BagMaker:
    """Draws pairs, bags and sentences from one random generator."""

    def __init__(self, rng: random.Random, num_rows: int) -> None:
        """Draw from `rng`; the more rows, the more entities there are."""
        self.rng = rng
        self.names = NameMaker(rng)
        shares = {"person": 4, "city": 10, "company": 14, "neighborhood": 30, "region": 30, "team": 40}
        self.pools = {
            kind: [self.names.entity(kind) for _ in range(max(12, num_rows // shares.get(kind, 60)))]
            for kind in TYPES
        }
        self.taken: set[tuple[str, str]] = set()
        # Pairs by the kinds of their entities, each with its relation: of this file, and of earlier ones.
        self._new: dict[tuple[str, str], list[_Drawn]] = {}
        self._earlier: dict[tuple[str, str], list[_Drawn]] = {}
        self._shared = 0.0
        self.by_kinds: dict[tuple[str, str], list[str]] = {}
        for name, relation in RELATIONS.items():
            self.by_kinds.setdefault((relation.head, relation.tail), []).append(name)

    def _pick(self, kind: str) -> Entity:
        """An entity of the kind, the first ones of the pool more often."""
        pool = self.pools[kind]
        return pool[int(len(pool) * self.rng.random() ** 1.5)]

    def begin_file(self, shared: float) -> None:
        """Let a share of the pairs that follow be pairs of the files before, each at most once."""
        for kinds, pairs in self._new.items():
            self._earlier.setdefault(kinds, []).extend(pairs)
        self._new, self._shared = {}, shared

    def pair(self, head_kind: str, tail_kind: str, relation: str = "") -> tuple[Entity, Entity]:
        """Return a pair that this file has not; now and then one name begins with the other.

        One of an earlier file has the same `relation` there; "" stands for no relation, and then for any.
        """
        rng, kinds = self.rng, (head_kind, tail_kind)
        earlier = self._earlier.get(kinds, [])
        pair = None
        if self._shared and rng.random() < self._shared:
            fitting = [at for at, drawn in enumerate(earlier) if relation in ("", drawn[1])]
            pair = earlier.pop(rng.choice(fitting))[0] if fitting else None
        pair = pair or self._new_pair(*kinds)
        self._new.setdefault(kinds, []).append((pair, relation))
        return pair

    def _new_pair(self, head_kind: str, tail_kind: str) -> tuple[Entity, Entity]:
        rng = self.rng
        for _ in range(200):
            head, tail = self._pick(head_kind), self._pick(tail_kind)
            if rng.random() < 0.2:
                if {head_kind, tail_kind} in ({"team", "city"}, {"company", "person"}):
                    longer = "team" if "team" in (head_kind, tail_kind) else "company"
                    if head_kind == longer and "(" not in tail.word:
                        head = self.names.entity(longer, inside=tail.word)
                    elif tail_kind == longer and "(" not in head.word:
                        tail = self.names.entity(longer, inside=head.word)
                elif (head_kind, tail_kind) == ("country", "city"):
                    tail = self.names.entity("city", inside=head.word)
            if head.word != tail.word and (head.guid, tail.guid) not in self.taken:
                break
        else:
            head, tail = self.names.entity(head_kind), self.names.entity(tail_kind)
            self.pools[head_kind].append(head)
            self.pools[tail_kind].append(tail)
        self.taken.add((head.guid, tail.guid))
        return head, tail

    def bag_size(self) -> int:
        """Return a number of sentences, distributed like the bags of the published test set."""
        size = self.rng.choices(range(1, 6), _BAG_SIZE_WEIGHTS)[0]
        return size if size < 5 else self.rng.randint(5, 8)

    def sentences(
        self, pair: tuple[Entity, Entity], relations: list[str], number: int
    ) -> list[tuple[Sentence, str]]:
        """Return distinct sentences with the pair, each with the relation that it expresses ("" for none)."""
        drawn: dict[str, tuple[Sentence, str]] = {}
        while len(drawn) < number:
            sentence, expressed = self._sentence(pair, relations)
            drawn.setdefault(sentence.text, (sentence, expressed))
        return list(drawn.values())

    def overlapping(self, pair: tuple[Entity, Entity]) -> Sentence | None:
        """Return now and then, where one name lies in the other, a sentence with the longer name only."""
        head, tail = pair
        if (head.part == tail.word or tail.part == head.word) and self.rng.random() < 0.15:
            if head.part:
                return write_overlapping(self.rng, head, tail, longer_is_head=True)
            return write_overlapping(self.rng, tail, head, longer_is_head=False)
        return None

    def _sentence(self, pair: tuple[Entity, Entity], relations: list[str]) -> tuple[Sentence, str]:
        rng, (head, tail) = self.rng, pair
        if overlapping := self.overlapping(pair):
            return overlapping, ""
        expressed = ""
        if relations and rng.random() < _EXPRESSED:
            expressed = rng.choice(relations)
        elif rng.random() < (0.5 if relations else 0.1):
            others = [r for r in self.by_kinds.get((head.kind, tail.kind), []) if r not in relations]
            expressed = rng.choice(others) if others else ""
        template = rng.choice(RELATIONS[expressed].templates if expressed else NEUTRAL)
        return write_sentence(rng, head, tail, template), expressed

    def positive_bags(self, num_rows: int) -> list[list[Row]]:
        """Return bags of exactly `num_rows` rows, the relations in a long tail, each with at least a few
        rows.
        """
        left = _quotas(num_rows)
        bags = []
        for relation in reversed(RELATIONS):
            while left[relation]:
                pair = self.pair(RELATIONS[relation].head, RELATIONS[relation].tail, relation)
                relations = [relation]
                rivals = [r for r in self.by_kinds[pair[0].kind, pair[1].kind] if r != relation and left[r]]
                share = 0.6 if relation in ENTAILED else _SECOND_RELATION
                if rivals and self.rng.random() < share:
                    relations.append(self.rng.choice(rivals))
                bag = []
                number = min(self.bag_size(), *(left[r] for r in relations))
                for sentence, expressed in self.sentences(pair, relations, number):
                    true = (expressed, *ENTAILED.get(expressed, ()))
                    bag += [Row(pair, r, "yes" if r in true else "no", sentence) for r in relations]
                    for r in relations:
                        left[r] -= 1
                bags.append(bag)
        self.rng.shuffle(bags)
        return bags

    def negative_bags(self, num_rows: int) -> list[list[Row]]:
        """Return bags of exactly `num_rows` rows of pairs that the knowledge base does not relate."""
        bags: list[list[Row]] = []
        while num_rows:
            pair = self.pair(*self.rng.choice(list(self.by_kinds)))
            drawn = self.sentences(pair, [], min(self.bag_size(), num_rows))
            bags.append([Row(pair, NEGATIVE_RELATION, "unk", sentence) for sentence, _ in drawn])
            num_rows -= len(drawn)
        return bags


def _quotas(num_rows: int) -> dict[str, int]:
    """Rows per relation, falling like 1 / rank, at least two (one in a very small corpus)."""
    weights = [1 / (rank + 1) for rank in range(len(RELATIONS))]
    floor = 2 if num_rows >= 3 * len(RELATIONS) else 1
    spare = num_rows - floor * len(RELATIONS)
    quotas = [floor + int(spare * weight / sum(weights)) for weight in weights]
    quotas[0] += num_rows - sum(quotas)
    return dict(zip(RELATIONS, quotas, strict=True))
