"""What the card says of the data: relations, label distributions, bags, mentions (pure; Arrow tables in)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from ..mentions import STATUSES
from ..schema import NEGATIVE_RELATION, NO, YES


def label_counts(labels: pa.ChunkedArray | pa.Array, num_labels: int) -> NDArray[np.int64]:
    """Return how often each of the ids 0..num_labels-1 comes, shape (num_labels,); -1 is not counted.

    >>> label_counts(pa.array([2, 0, 2, -1]), 3).tolist()
    [1, 0, 2]
    """
    ids = np.asarray(labels.to_numpy(), dtype=np.int64)
    return np.bincount(ids[ids >= 0], minlength=num_labels)


def perplexity(counts: ArrayLike) -> float | None:
    """Return exp of the entropy (natural logarithm) of `counts`, in [1, number of labels]; None without rows.

    >>> perplexity([5, 5, 0])
    2.0

    Reference: Harbecke et al. 2022, Table 1.
    """
    values = np.asarray(counts, dtype=float)
    shares = values[values > 0] / values.sum() if values.sum() else values[:0]
    return float(np.exp(-(shares * np.log(shares)).sum())) if shares.size else None


def imbalance_ratio(counts: ArrayLike) -> float | None:
    """Return the largest count over the smallest that is not 0; None without rows.

    >>> imbalance_ratio([8, 0, 2])
    4.0

    Reference: Harbecke et al. 2022, Table 1.
    """
    values = np.asarray(counts, dtype=float)
    values = values[values > 0]
    return float(values.max() / values.min()) if values.size else None


def jensen_shannon(counts_a: ArrayLike, counts_b: ArrayLike) -> float | None:
    """Return the Jensen-Shannon divergence of two label distributions in bits (base 2), in [0, 1].

    0 where the shares are equal, 1 where no label is in both; None when one side has no rows. It is the
    divergence, not its square root (the distance). It puts Zhu et al. 2020, Figure 2, in a number.

    >>> jensen_shannon([1, 1], [10, 10]), jensen_shannon([3, 0], [0, 3])
    (0.0, 1.0)
    >>> round(jensen_shannon([1, 0], [1, 1]), 4)  # h(3/4) - h(1/2) / 2 with the binary entropy h
    0.3113
    """
    a, b = np.asarray(counts_a, dtype=float), np.asarray(counts_b, dtype=float)
    if not a.sum() or not b.sum():
        return None
    a, b = a / a.sum(), b / b.sum()
    middle = (a + b) / 2
    terms = [(p[p > 0] * np.log2(p[p > 0] / middle[p > 0])).sum() for p in (a, b)]
    return float(min(1.0, max(0.0, sum(terms) / 2)))


def bag_sizes(bag_ids: pa.ChunkedArray | pa.Array, *, largest: int = 5) -> dict[str, int]:
    """Return the number of bags with 1, 2, ... rows; the last class is `largest` and more.

    >>> bag_sizes(pa.array(["a", "a", "a", "b"]), largest=3)
    {'1': 1, '2': 0, '3+': 1}
    """
    sizes = pc.value_counts(bag_ids).field("counts").to_numpy() if len(bag_ids) else np.zeros(0, np.int64)
    counts = np.bincount(np.minimum(sizes, largest), minlength=largest + 1)
    names = [*(str(size) for size in range(1, largest)), f"{largest}+"]
    return dict(zip(names, (int(count) for count in counts[1:]), strict=True))


def shares(counts: Sequence[int] | NDArray[np.int64]) -> list[float]:
    """Return `counts` as shares of their sum, all 0 when the sum is 0.

    >>> shares([1, 3])
    [0.25, 0.75]
    """
    values = np.asarray(counts, dtype=float)
    return (values / values.sum() if values.sum() else values).tolist()


# Two rows are duplicates when they agree in these; twins agree in TWIN_KEY and differ in the relation.
ROW_KEY = ("head_guid", "tail_guid", "relation", "sentence")
PAIR_KEY = ("head_guid", "tail_guid")
# As the authors' code counts bags: by the lower-cased words.
WORD_KEY = ("head_word", "tail_word")
TWIN_KEY = ("bag_id", "sentence")
_COLUMNS = ("bag_id", "relation", "bag_label", "mention_status")


def flat_table(rows: pa.Table) -> pa.Table:
    """Return the columns that are compared, flat; outer blanks of the sentences are stripped.

    `rows` is a split of the `sentence` config as an Arrow table; its sentences may be left out.
    """
    table = rows.select([*_COLUMNS, *(["instance_id"] if "instance_id" in rows.column_names else [])])
    if "sentence" in rows.column_names:
        table = table.append_column("sentence", pc.utf8_trim_whitespace(rows["sentence"]))
    for entity in ("head", "tail"):
        table = table.append_column(f"{entity}_guid", pc.struct_field(rows[entity], "guid"))
        word = pc.utf8_lower(pc.struct_field(rows[entity], "word"))
        table = table.append_column(f"{entity}_word", word)
    return table


def num_distinct(table: pa.Table, key: tuple[str, ...]) -> int:
    """Return the number of different values of `key`.

    >>> num_distinct(pa.table({"a": [1, 1, 2]}), ("a",))
    2
    """
    return table.select(key).group_by(list(key)).aggregate([]).num_rows


def num_duplicates(table: pa.Table, key: tuple[str, ...] = ROW_KEY) -> int:
    """Return how many rows repeat the `key` of an earlier row.

    >>> num_duplicates(pa.table({"a": [1, 1, 1, 2]}), ("a",))
    2
    """
    return table.num_rows - num_distinct(table, key)


def twins(table: pa.Table) -> dict[str, int]:
    """Return the numbers of twins: sentences of one bag that come with several relations.

    `sentences` counts those sentences, `rows` their rows, `mixed` the sentences with a yes and a no.

    >>> rows = {"bag_id": ["x"] * 3, "sentence": ["s", "s", "t"], "relation": [1, 2, 1]}
    >>> twins(pa.table({**rows, "bag_label": [0, 1, 1]}))
    {'sentences': 1, 'rows': 2, 'mixed': 1}
    """
    groups = table.group_by(list(TWIN_KEY)).aggregate(
        [("relation", "count_distinct"), ("relation", "count"), ("bag_label", "distinct")]
    )
    groups = groups.filter(pc.greater(groups["relation_count_distinct"], 1))
    mixed = sum({0, 1} <= set(labels) for labels in groups["bag_label_distinct"].to_pylist())
    rows = pc.sum(groups["relation_count"]).as_py() or 0
    return {"sentences": groups.num_rows, "rows": rows, "mixed": mixed}


def _joined(table: pa.Table, key: tuple[str, ...]) -> pa.ChunkedArray:
    """One string per row that stands for its key; the length before each part keeps parts apart."""
    parts = []
    for name in key:
        text = table[name].cast(pa.string())
        parts += [pc.utf8_length(text).cast(pa.string()), text]
    return pc.binary_join_element_wise(*parts, ":") if len(key) > 1 else table[key[0]]


def num_shared(table: pa.Table, other: pa.Table, key: tuple[str, ...]) -> tuple[int, int]:
    """Return how many different keys are in both, and how many rows of `table` have one of them.

    >>> num_shared(pa.table({"a": ["x", "x", "y"]}), pa.table({"a": ["x", "z"]}), ("a",))
    (1, 2)
    """
    here = _joined(table, key)
    shared = here.filter(pc.is_in(here, value_set=_joined(other, key).unique()))
    return len(shared.unique()), len(shared)


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
