"""The embedded sample: a synthetic corpus in the authors' file format, with the true place of every entity.

It has what makes NYT-H hard: distant labels that the sentence does not express, bags of several sentences
with mixed answers, pairs with two relations (each sentence a row per relation, judged on its own), a long
tail of relations, and entities that are not trivially found. No sentence, name or fact in it is real.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from ..about import MARKER_FILE
from ..schema import (
    BAG_LABEL_FILE,
    BAG_LABELS,
    DATA_FILES,
    DEV,
    NA_REST,
    NA_TRAIN,
    NEGATIVE_RELATION,
    RELATION_FILE,
    TEST,
    TRAIN,
)
from .names import RELATIONS
from .news import as_news
from .plan import FULL_SIZES, FullCorpus
from .sentences import BagMaker, Row

SPANS_FILE = "true_spans.jsonl"
_MARKER = """\
# Synthetic data

This folder was written by `python -m nyt_h_dataset sample` (size {size}, seed {seed}). It has the file
format of NYT-H and nothing of its content: every sentence, name and "human" answer was made by a program.
Scores on it say whether code works, never how good a system is. `true_spans.jsonl` holds the true character
spans of the entities.
"""
_OUR_FILES = {*DATA_FILES, SPANS_FILE, MARKER_FILE}

# Rows per file.
SIZES = {
    "tiny": {TRAIN: 160, NA_TRAIN: 60, NA_REST: 40, DEV: 40, TEST: 90},
    "small": {TRAIN: 2000, NA_TRAIN: 700, NA_REST: 400, DEV: 250, TEST: 450},
    "full": FULL_SIZES,
}
# How often a bag of a file of `small` is about a pair that an earlier file has, test first, then train: about
# as many pairs are shared as in a part of the release.
SHARED_PAIRS = {TRAIN: 0.02, NA_TRAIN: 0.05, NA_REST: 0.35}
_ID_PREFIXES = {TRAIN: "NONNATRAIN", NA_TRAIN: "NATRAIN", NA_REST: "NAREST", DEV: "NONNADEV", TEST: "TEST"}


@dataclass(frozen=True)
class SampleInfo:
    """What `write_sample` wrote: the folder, the seed and size, and the number of rows per file."""

    path: Path
    seed: int
    size: str
    num_rows: dict[str, int] = field(default_factory=dict)


def _draw(rng: random.Random, num_rows: dict[str, int], shared: Mapping[str, float]) -> dict[str, list[Row]]:
    """The rows of every file. Dev is split off train by row, as the authors did: pairs sit on both sides.

    `shared` is the chance that a bag of a file is about a pair of an earlier one.
    """
    writer = BagMaker(rng, sum(num_rows.values()))
    rows = {TEST: [row for bag in writer.positive_bags(num_rows[TEST]) for row in bag]}
    writer.begin_file(shared.get(TRAIN, 0))
    pool = [row for bag in writer.positive_bags(num_rows[TRAIN] + num_rows[DEV]) for row in bag]
    chosen = set(rng.sample(range(len(pool)), num_rows[DEV]))
    rows[TRAIN] = [row for index, row in enumerate(pool) if index not in chosen]
    rows[DEV] = [row for index, row in enumerate(pool) if index in chosen]
    for name in (NA_TRAIN, NA_REST):
        writer.begin_file(shared.get(name, 0))
        rows[name] = [row for bag in writer.negative_bags(num_rows[name]) for row in bag]
    return rows


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bags(rows: dict[str, list[Row]]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each file bag by bag; the rows of a bag follow each other."""
    for name in _ID_PREFIXES:
        for _, bag in groupby(rows[name], key=lambda row: row.pair):
            yield name, list(bag)


def _write_files(folder: Path, bags: Iterable[tuple[str, list[Row]]]) -> None:
    """Write every file; `bags` says for which file the rows of a bag are. Nothing is kept."""
    names = [NEGATIVE_RELATION, *sorted(RELATIONS)]
    label_files = {RELATION_FILE: names, BAG_LABEL_FILE: list(BAG_LABELS)}
    for file_name, labels in label_files.items():
        text = json.dumps({label: index for index, label in enumerate(labels)}, indent=2)
        (folder / file_name).write_text(text + "\n", encoding="utf-8")
    num_rows, num_bags = dict.fromkeys(_ID_PREFIXES, 0), dict.fromkeys(_ID_PREFIXES, 0)
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(open(folder / name, "w", encoding="utf-8", newline="\n"))
            for name in (*_ID_PREFIXES, SPANS_FILE)
        }
        for name, bag in bags:
            prefix = _ID_PREFIXES[name]
            for row in bag:
                head, tail = row.pair
                record = {
                    "instance_id": f"{prefix}#{num_rows[name]}",
                    "bag_id": f"{prefix}#{num_bags[name]}",
                    "relation": row.relation,
                    "bag_label": row.judged if name == TEST else "unk",
                    "sentence": row.sentence.text,
                    "head": head.record(),
                    "tail": tail.record(),
                }
                files[name].write(_dump(record) + "\n")
                place = {"head": row.sentence.head, "tail": row.sentence.tail}
                files[SPANS_FILE].write(_dump({"instance_id": record["instance_id"], **place}) + "\n")
                num_rows[name] += 1
            num_bags[name] += 1


def _check_out_dir(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ValueError(f"`out_dir` {out} is a file; give a folder that is new or empty.")
    there = {entry.name for entry in out.iterdir()} if out.is_dir() else set()
    if there and (MARKER_FILE not in there or there - _OUR_FILES):
        foreign = sorted(there - _OUR_FILES) or sorted(there)
        raise ValueError(
            f"`out_dir` {out} is not empty and not a sample written before (it holds "
            f"{', '.join(foreign[:5])}). Only an empty folder, or one with nothing but a sample in it, is "
            "written to; give another folder."
        )


def write_sample(out_dir: str | os.PathLike[str], *, seed: int = 0, size: str = "small") -> SampleInfo:
    """Write a synthetic corpus to `out_dir` in the authors' file format and return what was written.

    The same seed and size give the same bytes. Besides the authors' files there are true_spans.jsonl (a line
    per row: instance_id, and half-open character spans `head` and `tail`) and SYNTHETIC.md, which says what
    it is. An existing folder must be empty or hold nothing but a sample, which is then replaced as a whole.

    "small" and "full" read like news: sentences of 20 to 120 tokens, an eighth of them about two pairs, rows
    that repeat, pairs of one file in another. "tiny" has short sentences and none of this, so that tests are
    fast. "full" has the published sizes of NYT-H (see `nyt_h_dataset.published`): 667,189 rows, some 450 MB,
    a few minutes; of its files only train and dev share pairs.

    Raises:
        ValueError: an unknown `size`, or a folder that holds anything else.
        TypeError: `seed` is not an int.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_sample(folder, size="tiny").num_rows["test.json"]
    90
    """
    if size not in SIZES:
        raise ValueError(f"`size` must be one of {', '.join(map(repr, SIZES))}; got {size!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"`seed` must be an int; got {seed!r}.")
    out = Path(os.path.abspath(out_dir))
    _check_out_dir(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        fresh, old = temporary / "new", temporary / "old"
        fresh.mkdir()
        rng = random.Random(seed)
        if size == "full":
            bags = as_news(rng, FullCorpus(rng).stream())
        elif size == "small":
            bags = as_news(rng, _bags(_draw(rng, SIZES[size], SHARED_PAIRS)))
        else:
            bags = _bags(_draw(rng, SIZES[size], {}))
        _write_files(fresh, bags)
        (fresh / MARKER_FILE).write_text(_MARKER.format(size=size, seed=seed), encoding="utf-8")
        if out.exists():
            os.replace(out, old)
        os.replace(fresh, out)
    finally:
        shutil.rmtree(temporary)
    return SampleInfo(out, seed, size, dict(SIZES[size]))
