"""What the card says of the data: relations, label distributions, bags, mentions (pure; Arrow tables in)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .corpus_statistics import bag_sizes, imbalance_ratio, jensen_shannon, label_counts, perplexity
from .mentions import STATUSES
from .overlap import num_distinct
from .schema import NEGATIVE_RELATION, NO, YES


@dataclass(frozen=True)
class RelationRow:
    """A relation: rows in train, validation and test, and the human answers in test."""

    name: str
    train: int
    validation: int
    test: int
    yes: int
    no: int

    @property
    def yes_share(self) -> float | None:
        """Share of yes among the answers, in [0, 1]; None where nobody judged."""
        return self.yes / (self.yes + self.no) if self.yes + self.no else None


@dataclass(frozen=True)
class LabelRow:
    """A label distribution, as in Harbecke et al. 2022, Table 1."""

    name: str
    num_relations: int
    num_rows: int
    negative_fraction: float
    perplexity: float | None
    perplexity_without_negative: float | None
    imbalance_ratio: float | None


@dataclass(frozen=True)
class CardStatistics:
    """Everything that the card and its pictures show about the data, as plain numbers.

    `bag_sizes` and `mentions`: per split, the number of bags by size and of rows by mention status;
    `num_bags`: per split. `divergence`: between train and test over the positive relations, in bits.
    """

    relations: tuple[RelationRow, ...]
    labels: tuple[LabelRow, ...]
    bag_sizes: Mapping[str, Mapping[str, int]]
    num_bags: Mapping[str, int]
    mentions: Mapping[str, Mapping[str, int]]
    divergence: float | None


def card_statistics(splits: Mapping[str, pa.Table], relations: list[str]) -> CardStatistics:
    """Return the statistics of the `sentence` config's splits; `relations` are all names in id order.

    A bag is an entity pair here. Relations come with the most frequent in train first, the negative one last.

    >>> rows = {"relation": [1, 1, 0], "bag_id": ["a", "a", "b"], "mention_status": [0, 0, 3]}
    >>> table = pa.table({**rows, "bag_label": [1, 0, 2]})
    >>> found = card_statistics({"train": table, "validation": table, "test": table}, ["NA", "born"])
    >>> found.relations[0]
    RelationRow(name='born', train=2, validation=2, test=2, yes=1, no=1)
    >>> found.bag_sizes["test"]["2"], found.labels[0].num_rows, found.mentions["test"]["missing"]
    (1, 3, 1)
    """
    negative = relations.index(NEGATIVE_RELATION)
    test = splits["test"]
    counts = {
        name: label_counts(splits[name]["relation"], len(relations))
        for name in ("train", "validation", "test")
    }
    for name, answer in (("yes", YES), ("no", NO)):
        rows = test["relation"].filter(pc.equal(test["bag_label"], answer))
        counts[name] = label_counts(rows, len(relations))
    order = sorted(range(len(relations)), key=lambda i: (i == negative, -counts["train"][i], relations[i]))
    columns = ("train", "validation", "test", "yes", "no")
    distributions = {
        "train": "train",
        "validation": "validation",
        "test": "test, distant labels",
        "yes": "test, rows with yes",
    }
    positive = np.arange(len(relations)) != negative
    return CardStatistics(
        relations=tuple(
            RelationRow(relations[i], *(int(counts[column][i]) for column in columns)) for i in order
        ),
        labels=tuple(_label_row(title, counts[name], negative) for name, title in distributions.items()),
        bag_sizes={name: bag_sizes(table["bag_id"]) for name, table in splits.items()},
        num_bags={name: num_distinct(table, ("bag_id",)) for name, table in splits.items()},
        mentions={name: _mentions(table) for name, table in splits.items()},
        divergence=jensen_shannon(counts["train"][positive], counts["test"][positive]),
    )


def _label_row(name: str, counts: NDArray[np.int64], negative: int) -> LabelRow:
    positive, total = np.delete(counts, negative), int(counts.sum())
    return LabelRow(
        name,
        int((counts > 0).sum()),
        total,
        float(counts[negative] / total) if total else 0.0,
        perplexity(counts),
        perplexity(positive),
        imbalance_ratio(positive),
    )


def _mentions(table: pa.Table) -> dict[str, int]:
    counts = label_counts(table["mention_status"], len(STATUSES))
    return dict(zip(STATUSES, (int(count) for count in counts), strict=True))
