"""Which of the labels that occur are scored, under which class, and with what counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .labels import Label, read_label, read_label_set
from .validation import quoted


def scored_labels(values: list[Label], labels: Any, negative: Label | None, outside: str) -> list[Label]:
    """The classes to score, in order; checks them against the labels that occur.

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
    """The scored classes (the groups where given) and their counts (3, num_classes), out of all labels'.

    Raises:
        TypeError: groups of mixed type.
        ValueError: `groups` maps the negative label, or lacks a scored one.
    """
    position = {label: index for index, label in enumerate(values)}
    classes = scored
    target = list(range(len(scored)))
    if groups is not None:
        of_label = {
            read_label(label, "groups"): read_label(group, "groups") for label, group in groups.items()
        }
        if negative in of_label:
            raise ValueError(f"`groups` maps the negative label {negative!r}; it maps positive labels only.")
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
