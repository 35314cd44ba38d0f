"""NYT-H as a `datasets` builder: a class for every version, and the loading script of datasets before 4.

The data files hold one JSON object a line::

    {"instance_id": "TEST#0", "bag_id": "TEST#0", "relation": "/location/location/contains",
     "bag_label": "no", "sentence": "...", "head": {"guid": "/guid/9202...", "word": "...", "type": "..."},
     "tail": {...}}

``load_dataset("./nyt_h_dataset", "sentence", data_dir=..., trust_remote_code=True)`` on datasets < 4; on
every version `nyt_h_dataset.load_nyt_h`. The script loader copies exactly the siblings that this file
imports, so it imports, by name and at column 0, every sibling that they import in turn.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
from datasets.exceptions import DatasetGenerationError

from .about import about_of
from .archive import find_archive, unpack
from .bags import bag_table, mixed_order
from .configuration import ROWS_VERSION, NytHConfig
from .folder import (
    check_bag_labels,
    data_paths,
    find_data_folder,
    is_older_release,
    is_prepared,
    read_relations,
)
from .folding import fold
from .instance_ids import IdRegistry, RecordFile, RepeatedIds
from .instances import instance_table
from .mentions import locate
from .record_lines import NytHError, RecordError
from .records import Shard, array_items, interleaved, is_array, read_ahead, read_blocks
from .schema import (
    ALL_ROWS,
    CITATION,
    CONFIGS,
    DESCRIPTION,
    HOMEPAGE,
    NEGATIVE_RELATION,
    OLDER_NA,
    OLDER_RECORD_FILES,
    PREPARED_RECORD_FILES,
    RECORD_FILES,
    bag_features,
    older_split_files,
    prepared_split_files,
    sentence_features,
    split_files,
)

logger = logging.getLogger(__name__)

_BAGS_A_TABLE = 10_000
# Of a stream: short enough that its first rows hold NA rows and others in their shares.
_STREAMED_BYTES = 1 << 17
_SHARD_BYTES = 1 << 26
# The siblings that only siblings use are named here, so that the script loader copies them too.
_COPIED_WITH_THE_SCRIPT = (array_items, fold, locate)


class DataError(NytHError, DatasetGenerationError, ValueError):
    """A fault in a data file. Why the bases: `datasets` passes it on unwrapped, callers catch ValueError."""


@contextmanager
def _cache_faults(cache_dir: str | None, data_dir: object) -> Iterator[None]:
    """Say of a fault of the cache's disk what it is; `datasets` removes what was half built."""
    try:
        yield
    except (OSError, DatasetGenerationError) as error:
        fault = error if isinstance(error, OSError) else error.__cause__
        # Faults of the data files (not readable, say) and of their content have messages of their own.
        if not isinstance(fault, OSError) or fault.errno is None or isinstance(fault, FileNotFoundError):
            raise
        if data_dir is not None and str(fault.filename or "").startswith(str(data_dir)):
            raise
        where = cache_dir or datasets.config.HF_DATASETS_CACHE
        raise OSError(
            fault.errno,
            f"the cache {where} cannot be written ({fault}). Nothing half built is left in it; free space "
            "there, or pass another `cache_dir`",
        ) from error


class NytH(datasets.ArrowBasedBuilder):
    """Builder of NYT-H; splits train, validation, test and na.

    `unknown_relations` counts the rows that `unknown_relation` changed or dropped, `repairs` what `irregular`
    repaired ("repeated ids", "null types"), while this object built the cache in one process (empty when the
    cache was there). Rows that two splits have count once.

    >>> NytH(config_name="sentence", data_dir=None)
    Traceback (most recent call last):
    ValueError: `data_dir` is needed: ...
    """

    VERSION = datasets.Version(ROWS_VERSION)
    BUILDER_CONFIG_CLASS = NytHConfig
    BUILDER_CONFIGS = [  # noqa: RUF012 - the name and type that datasets reads
        NytHConfig(name=name, version=datasets.Version(ROWS_VERSION), description=DESCRIPTION)
        for name in CONFIGS
    ]
    DEFAULT_CONFIG_NAME = "sentence"

    def __init__(self, cache_dir: str | None = None, *args: object, **kwargs: object) -> None:
        """Take what `datasets.DatasetBuilder` takes.

        `data_dir` is the folder of data files, its parent, the authors' archive or the folder that holds it.
        An archive is unpacked into the cache first.
        """
        self.unknown_relations: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self._repeated: RepeatedIds | None = None
        self._extra_keys: set[str] = set()
        self._counted: set[Shard] = set()
        self._repaired_places: set[tuple[int, int]] = set()
        self._num_proc = 1
        for option in ("na", "bag_key", "mention_policy", "unknown_relation", "irregular"):
            # `datasets` would take None for the default.
            if option in kwargs and kwargs[option] is None:
                raise ValueError(f"`{option}` must be a string; got None.")
        given = kwargs.get("data_dir")
        archive = None if given is None else find_archive(str(given))
        if archive is not None:
            kwargs["data_dir"] = str(unpack(archive, cache_dir or datasets.config.HF_DATASETS_CACHE))
        with _cache_faults(cache_dir, kwargs.get("data_dir")):
            super().__init__(cache_dir, *args, **kwargs)
        self._key = self.config_id.rpartition("-")[2]

    def _info(self) -> datasets.DatasetInfo:
        folder = find_data_folder(self.config.data_dir)
        check_bag_labels(folder)
        features = bag_features if self.config.name == "bag" else sentence_features
        return datasets.DatasetInfo(
            description=DESCRIPTION,
            features=features(read_relations(folder)),
            homepage=HOMEPAGE,
            citation=CITATION,
        )

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        folder = find_data_folder(self.config.data_dir)
        streams = bool(getattr(dl_manager, "is_streaming", False))
        files, portions = self._files(folder, streams=streams)
        na_set = OLDER_RECORD_FILES.index(OLDER_NA) if is_older_release(folder) else None
        self._ids = IdRegistry(files, na_set=na_set)
        if self.config.irregular == "repair":
            try:
                self._repeated = RepeatedIds(files, na_set=na_set)
            except RecordError as error:
                raise DataError(str(error)) from error
        elif self._num_proc > 1:
            self._compare_ids(files, IdRegistry(files, na_set=na_set))
        # A list is what several processes share out among them; a bag needs its whole split, hence a tuple.
        kind = tuple if self.config.name == "bag" else list
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"parts": kind(parts), "mixed": streams})
            for split, parts in portions.items()
            # Of a corpus without rows of the negative relation: `datasets` reads no empty split.
            if parts
        ]

    def _files(self, folder: Path, *, streams: bool) -> tuple[list[RecordFile], dict[str, list[Shard]]]:
        """The record files, and what each split reads of them."""
        na, paths = self.config.na, data_paths(folder)
        names: tuple[str, ...]
        if is_older_release(folder):
            names, plan = OLDER_RECORD_FILES, older_split_files(na)
        elif is_prepared(folder):
            names, plan = PREPARED_RECORD_FILES, prepared_split_files(na)
        else:
            names = RECORD_FILES
            plan = {split: tuple((n, ALL_ROWS) for n in s) for split, s in split_files(na).items()}
        lines = names == RECORD_FILES
        empty = {name for name in about_of(folder).empty_files if not paths[name].stat().st_size}
        files = [
            RecordFile(
                str(paths[name]),
                array=not lines and is_array(paths[name]),
                is_empty=name in empty,
                null_types=self.config.irregular == "repair",
            )
            for name in names
        ]
        # A bag needs its whole split; in a stream its rows are read as they lie, and the bags mixed.
        size = _STREAMED_BYTES if streams and self.config.name != "bag" else _SHARD_BYTES
        portions: dict[str, list[Shard]] = {}
        for split, wanted in plan.items():
            of_files = [
                [shard._replace(kept=kept) for shard in file.shards(number, shard_bytes=size)]
                for number, file, kept in (
                    (names.index(name), files[names.index(name)], kept) for name, kept in wanted
                )
            ]
            portions[split] = (
                interleaved(of_files) if size == _STREAMED_BYTES else [*chain.from_iterable(of_files)]
            )
        return files, portions

    def download_and_prepare(self, *args: object, num_proc: int | None = None, **kwargs: object) -> None:
        """Build the cache unless it is there; see `datasets.DatasetBuilder.download_and_prepare`."""
        self._num_proc = num_proc or 1
        with _cache_faults(self.cache_dir, self.config.data_dir):
            super().download_and_prepare(*args, num_proc=num_proc, **kwargs)

    def _download_and_prepare(self, *args: object, **kwargs: object) -> None:
        super()._download_and_prepare(*args, **kwargs)
        # Inside the lock and before the cache gets its name.
        if self.config.key() != self._key:
            raise DataError(
                f"a file in {self.config.data_dir} was replaced or written to while the cache was built "
                "from it; nothing was kept. Load again when the files are complete."
            )

    def _compare_ids(self, files: list[RecordFile], ids: IdRegistry) -> None:
        """Look for duplicate ids before several processes build, each of which sees only its own parts."""
        try:
            for number, file in enumerate(files):
                for part in file.shards(number):
                    for block in read_blocks(part):
                        ids.add(block)
            ids.check()
        except RecordError as error:
            raise DataError(str(error)) from error

    def _generate_tables(self, parts: Sequence[Shard], mixed: bool) -> Iterator[tuple[str, pa.Table]]:
        try:
            if self.config.name == "bag":
                yield from self._bag_tables(parts, mixed=mixed)
            else:
                yield from self._instance_tables(parts)
        except RecordError as error:
            raise DataError(str(error)) from error

    def _instance_tables(self, parts: Sequence[Shard]) -> Iterator[tuple[str, pa.Table]]:
        relations = read_relations(find_data_folder(self.config.data_dir))
        schema = sentence_features(relations).arrow_schema
        for part in parts:
            unknown: Counter[str] = Counter()
            repairs: Counter[str] = Counter()
            for block in read_ahead(read_blocks(part)):
                if self._repeated is not None:
                    block, num_ids = self._repeated.made_unique(block)
                    if (part.number, block.offset) not in self._repaired_places:
                        repairs += Counter({"repeated ids": num_ids, "null types": block.num_null_types})
                    self._repaired_places.add((part.number, block.offset))
                self._ids.add(block)
                self._report_extra_keys(block.extra_keys, part.path)
                table, unknown_here = instance_table(
                    block,
                    relations,
                    unknown_relation=self.config.unknown_relation,
                    mention_policy=self.config.mention_policy,
                    schema=schema,
                )
                unknown += unknown_here
                if table.num_rows:
                    yield f"{part.number}:{block.offset}", table
            self._report_unknown(unknown, part)
            if repairs:
                self.repairs += repairs
                logger.warning(
                    "%s: %d instance ids that were there before got a number (X|2), and %d entity types that "
                    'were null became "".',
                    part.path,
                    repairs["repeated ids"],
                    repairs["null types"],
                )
        self._ids.check()

    def _bag_tables(self, parts: Sequence[Shard], *, mixed: bool) -> Iterator[tuple[str, pa.Table]]:
        """A bag may have its rows anywhere in the split, so the split is read first."""
        tables = [table for _, table in self._instance_tables(parts)]
        if not tables:
            return
        relations = read_relations(find_data_folder(self.config.data_dir))
        schema = bag_features(relations).arrow_schema
        bags = bag_table(pa.concat_tables(tables), relations, bag_key=self.config.bag_key, schema=schema)
        if mixed:
            negative = relations.index(NEGATIVE_RELATION)
            is_na = np.array([set(found) == {negative} for found in bags["relations"].to_pylist()])
            bags = bags.take(mixed_order(is_na))
        for start in range(0, bags.num_rows, _BAGS_A_TABLE):
            yield f"bags:{start}", bags.slice(start, _BAGS_A_TABLE)

    def _report_extra_keys(self, keys: tuple[str, ...], path: str) -> None:
        new = [key for key in keys if key not in self._extra_keys]
        if new:
            self._extra_keys.update(new)
            logger.warning("%s: keys that NYT-H does not have are kept out: %s.", path, ", ".join(new))

    def _report_unknown(self, unknown: Counter[str], part: Shard) -> None:
        # na_train.json serves two splits, and a stream may be read again: each part counts once.
        if unknown and part not in self._counted:
            self._counted.add(part)
            self.unknown_relations += unknown
            logger.warning(
                "%s: %d rows with a relation that rel2id.json lacks %s: %s.",
                part.path,
                unknown.total(),
                "became NA" if self.config.unknown_relation == "na" else "were dropped",
                ", ".join(f"{name} ({count})" for name, count in unknown.most_common(10)),
            )
