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
from dataclasses import dataclass

import datasets
import pyarrow as pa
from datasets.exceptions import DatasetGenerationError

from .bags import bag_table, check_bag_key
from .folder import check_bag_labels, content_fingerprint, find_data_folder, read_relations
from .instance_ids import IdRegistry
from .instances import instance_table
from .mentions import check_policy
from .record_lines import RecordError
from .records import Shard, read_blocks, shards
from .schema import (
    CITATION,
    CONFIGS,
    DESCRIPTION,
    HOMEPAGE,
    NA_CHOICES,
    RECORD_FILES,
    UNKNOWN_RELATION_CHOICES,
    bag_features,
    sentence_features,
    split_files,
)

logger = logging.getLogger(__name__)

# Part of the cache key: raised whenever the same files give other rows.
ROWS_VERSION = "1.0.0"
_BAGS_A_TABLE = 10_000


class DataError(DatasetGenerationError, ValueError):
    """A fault in a data file. Both bases: `datasets` passes it on unwrapped, callers catch ValueError."""


@dataclass
class NytHConfig(datasets.BuilderConfig):
    """Options of a configuration.

    Attributes:
        na: NA rows in train: "sampled" (na_train), "all" (na_train and na_rest) or "none".
        mention_policy: which pair of mentions to take where there are several, "first" or "closest".
        unknown_relation: a relation that rel2id.json lacks is an "error", becomes "na", or its rows "drop".
        bag_key: what a row of the config `bag` stands for, a "pair" or a "triple" (with its relation).
    """

    na: str = "sampled"
    mention_policy: str = "first"
    unknown_relation: str = "error"
    bag_key: str = "pair"

    def check(self) -> None:
        """Raise ValueError for an option with an unknown value."""
        check_policy(self.mention_policy)
        check_bag_key(self.bag_key)
        for option, choices in (("na", tuple(NA_CHOICES)), ("unknown_relation", UNKNOWN_RELATION_CHOICES)):
            value = getattr(self, option)
            if value not in choices:
                raise ValueError(f"`{option}` must be one of {', '.join(map(repr, choices))}; got {value!r}.")

    def create_config_id(
        self, config_kwargs: dict[str, object], custom_features: datasets.Features | None = None
    ) -> str:
        """Return the cache key: the content of the files and the options, not the path of the folder."""
        self.check()
        options = [ROWS_VERSION, self.na, self.mention_policy, self.unknown_relation, str(custom_features)]
        if self.name == "bag":
            options.append(self.bag_key)
        return f"{self.name}-{content_fingerprint(find_data_folder(self.data_dir), options)}"


class NytH(datasets.ArrowBasedBuilder):
    """Builder of NYT-H; splits train, validation, test and na.

    `unknown_relations` counts the rows that `unknown_relation` changed or dropped while this object built the
    cache in one process (empty when the cache was there).

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

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Take what `datasets.DatasetBuilder` takes; `data_dir` is the folder of data files or its parent."""
        self.unknown_relations: Counter[str] = Counter()
        self._extra_keys: set[str] = set()
        self._counted: set[Shard] = set()
        self._num_proc = 1
        super().__init__(*args, **kwargs)

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
        paths = [str(folder / name) for name in RECORD_FILES]
        files = dict(zip(RECORD_FILES, (shards(path, n) for n, path in enumerate(paths)), strict=True))
        self._ids = IdRegistry(paths)
        if self._num_proc > 1:
            self._compare_ids([part for parts in files.values() for part in parts], paths)
        # A list is what several processes share out among them; a bag needs its whole split, hence a tuple.
        kind = tuple if self.config.name == "bag" else list
        return [
            datasets.SplitGenerator(
                name=split, gen_kwargs={"parts": kind(p for name in names for p in files[name])}
            )
            for split, names in split_files(self.config.na).items()
        ]

    def download_and_prepare(self, *args: object, num_proc: int | None = None, **kwargs: object) -> None:
        """Build the cache unless it is there; see `datasets.DatasetBuilder.download_and_prepare`."""
        self._num_proc = num_proc or 1
        super().download_and_prepare(*args, num_proc=num_proc, **kwargs)

    def _compare_ids(self, parts: list[Shard], paths: list[str]) -> None:
        """Look for duplicate ids before several processes build, each of which sees only its own parts."""
        ids = IdRegistry(paths)
        try:
            for part in parts:
                for block in read_blocks(part):
                    ids.add(block)
        except RecordError as error:
            raise DataError(str(error)) from error

    def _generate_tables(self, parts: Sequence[Shard]) -> Iterator[tuple[str, pa.Table]]:
        try:
            if self.config.name == "bag":
                yield from self._bag_tables(parts)
            else:
                yield from self._instance_tables(parts)
        except RecordError as error:
            raise DataError(str(error)) from error

    def _instance_tables(self, parts: Sequence[Shard]) -> Iterator[tuple[str, pa.Table]]:
        relations = read_relations(find_data_folder(self.config.data_dir))
        schema = sentence_features(relations).arrow_schema
        for part in parts:
            unknown: Counter[str] = Counter()
            for block in read_blocks(part):
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

    def _bag_tables(self, parts: Sequence[Shard]) -> Iterator[tuple[str, pa.Table]]:
        """A bag may have its rows anywhere in the split, so the split is read first."""
        tables = [table for _, table in self._instance_tables(parts)]
        if not tables:
            return
        relations = read_relations(find_data_folder(self.config.data_dir))
        schema = bag_features(relations).arrow_schema
        bags = bag_table(pa.concat_tables(tables), relations, bag_key=self.config.bag_key, schema=schema)
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
