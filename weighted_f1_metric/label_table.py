"""Two label columns -> counts of every label that occurs: the one pass over the rows.

Integers are counted block by block in one `numpy.bincount` over y * K + p; strings cost one dictionary
look-up a row, which is faster than sorting or hashing them in arrays, and shows each distinct label's type
for free.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from .columns import Label, read_label, read_label_set, wrong_label
from .validation import quoted

# Rows counted at a time, so that the temporaries stay in the processor's cache.
BLOCK_ROWS = 1 << 16
# Confusion tables up to this many cells are counted in one pass over the rows.
MAX_TABLE_CELLS = 1 << 16


def count_labels(
    references: np.ndarray | list[str], predictions: np.ndarray | list[str], weights: np.ndarray | None
) -> tuple[list[Label], np.ndarray]:
    """Return the labels that occur, sorted, and their true positives, predicted counts and supports (3,
    num_labels).

    Args:
        references, predictions: as `read_labels` returns them, equally long and of one kind.
        weights: (num_rows,) float64 row weights, or None; the counts are int64 without and float64 with them.

    >>> values, table = count_labels(["b", "a"], ["a", "a"], None)
    >>> values, table.tolist()
    (['a', 'b'], [[1, 0], [2, 0], [1, 1]])

    Raises:
        TypeError: labels of mixed type in a list of strings.
    """
    if isinstance(references, list) and isinstance(predictions, list):
        return _count_strings(references, predictions, weights)
    return _count_integers(np.asarray(references), np.asarray(predictions), weights)


def _count_strings(
    references: list[str], predictions: list[str], weights: np.ndarray | None
) -> tuple[list[Label], np.ndarray]:
    """The labels that occur, sorted, and their counts (3, num_labels)."""
    codes: defaultdict[str, int] = defaultdict(count().__next__)
    encoded = []
    for column, name in ((references, "references"), (predictions, "predictions")):
        known = len(codes)
        try:  # one dictionary look-up a row; the keys then show every type that occurs
            encoded.append(_codes_of(column, codes))
        except TypeError:  # unhashable
            raise wrong_label(column, name) from None
        if not all(isinstance(label, str) for label in list(codes)[known:]):
            raise wrong_label(column, name)
    table = _count_codes(encoded[0], encoded[1], 0, len(codes), weights)
    names = list(codes)
    order = sorted(range(len(names)), key=names.__getitem__)
    values: list[Label] = [str(names[index]) for index in order]
    return values, table[:, order]


def _codes_of(column: list[str], codes: defaultdict[str, int]) -> np.ndarray:
    """The code of every label, in single bytes while they suffice: less to write, a fifth faster."""
    try:
        return np.frombuffer(bytes(map(codes.__getitem__, column)), dtype=np.uint8)
    except ValueError:  # more than 256 labels
        return np.fromiter(map(codes.__getitem__, column), dtype=np.int64, count=len(column))


def _count_integers(
    references: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None
) -> tuple[list[Label], np.ndarray]:
    """The labels that occur, sorted, and their counts (3, num_labels)."""
    low = min(int(references.min()), int(predictions.min()))
    size = max(int(references.max()), int(predictions.max())) - low + 1
    if size > max(1 << 20, 4 * len(references)):  # ids far apart, e.g. hashes
        both = np.concatenate([references.astype(np.int64), predictions.astype(np.int64)])
        distinct, codes = np.unique(both, return_inverse=True)
        num_rows = len(references)
        return list(distinct.tolist()), _count_codes(
            codes[:num_rows], codes[num_rows:], 0, len(distinct), weights
        )
    table = _count_codes(references, predictions, low, size, weights)
    occurs = table if weights is None else _count_codes(references, predictions, low, size, None)
    present = np.flatnonzero((occurs[1] > 0) | (occurs[2] > 0))
    occurring: list[Label] = list((present + low).tolist())
    return occurring, table[:, present]


def _count_codes(
    references: np.ndarray, predictions: np.ndarray, low: int, size: int, weights: np.ndarray | None
) -> np.ndarray:
    """True positives, predicted and support, (3, size), of integers in [low, low + size)."""
    dtype: type = np.int64 if weights is None else np.float64
    if size * size > MAX_TABLE_CELLS:
        y = np.subtract(references, low, dtype=np.int64)
        p = np.subtract(predictions, low, dtype=np.int64)
        hit = y == p
        hit_weights = None if weights is None else weights[hit]
        return np.stack(
            [
                np.bincount(y[hit], hit_weights, size),
                np.bincount(p, weights, size),
                np.bincount(y, weights, size),
            ]
        )
    cells: np.ndarray = np.zeros(size * size, dtype=dtype)
    offset = low * size + low
    for start in range(0, len(references), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        index = np.multiply(references[block], size, dtype=np.int64)
        index += predictions[block]
        if offset:
            index -= offset
        cells += np.bincount(index, None if weights is None else weights[block], size * size)
    confusion = cells.reshape(size, size)
    return np.stack([confusion.diagonal(), confusion.sum(axis=0), confusion.sum(axis=1)])


def scored_labels(values: list[Label], labels: Any, negative: Label | None, outside: str) -> list[Label]:
    """Return the classes to score, in order; checks them against the labels that occur.

    Raises:
        TypeError: `labels` or `negative` of another type than the labels in the data.
        ValueError: a negative label that nothing has, labels below 0, a label outside `labels`.
    """
    given = values if labels is None else read_label_set(labels, "labels")
    kind = type(values[0])
    if type(given[0]) is not kind:
        raise TypeError(
            f"`labels` are {type(given[0]).__name__}, the labels in the data are {kind.__name__}: "
            f"{quoted(values)}."
        )
    if negative is not None and type(negative) is not kind:
        raise TypeError(
            f"`negative_label` is {negative!r}, but the labels are {kind.__name__}: {quoted(given)}. "
            "Give it in the form in which the labels are."
        )
    if negative is not None and negative not in given and negative not in values:
        raise ValueError(
            f"`negative_label` is {negative!r}, which no row and no entry of `labels` has; labels are "
            f"{quoted(given)}. For a shard in which it does not occur, put it into `labels`."
        )
    unlabelled = [value for value in values if labels is None and isinstance(value, int) and value < 0]
    if unlabelled and unlabelled != [negative]:
        raise ValueError(
            f"Labels below 0 mark rows without a label (-1 in datasets, -100 in the Trainer); found "
            f"{quoted(unlabelled)}. Drop those rows, or name the classes in `labels`."
        )
    if outside == "error" and labels is not None:
        known = set(given) | {negative}
        strangers = [value for value in values if value not in known]
        if strangers:
            raise ValueError(
                f"Labels outside `labels`: {quoted(strangers)}. Add them, or pass outside='ignore' to leave "
                "them unscored."
            )
    return [label for label in given if label != negative]


def selected_counts(
    values: list[Label],
    table: np.ndarray,
    scored: list[Label],
    negative: Label | None,
    groups: Mapping[Any, Label] | None,
) -> tuple[tuple[Label, ...], np.ndarray]:
    """Return the scored classes (the groups where given) and their counts (3, num_classes), out of all
    labels'.

    Raises:
        TypeError: groups of mixed type.
        ValueError: `groups` lacks a scored label.
    """
    position = {label: index for index, label in enumerate(values)}
    classes = scored
    target = list(range(len(scored)))
    if groups is not None:
        of_label = {
            read_label(label, "groups"): read_label(group, "groups") for label, group in groups.items()
        }
        missing = [label for label in scored if label not in of_label]
        if missing:
            raise ValueError(f"`groups` must map every positive label; it lacks {quoted(missing)}.")
        classes = list(dict.fromkeys(of_label[label] for label in scored))
        if len({type(group) for group in classes}) > 1:
            raise TypeError(f"The groups must be all str or all int; got {quoted(classes)}.")
        rank = {group: index for index, group in enumerate(classes)}
        target = [rank[of_label[label]] for label in scored]
    selected = np.zeros((3, len(classes)), dtype=table.dtype)
    for index, label in zip(target, scored, strict=True):
        if label in position:
            selected[:, index] += table[:, position[label]]
    return tuple(classes), selected
