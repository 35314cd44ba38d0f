"""Text without case, accents, underscores and bracket escapes, and where each character came from (pure)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_BRACKETS = {"lrb": "(", "rrb": ")", "lsb": "[", "rsb": "]", "lcb": "{", "rcb": "}"}
# In text whose characters are exchanged already. No optional blanks in front: they would make it slow.
_GAP = re.compile(r"-[lr][rsc]b-|[()\[\]{}]|  +")
# One of these is in every text that _GAP matches; to look for them is quicker than to run it.
_GAP_MARKS = ("  ", "(", ")", "b-", "[", "]", "{", "}")
_UNIT = re.compile(r"-((?ai:lrb|rrb|lsb|rsb|lcb|rcb))-|.", re.DOTALL)
# Letters that Unicode does not decompose, and typographic variants of the apostrophe and the hyphen.
_VARIANTS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | dict.fromkeys("‘’`´ʼ", "'")
    | dict.fromkeys("‐‑‒–—−", "-")
)


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    """One character without case and accents: "" for a combining mark, several characters for a ligature."""
    if char == "_" or char.isspace():
        return " "
    decomposed = unicodedata.normalize("NFKD", char)
    kept = "".join(part for part in decomposed if unicodedata.category(part)[0] != "M")
    return kept.casefold().translate(_VARIANTS)


class _FoldedChars(dict[int, str]):
    """Code point -> its one folded character, or _ODD where folding it is more than to exchange it."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = _fold_char(char)
        plain = len(folded) == 1 and (
            folded not in " ()[]{}" or folded == char or char == "_" or char.isspace()
        )
        self[code] = folded if plain and folded != _ODD else _ODD
        return self[code]


_ODD = "\ue000"
_FOLDED_CHARS = _FoldedChars()


def fold(text: str) -> tuple[str, list[int], list[int]]:
    """Return the folded text and, per folded character, the start and end of what it stands for in `text`.

    Case and accents go, an underscore is a blank, runs of blanks are one blank, ``-LRB-`` is "(" and blanks
    beside brackets go. A combining mark belongs to the character before it.

    >>> fold("Zoë_K")
    ('zoe k', [0, 1, 2, 3, 4], [1, 2, 3, 4, 5])
    >>> fold("a -LRB- b")
    ('a(b', [0, 2, 8], [1, 7, 9])
    """
    exchanged = text.translate(_FOLDED_CHARS)
    if _ODD in exchanged:
        return _fold_by_char(text)
    # Between brackets and runs of blanks every character stands for itself.
    for mark in _GAP_MARKS:
        if mark in exchanged:
            return _fold_gaps(text, exchanged)
    return exchanged, list(range(len(text))), list(range(1, len(text) + 1))


def _fold_gaps(text: str, exchanged: str) -> tuple[str, list[int], list[int]]:
    """`fold` for a text whose characters are exchanged one by one already, where there may be gaps."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for gap in _GAP.finditer(exchanged):
        (start, end), char = gap.span(), gap[0]
        before, after = start, end
        if char[0] == " ":
            # Blanks beside a bracket go with the bracket, before (the next gap) or behind (the last one).
            if start < done or _GAP.match(exchanged, end):
                continue
            char, end = " ", start + 1
        else:
            if char[0] == "-":
                char = _BRACKETS.get(text[start + 1 : end - 1].lower(), "")
                if not char or not text[start:end].isascii():
                    return _fold_by_char(text)
            while before > done and exchanged[before - 1] == " ":
                before -= 1
            while exchanged[after : after + 1] == " ":
                after += 1
        parts += exchanged[done:before], char
        starts += range(done, before)
        ends += range(done + 1, before + 1)
        starts.append(start)
        ends.append(end)
        done = after
    if not done:
        return exchanged, list(range(len(text))), list(range(1, len(text) + 1))
    parts.append(exchanged[done:])
    starts += range(done, len(text))
    ends += range(done + 1, len(text) + 1)
    return "".join(parts), starts, ends


def _fold_by_char(text: str) -> tuple[str, list[int], list[int]]:
    """`fold` for any text, one character after the other."""
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


def overlook(text: str, starts: list[int], ends: list[int]) -> tuple[str, list[int], list[int]]:
    """Return a folded text with hyphens as blanks, without blanks after full stops; places go along.

    >>> overlook(*fold("J. K. Hewlett - Packard"))[0]
    'j.k.hewlett packard'
    """
    kept: list[int] = []
    chars: list[str] = []
    for index, char in enumerate(text):
        char = " " if char == "-" else char
        if char != " " or (chars and chars[-1] not in " ."):
            kept.append(index)
            chars.append(char)
    return "".join(chars), [starts[index] for index in kept], [ends[index] for index in kept]


_ESCAPE = re.compile(r"-[lr][rsc]b-", re.IGNORECASE)


def same_words(a: str, b: str) -> bool:
    """Return whether two texts have the same letters and digits, case, accents and punctuation aside.

    So a given word is compared with what stands at the place that is said to be its own.

    >>> same_words("Zoe K.", "zoë_k"), same_words("John Smith", "Jo"), same_words("C -LRB- x -RRB-", "C (x)")
    (True, False, True)
    """
    return a == b or _letters(a) == _letters(b)


def _letters(text: str) -> str:
    folded = fold(_ESCAPE.sub(" ", text))[0]
    # What has neither letters nor digits ("$", "++") is compared as it is.
    return "".join(char for char in folded if char.isalnum()) or "".join(folded.split())
