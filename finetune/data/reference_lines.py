"""What a model should be compared with: answers without reading, and the same model on half of the input.

`majority` gives every unit the most frequent positive relation of the training rows, `type_pair` the most
frequent relation (the negative one included) of the training rows whose entities have the same two types.
`entities_masked` and `entities_only` are trained like the model itself: on sentences whose entities are
blanks, and on the two entities without a sentence. Where the last comes close to the model, names alone give
the answers away.

Reference: Peng et al. (2020), "Learning from Context or Names?", section 2.2, settings OnlyC and OnlyM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from weighted_f1_metric import unit_id_key

from ..model.markers import Span
from .relation_rows import RelationData, RelationRows

BLANK = "[BLANK]"
Changed = tuple[str, Span, Span]


def masked(sentence: str, head: Span, tail: Span) -> Changed:
    """Return the sentence with BLANK for each entity; entities that overlap share one.

    >>> masked("Ann left Rome.", Span(0, 3), Span(9, 13))
    ('[BLANK] left [BLANK].', Span(start=0, end=7), Span(start=13, end=20))
    """
    first, second = sorted((head, tail))
    if second.start < first.end:
        end = max(first.end, second.end)
        both = Span(first.start, first.start + len(BLANK))
        return sentence[: first.start] + BLANK + sentence[end:], both, both
    between = sentence[first.end : second.start]
    text = sentence[: first.start] + BLANK + between + BLANK + sentence[second.end :]
    one = Span(first.start, first.start + len(BLANK))
    two = Span(one.end + len(between), one.end + len(between) + len(BLANK))
    return (text, one, two) if head <= tail else (text, two, one)


def without_context(sentence: str, head: Span, tail: Span) -> Changed:
    """Return the head's words and the tail's words, always in this order.

    >>> without_context("Rome saw Ann.", Span(9, 12), Span(0, 4))
    ('Ann Rome', Span(start=0, end=3), Span(start=4, end=8))
    """
    words = sentence[head.start : head.end], sentence[tail.start : tail.end]
    start = len(words[0]) + 1
    return " ".join(words), Span(0, len(words[0])), Span(start, start + len(words[1]))


# The trained lines: name -> how a sentence is changed.
TRAINED: Mapping[str, Callable[[str, Span, Span], Changed]] = {
    "entities_masked": masked,
    "entities_only": without_context,
}


def changed_data(data: RelationData, name: str) -> RelationData:
    """Return the data with every sentence changed as TRAINED[name] says; a row without both entities stays as
    it is.

    Ids, labels and references are those of the data, so that scores are comparable.
    """
    splits = {split: _changed_rows(rows, TRAINED[name]) for split, rows in data.splits.items()}
    note = f"every sentence is changed for the reference line {name}"
    return replace(data, splits=splits, notes=(*data.notes, note))


def _changed_rows(rows: RelationRows, change: Callable[[str, Span, Span], Changed]) -> RelationRows:
    sentences, spans = [], rows.spans.copy()
    for row, sentence in enumerate(rows.sentences):
        head, tail = Span(*rows.spans[row, :2].tolist()), Span(*rows.spans[row, 2:].tolist())
        if head.found and tail.found:
            sentence, head, tail = change(sentence, head, tail)
            spans[row] = (*head, *tail)
        sentences.append(sentence)
    return replace(rows, sentences=sentences, spans=spans)


def majority_relation(data: RelationData) -> str:
    """Return the most frequent positive relation of the training rows; of equally frequent ones the first
    label.

    Raises:
        ValueError: No training row has a positive relation.
    """
    counts = np.bincount(data.splits["train"].labels, minlength=len(data.label_names))
    counts[data.negative_id] = 0
    if not counts.any():
        raise ValueError(
            f"no training row of {data.name} has a relation other than {data.negative_relation}."
        )
    return data.label_names[int(counts.argmax())]


def untrained_records(data: RelationData, *, track: str) -> dict[str, list[dict[str, Any]]]:
    """Return name -> the predictions of the lines that need no training, for every test unit.

    A pair of types that training has not is given the negative relation; a bag has the types of its first
    row. Data without types have no "type_pair".
    """
    test = data.splits["test"]
    key, names = unit_id_key(track), test.units(track)
    first_row = {name: row for row, name in reversed(list(enumerate(names)))}
    units = {name: first_row[name] for name in dict.fromkeys(names)}
    most = majority_relation(data)
    lines = {"majority": [{key: name, "pred": most} for name in units]}
    relations = type_pair_relations(data)
    types = test.short_types
    if relations is not None and types is not None:
        lines["type_pair"] = [
            {key: name, "pred": relations.get(types[row], data.negative_relation)}
            for name, row in units.items()
        ]
    return lines


def type_pair_relations(data: RelationData) -> dict[tuple[str, str], str] | None:
    """Return (head type, tail type) -> the most frequent relation of the training rows that have them.

    Of equally frequent relations the first label, the negative one last. None for data without types.
    """
    train = data.splits["train"]
    types = train.short_types
    if types is None:
        return None
    counts: dict[tuple[str, str], Counter[int]] = {}
    for pair, label in zip(types, train.labels.tolist(), strict=True):
        counts.setdefault(pair, Counter())[label] += 1
    best = {
        pair: min(own, key=lambda label: (-own[label], label == data.negative_id, label))
        for pair, own in counts.items()
    }
    return {pair: data.label_names[label] for pair, label in best.items()}
