"""The synthetic corpus as news: long sentences, sentences of two pairs, repeated rows (pure)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from ..schema import NA_REST, TEST
from .sentences import Row, Sentence

_WHO = (
    *("the committee", "a spokeswoman for the agency", "the two sides", "an older neighbor", "the union"),
    *("several members of the panel", "the owner of a bakery", "the judge in the case", "the authors"),
    *("a group of students", "the lawyers", "one of the engineers", "the head of the office", "critics"),
)
_DID = (
    *("said that nothing had been decided about", "asked for a closer look at", "had long complained about"),
    *("spent most of the spring on", "wrote a letter of four pages on", "knew little about", "paid for"),
    *("could not agree on", "would not comment on", "had been told of", "returned again and again to"),
)
_WHAT = (
    *("the budget for new schools", "the price of bread", "the plan to widen the road", "a lost suitcase"),
    *("the rules that govern such sales", "the results of the second survey", "the bridge over the canal"),
    *("the long delay", "an old photograph", "the contract , which runs for three more years", "the weather"),
    *("the cost of heating a house of that size", "the number of visitors", "the report and its footnotes"),
)
_WHEN = (
    *(
        "since the end of the winter",
        "on a gray afternoon",
        "in the course of the week",
        "for the third time",
    ),
    *("before a small crowd", "with little hope of success", "after a meeting that lasted for hours"),
    *("more than a year after the first warning", "in a telephone interview", "without much fuss"),
)
_LINKS = (", while", ", and", ", although", ", because", ", even as", "; at the same time ,")

# Tokens that a sentence has at least: their median and spread (of the logarithm), cut at both ends. Two that
# are joined have no more than the last.
_MEDIAN_TOKENS, _SPREAD, _LEAST, _MOST, _MOST_JOINED = 26, 0.4, 20, 60, 120
# Of the sentences before some are joined: one in nine joins leaves an eighth with two pairs.
_JOINED = 1 / 9
# How often a row repeats an earlier one of its bag that has the same answers. The other files hold none.
_REPEATED = {TEST: 0.8, NA_REST: 0.08}
_BAGS_AT_ONCE = 4_000

Bag = tuple[str, list[Row]]


def clause(rng: random.Random) -> str:
    """Return a clause that names no entity.

    >>> clause(random.Random(0))
    'critics paid for the number of visitors after a meeting that lasted for hours'
    """
    return " ".join(rng.choice(part) for part in (_WHO, _DID, _WHAT, _WHEN))


def lengthened(rng: random.Random, sentence: Sentence) -> Sentence:
    """Return the sentence with clauses before and after it, 20 to 60 tokens for nearly all."""
    wanted = round(min(max(rng.lognormvariate(0, _SPREAD) * _MEDIAN_TOKENS, _LEAST), _MOST))
    tokens = len(sentence.text.split())
    while tokens < wanted:
        more = clause(rng)
        if rng.random() < 0.4:
            sentence = _after(more[0].upper() + more[1:] + " ; ", sentence)
        else:
            text = f"{sentence.text.removesuffix(' .')} {rng.choice(_LINKS)} {more} ."
            sentence = sentence._replace(text=text)
        tokens = len(sentence.text.split())
    return sentence


def _after(text: str, sentence: Sentence) -> Sentence:
    head, tail = ((start + len(text), end + len(text)) for start, end in (sentence.head, sentence.tail))
    return Sentence(text + sentence.text, head, tail)


def as_news(rng: random.Random, bags: Iterable[Bag]) -> Iterator[Bag]:
    """Yield the bags with long sentences, an eighth of them shared by two pairs, and repeated rows.

    Sentences of test are shared among test only. A few thousand bags are in memory at once.
    """
    stream = iter(bags)
    while some := list(islice(stream, _BAGS_AT_ONCE)):
        longer = [(name, _changed(bag, _own_lengthened(rng, name, bag))) for name, bag in some]
        yield from _joined(rng, longer)


def _changed(bag: list[Row], sentences: dict[str, Sentence]) -> list[Row]:
    return [replace(row, sentence=sentences[row.sentence.text]) for row in bag]


def _own_lengthened(rng: random.Random, name: str, bag: list[Row]) -> dict[str, Sentence]:
    """Text -> the sentence in its place: longer, or an earlier one of the bag with the same answers."""
    answers: dict[str, list[str]] = {}
    sentences = {row.sentence.text: row.sentence for row in bag}
    for row in bag:
        answers.setdefault(row.sentence.text, []).append(f"{row.relation} {row.judged}")
    found: dict[str, Sentence] = {}
    for text, sentence in sentences.items():
        equal = [other for other in found if answers[other] == answers[text]]
        if equal and name in _REPEATED and rng.random() < _REPEATED[name]:
            found[text] = found[rng.choice(equal)]
        else:
            found[text] = lengthened(rng, sentence)
    return found


def _joined(rng: random.Random, bags: list[Bag]) -> list[Bag]:
    """The bags, with one in nine sentences joined to one of another bag: both stand in the new sentence."""
    change: list[dict[str, Sentence]] = [{row.sentence.text: row.sentence for row in bag} for _, bag in bags]
    places = [(number, text) for number, sentences in enumerate(change) for text in sentences]
    for in_test in (False, True):
        own = [place for place in places if (bags[place[0]][0] == TEST) == in_test]
        rng.shuffle(own)
        wanted = round(len(own) * _JOINED)
        while wanted and len(own) > 1:
            (first, a), (second, b) = own.pop(), own.pop()
            if not _fit(bags[first][1], a, bags[second][1], b):
                continue
            wanted -= 1
            begin, end = change[first][a], change[second][b]
            before = begin.text.removesuffix(" .") + " ; "
            change[second][b] = _after(before, end)
            change[first][a] = begin._replace(text=before + end.text)
    return [(name, _changed(bag, sentences)) for (name, bag), sentences in zip(bags, change, strict=True)]


def _fit(bag: list[Row], text: str, other: list[Row], other_text: str) -> bool:
    """Whether two sentences can be one: not too long, and no name of one stands in the other as well."""
    return (
        len(text.split()) + len(other_text.split()) <= _MOST_JOINED
        and not _names_meet(bag, other_text)
        and not _names_meet(other, text)
    )


def _names_meet(bag: list[Row], text: str) -> bool:
    words = {word.casefold() for entity in bag[0].pair for word in entity.word.split()}
    folded = text.casefold()
    return any(word in folded for word in words)
