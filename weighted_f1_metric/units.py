"""Reference records -> units: what a track scores, each with its distant relations and human answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import check_ids, repeated_ids
from .judgments import filled_labels, judged_units, read_answers, sentence_groups
from .row_sources import REFERENCE_KEYS, named_classes, read_columns
from .validation import check_choice, is_integer, quoted

TRACKS = ("sent2sent", "bag2sent", "bag2bag")
# Prefix of a ground truth in result keys -> what readers call it, in the order of tables.
TRUTH_NAMES = {"dsgt": "DSGT", "magt": "MAGT", "magt_ds_scope": "MAGT (DS scope)"}
TRUTHS = tuple(TRUTH_NAMES)
BAG_LABELS = ("no", "yes", "unk")  # by id, as in bag_label2id.json


def truth_name(truth: str) -> str:
    """Return what readers call a truth prefix; other texts, as "" of scores without a track, stay as they
    are.

    >>> truth_name("magt_ds_scope"), truth_name("test_magt")
    ('MAGT (DS scope)', 'test_magt')
    """
    return TRUTH_NAMES.get(truth, truth)


def unit_id_key(track: str) -> str:
    """Return the key by which predictions and references name a unit of a track.

    >>> unit_id_key("bag2bag"), unit_id_key("bag2sent")
    ('bag_id', 'instance_id')
    """
    return "bag_id" if track == "bag2bag" else "instance_id"


@dataclass(frozen=True)
class Units:
    """The units of a track.

    Attributes:
        track, by: "sent2sent", "bag2sent" or "bag2bag"; "rows" or "sentences".
        relations: the positive relations, in id order; columns of the arrays below.
        negative_relation: the relation that is not scored.
        id_key: what a prediction names: "instance_id", or "bag_id" on bag2bag.
        ids: the ids that need a prediction, in order of first appearance.
        unit_of_id: (num_ids,) int64, the unit of each; several ids share a unit only where twins are joined.
        bag_ids: the bags, in order of first appearance.
        unit_bag: (num_units,) int64, the bag of each unit.
        distant: (num_units, num_relations) bool, r is a DS relation of the unit.
        confirmed: at least one row of the unit with DS relation r is labelled yes, or a judgment says yes.
        unjudged: likewise a DS relation, without a yes and with at least one unk.
        judged: r is no DS relation of the unit, and judgments answer it (yes, or no for all its sentences).
        judgments: the mark of the judgments in a signature, or None.
        row_unit: (num_rows,) int64, the unit of each row.
        row_sentence: (num_rows,) int64, the sentence of each row; twins share a number.
        num_twins: rows that share bag and sentence with another row; None without sentences and on bag2bag.
        num_unknown_rows, num_positive_rows: rows with a positive relation: those labelled unk, and all.
        rows: (instance_id, bag_id, relation, bag_label[, sentence]) of each row, for the fingerprint.
    """

    track: str
    by: str
    relations: tuple[str, ...]
    negative_relation: str
    id_key: str
    ids: tuple[Any, ...]
    unit_of_id: np.ndarray
    bag_ids: tuple[Any, ...]
    unit_bag: np.ndarray
    distant: np.ndarray
    confirmed: np.ndarray
    unjudged: np.ndarray
    judged: np.ndarray
    judgments: str | None
    row_unit: np.ndarray
    row_sentence: np.ndarray
    num_twins: int | None
    num_unknown_rows: int
    num_positive_rows: int
    rows: tuple[tuple[Any, ...], ...]

    @property
    def num_units(self) -> int:
        """How many units the track has."""
        return len(self.unit_bag)


def read_units(
    *,
    track: str,
    references: Any,
    relations: Any = None,
    negative_relation: str = "NA",
    by: str = "rows",
    judgments: Any = None,
) -> Units:
    """Return the units of a track from its reference records and judgments, checked.

    >>> rows = [
    ...     {"instance_id": "i0", "bag_id": "b0", "relation": "born_in", "bag_label": "no"},
    ...     {"instance_id": "i1", "bag_id": "b0", "relation": "born_in", "bag_label": "yes"},
    ... ]
    >>> units = read_units(track="bag2bag", references=rows, relations=["born_in", "lives_in"])
    >>> units.ids, units.distant.tolist(), units.confirmed.tolist()
    (('b0',), [[True, False]], [[True, False]])

    Raises:
        TypeError: records that are none, names that are no strings.
        ValueError: an unknown track or `by`, a missing key, a duplicate instance_id, a relation that
            `relations` lacks, a bag_label other than yes, no, unk, relations given twice or with the
            negative one; judgments that do not fit the references (see `read_answers`).
    """
    check_choice("track", track, TRACKS)
    check_choice("by", by, ("rows", "sentences"))
    if by == "sentences" and track == "bag2bag":
        raise ValueError("by='sentences' joins rows of the sentence tracks; the units of 'bag2bag' are bags.")
    columns = read_columns(references, required=REFERENCE_KEYS, optional=["sentence"], name="references")
    if relations is None:
        relations = _relations_of_features(columns.class_names.get("relation"), negative_relation)
    names = check_relations(relations, negative_relation)
    if isinstance(relations, Mapping):  # class ids are read through it
        name_of_id = {number: name for name, number in relations.items()}
        columns["relation"] = [
            name_of_id.get(value, value) if is_integer(value) else value for value in columns["relation"]
        ]
    columns["bag_label"] = named_classes(columns["bag_label"], BAG_LABELS)
    instance_ids, bag_ids = columns["instance_id"], columns["bag_id"]
    check_ids(instance_ids, "instance_id", "references")
    check_ids(bag_ids, "bag_id", "references")
    repeated = repeated_ids(instance_ids)
    if repeated:
        raise ValueError(f"`references` holds instance_ids more than once: {quoted(repeated)}.")
    row_relation = _relation_codes(columns["relation"], names, negative_relation)
    label_code = {label: code for code, label in enumerate(BAG_LABELS)}
    unknown_labels = [label for label in columns["bag_label"] if label not in BAG_LABELS]
    if unknown_labels:
        position = columns["bag_label"].index(unknown_labels[0])
        raise ValueError(
            f"`bag_label` must be 'yes', 'no' or 'unk'; {len(unknown_labels)} rows have another, the first "
            f"is {unknown_labels[0]!r} at instance_id {instance_ids[position]!r}."
        )
    row_label = np.array([label_code[label] for label in columns["bag_label"]], dtype=np.int64)
    row_bag, distinct_bags = _codes(bag_ids)
    sentences = columns.get("sentence")
    texts = [text.strip() if isinstance(text, str) else "" for text in sentences or []]
    if by == "sentences":
        shown = texts or [""] * len(instance_ids)
        without = [place for place, text in zip(instance_ids, shown, strict=True) if not text]
        if without:
            raise ValueError(
                f"by='sentences' needs a sentence in every row of `references`; {len(without)} of "
                f"{len(instance_ids)} have none or a blank one: instance_id {quoted(without)}."
            )
    sentence_key = list(zip(bag_ids, texts, strict=True)) if texts else []
    if track == "bag2bag":
        row_unit, ids, unit_of_id = row_bag, tuple(distinct_bags), np.arange(len(distinct_bags))
    elif by == "sentences":
        row_unit, _ = _codes(sentence_key)
        ids, unit_of_id = tuple(instance_ids), row_unit
    else:
        row_unit = unit_of_id = np.arange(len(instance_ids))
        ids = tuple(instance_ids)
    num_units = int(row_unit.max()) + 1
    unit_bag = np.empty(num_units, dtype=np.int64)
    unit_bag[row_unit] = row_bag
    group = sentence_groups(instance_ids, bag_ids, sentences)
    found = read_answers(judgments, instance_ids=instance_ids, relations=names, group=group)
    row_label = filled_labels(
        found,
        row_relation=row_relation,
        row_label=row_label,
        instance_ids=instance_ids,
        unk=BAG_LABELS.index("unk"),
    )
    judged_yes, judged_no = judged_units(found, row_unit=row_unit, group=group, shape=(num_units, len(names)))
    positive = row_relation >= 0
    answers = np.zeros((len(BAG_LABELS), num_units, len(names)), dtype=bool)
    answers[row_label[positive], row_unit[positive], row_relation[positive]] = True
    no, yes, unknown = answers
    distant = no | yes | unknown
    twins = None
    if track != "bag2bag" and any(texts):
        times = Counter(key for key in sentence_key if key[1])
        twins = sum(number for number in times.values() if number > 1)
    more = [sentence_key] if by == "sentences" else []
    return Units(
        track=track,
        by=by,
        relations=names,
        negative_relation=negative_relation,
        id_key=unit_id_key(track),
        ids=ids,
        unit_of_id=unit_of_id,
        bag_ids=tuple(distinct_bags),
        unit_bag=unit_bag,
        distant=distant,
        confirmed=yes | judged_yes,
        unjudged=unknown & ~yes & ~judged_yes,
        judged=(judged_yes | judged_no) & ~distant,
        judgments=found.hash,
        row_unit=row_unit,
        row_sentence=group,
        num_twins=twins,
        num_unknown_rows=int(np.count_nonzero(row_label[positive] == BAG_LABELS.index("unk"))),
        num_positive_rows=int(np.count_nonzero(positive)),
        rows=tuple(zip(instance_ids, bag_ids, columns["relation"], columns["bag_label"], *more, strict=True)),
    )


def check_relations(relations: Any, negative_relation: Any) -> tuple[str, ...]:
    """Return the positive relations in id order, distinct strings without the negative one.

    Args:
        relations: names in order, or a mapping name -> id (rel2id), which may hold the negative one.
        negative_relation: its name.

    >>> check_relations({"born_in": 2, "NA": 0, "lives_in": 1}, "NA")
    ('lives_in', 'born_in')

    Raises:
        TypeError: a name that is no string, one string instead of a list, a set or a generator (they have no
            order that lasts), ids that are no ints.
        ValueError: none at all, a name or an id twice, the negative relation in a list.
    """
    if not isinstance(negative_relation, str):
        raise TypeError(f"`negative_relation` must be a relation name; got {negative_relation!r}.")
    if isinstance(relations, Mapping):
        if not all(is_integer(number) for number in relations.values()):
            raise TypeError("`relations` as a mapping must be rel2id, relation name -> id (int).")
        shared = repeated_ids(list(relations.values()))
        if shared:
            raise ValueError(f"`relations` gives ids to several names: {quoted(shared)}.")
        ordered = sorted(relations, key=relations.__getitem__)
        relations = [name for name in ordered if name != negative_relation]
    is_keys_view = isinstance(relations, type({}.keys()))
    if isinstance(relations, Iterator) or (isinstance(relations, Set) and not is_keys_view):
        raise TypeError(
            f"`relations` must have an order, that of the ids; a {type(relations).__name__} has none that "
            "lasts. Pass a list, or the mapping name -> id."
        )
    listed = isinstance(relations, Iterable) and not isinstance(relations, str)
    names = tuple(relations) if listed else ()
    if not listed or not all(isinstance(name, str) for name in names):
        raise TypeError("`relations` must be a list of relation names (strings), the positive ones.")
    if not names:
        raise ValueError("`relations` is empty; name the positive relations, in id order.")
    if negative_relation in names:
        raise ValueError(
            f"`relations` holds the negative relation {negative_relation!r}; list the positive ones only."
        )
    repeated = repeated_ids(names)
    if repeated:
        raise ValueError(f"`relations` holds names twice: {quoted(repeated)}.")
    return tuple(map(str, names))


def _relations_of_features(names: Sequence[str] | None, negative_relation: str) -> list[str]:
    """The positive relations that came with the references."""
    if names is None:
        raise TypeError(
            "Name the `relations` (the positive ones in id order, or rel2id): these references do not carry "
            "them, as a split of a Dataset does."
        )
    return [name for name in names if name != negative_relation]


def _codes(values: Sequence[Any]) -> tuple[np.ndarray, list[Any]]:
    """The position of each value among the distinct ones, (num_values,) int64, and these in order."""
    distinct = list(dict.fromkeys(values))
    position = {value: code for code, value in enumerate(distinct)}
    return np.fromiter((position[value] for value in values), dtype=np.int64, count=len(values)), distinct


def _relation_codes(values: Sequence[Any], names: tuple[str, ...], negative_relation: str) -> np.ndarray:
    """Column of each row's relation, (num_rows,) int64; -1 for the negative one."""
    position = {negative_relation: -1, **{name: code for code, name in enumerate(names)}}
    wrong = next((value for value in values if not isinstance(value, str)), None)
    if wrong is not None or None in values:
        raise TypeError(
            f"`relation` in `references` must be a relation name (str), as in test.json; got {wrong!r}. "
            "Pass the Dataset itself, or rel2id (name -> id) as `relations`, and class ids are read as names."
        )
    unknown = list(dict.fromkeys(value for value in values if value not in position))
    if unknown:
        raise ValueError(
            f"`references` holds relations that `relations` (rel2id.json) lacks: {quoted(unknown)}; the "
            f"negative relation is {negative_relation!r}."
        )
    return np.fromiter((position[value] for value in values), dtype=np.int64, count=len(values))
