"""`export_nyt_h`: NYT-H as Parquet files with a card, which plain `load_dataset` reads on every version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCardData
from numpy.typing import NDArray

from hub_cards import staged_folder

from ..about import read_about
from ..bags import mixed_order
from ..loading import load_nyt_h
from ..schema import CONFIGS, NEGATIVE_RELATION
from .benchmark import EVAL_YAML
from .corpus_statistics import card_statistics, flat_table
from .figures import draw_figures
from .text import FIGURES_FOLDER, card_metadata, card_text
from .verification import has_published_example, published_checks

README = "README.md"
# Small enough that a stream has its first rows soon.
_ROWS_PER_GROUP = 10_000
# Of a Parquet file: a stream is shared out among workers, and shuffled, file by file.
_ROWS_PER_FILE = 25_000
_STATISTICS_COLUMNS = ["instance_id", "relation", "bag_id", "bag_label", "mention_status", "head", "tail"]


@dataclass(frozen=True)
class ExportInfo:
    """What `export_nyt_h` wrote: the folder, rows per config and split, and the size of the Parquet files.

    `is_synthetic` is True for the corpus that `write_sample` makes.
    """

    path: Path
    num_rows: Mapping[str, Mapping[str, int]]
    num_bytes: int
    is_synthetic: bool


def export_nyt_h(
    data_dir: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    na: str = "sampled",
    bag_key: str = "pair",
    mention_policy: str = "first",
    unknown_relation: str = "error",
    irregular: str = "error",
    figures: bool = True,
    overwrite: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    num_proc: int | None = None,
    repo_id: str = "PATH_OR_REPO_ID",
) -> ExportInfo:
    """Write both configs to `out` as Parquet with a card, and return what was written.

    `out` then holds ``<config>/<split>-00000-of-00001.parquet`` (several files of a large split), README.md
    (the card, with the features and sizes in its metadata) and, with `figures`, two pictures.
    ``load_dataset(out, "bag")`` gives the rows of `load_nyt_h` on every version of `datasets`, streaming too:
    the Parquet files carry no metadata of one version, the features come from the card. In train the NA rows
    are mixed among the others in their shares, so that the beginning of a stream is like the whole; both
    kinds keep their order. The folder appears as a whole or not at all.

    Args:
        data_dir: as for `load_nyt_h`, like `na`, `bag_key`, `mention_policy`, `unknown_relation`,
            `irregular`, `cache_dir` and `num_proc`.
        out: the folder to write; new or empty.
        figures: draw the pictures (needs matplotlib, the extra `plots`).
        overwrite: replace an earlier export; a folder with anything else in it is refused all the same.
        repo_id: where the card says that the data are loaded from.

    Raises:
        FileNotFoundError: `data_dir` or a file in it is not there.
        ValueError: an unknown option, a fault in a data file, or an `out` that is not free.
        ImportError: `figures` without matplotlib.

    >>> import tempfile
    >>> from nyt_h_dataset import write_sample
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sample = write_sample(folder + "/data", size="tiny")
    ...     info = export_nyt_h(folder, folder + "/out", cache_dir=folder + "/cache", figures=False)
    >>> info.num_rows["sentence"]["test"], list(info.num_rows)
    (90, ['sentence', 'bag'])
    """
    options = {"na": na, "bag_key": bag_key, "mention_policy": mention_policy}
    replaceable = (README, FIGURES_FOLDER, EVAL_YAML, *CONFIGS)
    with staged_folder(out, overwrite=overwrite, replaceable=replaceable) as folder:
        loaded = {
            config: load_nyt_h(
                data_dir,
                config,
                na=na,
                bag_key=bag_key,
                mention_policy=mention_policy,
                unknown_relation=unknown_relation,
                irregular=irregular,
                cache_dir=cache_dir,
                num_proc=num_proc,
            )
            for config in CONFIGS
        }
        relations = loaded["sentence"]["test"].features["relation"].names
        infos = {config: _write_config(data, relations, folder / config) for config, data in loaded.items()}
        num_rows = {
            config: {split: data[split].num_rows for split in data} for config, data in loaded.items()
        }
        sentences = loaded["sentence"]
        tables = {split: _flat_columns(sentences[split]) for split in sentences}
        statistics = card_statistics(tables, relations)
        if figures:
            (folder / FIGURES_FOLDER).mkdir()
            draw_figures(statistics, folder / FIGURES_FOLDER)
        about = read_about(data_dir, cache_dir=cache_dir)
        is_nyt_h = has_published_example(tables, relations) and not about.is_synthetic and not about.steps
        text = card_text(
            metadata=card_metadata(
                splits=num_rows, dataset_info=_plain(infos), about=about, is_nyt_h=is_nyt_h
            ),
            splits=num_rows,
            statistics=statistics,
            options=options,
            about=about,
            is_nyt_h=is_nyt_h,
            checks=published_checks(tables, relations, na=na),
            figures=figures,
            where=repo_id,
        )
        (folder / README).write_text(text, encoding="utf-8")
    size = sum(info.download_size for info in infos.values())
    return ExportInfo(Path(os.path.abspath(os.path.expanduser(out))), num_rows, size, about.is_synthetic)


def _flat_columns(dataset: datasets.Dataset) -> pa.Table:
    return flat_table(dataset.select_columns(_STATISTICS_COLUMNS).with_format("arrow")[:])


def _write_config(data: datasets.DatasetDict, relations: list[str], folder: Path) -> datasets.DatasetInfo:
    """Write the Parquet files of each split; return what the card says about them."""
    folder.mkdir()
    splits, size = datasets.SplitDict(), 0
    for name in data:
        rows = data[name].select(_mixed(data[name], relations)) if name == "train" else data[name]
        num_files = max(1, -(-rows.num_rows // _ROWS_PER_FILE))
        for number in range(num_files):
            path = folder / f"{name}-{number:05d}-of-{num_files:05d}.parquet"
            _write_parquet(rows.shard(num_files, number, contiguous=True), path)
            size += path.stat().st_size
        splits.add(
            datasets.SplitInfo(
                name=name,
                num_bytes=data[name].info.splits[name].num_bytes,
                num_examples=data[name].num_rows,
            )
        )
    return datasets.DatasetInfo(
        features=data["test"].features,
        splits=splits,
        download_size=size,
        dataset_size=sum(split.num_bytes for split in splits.values()),
    )


def _mixed(train: datasets.Dataset, relations: list[str]) -> NDArray[np.int64]:
    """The order in which NA rows (bags with no other relation) are mixed among the others."""
    negative = relations.index(NEGATIVE_RELATION)
    if "relation" in train.features:
        return mixed_order(train.with_format("numpy")["relation"][:] == negative)
    return mixed_order(np.array([set(found) == {negative} for found in train["relations"][:]], bool))


def _write_parquet(dataset: datasets.Dataset, path: Path) -> None:
    """Write the rows without the metadata of this version of `datasets`, which an older one may not know."""
    rows = dataset.with_format("arrow")
    schema: pa.Schema = dataset.features.arrow_schema.remove_metadata()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in rows.iter(batch_size=_ROWS_PER_GROUP):
            writer.write_table(table.cast(schema), row_group_size=_ROWS_PER_GROUP)


def _plain(infos: dict[str, datasets.DatasetInfo]) -> Any:
    """`dataset_info` as `datasets` itself writes it into a card."""
    card_data = DatasetCardData()
    DatasetInfosDict(infos).to_dataset_card_data(card_data)
    return card_data.to_dict()["dataset_info"]
