"""Signs that something is wrong with a run, in words: in the data before training, in the scores after it."""

from __future__ import annotations

import numpy as np

from .bag_examples import labels_there
from .preparation import EVALUATED, Prepared
from .readers import RelationData
from .results import SeedResult


def data_warnings(prepared: Prepared) -> list[str]:
    """Relations that training and evaluation do not share."""
    data = prepared.data
    names = data.label_names
    trained = labels_there(prepared.batches["train"].labels)
    lines = []
    for split in EVALUATED:
        if split not in data.splits:
            continue
        labels = data.splits[split].labels
        there = set(np.unique(labels).tolist())
        unseen = sorted(there - trained)
        if unseen:
            num_rows = int(np.isin(labels, unseen).sum())
            lines.append(
                f"warning: {split} has {num_rows:,} rows of {_relations(unseen, names)}; train has none."
            )
        positive = {label for label in trained if names[label] != data.negative_relation}
        if split == "validation" and positive - there:
            lines.append(
                f"warning: validation has no row of {_relations(sorted(positive - there), names)} of train."
            )
    return lines


def _relations(labels: list[int], names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(names[label]) for label in labels[:3])
    more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
    return f"{'relation' if len(labels) == 1 else 'relations'} {shown}{more}"


def score_warnings(result: SeedResult, data: RelationData) -> list[str]:
    """Only the negative relation predicted; or micro precision, recall and F1 that are one number."""
    negative = data.negative_relation
    if result.only_negative:
        return [f"warning: seed {result.seed} predicts {negative} for every test row."]
    scores = result.scores["test"]
    for name, precision in scores.items():
        if name.endswith("micro_precision") and not name.startswith("magt"):
            prefix = name.removesuffix("precision")
            if precision and precision == scores[f"{prefix}recall"] == scores[f"{prefix}f1"]:
                return [
                    f"warning: seed {result.seed} has the same {prefix}precision, recall and f1 on test "
                    f"({100 * precision:.2f}): no row has or is given the negative relation ({negative}), so "
                    "they are the accuracy."
                ]
    return []
