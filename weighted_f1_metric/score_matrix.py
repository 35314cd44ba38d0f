"""Checks of what ranking takes in: a matrix of scores, masks over it, and the cut-offs k."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "FloatArray", "checked_ks", "checked_mask", "checked_scores"]

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]


def checked_scores(scores: npt.ArrayLike) -> FloatArray:
    """Return the scores as a finite float matrix (num_units, num_relations); float32 and float64 are not
    copied.

    Raises:
        TypeError: The scores are not numbers.
        ValueError: Not 2-dimensional, or NaN or infinite somewhere.
    """
    try:
        matrix = np.asarray(scores)
    except ValueError as error:
        raise ValueError(
            f"`scores` must be a matrix (num_units, num_relations) with rows of one length; numpy: {error}"
        ) from error
    if matrix.dtype.kind not in "fiu":
        raise TypeError(
            f"`scores` must be numbers; got an array of dtype {matrix.dtype}. Convert them to float."
        )
    if matrix.ndim != 2:
        raise ValueError(
            f"`scores` must have the shape (num_units, num_relations); got shape {matrix.shape}."
        )
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    # min and max carry a NaN through: two passes without a temporary.
    if matrix.size and not (np.isfinite(matrix.min()) and np.isfinite(matrix.max())):
        bad = np.argwhere(~np.isfinite(matrix))
        unit, relation = bad[0]
        raise ValueError(
            f"`scores` must be finite; unit {unit}, relation {relation} (counted from 0) holds "
            f"{float(matrix[unit, relation])} ({len(bad)} such values in all). "
            "Give such a pair a finite low score."
        )
    return matrix


def checked_mask(
    mask: npt.ArrayLike, name: str, scores: FloatArray, within: BoolArray | None = None
) -> BoolArray:
    """Return `mask` as a bool array of the scores' shape whose true entries all lie in `within`.

    Raises:
        TypeError: The mask is not bool.
        ValueError: The shape differs, or an entry is true outside `within`.
    """
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise TypeError(f"`{name}` must be bool; got dtype {array.dtype}. Convert it with `.astype(bool)`.")
    if array.shape != scores.shape:
        raise ValueError(f"`{name}` must have the shape of `scores`, {scores.shape}; got {array.shape}.")
    if within is not None:
        outside = array & ~within
        if outside.any():
            unit, relation = np.argwhere(outside)[0]
            raise ValueError(
                f"`{name}` marks unit {unit}, relation {relation} (counted from 0), which is no candidate "
                f"({int(outside.sum())} such pairs in all). "
                f"Add them to `candidates` or take them out of `{name}`."
            )
    return array


def checked_ks(ks: Iterable[int]) -> tuple[int, ...]:
    """Return the cut-offs as distinct ints in the order given.

    Raises:
        TypeError: `ks` is not iterable, or holds something that is not an int (a bool is none).
        ValueError: A k is below 1.
    """
    if isinstance(ks, (str, bytes)) or not isinstance(ks, Iterable):
        raise TypeError(f"`ks` must be a collection of positive ints; got {ks!r}. Write `ks=(100,)` for one.")
    seen: dict[int, None] = {}
    for k in ks:
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
            raise TypeError(f"`ks` must be positive ints; got {k!r}.")
        if k < 1:
            raise ValueError(f"`ks` must be at least 1; got {k}.")
        seen[int(k)] = None
    return tuple(seen)
