"""A dataset with columns, from the Hub or a local folder -> rows; NYT-H's own columns are the default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nyt_h_dataset import check_word, joined_tokens

from ..model.markers import Span
from .relation_rows import (
    NOT_FOUND,
    RelationData,
    RelationRecord,
    RowError,
    collected,
    entity_pair,
    is_integer,
    relation_data,
    with_negative,
)

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

SPLITS = {
    "train": ("train",),
    "validation": ("validation", "dev", "valid", "val"),
    "test": ("test",),
    "na": ("na",),
}
# What we look for -> the column it is in; a dot reaches into a column of structs.
COLUMNS = {
    "sentence": "sentence",
    "relation": "relation",
    **{
        f"{e}_{part}": f"{e}.{part}"
        for e in ("head", "tail")
        for part in ("start", "end", "word", "type", "guid")
    },
    "instance_id": "instance_id",
    "bag_id": "bag_id",
    "bag_label": "bag_label",
    "mention_status": "mention_status",
}
REQUIRED = ("sentence", "relation", "head_start", "head_end", "tail_start", "tail_end")
BAG_LABELS = ("no", "yes", "unk")


def read_hub(
    dataset_name: str,
    *,
    dataset_config: str | None = None,
    dataset_revision: str | None = None,
    columns: Sequence[str] = (),
    negative_relation: str | None = None,
    equal_spans: str = "error",
    with_na: bool = False,
) -> RelationData:
    """Return a dataset that `load_dataset` takes, by name or folder, with train and test and perhaps
    validation.

    `sentence` is a text, with character offsets, or a list of tokens, with token offsets; both half-open, -1
    for an entity that has no place. `relation` is a ClassLabel, the same in all splits, or a string.
    `bag_label` (no, yes, unk) brings the tracks of human labels; rows with `mention_status` may have equal
    spans, because NYT-H's builder has looked at them.

    Args:
        dataset_name: Name on the Hub, or a local folder.
        dataset_config: Which configuration.
        dataset_revision: Branch, tag or commit on the Hub.
        columns: "ours=theirs" where names differ, e.g. "head=subj", "head_start=subj_start".
        negative_relation: The name of the negative relation; it is never guessed.
        equal_spans: "error" or "keep".
        with_na: Whether a split "na" is read too.

    Raises:
        FileNotFoundError: There is no such dataset.
        ValueError: It does not load, lacks a split or column, or holds records that cannot be used (the first
            and the total); no or an unknown negative relation.
    """
    loaded = _load(dataset_name, dataset_config, dataset_revision)
    paths = column_paths(columns)
    splits: dict[str, list[RelationRecord]] = {}
    label_names: tuple[str, ...] | None = None
    for split, names in SPLITS.items():
        name = next((name for name in names if name in loaded), None)
        if name is None:
            if split in ("train", "test"):
                raise ValueError(f"{dataset_name} has no {split} split; it has {', '.join(loaded)}.")
            continue
        if split == "na" and not with_na:
            continue
        where = f"{dataset_name}, {name}"
        own = _class_names(loaded[name], paths["relation"])
        if label_names is not None and own is not None and own != label_names:
            different = sorted(set(own) ^ set(label_names)) or "their order"
            raise ValueError(f"{where}: the relations are not those of train; the difference is {different}.")
        label_names = label_names or own
        splits[split] = split_records(loaded[name], paths, where=where, split=split, equal_spans=equal_spans)
    if label_names is None:
        label_names = tuple(sorted({record.relation for rows in splits.values() for record in rows}))
    return relation_data(
        name="hub",
        splits=splits,
        label_names=with_negative(label_names, negative_relation, where=dataset_name),
        negative_relation=str(negative_relation),
    )


def _load(name: str, config: str | None, revision: str | None) -> DatasetDict:
    import datasets

    try:
        return datasets.load_dataset(name, config, revision=revision)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"`--dataset_name` {name!r}: {_one_line(error)}") from error
    except (ValueError, RuntimeError, ConnectionError, datasets.exceptions.DatasetsError) as error:
        cause = f" ({_one_line(error.__cause__)})" if error.__cause__ else ""
        raise ValueError(f"`--dataset_name` {name!r} does not load: {_one_line(error)}{cause}") from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def column_paths(columns: Sequence[str] = ()) -> dict[str, str]:
    """Return what we look for -> the column it is in.

    Raises:
        ValueError: An entry is not "ours=theirs", or we have no such column.

    >>> paths = column_paths(["head=subj", "tail_end=stop"])
    >>> paths["head_start"], paths["tail_start"], paths["tail_end"]
    ('subj.start', 'tail.start', 'stop')
    """
    paths = dict(COLUMNS)
    given = [entry.partition("=") for entry in columns]
    # An entity as a whole first, so that one of its parts can be named in any order.
    for ours, equals, theirs in sorted(given, key=lambda entry: entry[0] not in ("head", "tail")):
        if not equals or not theirs or (ours not in COLUMNS and ours not in ("head", "tail")):
            raise ValueError(
                f"`--columns` takes entries such as head=subj or sentence=text; got "
                f"{ours + equals + theirs!r}. Ours are head, tail, {', '.join(COLUMNS)}."
            )
        if ours in COLUMNS:
            paths[ours] = theirs
        else:
            paths |= {
                name: theirs + path.removeprefix(ours)
                for name, path in COLUMNS.items()
                if path.startswith(f"{ours}.")
            }
    return paths


def _class_names(dataset: Dataset, path: str) -> tuple[str, ...] | None:
    names = getattr(dataset.features.get(path), "names", None)
    return None if names is None else tuple(names)


def _values(dataset: Dataset, paths: Mapping[str, str], where: str) -> dict[str, Sequence[Any]]:
    """Return name -> its column; class ids as names. What is not there is left out, unless it is required."""
    import datasets

    values: dict[str, Sequence[Any]] = {}
    wholes: dict[str, Sequence[Any]] = {}
    plain = dataset.with_format(None)
    for name, path in paths.items():
        base, _, part = path.partition(".")
        feature = dataset.features.get(base)
        there = base in dataset.features and (
            not part or part in (feature if isinstance(feature, dict) else ())
        )
        if not there:
            if name in REQUIRED or path.rpartition(".")[2] != COLUMNS[name].rpartition(".")[2]:
                raise ValueError(
                    f"{where}: there is no column {path!r} for `{name}`; the columns are "
                    f"{', '.join(dataset.features)}. Name it with `--columns {name}=COLUMN`."
                )
            continue
        if base not in wholes:
            wholes[base] = _column(plain, base, where)
        column = wholes[base]
        if part:
            feature, column = feature[part], [value and value[part] for value in column]
        if isinstance(feature, datasets.ClassLabel):
            column = [_class_name(feature.names, value) for value in column]
        values[name] = column
    return values


def _column(dataset: Dataset, name: str, where: str) -> Sequence[Any]:
    """Return a column's values; JSON lines come into Arrow without a look at their bytes."""
    try:
        return dataset[name][:]
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where}: the column {name!r} has text that is not UTF-8 ({error}); convert the file to UTF-8."
        ) from error


def _class_name(names: Sequence[str], value: int | None) -> str | int | None:
    return names[value] if value is not None and 0 <= value < len(names) else value


def split_records(
    dataset: Dataset, paths: Mapping[str, str], *, where: str, split: str, equal_spans: str = "keep"
) -> list[RelationRecord]:
    """Yield the rows of one split.

    Raises:
        ValueError: A column is missing, or records cannot be used (the first and the total).
    """
    values = _values(dataset, paths, where)
    names = tuple(values)
    raws = (
        (f"{where}, row {number}", (number, dict(zip(names, row, strict=True))))
        for number, row in enumerate(zip(*values.values(), strict=True))
    )

    def parse(raw: tuple[int, dict[str, Any]]) -> Iterator[RelationRecord]:
        number, row = raw
        yield _record(row, name=f"{split}#{number}")

    checked = "keep" if "mention_status" in values else equal_spans
    return collected(raws, parse, equal_spans=checked, may_be_missing=True)


def _record(row: Mapping[str, Any], *, name: str) -> RelationRecord:
    for key in ("relation", "bag_label"):
        if key in row and not isinstance(row[key], str):
            raise RowError(f"`{key}` must be a string or a class with a name; got {row[key]!r}")
    for key in ("instance_id", "bag_id"):
        if row.get(key, "x") in (None, ""):
            raise RowError(f"`{key}` is empty; every row needs one, or none has the column")
    if row.get("bag_label", "unk") not in BAG_LABELS:
        raise RowError(f"`bag_label` must be one of {', '.join(BAG_LABELS)}; got {row['bag_label']!r}")
    places = []
    for entity in ("head", "tail"):
        start, end = row[f"{entity}_start"], row[f"{entity}_end"]
        if not (is_integer(start) and is_integer(end)):
            raise RowError(f"the {entity}'s place must be two integers; got {start!r} and {end!r}")
        places.append((entity, start, end))
    sentence = row["sentence"]
    spans = [Span(start, end) for _, start, end in places]
    if isinstance(sentence, (list, tuple)):
        found = [place for place in places if place[1:] != NOT_FOUND]
        sentence, there = joined_tokens(sentence, spans=found)
        spans = [Span(*there.pop(0)) if place in found else NOT_FOUND for place in places]
    elif not isinstance(sentence, str):
        raise RowError(f"`sentence` must be a text or a list of tokens; got {sentence!r:.60}")
    head, tail = spans
    for entity, span in zip(("head", "tail"), spans, strict=True):
        if 0 <= span.start < span.end <= len(sentence):
            check_word(sentence, *span, row.get(f"{entity}_word"), name=entity)
    words = [
        row.get(f"{e}_word") or sentence[max(s.start, 0) : max(s.end, 0)]
        for e, s in zip(("head", "tail"), spans, strict=True)
    ]
    guids = [row.get(f"{entity}_guid") for entity in ("head", "tail")]
    pair = "\t".join(map(str, guids)) if all(guids) else entity_pair(*words)
    types = None
    if "head_type" in row and "tail_type" in row:
        for entity in ("head", "tail"):
            kind = row[f"{entity}_type"]
            if kind is not None and not isinstance(kind, str):
                raise RowError(
                    f"the {entity}'s type must be a text, several divided by commas; got {kind!r:.60}"
                )
        types = (row["head_type"] or "", row["tail_type"] or "")
    name, bag = str(row.get("instance_id", name)), str(row.get("bag_id", pair))
    return RelationRecord(name, sentence, head, tail, row["relation"], bag, pair, types, row.get("bag_label"))
