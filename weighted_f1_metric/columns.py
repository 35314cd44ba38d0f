"""Columns of ids and of labels, checked, with errors that name the row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from .validation import is_integer, quoted


def check_ids(ids: Sequence[Any], key: str, name: str) -> None:
    """Check that every id is a str or an int.

    Raises:
        TypeError: one is not; the message names the first such row.
    """
    if all(issubclass(kind, (str, int, np.integer)) for kind in set(map(type, ids))):
        return
    position = next(n for n, value in enumerate(ids) if not isinstance(value, (str, int, np.integer)))
    raise TypeError(
        f"`{key}` in `{name}` must be a string (or an int); {name}[{position}] has {ids[position]!r:.60}."
    )


def repeated_ids(ids: Sequence[Any]) -> list[Any]:
    """Return the ids that occur more than once, in order.

    >>> repeated_ids(["b", "a", "b", "a", "b", "c"])
    ['b', 'a']
    """
    if len(set(ids)) == len(ids):
        return []
    seen: set[Any] = set()
    repeated: dict[Any, None] = {}
    for value in ids:
        if value in seen:
            repeated[value] = None
        seen.add(value)
    return list(repeated)


Label = str | int


def read_labels(values: Any, name: str) -> np.ndarray | list[str]:
    """Return the labels as an integer array (num_rows,) or as a list of str.

    Args:
        values: a list, tuple, numpy array, torch tensor (any device), pyarrow array, pandas Series or column
            of a `datasets.Dataset`; nothing is copied where the input already is an integer array. Of a list
            of strings only the first element is checked here, the rest where they are encoded.
        name: how messages call the argument.

    >>> read_labels(["no", "yes"], "references")
    ['no', 'yes']
    >>> read_labels((3, 1), "references")
    array([3, 1])

    Raises:
        TypeError: not a sequence; labels that are float, bool, None or of mixed type.
        ValueError: no labels at all, more than one dimension, missing values, integers beyond 64 bits.
    """
    if isinstance(values, np.ndarray):
        return _read_array(values, name)
    if isinstance(values, (list, tuple)):
        return _read_list(values, name)
    if values is None or isinstance(values, (str, bytes, Mapping, Set)) or not hasattr(values, "__len__"):
        remedy = f" Pass list({name})." if isinstance(values, Iterator) else ""
        raise TypeError(
            f"`{name}` must be a list or an array of labels; got {type(values).__name__}.{remedy}"
        )
    if hasattr(values, "detach"):  # a torch tensor, without importing torch
        if values.is_floating_point():
            raise TypeError(_float_message(name, values.flatten()[:1].tolist()))
        return _read_array(values.detach().cpu().numpy(), name)
    if hasattr(values, "null_count"):  # a pyarrow array
        if values.null_count:
            raise ValueError(f"`{name}` has {values.null_count} missing labels; every row needs one.")
        return _read_array(np.asarray(values.to_numpy(zero_copy_only=False)), name)
    if hasattr(values, "isna"):  # a pandas Series or array
        missing = np.flatnonzero(np.asarray(values.isna()))
        if len(missing):
            raise ValueError(
                f"`{name}` has {len(missing)} missing labels, the first at {name}[{missing[0]}]; every row "
                "needs one."
            )
    if hasattr(values, "__array__"):
        return _read_array(np.asarray(values), name)
    try:
        rows = values[:]  # a lazy column of a Dataset
    except (TypeError, KeyError):
        rows = None
    if not isinstance(rows, (list, tuple, np.ndarray)) and not hasattr(rows, "__array__"):
        raise TypeError(f"`{name}` must be a list or an array of labels; got {type(values).__name__}.")
    return read_labels(rows, name)


def _read_array(values: np.ndarray, name: str) -> np.ndarray | list[str]:
    if values.ndim != 1:
        raise ValueError(
            f"`{name}` must be one-dimensional, one label a row; got shape {values.shape}. "
            "Logits become labels with .argmax(-1)."
        )
    if values.size == 0:
        raise ValueError(_empty_message(name))
    masked = int(np.count_nonzero(getattr(values, "mask", False)))
    if masked:
        raise ValueError(f"`{name}` has {masked} missing labels; every row needs one.")
    kind = values.dtype.kind
    if kind == "u" and values.dtype.itemsize == 8:
        if values.max() > np.iinfo(np.int64).max:
            raise ValueError(f"`{name}` holds integers that do not fit into 64 bits with a sign.")
        return values.astype(np.int64)
    if kind in "iu":
        return values
    if kind in "UTO":
        return _read_list(values.tolist(), name)
    if kind == "f":
        raise TypeError(_float_message(name, values[:1].tolist()))
    raise TypeError(f"`{name}` must hold str or int labels; got an array of {values.dtype}.")


def _read_list(values: list[Any] | tuple[Any, ...], name: str) -> np.ndarray | list[str]:
    if len(values) == 0:
        raise ValueError(_empty_message(name))
    if isinstance(values[0], str):
        return values if isinstance(values, list) else list(values)
    types = set(map(type, values))
    if any(kind is bool or not issubclass(kind, (int, np.integer)) for kind in types):
        raise wrong_label(values, name)
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise ValueError(f"`{name}` holds integers that do not fit into 64 bits with a sign.") from None


def wrong_label(values: Iterable[Any], name: str) -> Exception:
    """Return the error for the first of `values` that is no label, or is of another type than those before
    it.
    """
    first_kind: str | None = None
    for position, value in enumerate(values):
        if hasattr(value, "detach"):
            return TypeError(
                f"`{name}` must hold str or int labels; {name}[{position}] is a tensor. Join them into one: "
                "torch.stack, or torch.cat."
            )
        if hasattr(value, "item") and np.ndim(value) == 0:
            value = value.item()
        if isinstance(value, float):
            return TypeError(_float_message(name, [value], position))
        if isinstance(value, (list, tuple, np.ndarray)):
            return ValueError(
                f"`{name}` must be one-dimensional, one label a row; {name}[{position}] is {value!r:.60}."
            )
        if not isinstance(value, str) and not is_integer(value):
            return TypeError(
                f"`{name}` must hold str or int labels; {name}[{position}] is {value!r:.60} "
                f"of type {type(value).__name__}."
            )
        kind = "str" if isinstance(value, str) else "int"
        if first_kind is None:
            first_kind = kind
        elif kind != first_kind:
            return TypeError(
                f"`{name}` mixes str and int labels: {name}[{position}] is {value!r} after {first_kind} "
                "labels. Map one kind to the other first."
            )
    return TypeError(f"`{name}` must hold str or int labels.")


def _empty_message(name: str) -> str:
    return f"`{name}` is empty; there is nothing to score."


def _float_message(name: str, first: list[Any], position: int = 0) -> str:
    if first and first[0] != first[0]:
        return f"`{name}` has missing labels; {name}[{position}] is {first[0]!r}. Every row needs a label."
    shown = f" {name}[{position}] is {first[0]!r}." if first else ""
    return (
        f"`{name}` holds float labels;{shown} Labels are str or int: cast them with .astype(int) if "
        "they are whole."
    )


def read_label_set(values: Any, name: str) -> list[Label]:
    """Return distinct labels in the order given, all str or all int.

    Raises:
        TypeError: see `read_labels`.
        ValueError: empty, or a label twice.
    """
    labels = read_labels(list(values) if isinstance(values, Mapping) else values, name)
    plain: list[Label] = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if any(type(label) is not type(plain[0]) for label in plain):
        if any(not isinstance(label, type(plain[0])) for label in plain):
            raise wrong_label(plain, name)
        plain = [str(label) for label in plain]
    if len(set(plain)) < len(plain):
        twice = sorted({label for label in plain if plain.count(label) > 1}, key=str)
        raise ValueError(f"`{name}` holds labels twice: {quoted(twice)}.")
    return plain


def read_label(value: Any, name: str) -> Label:
    """Return one label, a plain str or int.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(value, str):
        return str(value)
    if is_integer(value):
        return int(value)
    raise TypeError(f"`{name}` must be a str or int label; got {value!r} of type {type(value).__name__}.")
