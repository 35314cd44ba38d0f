"""Where the two entities of an instance are mentioned in its sentence (pure; no datasets import).

NYT-H gives no offsets, only the words. A *mention* is an occurrence of the entity's word that starts and ends
at token boundaries, first as written; only where that finds nothing are case, accents, underscores and bracket
escapes (``-LRB-``) folded, in the sentence as well as in the word. Offsets always refer to the sentence as given.

Token boundaries, where the specification leaves room:

* white space, brackets, quotes, dashes, hyphens and slashes always separate ("New York-based" mentions New York:
  NYT-H's own tokenisation sets hyphens apart too);
* a full stop, ``&`` or ``@`` between two word characters joins ("U.S." is not in "U.S.A.", "AT" not in "AT&T"),
  unless the full stop plainly ends a sentence ("Boston.The"); comma and colon join digits only ("12" is not in
  "12,000");
* an apostrophe between two letters joins ("Brien" is not in "O'Brien") except before a possessive s ("India's");
* an underscore is a word character ("York" is not in "New_York", but "New York" is found there by folding).

An occurrence that lies inside a mention of the *other* entity ("York" in "New York City") is chosen only when
nothing else is left. It still counts when the status is decided: `unique` promises that there was no choice at
all. (On the real sentences that have both readings, half of the data set's own positions take either one.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

POLICIES = ("first", "closest")
STATUSES = ("unique", "ambiguous", "overlapping", "missing")
UNIQUE, AMBIGUOUS, OVERLAPPING, MISSING = range(4)

Span = tuple[int, int]
NOWHERE: Span = (-1, -1)

_BRACKETS = {"lrb": "(", "rrb": ")", "lsb": "[", "rsb": "]", "lcb": "{", "rcb": "}"}
_UNIT = re.compile(r"-(lrb|rrb|lsb|rsb|lcb|rcb)-|.", re.IGNORECASE | re.DOTALL)
# Letters that Unicode does not decompose, and typographic variants of the apostrophe and the hyphen.
_VARIANTS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | dict.fromkeys("‘’`´ʼ", "'")
    | dict.fromkeys("‐‑‒–—−", "-")
)


class Located(NamedTuple):
    """The chosen spans (half-open character offsets, -1 when not found) and the status, an index of STATUSES."""

    head: Span
    tail: Span
    status: int


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or (char > "\x7f" and unicodedata.category(char)[0] == "M")


def _joins(text: str, i: int) -> bool:
    """Whether the non-word character at `i` joins its two neighbours, both there, into one token."""
    left, char, right = text[i - 1], text[i], text[i + 1]
    if not (_is_word(left) and _is_word(right)):
        return False
    if char == ".":
        return not (right.isupper() and i >= 2 and _is_word(text[i - 2]))
    if char in ",:":
        return left.isdigit() and right.isdigit()
    if char in "'’":
        return not (right in "sS" and (i + 2 == len(text) or not _is_word(text[i + 2])))
    return char in "&@"


def is_boundary(text: str, position: int) -> bool:
    """Return whether a token starts or ends at `position`, between ``text[position - 1]`` and ``text[position]``.

    >>> [is_boundary("in 312 U.S.A. (India's)", p) for p in (3, 4, 11, 15, 20)]
    [True, False, False, True, True]
    """
    if position <= 0 or position >= len(text):
        return True
    left_is_word, right_is_word = _is_word(text[position - 1]), _is_word(text[position])
    if left_is_word and right_is_word:
        return False
    if right_is_word:
        return position < 2 or not _joins(text, position - 1)
    if left_is_word:
        return position + 1 >= len(text) or not _joins(text, position)
    return True


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    """One character without case and accents: "" for a combining mark, several characters for a ligature."""
    if char == "_" or char.isspace():
        return " "
    decomposed = unicodedata.normalize("NFKD", char)
    kept = "".join(part for part in decomposed if unicodedata.category(part)[0] != "M")
    return kept.casefold().translate(_VARIANTS)


def fold(text: str) -> tuple[str, list[int], list[int]]:
    """Return the folded text and, per folded character, the start and end of what it stands for in `text`.

    Case and accents go, an underscore is a blank, runs of blanks are one blank, ``-LRB-`` is "(" and blanks
    beside brackets go. A combining mark belongs to the character before it.

    >>> fold("Zoë_K")
    ('zoe k', [0, 1, 2, 3, 4], [1, 2, 3, 4, 5])
    >>> fold("a -LRB- b")
    ('a(b', [0, 2, 8], [1, 7, 9])
    """
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for unit in _UNIT.finditer(text):
        start, end = unit.span()
        folded = _BRACKETS[unit[1].lower()] if unit[1] else _fold_char(unit[0])
        if not folded and ends:
            ends[-1] = end
        for char in folded:
            if char == " " and chars and chars[-1] in " ()[]{}":
                continue
            if char in "()[]{}" and chars and chars[-1] == " ":
                del chars[-1], starts[-1], ends[-1]
            chars.append(char)
            starts.append(start)
            ends.append(end)
    return "".join(chars), starts, ends


def _occurrences(text: str, word: str) -> Iterable[int]:
    position = text.find(word) if word else -1
    while position >= 0:
        yield position
        position = text.find(word, position + 1)


def written_mentions(sentence: str, word: str) -> list[Span]:
    """Return the mentions of `word` exactly as written, in reading order (outer blanks of `word` do not matter).

    >>> written_mentions("York , New York and Yorkshire", "York")
    [(0, 4), (11, 15)]
    """
    word = word.strip()
    spans = ((start, start + len(word)) for start in _occurrences(sentence, word))
    return [span for span in spans if is_boundary(sentence, span[0]) and is_boundary(sentence, span[1])]


def folded_mentions(sentence: str, word: str) -> list[Span]:
    """Return the mentions of `word` when case, accents, underscores and bracket escapes are folded.

    >>> folded_mentions("SAO PAULO and são_paulo", "São Paulo")
    [(0, 9), (14, 23)]
    """
    text, starts, ends = fold(sentence)
    target = fold(word)[0].strip()
    spans = []
    for first in _occurrences(text, target):
        last = first + len(target) - 1
        # A match may not begin or end inside what one character of the sentence was folded to ("ß" -> "ss").
        if first and starts[first] == starts[first - 1]:
            continue
        if last + 1 < len(text) and starts[last + 1] == starts[last]:
            continue
        span = (starts[first], ends[last])
        if is_boundary(sentence, span[0]) and is_boundary(sentence, span[1]):
            spans.append(span)
    return spans


def _outside(spans: list[Span], others: list[Span]) -> list[Span]:
    """Those of `spans` that do not lie inside a longer span of `others`."""
    return [s for s in spans if not any(o[0] <= s[0] and s[1] <= o[1] and o != s for o in others)]


def _first_pair(heads: list[Span], tails: list[Span]) -> tuple[Span, Span] | None:
    """The separate pair that is complete earliest in reading order, then the one that begins earliest."""
    pairs = []
    for head in heads:
        tail = next((t for t in tails if t[1] <= head[0] or head[1] <= t[0]), None)
        if tail:
            pairs.append((max(head[1], tail[1]), min(head[0], tail[0]), head, tail))
            if head == heads[0] and tail == tails[0]:
                break
    return min(pairs)[2:] if pairs else None


def _closest_pair(heads: list[Span], tails: list[Span]) -> tuple[Span, Span] | None:
    """The separate pair with the fewest characters between the two; of equals, the first."""
    pairs = []
    for head in heads:
        before = [t for t in tails if t[1] <= head[0]][-1:]
        after = next(([t] for t in tails if head[1] <= t[0]), [])
        for tail in (*before, *after):
            gap = max(tail[0] - head[1], head[0] - tail[1])
            pairs.append((gap, max(head[1], tail[1]), head, tail))
    return min(pairs)[2:] if pairs else None


_CHOICES: dict[str, Callable[[list[Span], list[Span]], tuple[Span, Span] | None]] = {
    "first": _first_pair,
    "closest": _closest_pair,
}


def check_policy(policy: str) -> None:
    """Raise ValueError unless `policy` is one of POLICIES."""
    if policy not in _CHOICES:
        raise ValueError(f"`mention_policy` must be one of {', '.join(map(repr, POLICIES))}; got {policy!r}.")


def locate(sentence: str, head: str, tail: str, *, policy: str = "first") -> Located:
    """Return where `head` and `tail` are mentioned in `sentence`.

    The spans overlap only when no separate pair of mentions exists (status `overlapping`, the first mention of
    each). Status `unique`: one mention of each. `ambiguous`: several, the pair is the one that `policy` names:
    `first` is the pair that is complete earliest in the sentence, `closest` the one with the least between.
    `missing`: an entity is not found and keeps (-1, -1); the other one still has its first mention.

    Raises:
        ValueError: `policy` is not one of POLICIES.

    >>> locate("New York City is far from York .", "York", "New York City")
    Located(head=(26, 30), tail=(0, 13), status=1)
    >>> locate("( Paris ) and 312", "Paris", "12")
    Located(head=(2, 7), tail=(-1, -1), status=3)

    Reference: Zhu et al. 2020 publish words without offsets; the rules are this project's.
    """
    check_policy(policy)
    choose = _CHOICES[policy]
    heads = written_mentions(sentence, head) or folded_mentions(sentence, head)
    tails = written_mentions(sentence, tail) or folded_mentions(sentence, tail)
    if not heads or not tails:
        return Located(heads[0] if heads else NOWHERE, tails[0] if tails else NOWHERE, MISSING)
    status = UNIQUE if len(heads) == len(tails) == 1 else AMBIGUOUS
    pair = choose(_outside(heads, tails), _outside(tails, heads))
    if pair is None:
        # Nothing separate as written, or all of it inside the other entity: folded mentions are mentions too.
        status = AMBIGUOUS
        all_heads = sorted({*heads, *folded_mentions(sentence, head)})
        all_tails = sorted({*tails, *folded_mentions(sentence, tail)})
        pair = choose(_outside(all_heads, all_tails), _outside(all_tails, all_heads))
        pair = pair or choose(all_heads, all_tails)
    if pair is None:
        return Located(heads[0], tails[0], OVERLAPPING)
    return Located(pair[0], pair[1], status)


def locate_all(
    sentences: Iterable[str], heads: Iterable[str], tails: Iterable[str], *, policy: str = "first"
) -> list[list[int]]:
    """Return five equally long lists: head start, head end, tail start, tail end, status; `locate` for each row.

    >>> locate_all(["Ann left Bonn ."], ["Ann"], ["Bonn"])
    [[0], [3], [9], [13], [0]]
    """
    check_policy(policy)
    rows: list[tuple[int, int, int, int, int]] = []
    for sentence, raw_head, raw_tail in zip(sentences, heads, tails, strict=True):
        head, tail = raw_head.strip(), raw_tail.strip()
        a, b = sentence.find(head), sentence.find(tail)
        a_end, b_end = a + len(head), b + len(tail)
        # The usual row, decided without `locate`: each word once, between blanks, apart from the other.
        if (
            a >= 0
            and b >= 0
            and (a_end <= b or b_end <= a)
            and a_end > a
            and b_end > b
            and sentence.rfind(head) == a
            and sentence.rfind(tail) == b
            and (not a or sentence[a - 1] == " ")
            and (not b or sentence[b - 1] == " ")
            and sentence[a_end : a_end + 1] in " "
            and sentence[b_end : b_end + 1] in " "
        ):
            rows.append((a, a_end, b, b_end, UNIQUE))
        else:
            found = locate(sentence, head, tail, policy=policy)
            rows.append((*found.head, *found.tail, found.status))
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], [], [], []]
