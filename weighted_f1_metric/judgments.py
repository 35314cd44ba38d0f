"""Judgments: answers of people about any (sentence, relation) pair, the DS relation or another.

`bag_label` answers one question a row: is its own DS relation expressed? A judgment answers the same question
about any relation, for the row it names and for its twins (rows of the same bag and sentence).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import check_ids, repeated_ids
from .row_sources import read_columns
from .signature import short_hash
from .validation import quoted

ANSWERS = ("no", "yes")


@dataclass(frozen=True)
class Judgments:
    """Answers as aligned arrays (num_answers,), each (row, relation) pair once, twins included.

    Attributes:
        row, relation: int64, positions among the reference rows and the positive relations.
        yes: bool.
        hash: the mark of the answers in a signature; None without any.
    """

    row: np.ndarray
    relation: np.ndarray
    yes: np.ndarray
    hash: str | None


def sentence_groups(
    instance_ids: Sequence[Any], bag_ids: Sequence[Any], sentences: Sequence[Any] | None
) -> np.ndarray:
    """Return the sentence that each row shows, (num_rows,) int64: twins share a number.

    Twins are rows of one bag with the same sentence, outer blanks aside; a row without a sentence is alone.

    >>> sentence_groups(["i0", "i1", "i2"], ["b0", "b0", "b0"], ["A .", "A . ", ""]).tolist()
    [0, 0, 1]
    """
    place: dict[tuple[Any, ...], int] = {}
    groups = np.empty(len(instance_ids), dtype=np.int64)
    for position, (number, bag) in enumerate(zip(instance_ids, bag_ids, strict=True)):
        text = sentences[position] if sentences is not None else None
        text = text.strip() if isinstance(text, str) else None
        key = (bag, text) if text else (bag, None, number)
        groups[position] = place.setdefault(key, len(place))
    return groups


def read_answers(
    judgments: Any, *, instance_ids: Sequence[Any], relations: Sequence[str], group: np.ndarray
) -> Judgments:
    """Return the judgments, checked, and spread to the twins of the rows that they name.

    Args:
        judgments: records or columns with `instance_id`, `relation` (a positive one) and `answer` ("yes" or
            "no"); None or no records: no answers.
        instance_ids: the reference rows.
        relations: the positive relations.
        group: the sentence of each row, from `sentence_groups`.

    Raises:
        TypeError: no records; ids, relations or answers of another type.
        ValueError: an unknown id or relation, another answer, two answers for one pair, twins with different
            answers.
    """
    nothing = np.empty(0, dtype=np.int64)
    if judgments is None or (isinstance(judgments, (list, tuple)) and not judgments):
        return Judgments(nothing, nothing, nothing.astype(bool), None)
    columns = read_columns(judgments, required=["instance_id", "relation", "answer"], name="judgments")
    ids, names, answers = (list(columns[key]) for key in ("instance_id", "relation", "answer"))
    check_ids(ids, "instance_id", "judgments")
    row_of_id = {value: position for position, value in enumerate(instance_ids)}
    column_of_name = {name: position for position, name in enumerate(relations)}
    for values, known, what in (
        (ids, row_of_id, "instance_ids that the references lack"),
        (names, column_of_name, "relations that are no positive relation of the data"),
        (answers, ANSWERS, "answers other than 'yes' and 'no'"),
    ):
        strange = [value for value in values if not _is_known(value, known)]
        if strange:
            raise ValueError(f"`judgments` holds {len(strange)} {what}: {quoted(strange)}.")
    repeated = repeated_ids(list(zip(ids, names, strict=True)))
    if repeated:
        raise ValueError(
            f"`judgments` holds more than one answer for {len(repeated)} pairs: {quoted(repeated)}. Keep one."
        )
    row = np.array([row_of_id[value] for value in ids], dtype=np.int64)
    relation = np.array([column_of_name[name] for name in names], dtype=np.int64)
    yes = np.array([answer == "yes" for answer in answers])
    pairs, first, inverse = np.unique(
        group[row] * len(relations) + relation, return_index=True, return_inverse=True
    )
    differing = np.flatnonzero(yes != yes[first][inverse])
    if len(differing):
        where, other = differing[0], first[inverse[differing[0]]]
        raise ValueError(
            f"`judgments` answer {len(differing)} pairs both yes and no for the same sentence of a bag, the "
            f"first {names[where]!r} for {ids[other]!r} and its twin {ids[where]!r}. Keep one answer."
        )
    rows, source = _members(group, pairs // len(relations))
    mark = short_hash(
        sorted([str(i), name, answer] for i, name, answer in zip(ids, names, answers, strict=True))
    )
    return Judgments(rows, (pairs % len(relations))[source], yes[first][source], mark)


def _is_known(value: Any, known: Any) -> bool:
    try:
        return value in known
    except TypeError:  # a list, say, which no mapping can look up
        return False


def _members(group: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All rows of the wanted groups, and for each the position in `wanted` that it came from."""
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], wanted)
    length = np.searchsorted(group[order], wanted, side="right") - start
    source = np.repeat(np.arange(len(wanted)), length)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(length) - length, length)
    return order[start[source] + offset], source


def filled_labels(
    judgments: Judgments,
    row_relation: np.ndarray,
    row_label: np.ndarray,
    instance_ids: Sequence[Any],
    unk: int,
) -> np.ndarray:
    """Return the labels of the rows (0 no, 1 yes, `unk`), those that are unk and were judged filled in.

    Raises:
        ValueError: a judgment that contradicts the `bag_label` of its row or of a twin.
    """
    own = row_relation[judgments.row] == judgments.relation
    row, answer = judgments.row[own], judgments.yes[own].astype(np.int64)
    against = row[(row_label[row] != unk) & (row_label[row] != answer)]
    if len(against):
        shown = quoted(instance_ids[position] for position in against)
        raise ValueError(
            f"{len(against)} judgments contradict the bag_label of their row (or of a row with the same "
            f"sentence): {shown}. Correct the judgments or the references."
        )
    filled = row_label.copy()
    filled[row] = answer
    return filled


def judged_units(
    judgments: Judgments, *, row_unit: np.ndarray, group: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs with a yes and those answered with no, bool (num_units, num_relations) each.

    A pair has a yes when one sentence of the unit has it, and is answered with no when all have a no.
    """
    yes, no = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    yes[row_unit[judgments.row[judgments.yes]], judgments.relation[judgments.yes]] = True
    unit_sentences = np.unique(np.stack([row_unit, group], axis=1), axis=0)
    num_sentences = np.bincount(unit_sentences[:, 0], minlength=shape[0])
    row, relation = judgments.row[~judgments.yes], judgments.relation[~judgments.yes]
    refused = np.unique(np.stack([row_unit[row], group[row], relation], axis=1), axis=0)
    times = np.zeros(shape, dtype=np.int64)
    np.add.at(times, (refused[:, 0], refused[:, 2]), 1)
    no[times > 0] = (times == num_sentences[:, None])[times > 0]
    return yes, no & ~yes
