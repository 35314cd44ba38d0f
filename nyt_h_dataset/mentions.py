"""Where the two entities of an instance are mentioned in its sentence (pure; standard library only).

NYT-H gives no offsets, only the words. A *mention* is an occurrence of the entity's word that starts and
ends at token boundaries, first as written; only where that finds nothing are case, accents, underscores and
bracket escapes (``-LRB-``) folded, in the sentence and in the word. Typographic apostrophes and hyphens fold
with them. Offsets always refer to the sentence as given.

Token boundaries, where the specification leaves room:

* white space, brackets, quotes, dashes, hyphens and slashes always separate ("New York-based" mentions New
  York; NYT-H's own tokenisation sets hyphens apart too);
* a full stop, ``&`` or ``@`` between two word characters joins ("U.S." is not in "U.S.A.", "AT" not in
  "AT&T"), unless the full stop plainly ends a sentence ("Boston.The"); comma and colon join digits only
  ("12" is not in "12,000");
* an apostrophe between two letters joins ("Brien" is not in "O'Brien") except before a possessive s
  ("India's");
* an underscore is a word character ("York" is not in "New_York"; "New York" is found there by folding);
* in scripts that are written without blanks (Chinese, Japanese, Thai, Lao, Khmer, Burmese) every character is
  a boundary, and a Korean particle glued to a name ends it.

Only where folding finds nothing either, blanks after a full stop and hyphens are overlooked as well ("J.K."
finds "J. K.", "Hewlett-Packard" finds "Hewlett Packard"). Such a mention is a guess, hence `ambiguous`.

An occurrence inside a mention of the *other* entity ("York" in "New York City") is chosen only when nothing
else is left. It still counts for the status: `unique` promises that nobody had to choose. (In 18 of 2,595
real rows it stands beside exactly one free occurrence; in 9 of them the positions published with the data
are the inner one, so that calling such rows unique would make `unique` wrong.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from .folding import fold, overlook

POLICIES = ("first", "closest")
STATUSES = ("unique", "ambiguous", "overlapping", "missing")
UNIQUE, AMBIGUOUS, OVERLAPPING, MISSING = range(4)

Span = tuple[int, int]
Pair = tuple[Span, Span]
NOWHERE: Span = (-1, -1)


class Located(NamedTuple):
    """The chosen spans (half-open offsets, -1 when not found) and the status, an index of STATUSES."""

    head: Span
    tail: Span
    status: int


# Han, kana, Thai, Lao, Burmese, Khmer; below the first of them no character needs to be looked at.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]"
)
_FIRST_UNSPACED = "\u0e00"
_HANGUL = "\uac00"
_KOREAN_PARTICLE = re.compile(
    r"(?:에게서|으로서|으로써|에서는|에서도|이라고|이라는|에게|에서|으로|로서|로써|까지|부터|처럼|보다|한테|이나|이며|이란"
    r"|라고|라는|에는|에도|하고|은|는|이|가|을|를|의|에|로|와|과|도|만|께|나|며|란)(?!\w)"
)


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
    """Return whether a token starts or ends between ``text[position - 1]`` and ``text[position]``.

    >>> [is_boundary("in 312 U.S.A. (India's)", p) for p in (3, 4, 11, 15, 20)]
    [True, False, False, True, True]
    """
    if position <= 0 or position >= len(text):
        return True
    left, right = text[position - 1], text[position]
    if max(left, right) >= _FIRST_UNSPACED and (_UNSPACED.match(left) or _UNSPACED.match(right)):
        # A combining mark belongs to the character before it.
        return unicodedata.category(right)[0] != "M"
    left_is_word, right_is_word = _is_word(left), _is_word(right)
    if left_is_word and right_is_word:
        return False
    if right_is_word:
        return position < 2 or not _joins(text, position - 1)
    if left_is_word:
        return position + 1 >= len(text) or not _joins(text, position)
    return True


def _ends(text: str, position: int) -> bool:
    """Whether a name may end before `position`: at a boundary, or before a Korean particle."""
    if is_boundary(text, position):
        return True
    return text[position] >= _HANGUL and _KOREAN_PARTICLE.match(text, position) is not None


# A sentence is searched for two words, and the rows of a bag repeat their sentences; words come back later.
_folded = lru_cache(maxsize=64)(fold)


@lru_cache(maxsize=1 << 14)
def _folded_word(word: str) -> str:
    return fold(word)[0].strip()


def _occurrences(text: str, word: str) -> Iterable[int]:
    position = text.find(word) if word else -1
    while position >= 0:
        yield position
        position = text.find(word, position + 1)


def written_mentions(sentence: str, word: str) -> list[Span]:
    """Return the mentions of `word` as written, in reading order (outer blanks of `word` do not matter).

    >>> written_mentions("York , New York and Yorkshire", "York")
    [(0, 4), (11, 15)]
    """
    word = word.strip()
    spans: list[Span] = []
    start = sentence.find(word) if word else -1
    while start >= 0:
        end = start + len(word)
        # A blank is a boundary; that is most of them.
        if (sentence[start - 1 : start] == " " or is_boundary(sentence, start)) and (
            sentence[end : end + 1] == " " or _ends(sentence, end)
        ):
            spans.append((start, end))
        start = sentence.find(word, start + 1)
    return spans


def folded_mentions(sentence: str, word: str) -> list[Span]:
    """Return the mentions of `word` when case, accents, underscores and bracket escapes are folded.

    >>> folded_mentions("SAO PAULO and são_paulo", "São Paulo")
    [(0, 9), (14, 23)]
    """
    return _matches(sentence, _folded(sentence), _folded_word(word))


def overlooking_mentions(sentence: str, word: str) -> list[Span]:
    """Return the mentions of `word` when, besides, hyphens and blanks after full stops are overlooked.

    >>> overlooking_mentions("J. K. Rowling at Hewlett Packard", "J.K. Rowling")
    [(0, 13)]
    >>> overlooking_mentions("J. K. Rowling at Hewlett Packard", "Hewlett-Packard")
    [(17, 32)]
    """
    return _matches(sentence, overlook(*_folded(sentence)), overlook(*_folded(word))[0].strip())


def _matches(sentence: str, folded: tuple[str, list[int], list[int]], target: str) -> list[Span]:
    """The places in `sentence` of `target` in its folded text."""
    text, starts, ends = folded
    spans: list[Span] = []
    if not target or target not in text:
        return spans
    for first in _occurrences(text, target):
        last = first + len(target) - 1
        # A match may not begin or end inside what one character of the sentence was folded to ("ß" -> "ss").
        if first and starts[first] == starts[first - 1]:
            continue
        if last + 1 < len(text) and starts[last + 1] == starts[last]:
            continue
        span = (starts[first], ends[last])
        if is_boundary(sentence, span[0]) and _ends(sentence, span[1]):
            spans.append(span)
    return spans


def _outside(spans: list[Span], others: list[Span]) -> list[Span]:
    """Those of `spans` that do not lie inside a longer span of `others`."""
    inner = [s for s in spans for o in others if o[0] <= s[0] and s[1] <= o[1] and o != s]
    return [s for s in spans if s not in inner] if inner else spans


def _first(pair: Pair) -> tuple[int, int, Span]:
    """The pair that is complete earliest in reading order, then the one that begins earliest."""
    head, tail = pair
    # The two are apart: which begins first ends first.
    return (tail[1], head[0], head) if head[0] < tail[0] else (head[1], tail[0], head)


def _closest(pair: Pair) -> tuple[int, int, int, Span]:
    """The pair with the fewest characters between the two; of equals, the first."""
    head, tail = pair
    return max(tail[0] - head[1], head[0] - tail[1]), *_first(pair)


_ORDERS: dict[str, Callable[[Pair], tuple]] = {"first": _first, "closest": _closest}


def _choose(heads: list[Span], tails: list[Span], policy: str, *, inner: bool = True) -> Pair | None:
    """The pair of spans that do not overlap and come first in the order of `policy`, if there is any.

    Without `inner`, spans that lie inside a longer span of the other list are left out.
    """
    separate = [(h, t) for h in heads for t in tails if h[1] <= t[0] or t[1] <= h[0]]
    # Where all pairs are separate, nothing lies inside anything.
    if not inner and len(separate) < len(heads) * len(tails):
        return _choose(_outside(heads, tails), _outside(tails, heads), policy)
    return min(separate, key=_ORDERS[policy], default=None)


def check_policy(policy: str) -> None:
    """Raise ValueError unless `policy` is one of POLICIES."""
    if policy not in _ORDERS:
        raise ValueError(f"`mention_policy` must be one of {', '.join(map(repr, POLICIES))}; got {policy!r}.")


def locate(sentence: str, head: str, tail: str, *, policy: str = "first") -> Located:
    """Return where `head` and `tail` are mentioned in `sentence`.

    The spans overlap only when no separate pair of mentions exists (status `overlapping`: the first mention
    of each). `unique`: one mention of each. `ambiguous`: several; the pair is the one that `policy` names,
    `first` (complete earliest in the sentence) or `closest` (least between them); or one was found only with
    hyphens and blanks overlooked. `missing`: an entity is
    not found and keeps (-1, -1); the other one still has its first mention.

    Raises:
        ValueError: `policy` is not one of POLICIES.

    >>> locate("New York City is far from York .", "York", "New York City")
    Located(head=(26, 30), tail=(0, 13), status=1)
    >>> locate("( Paris ) and 312", "Paris", "12")
    Located(head=(2, 7), tail=(-1, -1), status=3)

    Reference: Zhu et al. 2020 publish words without offsets; the rules are this project's.
    """
    check_policy(policy)
    heads = written_mentions(sentence, head) or folded_mentions(sentence, head)
    tails = written_mentions(sentence, tail) or folded_mentions(sentence, tail)
    guessed = not heads or not tails
    if guessed:
        heads = heads or overlooking_mentions(sentence, head)
        tails = tails or overlooking_mentions(sentence, tail)
    if not heads or not tails:
        return Located(heads[0] if heads else NOWHERE, tails[0] if tails else NOWHERE, MISSING)
    status = AMBIGUOUS
    if len(heads) == len(tails) == 1:
        status = AMBIGUOUS if guessed else UNIQUE
        if heads[0][1] <= tails[0][0] or tails[0][1] <= heads[0][0]:
            return Located(heads[0], tails[0], status)
    pair = _choose(heads, tails, policy, inner=False)
    if pair is None:
        # Nothing separate as written, or all of it inside the other entity: folded mentions count too.
        status = AMBIGUOUS
        more_heads = sorted({*heads, *folded_mentions(sentence, head)})
        more_tails = sorted({*tails, *folded_mentions(sentence, tail)})
        pair = _choose(more_heads, more_tails, policy, inner=False)
        pair = pair or _choose(more_heads, more_tails, policy)
    if pair is None:
        return Located(heads[0], tails[0], OVERLAPPING)
    return Located(*pair, status)
