"""Pairs and bags of the synthetic corpus: who is related, by what, and what the sentences say (pure)."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .sample_language import ENTAILED, RELATIONS, TYPES
from .sample_names import Entity, NameMaker
from .sample_sentences import NEUTRAL, Sentence, write_overlapping, write_sentence
from .schema import NEGATIVE_RELATION

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
        self.by_kinds: dict[tuple[str, str], list[str]] = {}
        for name, relation in RELATIONS.items():
            self.by_kinds.setdefault((relation.head, relation.tail), []).append(name)

    def _pick(self, kind: str) -> Entity:
        """An entity of the kind, the first ones of the pool more often."""
        pool = self.pools[kind]
        return pool[int(len(pool) * self.rng.random() ** 1.5)]

    def pair(self, head_kind: str, tail_kind: str) -> tuple[Entity, Entity]:
        """A pair that was not drawn before; now and then one name begins with the other."""
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
        """A number of sentences, distributed like the bags of the published test set."""
        size = self.rng.choices(range(1, 6), _BAG_SIZE_WEIGHTS)[0]
        return size if size < 5 else self.rng.randint(5, 8)

    def sentences(
        self, pair: tuple[Entity, Entity], relations: list[str], number: int
    ) -> list[tuple[Sentence, str]]:
        """Different sentences with the pair, each with the relation that it expresses ("" for none)."""
        drawn: dict[str, tuple[Sentence, str]] = {}
        while len(drawn) < number:
            sentence, expressed = self._sentence(pair, relations)
            drawn.setdefault(sentence.text, (sentence, expressed))
        return list(drawn.values())

    def overlapping(self, pair: tuple[Entity, Entity]) -> Sentence | None:
        """Now and then, where one name lies in the other: a sentence with the longer name only."""
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
        """Bags of exactly `num_rows` rows, the relations in a long tail, each with at least a few rows."""
        left = _quotas(num_rows)
        bags = []
        for relation in reversed(RELATIONS):
            while left[relation]:
                pair = self.pair(RELATIONS[relation].head, RELATIONS[relation].tail)
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
        """Bags of exactly `num_rows` rows of pairs that the knowledge base does not relate."""
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
