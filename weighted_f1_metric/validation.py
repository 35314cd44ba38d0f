"""Checks of arguments that several parts of the metric share; each message says what to do instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question whether the known name that is nearest was meant; "" where none is near.

    >>> did_you_mean("borN_in", ["born_in", "lived_in"])
    " Did you mean 'born_in'?"
    """
    import difflib

    folded = {other.casefold().strip(): other for other in known}
    close = difflib.get_close_matches(name.casefold().strip(), list(folded), n=1, cutoff=0.6)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def quoted(values: Iterable[Any], limit: int = 5) -> str:
    """Return the first `limit` values as text, and how many there are in all when some are left out.

    >>> quoted(["b", "a"])
    "'b', 'a'"
    >>> quoted(range(9), limit=2)
    '0, 1, ... (9 in all)'
    """
    items = list(values)
    shown = ", ".join(repr(item) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown}, ... ({len(items)} in all)"


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return `value` when it is one of `choices`.

    Raises:
        ValueError: it is not; the message lists the choices.
    """
    if not isinstance(value, str) or value not in choices:
        remedy = ""
        if isinstance(value, str) and value.strip().lower() in choices:
            remedy = f" Names are lower case: write {value.strip().lower()!r}."
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}; got {value!r}.{remedy}")
    return value


def check_real(name: str, value: Any, *, low: float, high: float) -> float:
    """Return `value` as a float in [low, high].

    Raises:
        TypeError: it is not a real number (bool counts as none).
        ValueError: it is NaN or out of range.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, np.number)):
        raise TypeError(f"`{name}` must be a number; got {value!r} of type {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(
            f"`{name}` must be between {low:g} and {high:g}; got an int beyond the floats."
        ) from None
    if not low <= number <= high:
        raise ValueError(f"`{name}` must be between {low:g} and {high:g}; got {value!r}.")
    return number


def check_flag(name: str, value: Any) -> bool:
    """Return `value` when it is True or False.

    Raises:
        TypeError: it is anything else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be True or False; got {value!r}.")
    return bool(value)


def is_integer(value: Any) -> bool:
    """Return whether `value` is an int or a numpy integer; a bool is neither.

    >>> [is_integer(value) for value in (3, True, 3.0, "3")]
    [True, False, False, False]
    """
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
