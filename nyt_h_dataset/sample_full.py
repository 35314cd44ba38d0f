"""The synthetic corpus at NYT-H's published sizes, bag by bag, so that it never lies in memory (pure)."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .sample_bags import BagMaker, Row
from .sample_language import ENTAILED, RELATIONS
from .sample_names import Entity
from .sample_plan import FULL_SIZES, BagPlan, plan_na, plan_test, plan_train
from .sample_sentences import NEUTRAL, Sentence, write_sentence
from .schema import DEV, NEGATIVE_RELATION, TEST, TRAIN

# The more entities, the rarer a pair is drawn that was drawn before.
_ENTITY_SCALE = 200_000


class FullCorpus:
    """Writes planned bags; what is kept in memory are the entities and which pairs were drawn."""

    def __init__(self, rng: random.Random) -> None:
        """Draw everything from `rng`."""
        self.rng = rng
        self.maker = BagMaker(rng, _ENTITY_SCALE)
        self.names = list(RELATIONS)
        self.weights = [1 / (rank + 1) for rank in range(len(RELATIONS))]

    def _rivals(self, relation: str) -> list[str]:
        """Other relations of the same kinds of entities, none of which says the same."""
        kinds = RELATIONS[relation].head, RELATIONS[relation].tail
        implied = (*ENTAILED.get(relation, ()), *(r for r, i in ENTAILED.items() if relation in i))
        return [r for r in self.maker.by_kinds[kinds] if r != relation and r not in implied]

    def bag(self, plan: BagPlan) -> list[Row]:
        """The rows of one bag of a related pair: its sentences express what `plan` says."""
        rng = self.rng
        relations = rng.choices(self.names, self.weights)
        if plan.num_relations == 2:
            while not (rivals := self._rivals(relations[0])):
                relations = rng.choices(self.names, self.weights)
            relations.append(rng.choice(rivals))
        pair = self.maker.pair(RELATIONS[relations[0]].head, RELATIONS[relations[0]].tail)
        others = [r for r in self._rivals(relations[0]) if r not in relations]
        rows: list[Row] = []
        texts: set[str] = set()
        for yes in plan.yes:
            expressed = relations[yes] if yes >= 0 else ""
            if not expressed and others and rng.random() < 0.5:
                expressed = rng.choice(others)
            sentence = self._sentence(pair, expressed, texts)
            rows += [
                Row(pair, r, "yes" if yes == number else "no", sentence) for number, r in enumerate(relations)
            ]
        return rows

    def _sentence(self, pair: tuple[Entity, Entity], expressed: str, texts: set[str]) -> Sentence:
        templates = RELATIONS[expressed].templates if expressed else NEUTRAL
        while True:
            sentence = None if expressed else self.maker.overlapping(pair)
            if sentence is None:
                sentence = write_sentence(self.rng, *pair, self.rng.choice(templates))
            if sentence.text not in texts:
                texts.add(sentence.text)
                return sentence

    def stream(self) -> Iterator[tuple[str, list[Row]]]:
        """Yield a data file and rows of one bag for it, until every file has its size.

        Dev is split off train by row, as the authors did: each row goes to dev with the chance that makes the
        sizes come out exactly.
        """
        rng = self.rng
        for plan in plan_test(rng):
            yield TEST, self.bag(plan)
        dev, left = FULL_SIZES[DEV], FULL_SIZES[TRAIN] + FULL_SIZES[DEV]
        for plan in plan_train(rng, left):
            parts: dict[str, list[Row]] = {TRAIN: [], DEV: []}
            for row in self.bag(plan):
                name = DEV if rng.random() * left < dev else TRAIN
                parts[name].append(row)
                dev -= name == DEV
                left -= 1
            yield from ((name, rows) for name, rows in parts.items() if rows)
        kinds = list(self.maker.by_kinds)
        for name, size in plan_na(rng):
            pair = self.maker.pair(*rng.choice(kinds))
            texts: set[str] = set()
            yield (
                name,
                [Row(pair, NEGATIVE_RELATION, "unk", self._sentence(pair, "", texts)) for _ in range(size)],
            )
