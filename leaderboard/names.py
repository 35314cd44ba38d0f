"""Names of models: one line that shows what it is, and never looks like the name of another (pure)."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from confusable_homoglyphs import confusables

from weighted_f1_metric import space

MAX_NAME_LENGTH = 60
MAX_MARKS = 2  # that stand on one letter; more hide the lines around them
# Read as part of the board: its reference line, its examples, its truths.
RESERVED = ("copy of the distant labels", "distant labels", "echo", "gold", "human", "dsgt", "magt")
EXAMPLE_PREFIX = "example:"
# What looks alike within ASCII; the rest is Unicode Technical Standard 39, as confusable_homoglyphs has it.
_LOOKS_LIKE = str.maketrans({"0": "o", "1": "l", "|": "l", "i": "l", "_": "-", "—": "-", "m": "rn"})


def checked_name(name: str) -> str:
    """Return the name of a model, one line of printable characters in NFC.

    >>> checked_name("  my   model ")
    'my model'

    Raises:
        UploadError: It is empty, too long, not printable, reserved, or piles up marks on a letter.
    """
    shown = " ".join(unicodedata.normalize("NFC", name).split())
    if not shown:
        raise space.UploadError("The model has no name; give one.")
    if len(shown) > MAX_NAME_LENGTH:
        raise space.UploadError(f"The name has {len(shown):,} characters, at most {MAX_NAME_LENGTH}.")
    if not shown.isprintable():
        raise space.UploadError(f"The name holds characters that cannot be printed: {shown!r}.")
    marks = 0
    for character in unicodedata.normalize("NFD", shown):
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > MAX_MARKS:
            raise space.UploadError(
                f"The name piles up more than {MAX_MARKS} marks on a letter; write it without them."
            )
    own = skeleton(shown)
    if not own:
        raise space.UploadError(f"The name {shown!r} shows nothing; give one with letters or digits.")
    if own in _RESERVED or own.startswith(skeleton(EXAMPLE_PREFIX)):
        raise space.UploadError(f"The name {shown!r} is one that the board itself uses; give another.")
    return shown


@lru_cache(maxsize=10_000)
def skeleton(name: str) -> str:
    """Return what two names have in common that a reader takes for one: case, marks and look-alikes folded.

    >>> skeleton("ＢＥＲＴ") == skeleton("bert") == skeleton("bеrt")  # full width; Latin; a Cyrillic e
    True
    >>> skeleton("Model 1") == skeleton("model l"), skeleton("bert a") == skeleton("bert b")
    (True, False)
    """
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", name))
    kept = "".join(_latin(one) for one in folded if not unicodedata.combining(one))
    return " ".join(kept.casefold().translate(_LOOKS_LIKE).split())


def _latin(character: str) -> str:
    """Return the ASCII text that a character looks like, or its capital does; else the character."""
    if character.isascii():
        return character
    for one in (character, character.upper()):
        for found in confusables.is_confusable(one, greedy=True) or []:
            for alike in found["homoglyphs"]:
                if alike["c"].isascii():
                    return str(alike["c"])
    return character


_RESERVED = {skeleton(name) for name in RESERVED}
