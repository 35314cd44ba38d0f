"""What a data set's label distribution looks like: [B]'s Table 1.

Reference: [B] Harbecke et al. 2022, "Why only Micro-F1? Class Weighting of Measures for Relation
Classification", section 2 and Table 1.
"""

from __future__ import annotations

import math
import re
from typing import Any

from .columns import Label, read_labels, wrong_label
from .counts import class_counts
from .row_sources import NESTED, is_table, read_columns, row_source
from .table import Table, number, percent


def label_statistics(*, labels: Any, negative_label: Label | None = None) -> dict[str, int | float | None]:
    """Return the numbers of [B]'s Table 1 for one label column.

    Keys:
        num_relations: Distinct labels that occur, the negative one included.
        num_samples: Rows.
        negative_fraction: Share of rows with the negative label, in [0, 1]; 0 without a negative label.
        perplexity: exp of the entropy (natural logarithm) of the label distribution, in [1, num_relations].
        perplexity_without_negative: The same over the rows with a positive label; None when there are none.
        imbalance_ratio: Support of the largest positive label / support of the smallest that occurs; None
            when there are none.

    Args:
        labels: One label per row, all str or all int; as `references` of `f1_family`. Or a table, a split of
            `load_nyt_h` (either config), records, columns, a DataFrame or an Arrow table: its `relation`.
        negative_label: The negative class, by name or id. It must occur: a misspelt one would be counted as a
            relation.

    Raises:
        TypeError: Labels that are float, bool, None or of mixed type.
        ValueError: No labels, or a `negative_label` that no row has.

    >>> statistics = label_statistics(labels=["a", "a", "b", "NA"], negative_label="NA")
    >>> statistics["num_relations"], statistics["negative_fraction"], statistics["imbalance_ratio"]
    (3, 0.25, 2.0)
    >>> round(statistics["perplexity"], 4)  # 2^(1/2) 4^(1/4) 4^(1/4)
    2.8284
    >>> round(statistics["perplexity_without_negative"], 4)  # 3 / 2^(2/3)
    1.8899
    """
    if is_table(labels):
        source = row_source(labels, "labels")
        in_bags = NESTED in source.keys and "relation" not in source.keys
        required = ["relation", "instance_id"] if in_bags else ["relation"]
        labels = read_columns(source, required=required, name="labels")["relation"]
    column = read_labels(labels, "labels")
    if isinstance(column, list) and not all(isinstance(label, str) for label in column):
        raise wrong_label(column, "labels")
    counts = class_counts(predictions=column, references=column, negative_label=negative_label)
    support = [int(n) for n in counts.support]
    negative = int(counts.negative_support)
    total = int(counts.total)
    return {
        "num_relations": len(support) + (negative > 0),
        "num_samples": total,
        "negative_fraction": negative / total,
        "perplexity": _perplexity([*support, negative]),
        "perplexity_without_negative": _perplexity(support),
        "imbalance_ratio": max(support) / min(support) if support else None,
    }


def _perplexity(support: list[int]) -> float | None:
    total = sum(support)
    if not total:
        return None
    return math.exp(-math.fsum(n / total * math.log(n / total) for n in support if n))


def undirected(label: str) -> str:
    """Return a label without its direction, written R(e1,e2) or R(e2,e1) as in SemEval-2010 Task 8.

    >>> undirected("Cause-Effect(e2,e1)"), undirected("Other")
    ('Cause-Effect', 'Other')
    """
    return re.sub(r"\((e1,e2|e2,e1)\)$", "", label)


def statistics_table(statistics: dict[str, dict[str, int | float | None]]) -> str:
    """Return a Markdown table, a row per data set, in the columns of [B]'s Table 1.

    Args:
        statistics: Name of the data set (say, its split) -> what `label_statistics` returns.

    >>> print(statistics_table({"test": label_statistics(labels=["a", "a", "b", "NA"], negative_label="NA")}))
    | data | relations | samples | % negative | perplexity | without negative | imbalance ratio |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | test | 3 | 4 | 25.0 | 2.83 | 1.89 | 2.00 |
    """
    rows = [
        [
            name,
            str(row["num_relations"]),
            str(row["num_samples"]),
            percent(row["negative_fraction"], digits=1),
            *(
                number(row[key], ".2f")
                for key in ("perplexity", "perplexity_without_negative", "imbalance_ratio")
            ),
        ]
        for name, row in statistics.items()
    ]
    header = [
        "data", "relations", "samples", "% negative", "perplexity", "without negative", "imbalance ratio",
    ]  # fmt: skip
    return Table(header, rows).markdown()
