"""`convert_corpus`: somebody's own corpus in NYT-H's release layout, so that `load_nyt_h` reads it."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..about import About
from ..record_lines import RecordError
from ..schema import DEV, NA_REST, NA_TRAIN, NEGATIVE_RELATION, TEST, TRAIN
from .corpus import CorpusRow, Source, corpus_rows
from .release_folder import ReleaseWriter, pair_id, relation_order, release_folder

logger = logging.getLogger(__name__)

_ID_PREFIXES = {"train": "TRAIN", "validation": "DEV", "test": "TEST"}


@dataclass(frozen=True)
class Conversion:
    """What `convert_corpus` wrote: the folder, the rows per file, the relations in id order (NA first)."""

    path: Path
    num_rows: Mapping[str, int]
    relations: tuple[str, ...]


@dataclass
class _Converter:
    writer: ReleaseWriter
    negative_relation: str
    relations: set[str] = field(default_factory=set)
    given_ids: set[str] = field(default_factory=set)
    num_judged: int = 0
    num_negative: int = 0
    # The NA record that was read last; the last of all goes to na_rest.json.
    held_back: dict[str, Any] | None = None

    def record(self, row: CorpusRow, split: str, number: int) -> dict[str, Any]:
        if self.negative_relation != NEGATIVE_RELATION and row.relation == NEGATIVE_RELATION:
            raise RecordError(
                f"{row.where}: the relation {NEGATIVE_RELATION!r} means 'no relation' in NYT-H, and "
                f"`negative_relation` is {self.negative_relation!r}; rename one of the two in the corpus."
            )
        if row.instance_id in self.given_ids:
            raise RecordError(
                f"{row.where}: the instance id {row.instance_id!r} was there before; ids must be unique over "
                "all splits."
            )
        if row.instance_id:
            self.given_ids.add(row.instance_id)
        self.num_judged += split == "test" and row.bag_label != "unk"
        negative = row.relation == self.negative_relation
        self.num_negative += negative
        self.relations.add(NEGATIVE_RELATION if negative else row.relation)
        return {
            "instance_id": row.instance_id or f"{_ID_PREFIXES[split]}#{number}",
            "bag_id": pair_id(row.head.guid, row.tail.guid),
            "relation": NEGATIVE_RELATION if negative else row.relation,
            "bag_label": row.bag_label,
            "sentence": row.sentence,
            "head": row.head.record(),
            "tail": row.tail.record(),
        }

    def write_train(self, record: dict[str, Any]) -> None:
        if record["relation"] != NEGATIVE_RELATION:
            self.writer.write(TRAIN, record)
            return
        if self.held_back is not None:
            self.writer.write(NA_TRAIN, self.held_back)
        self.held_back = record


def convert_corpus(
    out: str | os.PathLike[str],
    *,
    train: Source,
    test: Source,
    validation: Source | None = None,
    columns: Mapping[str, str] | None = None,
    negative_relation: str = NEGATIVE_RELATION,
    validation_fraction: float = 0.1,
    seed: int = 0,
    name: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    overwrite: bool = False,
) -> Conversion:
    """Write a corpus of (sentence, head, tail, relation) to `out` in NYT-H's format; return what was written.

    ``load_nyt_h(out)`` and ``load_nyt_h(out, "bag")`` then read it: checks, mentions and bags are those of
    NYT-H. The rows are streamed (a million need no more memory than a thousand, unless they bring ids of
    their own, which are kept to compare them), and no row is dropped.

    A bag is a pair of entities; its `bag_id` is made of their guids, so it is the same in every split and
    run. An entity without a guid gets one from its word, casefolded: "Bonn" and "BONN" are one entity. The
    `instance_id` is TRAIN#, DEV# or TEST# and the number of the row in its source, from 0, unless the corpus
    has ids. The relations are numbered by their text, NA first. Rows of the negative relation in train go to
    na_train.json, the last of them to na_rest.json (``na="all"`` loads them all); in dev and test they stay
    where they are, although NYT-H has none there. A corpus without such rows is taken as it is, with a
    warning that names its relations, and has no split `na`. A missing `bag_label` is unk.

    Args:
        out: the folder to write; new or empty.
        train: where the rows are, as in `nyt_h_dataset.corpus.corpus_rows`; so are `test` and `validation`.
        validation: without it, whole entity pairs are taken from train (by their ids and `seed`, whatever
            the order of the rows).
        columns: our name -> the corpus's name, for `sentence`, `head`, `tail`, `relation`, `bag_label`,
            `instance_id`, and `head_id`, `head_type`, `head_start`, `head_end`, `head_pos` (of the tail too)
            where these are columns of their own.
        negative_relation: what the corpus calls "no relation"; it becomes NA.
        validation_fraction: about the share of the entity pairs of train that go to validation.
        name: what the corpus is called; its cards say so.
        licence: the identifier or name of its licence; its cards say so.
        citation: how to cite it, BibTeX or a sentence; its cards say so.
        overwrite: replace a folder that holds a data set in this layout and nothing else.

    Raises:
        FileNotFoundError: a file is not there.
        TypeError: `seed` is not an int, or a source is neither paths nor a Dataset.
        ValueError: rows with a fault (the first, with file and line, and the total), an empty split, an `out`
            that is not free.

    >>> import tempfile
    >>> from datasets import Dataset
    >>> rows = [{"sentence": "Ann left Bonn .", "head": "Ann", "tail": "Bonn", "relation": name}
    ...         for name in ("left", "none", "none")]
    >>> data = Dataset.from_list(rows)
    >>> with tempfile.TemporaryDirectory() as root:
    ...     info = convert_corpus(root + "/out", train=data, validation=data, test=data,
    ...                           negative_relation="none")
    >>> info.relations, info.num_rows["na_train.json"], info.num_rows["test.json"]
    (('NA', 'left'), 1, 3)
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"`seed` must be an int; got {seed!r}.")
    if not 0 < validation_fraction < 1:
        raise ValueError(f"`validation_fraction` must lie between 0 and 1; got {validation_fraction!r}.")
    with release_folder(out, overwrite=overwrite) as writer:
        converter = _Converter(writer, negative_relation)
        sources = {"train": train, "validation": validation, "test": test}
        for split, source in sources.items():
            if source is None:
                continue
            rows = corpus_rows(source, columns=columns, negative_relation=negative_relation)
            for number, row in enumerate(rows):
                record = converter.record(row, split, number)
                if split == "test":
                    writer.write(TEST, record)
                elif split == "validation" or (
                    validation is None and _share(record["bag_id"], seed) < validation_fraction
                ):
                    writer.write(DEV, record)
                else:
                    converter.write_train(record)
        if converter.held_back is not None:
            writer.write(NA_REST, converter.held_back)
        _check_sizes(writer.num_rows, converter, validation is None)
        relations = relation_order(converter.relations)
        writer.write_labels(relations)
        judged = "the corpus has yes and no answers in test" if converter.num_judged else "nobody"
        how = "given with the corpus"
        if validation is None:
            how = f"about {validation_fraction:.0%} of the entity pairs of train, no pair on both sides"
        empty = tuple(name for name in (NA_TRAIN, NA_REST) if not writer.num_rows[name])
        about = About(name, licence, citation, validation=how, judged=judged, empty_files=empty)
        writer.write_about(about.after("converted from a corpus of (sentence, head, tail, relation)"))
    return Conversion(Path(os.path.abspath(os.path.expanduser(out))), dict(writer.num_rows), tuple(relations))


def _share(bag_id: str, seed: int) -> float:
    """A number in [0, 1) that looks random and depends on the pair and the seed alone."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{bag_id}".encode(), digest_size=8).digest(), "big") / 2**64


def _check_sizes(num_rows: Mapping[str, int], converter: _Converter, drawn: bool) -> None:
    if not converter.num_negative:
        names = sorted(converter.relations - {NEGATIVE_RELATION})
        logger.warning(
            "no row has the negative relation %r, so this corpus is taken to have none; its relations are "
            "%s. `negative_relation` says what the corpus calls it.",
            converter.negative_relation,
            ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else ""),
        )
    for name, what in ((TRAIN, "train with a relation"), (DEV, "validation"), (TEST, "test")):
        if not num_rows[name]:
            hint = (
                " Give a validation file, or a larger `validation_fraction`." if drawn and name == DEV else ""
            )
            raise ValueError(f"there are no rows for {what}; every split needs some.{hint}")
