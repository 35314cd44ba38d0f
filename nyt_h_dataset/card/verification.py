"""Is this copy the published NYT-H? `verify_nyt_h` compares its numbers with the published ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hub_cards import markdown_table

from .. import published
from ..about import read_about
from ..loading import load_nyt_h, mention_counts
from ..schema import NEGATIVE_RELATION, UNK, YES
from .corpus_statistics import (
    PAIR_KEY,
    ROW_KEY,
    WORD_KEY,
    bag_sizes,
    flat_table,
    jensen_shannon,
    label_counts,
    num_distinct,
    num_duplicates,
    num_shared,
    twins,
)


@dataclass(frozen=True)
class Check:
    """One fact: its name, the published value, the value of this copy, and where it was published."""

    name: str
    published: int
    here: int
    source: str = ""

    @property
    def ok(self) -> bool:
        """Whether both are equal."""
        return self.published == self.here


@dataclass(frozen=True)
class Verification:
    """The checks, and numbers for which nothing is published (`report`: a name -> a value or a mapping).

    `is_synthetic` is True for a corpus that `write_sample` wrote: it is never the published copy, even where
    it has the same numbers. Counts alone do not make a copy the published one, since a program can write
    as many rows: the record that the authors' README prints must be there as well (`has_example`).
    """

    checks: tuple[Check, ...]
    report: Mapping[str, Any]
    is_synthetic: bool = False
    has_example: bool = False

    @property
    def is_published(self) -> bool:
        """Whether all checks and the README's record came out as published, and nothing is synthetic."""
        return not self.is_synthetic and self.has_example and all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        checks = [{**asdict(check), "ok": check.ok} for check in self.checks]
        return {
            "is_published": self.is_published,
            "is_synthetic": self.is_synthetic,
            "has_example": self.has_example,
            "checks": checks,
            "report": dict(self.report),
        }

    def to_markdown(self) -> str:
        """Return the checks and the report as two Markdown tables and a verdict."""
        facts = [
            [c.name, f"{c.published:,}", f"{c.here:,}", "ok" if c.ok else "DIFFERS", c.source]
            for c in self.checks
        ]
        there = "there, as printed" if self.has_example else "NOT FOUND"
        facts.append([f"record {published.EXAMPLE['instance_id']}", "", "", there, published.README])
        wrong = sum(not check.ok for check in self.checks)
        verdict = "This is the published copy: its counts and the record in the authors' README agree."
        if not self.has_example:
            verdict = (
                "These data are consistent with the published counts; the record that the authors' README "
                "prints is not among them, so they are not shown to be the published copy."
            )
        if wrong:
            verdict = f"This is not the published copy: {wrong} of {len(self.checks)} facts differ."
        if self.is_synthetic:
            verdict = f"This is a synthetic corpus; {wrong} of {len(self.checks)} facts differ from NYT-H."
        checks = markdown_table(["fact", "published", "here", "", "published in"], facts)
        report = [[name, _shown(value)] for name, value in self.report.items()]
        return "\n\n".join([checks, verdict, markdown_table(["this copy", ""], report, left=2)])


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        if any(isinstance(part, Mapping) for part in value.values()):
            return "; ".join(f"{name}: {_shown(part)}" for name, part in value.items())
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def verify_nyt_h(
    data_dir: str | os.PathLike[str],
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    num_proc: int | None = None,
) -> Verification:
    """Return how the copy in `data_dir` compares with the published NYT-H.

    A difference is no error: it is in the result. Duplicates are rows that agree in head, tail (by guid),
    relation and sentence; twins are sentences of one bag with several relations; the divergence between the
    label distributions of train and test is Jensen-Shannon's over the positive relations, in bits.

    Args:
        data_dir: as for `load_nyt_h`.
        cache_dir: where the built data go, as for `load_nyt_h`.
        num_proc: processes that build them, as for `load_nyt_h`.

    Raises:
        FileNotFoundError: `data_dir` or a file in it is not there.
        ValueError: a fault in a data file (the message has file and line).

    >>> import tempfile
    >>> from nyt_h_dataset import write_sample
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sample = write_sample(folder + "/data", size="tiny")
    ...     result = verify_nyt_h(folder, cache_dir=folder + "/cache")
    >>> result.is_published, result.checks[0].ok, result.report["relations only in train"]
    (False, True, [])

    Reference: Zhu et al. 2020, section 3 and Figure 2.
    """
    data = load_nyt_h(data_dir, "sentence", cache_dir=cache_dir, num_proc=num_proc)
    names = data["test"].features["relation"].names
    tables = {name: flat_table(data[name].with_format("arrow")[:]) for name in data}
    mentions = {name: mention_counts(data[name]) for name in data}
    return Verification(
        checks=published_checks(tables, names),
        report={**_report(tables, names), "mentions": mentions},
        is_synthetic=read_about(data_dir, cache_dir=cache_dir).is_synthetic,
        has_example=has_published_example(tables, names),
    )


def has_published_example(tables: Mapping[str, pa.Table], names: list[str]) -> bool:
    """Return whether the record that the authors' README prints is in the tables, as it is printed there."""
    example = published.EXAMPLE
    for table in tables.values():
        rows = table.filter(pc.equal(table["instance_id"], example["instance_id"])).to_pylist()
        if any(
            names[row["relation"]] == example["relation"]
            and all(row[key] == value for key, value in example.items() if key != "relation")
            for row in rows
        ):
            return True
    return False


def published_checks(
    tables: Mapping[str, pa.Table], names: list[str], *, na: str = "sampled"
) -> tuple[Check, ...]:
    """Return how the splits compare with the published numbers.

    Args:
        tables: the splits train, validation, test and na, as `flat_table` gives them.
        names: all relations in id order, NA included.
        na: the NA rows in train, as for `load_nyt_h`; the size of train is published for "sampled" only.
    """
    test = tables["test"]
    # A corpus without rows of the negative relation has no split of them.
    na_set = tables.get("na", test.slice(0, 0))
    yes = test.filter(pc.equal(test["bag_label"], YES))
    negative = names.index(NEGATIVE_RELATION)
    sizes = bag_sizes(test["bag_id"])
    judged_elsewhere = sum(
        _number(pc.not_equal(table["bag_label"], UNK)) for name, table in tables.items() if name != "test"
    )
    paper, readme, release = published.PAPER, published.README, published.RELEASE
    num_train = tables["train"].num_rows
    train = [Check("train_nonna and na_train rows", published.TRAIN_ROWS, num_train, release)]
    return (
        Check("relations, NA among them", published.NUM_RELATIONS, len(names), paper),
        *(train if na == "sampled" else []),
        Check("NA rows", published.NA_ROWS, na_set.num_rows, paper),
        Check("NA bags", published.NA_BAGS, num_distinct(na_set, WORD_KEY), paper),
        Check("test rows", published.TEST_ROWS, test.num_rows, paper),
        Check("test rows with yes", published.TEST_YES_ROWS, yes.num_rows, paper),
        Check("test bags", published.TEST_BAGS, num_distinct(test, ("bag_id",)), paper),
        Check(
            "test (bag, relation) pairs",
            published.TEST_PAIRS,
            num_distinct(test, ("bag_id", "relation")),
            release,
        ),
        Check(
            "test (bag, relation) pairs with a yes",
            published.TEST_YES_PAIRS,
            num_distinct(yes, ("bag_id", "relation")),
            release,
        ),
        *(
            Check(f"test bags of size {n}", count, sizes[n], release)
            for n, count in published.TEST_BAG_SIZES.items()
        ),
        Check("test rows without yes or no", 0, _number(pc.equal(test["bag_label"], UNK)), readme),
        Check("yes or no outside test", 0, judged_elsewhere, readme),
        Check("NA rows in test", 0, _number(pc.equal(test["relation"], negative)), readme),
        Check("NA rows in dev", 0, _number(pc.equal(tables["validation"]["relation"], negative)), readme),
        Check(
            "other relations in the NA set", 0, _number(pc.not_equal(na_set["relation"], negative)), readme
        ),
    )


def _number(mask: pa.ChunkedArray) -> int:
    return pc.sum(mask).as_py() or 0


def _num_several(table: pa.Table, key: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many values of `key` come with several values of `other`."""
    both = table.select([*key, *other]).group_by([*key, *other]).aggregate([])
    counts = both.group_by(list(key)).aggregate([([], "count_all")])["count_all"]
    return _number(pc.greater(counts, 1))


def _report(tables: Mapping[str, pa.Table], names: list[str]) -> dict[str, Any]:
    report: dict[str, Any] = {"rows": {name: table.num_rows for name, table in tables.items()}}
    report["bags"] = {name: num_distinct(table, ("bag_id",)) for name, table in tables.items()}
    report["entity pairs with several bag ids"] = {
        name: _num_several(table, PAIR_KEY, ("bag_id",)) for name, table in tables.items()
    }
    report["bag ids with several entity pairs"] = {
        name: _num_several(table, ("bag_id",), PAIR_KEY) for name, table in tables.items()
    }
    report["duplicate rows within"] = {name: num_duplicates(table) for name, table in tables.items()}
    # na_train.json is in train and in na by design: these two are not compared.
    couples = [couple for couple in combinations(tables, 2) if couple != ("train", "na")]
    for title, key, counted in (
        ("duplicate rows across", ROW_KEY, 1),
        ("rows with a sentence that is also in the first", ("sentence",), 1),
        ("entity pairs shared between", PAIR_KEY, 0),
    ):
        report[title] = {
            f"{first}/{second}": num_shared(tables[second], tables[first], key)[counted]
            for first, second in couples
        }
    report["twins"] = {name: twins(table) for name, table in tables.items()}
    negative = names.index(NEGATIVE_RELATION)
    test, yes = tables["test"], pc.equal(tables["test"]["bag_label"], YES)
    counts = {name: label_counts(table["relation"], len(names)) for name, table in tables.items()}
    counts["test yes"] = label_counts(test["relation"].filter(yes), len(names))
    for count in counts.values():
        count[negative] = 0
    for title, present, absent in (
        ("relations only in train", "train", "test"),
        ("relations only in test", "test", "train"),
        ("relations without a yes in test", "test", "test yes"),
    ):
        missing = (counts[present] > 0) & (counts[absent] == 0)
        report[title] = [names[index] for index in missing.nonzero()[0]]
    report["label divergence in bits (Jensen-Shannon, base 2)"] = {
        "train/test": jensen_shannon(counts["train"], counts["test"]),
        "train/test yes": jensen_shannon(counts["train"], counts["test yes"]),
        "train/validation": jensen_shannon(counts["train"], counts["validation"]),
    }
    return report
