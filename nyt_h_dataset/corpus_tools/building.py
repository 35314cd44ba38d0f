"""`build_corpus`: a distantly supervised corpus -> a data set made as NYT-H was."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..about import read_about
from ..loading import load_nyt_h
from ..record_lines import ENTITIES, ENTITY_KEYS
from ..schema import (
    BAG_LABELS,
    DEV,
    NA_REST,
    NA_TRAIN,
    NEGATIVE_RELATION,
    RECORD_FILES,
    TEST,
    TRAIN,
    UNK,
    YES,
)
from .release_folder import pair_id, relation_order, release_folder

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

SPLIT_CHOICES = ("pair", "instance", "keep")


def joint_codes(*columns: Rows) -> Rows:
    """Return one number per row, the same exactly where all `columns` (non-negative numbers) are the same.

    >>> joint_codes(np.array([0, 0, 5]), np.array([1, 1, 1])).tolist()
    [0, 0, 1]
    """
    codes = columns[0]
    for column in columns[1:]:
        # Numbered anew each time, so that the product stays below the square of the number of rows.
        _, codes = np.unique(codes, return_inverse=True)
        _, column = np.unique(column, return_inverse=True)
        codes = codes * (int(column.max(initial=0)) + 1) + column
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def first_rows(codes: Rows) -> Rows:
    """Return for each row the first row with the same code; a row that is its own first repeats nothing.

    >>> first_rows(np.array([7, 8, 7, 7])).tolist()
    [0, 1, 0, 0]
    """
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return first[which]


def unfit_relations(
    *,
    train_rows: Mapping[str, int],
    test_rows: Mapping[str, int],
    test_yes_rows: Mapping[str, int],
    min_train: int,
    require_yes: bool = True,
) -> dict[str, str]:
    """Return the relations that cannot be learned or evaluated, each with the first reason that holds.

    The reasons, in this order: "missing in train", "missing in test", "fewer than <min_train> rows in train",
    "no yes in test" (with `require_yes`). A relation that a mapping lacks has no rows there.

    >>> unfit_relations(train_rows={"a": 9, "b": 2, "c": 9}, test_rows={"a": 3, "b": 3},
    ...                 test_yes_rows={"b": 1}, min_train=5)
    {'a': 'no yes in test', 'b': 'fewer than 5 rows in train', 'c': 'missing in test'}

    Reference: Zhu et al. 2020, section 3.
    """
    unfit = {}
    for name in sorted({*train_rows, *test_rows}):
        if not train_rows.get(name):
            unfit[name] = "missing in train"
        elif not test_rows.get(name):
            unfit[name] = "missing in test"
        elif train_rows[name] < min_train:
            unfit[name] = f"fewer than {min_train} rows in train"
        elif require_yes and not test_yes_rows.get(name):
            unfit[name] = "no yes in test"
    return unfit


def dev_rows(pairs: Rows, relations: Rows, *, fraction: float, split_by: str, seed: int) -> Mask:
    """Return which rows become dev, shape (rows,): about ``round(fraction * rows)`` of them, never more.

    `pairs` says which entity pair each row is about, `relations` which relation it has. "instance" draws rows
    one by one, as Zhu et al. did, so that a pair can be on both sides; "pair" draws whole pairs while they
    fit. No relation loses its last row, or pair, to dev; of the others, the smallest pair of each is drawn
    first, so that dev has them too.

    >>> dev_rows(np.array([0, 0, 1, 1, 2]), np.array([5, 5, 5, 5, 6]), fraction=0.5, split_by="pair",
    ...          seed=0).tolist() in ([True, True, False, False, False], [False, False, True, True, False])
    True
    """
    rng = random.Random(seed)
    target = round(fraction * len(pairs))
    units = np.arange(len(pairs)) if split_by == "instance" else np.unique(pairs, return_inverse=True)[1]
    sizes = np.bincount(units).tolist()
    of_unit: list[set[int]] = [set() for _ in sizes]
    for unit, relation in zip(units.tolist(), relations.tolist(), strict=True):
        of_unit[unit].add(relation)
    left = Counter(relation for found in of_unit for relation in found)
    order = rng.sample(range(len(sizes)), len(sizes))
    smallest: dict[int, int] = {}
    for unit in sorted(order, key=sizes.__getitem__):
        for relation in of_unit[unit]:
            smallest.setdefault(relation, unit)
    first = [smallest[relation] for relation in sorted(smallest, key=lambda name: (left[name], name))]
    chosen = np.zeros(len(sizes), bool)
    num_rows = 0
    for unit in [*first, *order]:
        if chosen[unit] or num_rows + sizes[unit] > target or any(left[name] < 2 for name in of_unit[unit]):
            continue
        chosen[unit] = True
        num_rows += sizes[unit]
        left.subtract(of_unit[unit])
    return chosen[units]


def bags_for_test(rows: PooledRows, *, size: int, seed: int) -> Mask:
    """Return the rows of `size` random pairs with a relation that are outside test and not in it.

    Reference: Zhu et al. 2020, section 3 (bags of train are moved at random into the set to be judged).
    """
    free = ~rows.in_test & ~rows.negative & ~np.isin(rows.pair, rows.pair[rows.in_test])
    pairs = np.unique(rows.pair[free])
    drawn = random.Random(seed).sample(pairs.tolist(), min(size, len(pairs)))
    return free & np.isin(rows.pair, np.array(drawn, np.int64))


def needless_na_rows(content: Rows, *, negative: Mask) -> Mask:
    """Return which rows are NA rows whose `content` (sentence and pair) another row has already.

    That is a row with a relation, wherever it stands, or an earlier NA row.

    >>> needless_na_rows(np.array([4, 4, 5, 5]), negative=np.array([True, False, True, True])).tolist()
    [True, False, False, True]
    """
    order = np.argsort(negative, kind="stable")
    repeats = np.empty(len(content), bool)
    repeats[order] = first_rows(content[order]) != np.arange(len(content))
    return repeats & negative


def na_sample(rows: Rows, *, size: int, seed: int) -> Rows:
    """Return `size` of the `rows` (all where there are fewer), drawn at random, in their order.

    >>> na_sample(np.array([3, 5, 8]), size=7, seed=0).tolist()
    [3, 5, 8]
    """
    drawn = random.Random(seed).sample(range(len(rows)), min(size, len(rows)))
    return rows[np.sort(np.array(drawn, np.int64))]


# Of rows that are alike the first stays, so test comes first.
SPLITS = ("test", "train", "validation")
_SLICE_ROWS = 10_000


@dataclass(frozen=True)
class PooledRows:
    """The rows of a corpus, those of test first; every array has the shape (rows,).

    `relation` and `answer` are ids that may be changed, `table` holds what came in; `pair` and `sentence` are
    the same number where these are the same (sentences without outer blanks).
    """

    negative_id: int
    table: pa.Table
    relation: Rows
    answer: Rows
    pair: Rows
    sentence: Rows
    in_test: Mask
    in_dev: Mask

    @property
    def negative(self) -> Mask:
        """Which rows are of the negative relation."""
        return self.relation == self.negative_id

    def only(self, kept: Mask) -> PooledRows:
        """Return the `kept` rows, in order."""
        arrays = {field.name: getattr(self, field.name)[kept] for field in fields(self)[2:]}
        return PooledRows(self.negative_id, self.table.filter(pa.array(kept)), **arrays)


def pool_rows(data: Mapping[str, datasets.Dataset], negative_id: int) -> PooledRows:
    """Return the rows of the splits of the `sentence` config; `negative_id` is the id of NA."""
    kept = ["instance_id", "relation", "bag_label", "sentence", "head", "tail"]
    tables = [data[split].select_columns(kept).with_format("arrow")[:] for split in SPLITS]
    table = pa.concat_tables(tables).combine_chunks()
    origin = np.repeat(np.array(SPLITS), [len(part) for part in tables])
    return PooledRows(
        negative_id=negative_id,
        table=table,
        relation=table["relation"].to_numpy().copy(),
        answer=table["bag_label"].to_numpy().copy(),
        pair=joint_codes(*(_codes(_guids(table[entity])) for entity in ENTITIES)),
        sentence=_codes(pc.utf8_trim_whitespace(table["sentence"])),
        in_test=origin == "test",
        in_dev=origin == "validation",
    )


def _guids(entity: pa.ChunkedArray) -> pa.ChunkedArray:
    """The guids; where one is empty, the word stands for it, as in the bags."""
    guid, word = (pc.struct_field(entity, name) for name in ("guid", "word"))
    return pc.if_else(pc.equal(guid, ""), word, guid)


def _codes(column: pa.ChunkedArray) -> Rows:
    return column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)


def row_records(rows: PooledRows, numbers: Rows, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of these `numbers` as records of a data file; `names` are the relations by their ids."""
    for start in range(0, len(numbers), _SLICE_ROWS):
        part = numbers[start : start + _SLICE_ROWS]
        for number, row in zip(part, rows.table.take(pa.array(part)).to_pylist(), strict=True):
            head, tail = ({key: row[entity][key] for key in ENTITY_KEYS} for entity in ENTITIES)
            yield {
                "instance_id": row["instance_id"],
                "bag_id": pair_id(head["guid"] or head["word"], tail["guid"] or tail["word"]),
                "relation": names[rows.relation[number]],
                "bag_label": BAG_LABELS[rows.answer[number]],
                "sentence": row["sentence"],
                "head": head,
                "tail": tail,
            }


@dataclass(frozen=True)
class DroppedRelation:
    """Why a relation became NA, and how many rows it had (repeated rows not counted)."""

    reason: str
    train_rows: int
    test_rows: int


@dataclass(frozen=True)
class Built:
    """What `build_corpus` wrote and what became of every row.

    `rows_in` counts the rows per split (train with all NA rows), `rows_out` per file. The rows that came in
    are those of `rows_out` and the four kinds of dropped rows: `duplicates_in_train`
    and `duplicates_in_test` repeat a row of their own side, `duplicates_of_test` are rows of train, dev or NA
    that are also in test, `na_repeats` NA rows whose sentence and pair are there with a relation, or twice.
    `conflicting_answers` of the duplicates in test have another answer than the row that stayed;
    `answers_lost` yes and no answers were about a relation that became NA. `moved_to_test` rows of train went
    to test; the relations `not_in_dev` are in train only, their one pair stayed there (or nothing fitted).
    """

    path: Path
    relations: tuple[str, ...]
    rows_in: Mapping[str, int]
    rows_out: Mapping[str, int]
    duplicates_in_train: int
    duplicates_in_test: int
    duplicates_of_test: int
    na_repeats: int
    conflicting_answers: int
    answers_lost: int
    moved_to_test: int
    not_in_dev: tuple[str, ...]
    dropped_relations: Mapping[str, DroppedRelation]

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return asdict(self) | {"path": str(self.path), "relations": list(self.relations)}


def build_corpus(
    data_dir: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    min_train: int = 100,
    require_yes: bool = True,
    split_by: str = "pair",
    dev_fraction: float = 0.1,
    na_ratio: float = 1.0,
    test_bags: int = 0,
    seed: int = 0,
    overwrite: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    num_proc: int | None = None,
) -> Built:
    """Make a data set of the corpus in `data_dir` as NYT-H was made; write it to `out` and say what was done.

    1. Rows that repeat a row (pair, relation, sentence without outer blanks) are dropped; of a row that is
       in test as well, the one in test stays.
    2. Relations with fewer than `min_train` rows outside test, without a yes in test, or missing on one side
       become NA; the answers about them become unk. An NA row whose sentence and pair are there with a
       relation, or in an earlier NA row, is dropped.
    3. Dev is taken from the rows with a relation: about `dev_fraction` of them, by "pair" (no pair is on both
       sides) or by "instance" (as Zhu et al. did); "keep" leaves dev as it is. Every relation stays in train.
    4. na_train.json gets a sample of the NA rows, `na_ratio` times as many as train has others, na_rest.json
       the rest: at least one row, and all NA rows of test and (by "pair") of the pairs of dev. Dev and test
       hold no NA rows.

    The corpus is in NYT-H's format; `convert_corpus` brings one into it. Rows keep their `instance_id`;
    `bag_id` is made anew of the pair, since rows move between files. The rows are held in memory as Arrow
    columns, about as large as the files.

    Args:
        data_dir: the corpus, as for `load_nyt_h`, like `cache_dir` and `num_proc`.
        out: the folder to write; new or empty.
        test_bags: so many random pairs with a relation move from train to test, to be judged there (unk).
        require_yes: False keeps relations without a yes in test, for a corpus that is still to be judged.
        seed: draws dev and the NA sample; the same seed and corpus give the same bytes.
        overwrite: replace a folder that holds a data set in this layout and nothing else.

    Raises:
        FileNotFoundError: `data_dir` or a file in it is not there.
        TypeError: `seed` is not an int.
        ValueError: an unknown option, a fault in a data file, no relation or no rows left, an `out` that is
            not free.

    >>> import tempfile
    >>> from nyt_h_dataset import write_sample
    >>> with tempfile.TemporaryDirectory() as root:
    ...     info = write_sample(root + "/data", size="tiny")
    ...     built = build_corpus(root, root + "/out", min_train=10, cache_dir=root + "/cache")
    >>> built.rows_out["train_nonna.json"] >= built.rows_out["na_train.json"] > 0
    True

    Reference: Zhu et al. 2020, section 3.
    """
    _check_options(min_train, split_by, dev_fraction, na_ratio, seed)
    if isinstance(test_bags, bool) or not isinstance(test_bags, int) or test_bags < 0:
        raise ValueError(f"`test_bags` must be an int, 0 or more; got {test_bags!r}.")
    # The one road to checked rows; mentions are found on the way and not needed.
    data = load_nyt_h(data_dir, na="all", cache_dir=cache_dir, num_proc=num_proc)
    names = data["test"].features["relation"].names
    rows = pool_rows(data, names.index(NEGATIVE_RELATION))
    first = first_rows(joint_codes(rows.pair, rows.sentence, rows.relation))
    repeated = first != np.arange(len(first))
    if require_yes and (rows.answer[rows.in_test & ~rows.negative] == UNK).all():
        raise ValueError(
            f"{data_dir}: no row of test with a relation is judged yes or no, so no relation has a yes. Have "
            "test judged first (write_sheet and merge_answers, or the commands sheet and merge), or pass "
            "require_yes=False (--without_yes)."
        )
    stays = rows.only(~repeated)
    moved = bags_for_test(stays, size=test_bags, seed=seed)
    stays.in_test[moved], stays.in_dev[moved], stays.answer[moved] = True, False, UNK
    dropped, left = _drop_relations(stays, names, min_train=min_train, require_yes=require_yes)
    changed = np.isin(stays.relation, [names.index(name) for name in dropped])
    answers_lost = int((changed & (stays.answer != UNK)).sum())
    stays.relation[changed], stays.answer[changed] = rows.negative_id, UNK
    needless = needless_na_rows(joint_codes(stays.pair, stays.sentence), negative=stays.negative)
    stays = stays.only(~needless)
    files = _files(stays, split_by=split_by, dev_fraction=dev_fraction, na_ratio=na_ratio, seed=seed)
    rows_out = {name: int((files == name).sum()) for name in RECORD_FILES}
    _check_sizes(rows_out, dropped)
    relations = relation_order(left)
    about = read_about(data_dir, cache_dir=cache_dir)
    how = {
        "pair": f"about {dev_fraction:.0%} of the rows of train, by entity pair: no pair is on both sides",
        "instance": f"{dev_fraction:.0%} of the rows of train, row by row: entity pairs are on both sides",
        "keep": about.validation,
    }
    about = about.after("built as NYT-H was (Zhu et al. 2020, section 3)", validation=how[split_by])
    with release_folder(out, overwrite=overwrite) as writer:
        for name in RECORD_FILES:
            for record in row_records(stays, np.flatnonzero(files == name), names):
                writer.write(name, record)
        writer.write_labels(relations)
        writer.write_about(about)
    return Built(
        path=Path(os.path.abspath(os.path.expanduser(out))),
        relations=tuple(relations),
        rows_in={split: data[split].num_rows for split in SPLITS},
        rows_out=rows_out,
        duplicates_in_train=int((repeated & ~rows.in_test[first]).sum()),
        duplicates_in_test=int((repeated & rows.in_test).sum()),
        duplicates_of_test=int((repeated & ~rows.in_test & rows.in_test[first]).sum()),
        na_repeats=int(needless.sum()),
        conflicting_answers=int((repeated & rows.in_test & (rows.answer != rows.answer[first])).sum()),
        answers_lost=answers_lost,
        moved_to_test=int(moved.sum()),
        not_in_dev=_only_in_train(stays, files, names),
        dropped_relations=dropped,
    )


def _drop_relations(
    rows: PooledRows, names: list[str], *, min_train: int, require_yes: bool
) -> tuple[dict[str, DroppedRelation], set[str]]:
    """The relations that become NA, and those that stay."""
    train, test, yes = (
        Counter(names[number] for number in rows.relation[~rows.negative & side].tolist())
        for side in (~rows.in_test, rows.in_test, rows.in_test & (rows.answer == YES))
    )
    unfit = unfit_relations(
        train_rows=train, test_rows=test, test_yes_rows=yes, min_train=min_train, require_yes=require_yes
    )
    dropped = {name: DroppedRelation(reason, train[name], test[name]) for name, reason in unfit.items()}
    return dropped, {*train, *test} - set(dropped)


def _only_in_train(rows: PooledRows, files: NDArray[np.str_], names: list[str]) -> tuple[str, ...]:
    train, dev = (np.unique(rows.relation[files == name]) for name in (TRAIN, DEV))
    return tuple(names[number] for number in np.setdiff1d(train, dev))


def _files(
    rows: PooledRows, *, split_by: str, dev_fraction: float, na_ratio: float, seed: int
) -> NDArray[np.str_]:
    """The file that each row goes to."""
    files = np.full(rows.table.num_rows, NA_REST, dtype="U32")
    files[~rows.negative & rows.in_test] = TEST
    pool = np.flatnonzero(~rows.negative & ~rows.in_test)
    if split_by == "keep":
        chosen = rows.in_dev[pool]
    else:
        chosen = dev_rows(
            rows.pair[pool], rows.relation[pool], fraction=dev_fraction, split_by=split_by, seed=seed
        )
    files[pool[chosen]], files[pool[~chosen]] = DEV, TRAIN
    free = rows.negative & ~rows.in_test
    if split_by == "pair":
        free &= ~np.isin(rows.pair, rows.pair[pool[chosen]])
    # One NA row stays in na_rest.json, since no file of the layout may be empty.
    size = min(round(na_ratio * int((~chosen).sum())), int(rows.negative.sum()) - 1)
    files[na_sample(np.flatnonzero(free), size=max(size, 0), seed=seed)] = NA_TRAIN
    return files


def _check_options(min_train: int, split_by: str, dev_fraction: float, na_ratio: float, seed: int) -> None:
    for name, value in (("seed", seed), ("min_train", min_train)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"`{name}` must be an int; got {value!r}.")
    if min_train < 1:
        raise ValueError(f"`min_train` must be at least 1; got {min_train}.")
    if split_by not in SPLIT_CHOICES:
        raise ValueError(
            f"`split_by` must be one of {', '.join(map(repr, SPLIT_CHOICES))}; got {split_by!r}."
        )
    if not 0 < dev_fraction < 1:
        raise ValueError(f"`dev_fraction` must lie between 0 and 1; got {dev_fraction!r}.")
    if not na_ratio > 0:
        raise ValueError(f"`na_ratio` must be greater than 0; got {na_ratio!r}.")


def _check_sizes(rows_out: Mapping[str, int], dropped: Mapping[str, DroppedRelation]) -> None:
    if not rows_out[TEST]:
        name, why = next(iter(dropped.items()), ("", None))
        shown = f", for instance {name!r}: {why.reason}" if why else ""
        raise ValueError(
            f"no relation is left ({len(dropped)} dropped{shown}); a smaller `min_train` keeps more of them."
        )
    for name, remedy in (
        (TRAIN, "a smaller `dev_fraction` leaves more there"),
        (DEV, "a larger `dev_fraction` puts more there"),
        (
            NA_TRAIN,
            "the corpus needs at least two NA rows, of them one that is neither in test nor, with "
            "split_by='pair', about a pair of dev",
        ),
    ):
        if not rows_out[name]:
            raise ValueError(f"no rows are left for {name}; {remedy}.")
