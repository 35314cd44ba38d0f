"""Somebody's own corpus -> its rows one by one: JSON lines, Parquet as Dask and Spark write it, or a Dataset.

A row has a sentence, a head, a tail and a relation, in columns of any name::

    {"sentence": "Ann Lee left Bonn .", "head": "Ann Lee", "tail": {"word": "Bonn", "guid": "Q586"},
     "relation": "left", "bag_label": "yes"}

An entity is a string or an object with `word` (or `name`) and, where there are any, `guid` (or `id`), `type`
and its place: `start` and `end`, or `pos` with both, half-open offsets in characters (in tokens where the
sentence is a list of tokens). These may also be columns of their own: `head_id`, `tail_start` and so on. A
place is kept, and must hold the word. `bag_label` (no, yes, unk) and `instance_id` are optional. Other
columns are not looked at; other keys of an entity are reported.

The records of OpenNRE, TACRED and SemEval-2010 Task 8 are read as they are (see `formats`).

A corpus beyond one machine is brought into this form by the engine that holds it, written as a folder of
Parquet files (``dask_frame.to_parquet(folder)``, ``spark_frame.write.parquet(folder)``) and read here from
that folder, file after file in the order of their numbers.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from ..record_lines import ENTITIES, RecordError, kind
from ..records import json_records
from ..schema import BAG_LABELS, NEGATIVE_RELATION
from .formats import check_span, check_word, joined_tokens, plain_records, semeval_blocks

logger = logging.getLogger(__name__)

REQUIRED_COLUMNS = ("sentence", "head", "tail", "relation")
_PARTS = ("guid", "id", "type", "start", "end", "pos")
_PART_COLUMNS = (f"{entity}_{part}" for entity in ENTITIES for part in _PARTS)
OPTIONAL_COLUMNS = ("bag_label", "instance_id", *_PART_COLUMNS)
_BATCH_ROWS = 1000

Place: TypeAlias = str | os.PathLike[str]
# One object, or the lines of a record of SemEval.
Raw: TypeAlias = dict[str, Any] | list[str]
Source: TypeAlias = Place | Sequence[Place] | datasets.Dataset | datasets.IterableDataset


class Entity(NamedTuple):
    """An entity as NYT-H writes it; without a guid of its own its word, casefolded, stands for it."""

    guid: str
    word: str
    type: str
    start: int | None = None
    end: int | None = None

    def record(self) -> dict[str, Any]:
        """Return what a data file holds of it: its place only where the corpus gives one."""
        return {key: value for key, value in self._asdict().items() if value is not None}


class CorpusRow(NamedTuple):
    """A checked row; `instance_id` is empty where the corpus has none, `where` is its place for messages."""

    sentence: str
    head: Entity
    tail: Entity
    relation: str
    bag_label: str
    instance_id: str
    where: str


def column_names(columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return our name -> the corpus's name for every column, those of `columns` in place of our own.

    Raises:
        ValueError: a name that is not one of ours, or one column for two of them.

    >>> column_names({"head": "subj"})["head"], column_names()["tail"]
    ('subj', 'tail')
    """
    names = (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)
    given = dict(columns or {})
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"`columns` must name some of {', '.join(map(repr, names))}; got {unknown[0]!r} ({len(unknown)} "
            "unknown in all). Left of each pair is the name here, right of it the name in the corpus."
        )
    found = {name: given.get(name, name) for name in names}
    twice = [name for name in given.values() if list(found.values()).count(name) > 1]
    if twice:
        raise ValueError(f"`columns` uses the column {twice[0]!r} for two things; each needs its own.")
    return found


def corpus_rows(
    source: Source, *, columns: Mapping[str, str] | None = None, negative_relation: str = NEGATIVE_RELATION
) -> Iterator[CorpusRow]:
    """Yield the checked rows of `source`, in order, with no more than a batch of them in memory.

    `source` is a file of JSON lines or of one JSON array, SemEval's text file, a Parquet file, a folder of
    Parquet files, several of these, or a Dataset (streaming or not; ClassLabel columns come by their names).
    `negative_relation` is needed for records with a list of annotated relations (NYT10m).

    Raises:
        FileNotFoundError: a file is not there, or a folder holds no Parquet file.
        TypeError: `source` is nothing of the above.
        RecordError: (a ValueError) rows with a missing column or a value that is not what it should be: the
            first, with file and line or the number of the row, and the total. It comes after the last row.

    >>> from datasets import Dataset
    >>> data = Dataset.from_dict({"text": ["Ann left Bonn ."], "head": ["Ann"], "tail": ["Bonn"],
    ...                           "relation": ["left"]})
    >>> row = next(corpus_rows(data, columns={"sentence": "text"}))
    >>> row.tail, row.bag_label
    (Entity(guid='word:bonn', word='Bonn', type='', start=None, end=None), 'unk')
    """
    return _all_checked(_records(source), column_names(columns), negative_relation)


def _all_checked(
    records: Iterable[tuple[str, Raw]], names: Mapping[str, str], negative_relation: str
) -> Iterator[CorpusRow]:
    unknown: set[str] = set()
    first, num_faults, num_records = "", 0, 0
    for where, raw in records:
        num_records += 1
        try:
            rows = [
                _checked(record, names, where, unknown)
                for record in plain_records(raw, negative_relation=negative_relation)
            ]
        except RecordError as fault:
            first = first or f"{where}: {fault}"
            num_faults += 1
        else:
            yield from rows
    if num_faults:
        raise RecordError(f"{first}. Records that cannot be used: {num_faults} of {num_records}.")


def _records(source: Source) -> Iterator[tuple[str, Raw]]:
    if isinstance(source, datasets.Dataset | datasets.IterableDataset):
        return _dataset_records(source)
    if isinstance(source, str | os.PathLike):
        source = [source]
    if not isinstance(source, Sequence) or not all(isinstance(path, str | os.PathLike) for path in source):
        raise TypeError(
            f"a corpus must be a path, several paths, or a Dataset (one split of it); got "
            f"{type(source).__name__}."
        )
    if not source:
        raise ValueError("a corpus must be at least one file; got an empty list.")
    return chain.from_iterable(map(_file_records, chain.from_iterable([_files(path) for path in source])))


def _files(place: Place) -> list[Path]:
    path = Path(os.path.abspath(os.path.expanduser(place)))
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"{path} does not exist; give a JSON-lines file, or Parquet.")
    # What engines write beside the data (_SUCCESS, .part-0.crc) begins with _ or a full stop.
    parts = [part for part in path.rglob("*.parquet") if not part.name.startswith(("_", "."))]
    if not parts:
        raise FileNotFoundError(
            f"{path} is a folder without a Parquet file; JSON-lines files are named singly."
        )
    return sorted(parts, key=lambda part: _natural(str(part)))


def _natural(text: str) -> list[tuple[int, str]]:
    """A sort key in which part.2 comes before part.10."""
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in re.split(r"([0-9]+)", text)]


def _file_records(path: Path) -> Iterator[tuple[str, Raw]]:
    if path.suffix == ".parquet":
        try:
            batches = pq.ParquetFile(path).iter_batches(batch_size=_BATCH_ROWS)
            rows = (row for batch in batches for row in batch.to_pylist())
            yield from ((f"{path}, row {number}", row) for number, row in enumerate(rows, start=1))
        except (pa.ArrowInvalid, OSError) as error:
            # Damaged data are an OSError without a number; with one, the disk has said what it is.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise RecordError(
                f"{path} is not a readable Parquet file ({error}). Is it cut off or damaged?"
            ) from error
        return
    if path.suffix.lower() == ".txt" and _SEMEVAL_LINE.match(_beginning(path)):
        blocks = semeval_blocks(path)
        yield from ((f"{path}:{number}", block) for number, block in blocks)
        return
    yield from json_records(path)


_SEMEVAL_LINE = re.compile(rb"(?:\xef\xbb\xbf)?\s*[0-9]+\t")


def _beginning(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(100)


def _dataset_records(
    dataset: datasets.Dataset | datasets.IterableDataset,
) -> Iterator[tuple[str, dict[str, Any]]]:
    labels = {
        name: feature.names
        for name, feature in (dataset.features or {}).items()
        if isinstance(feature, datasets.ClassLabel)
    }
    for number, record in enumerate(dataset.with_format(None)):
        for name, label_names in labels.items():
            value = record[name]
            # -1 stands for "no label" in datasets.
            record[name] = label_names[value] if value is not None and value >= 0 else None
        yield f"row {number} of the Dataset", record


def _checked(record: dict[str, Any], names: Mapping[str, str], where: str, unknown: set[str]) -> CorpusRow:
    missing = [names[name] for name in REQUIRED_COLUMNS if names[name] not in record]
    if missing:
        raise RecordError(
            f"the column {missing[0]!r} is missing ({len(missing)} of {len(REQUIRED_COLUMNS)}); the row has "
            f"{', '.join(map(repr, record))}. `columns` says what a column is called"
        )
    sentence, tokens = record[names["sentence"]], None
    if isinstance(sentence, list | tuple):
        tokens = sentence
        sentence, _ = joined_tokens(tokens)
    sentence = _text(sentence, names["sentence"])
    entities = []
    for entity in ENTITIES:
        value, name = record[names[entity]], names[entity]
        value = dict(value) if isinstance(value, dict) else {"word": value}
        if new := [key for key in value if key not in _ENTITY_KEYS and f"{name}.{key}" not in unknown]:
            unknown.update(f"{name}.{key}" for key in new)
            logger.warning(
                "%s: keys of `%s` that are not known are left out: %s.", where, name, ", ".join(new)
            )
        for part in _PARTS:
            column = record.get(names[f"{entity}_{part}"])
            if column is not None and value.get(part) is None:
                value[part] = column
        entities.append(_entity(value, entity, name, sentence, tokens))
    head, tail = entities
    bag_label = record.get(names["bag_label"])
    if bag_label is not None and bag_label not in BAG_LABELS:
        raise RecordError(
            f"`{names['bag_label']}` must be one of {', '.join(map(repr, BAG_LABELS))}; got {kind(bag_label)}"
        )
    instance_id = record.get(names["instance_id"])
    return CorpusRow(
        sentence=sentence,
        head=head,
        tail=tail,
        relation=_text(record[names["relation"]], names["relation"]),
        bag_label=bag_label or "unk",
        instance_id="" if instance_id is None else _identity(instance_id, names["instance_id"]),
        where=where,
    )


_ENTITY_KEYS = ("word", "name", *_PARTS)


def _entity(
    value: dict[str, Any], entity: str, name: str, sentence: str, tokens: Sequence[str] | None
) -> Entity:
    if "word" not in value and "name" not in value:
        raise RecordError(f"`{name}` has no key `word`; it has {', '.join(map(repr, value)) or 'none'}")
    word = _text(value.get("word", value.get("name")), name)
    guid = value.get("guid") if value.get("guid") not in (None, "") else value.get("id")
    guid = "" if guid in (None, "") else _identity(guid, f"{name}.guid")
    kind_of = _text(value["type"], f"{name}.type") if value.get("type") not in (None, "") else ""
    start, end = _place(value, entity, word, sentence, tokens)
    return Entity(guid or "word:" + " ".join(word.casefold().split()), word, kind_of, start, end)


def _place(
    value: dict[str, Any], name: str, word: str, sentence: str, tokens: Sequence[str] | None
) -> tuple[int | None, int | None]:
    """The character offsets of an entity where its record has some; what stands there must be its word."""
    place = value.get("pos")
    if place is None:
        place = [value.get("start"), value.get("end")]
    if isinstance(place, list | tuple) and list(place) in ([None, None], [-1, -1]):
        return None, None
    if not isinstance(place, list | tuple) or len(place) != 2 or not all(type(at) is int for at in place):
        raise RecordError(f"the place of the {name} must be two integers; got {place!r:.60}")
    start, end = place
    if tokens is None:
        check_span(sentence, start, end, name=name)
    else:
        _, [(start, end)] = joined_tokens(tokens, spans=[(name, start, end)])
    check_word(sentence, start, end, word, name=name)
    return start, end


def _identity(value: object, name: str) -> str:
    """An id: a string, or an integer as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(value, name)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise RecordError(f"`{name}` must be a string; got {type(value).__name__} {str(value)[:60]!r}")
    if not value.strip():
        raise RecordError(f"`{name}` is empty; every row needs one")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise RecordError(f"`{name}` holds half of a surrogate pair ({error.reason})") from error
    return value
