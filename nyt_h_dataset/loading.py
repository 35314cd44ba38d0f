"""`load_nyt_h`: the one call that gives NYT-H on every version of `datasets`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import datasets
from datasets.splits import SplitBase

from .mentions import STATUSES
from .nyt_h_dataset import NytH
from .schema import CONFIGS

logger = logging.getLogger(__name__)

# Of several splits a list comes back, which callers with one split need not look out for.
Loaded: TypeAlias = (
    datasets.DatasetDict | datasets.Dataset | datasets.IterableDatasetDict | datasets.IterableDataset
)


def load_nyt_h(
    data_dir: str | os.PathLike[str],
    config: str = "sentence",
    *,
    na: str = "sampled",
    bag_key: str = "pair",
    mention_policy: str = "first",
    unknown_relation: str = "error",
    irregular: str = "error",
    split: str | Sequence[str] | None = None,
    streaming: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    num_proc: int | None = None,
) -> Loaded:
    """Return NYT-H as a DatasetDict with the splits train, validation, test and na (or the one asked for).

    A corpus of `convert_corpus` without rows of the negative relation has no split `na`.

    Config "sentence", a row per instance: `instance_id`, `bag_id`, `relation` (the distant-supervision label,
    ClassLabel in rel2id.json's order), `bag_label` (ClassLabel no/yes/unk: the human answer to "does this
    sentence express `relation`?"), `manual_relation` (ClassLabel: `relation` if yes, NA if no, -1 if unk),
    `sentence`, `head` and `tail` with `guid`, `word`, `type`, `start`, `end` (half-open character offsets,
    int32, -1 when not found) and `mention_status` (ClassLabel unique/ambiguous/overlapping/missing; see
    `nyt_h_dataset.mentions`). Outside the test split nobody judged: `bag_label` is unk there and
    `manual_relation` -1, which is no class.

    Config "bag", a row per bag in the order of first instances: `bag_id`, `head`, `tail` (`guid`, `word`,
    `type`, as in the first instance), `relations` (list of ClassLabel: the distant-supervision relations in
    the order in which they come; the negative one is listed like any other, so the list is never empty),
    `manual_relations` (those with at least one yes), `annotated` (bool: every instance is yes or no) and
    `instances` (list of `instance_id`, `relation`, `bag_label`, `sentence`, `head_start`, `head_end`,
    `tail_start`, `tail_end`). A bag is made of the rows of its split only.

    Args:
        data_dir: the extracted ``data/`` folder, its parent, the archive nyt-h.tar.bz2 or the folder that
            holds it (an archive is unpacked into the cache, once). The older release of JSON arrays is read
            as well: its train/train.json already holds a sample of NA rows ("sampled"), which `na` takes out
            ("none") or replaces by the whole NA set ("all"). So is ``data/train`` alone, as the authors' own
            code reads it (train.json, dev.json and test.json, arrays or lines): its NA rows are those of
            train.json, and the split `na` holds these.
        config: "sentence" or "bag".
        na: the NA rows in train: "sampled" (na_train.json), "all" (na_rest.json too) or "none". The split
            `na` always holds both files.
        bag_key: a bag is a "pair" of entities over all files of a split, an "id" (the `bag_id` as the
            authors published it, which differs from file to file; the unit that bag2bag is scored on) or a
            "triple" (pair and relation; its `bag_id` is then ``<bag_id>|<relation>``). See
            `nyt_h_dataset.bags.bag_table`. Config "sentence" does not look at it.
        mention_policy: where there are several mentions, the pair that is complete "first", or the "closest".
        unknown_relation: a relation that rel2id.json lacks is an "error", becomes "na", or its rows "drop";
            the counts are logged while the cache is built.
        irregular: instance ids that repeat (over all files) and types that are null are an "error", or are
            loaded ("repair"): in the order of the files the second record with the id X becomes ``X|2``, such
            a type becomes "", and the numbers are logged. The files are then read once more beforehand.
        split: one split, or a slice such as "train[:10%]"; of several, a list of datasets comes back.
        streaming: read the files on the fly, without a cache (IterableDataset). Bags need their whole split
            in memory before the first comes. The rows of train come in another order than from the cache: NA
            rows and others are mixed in their shares from the first row on.
        cache_dir: where the built cache goes (default: that of `datasets`). Its key is the content of the
            files, so an edited file is never answered from an old cache.
        num_proc: processes that build the cache; useful for files of several hundred MB. A split of bags is
            built by one process.

    Raises:
        FileNotFoundError: `data_dir` or a file in it is not there.
        ValueError: an unknown option, or a fault in a data file (the message has file and line).

    >>> import tempfile
    >>> from nyt_h_dataset import write_sample
    >>> folder = tempfile.TemporaryDirectory()
    >>> info = write_sample(folder.name + "/data", size="tiny")
    >>> data = load_nyt_h(folder.name, cache_dir=folder.name + "/cache")
    >>> sorted(data), data["test"].features["bag_label"].names
    (['na', 'test', 'train', 'validation'], ['no', 'yes', 'unk'])
    >>> folder.cleanup()

    Reference: Zhu et al. 2020, "Towards Accurate and Consistent Evaluation", section 3.
    """
    if config not in CONFIGS:
        raise ValueError(f"`config` must be one of {', '.join(map(repr, CONFIGS))}; got {config!r}.")
    if streaming and num_proc is not None:
        raise ValueError("`num_proc` builds a cache and streaming builds none; leave one of them out.")
    builder = NytH(
        config_name=config,
        data_dir=None if data_dir is None else os.path.abspath(os.path.expanduser(data_dir)),
        cache_dir=None if cache_dir is None else os.fspath(cache_dir),
        na=na,
        bag_key=bag_key,
        mention_policy=mention_policy,
        unknown_relation=unknown_relation,
        irregular=irregular,
    )
    several = isinstance(split, list | tuple)
    wanted: list[Any] = list(split) if several else [split]  # type: ignore[arg-type]
    if not wanted or not all(
        isinstance(name, str | SplitBase) or (name is None and not several) for name in wanted
    ):
        raise ValueError(f"`split` must be a name, or a list of names with at least one; got {split!r}.")
    if streaming:
        streams: list[Any] = [builder.as_streaming_dataset(split=name) for name in wanted]
        return cast(Loaded, streams) if several else streams[0]
    builder.download_and_prepare(num_proc=num_proc)
    loaded: list[Any] = [builder.as_dataset(split=name) for name in wanted]
    if config == "sentence":
        for name, found in zip(wanted, loaded, strict=True):
            _report_mentions(found if isinstance(found, Mapping) else {name: found})
    return cast(Loaded, loaded) if several else loaded[0]


def mention_counts(dataset: datasets.Dataset) -> dict[str, int]:
    """Return how many rows of `dataset` have each mention status, all four named.

    >>> features = datasets.Features({"mention_status": datasets.ClassLabel(names=list(STATUSES))})
    >>> mention_counts(datasets.Dataset.from_dict({"mention_status": [0, 0, 3]}, features=features))
    {'unique': 2, 'ambiguous': 0, 'overlapping': 0, 'missing': 1}
    """
    counts = dict.fromkeys(range(len(STATUSES)), 0)
    for status in dataset.with_format("numpy")["mention_status"][:].tolist():
        counts[status] += 1
    return dict(zip(STATUSES, counts.values(), strict=True))


def _report_mentions(splits: Mapping[str | None, datasets.Dataset]) -> None:
    for name, dataset in splits.items():
        counts = mention_counts(dataset)
        level = logging.WARNING if counts["missing"] else logging.INFO
        listed = ", ".join(f"{count} {status}" for status, count in counts.items())
        logger.log(level, "mentions in %s: %s (of %d rows).", name, listed, len(dataset))
