"""Parts of a test set of labels: common, middling and rare classes, and what is taken for what."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..family import f1_family
from ..significance.resampling import UNDEFINED_LIMIT, bootstrap_interval
from ..table import Table, percent
from ..tables import interval
from ..validation import quoted

PARTS = ("head", "middle", "tail")
EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)


def parts_by_support(support: Mapping[str, int]) -> dict[str, str]:
    """Return class -> "head" (the commonest classes, which hold half of the rows), "tail" (the rarest, which
    hold a tenth) or "middle".

    Args:
        support: Class -> its number of reference rows, all > 0.

    >>> parts_by_support({"a": 4, "b": 4, "c": 1, "d": 1})
    {'a': 'head', 'b': 'head', 'c': 'middle', 'd': 'tail'}
    """
    total, before, parts = sum(support.values()), 0, {}
    for name, number in sorted(support.items(), key=lambda item: (-item[1], item[0])):
        parts[name] = PARTS[0] if before < total / 2 else PARTS[1] if before < 0.9 * total else PARTS[2]
        before += number
    return parts


def label_breakdown(
    *,
    predictions: Sequence[str],
    references: Sequence[str],
    negative_label: str | None = None,
    seed: int = 0,
    n_resamples: int = 1000,
) -> dict[str, Any]:
    """Return why labels score what they score, for any classification.

    Returns:
        "support": part of `parts_by_support` -> `num_rows`, `classes`, `scores` (of `f1_family`, of the rows
        whose reference is in the part) and `intervals` (key -> low and high; None where
        a measure is undefined in more than 5 % of the resamples); "confusions": the ten
        most frequent (`gold`, `predicted`, `rows`); "exponents": a -> F1 with class weights n^a, from macro
        (0) to weighted (1).

    >>> found = label_breakdown(predictions=["a", "a", "b", "a"], references=["a", "a", "b", "c"])
    >>> found["support"]["head"]["scores"]["micro_f1"], found["confusions"]
    (1.0, [{'gold': 'c', 'predicted': 'a', 'rows': 1}])

    Raises:
        TypeError, ValueError: As `f1_family`; references of the negative class alone.
    """
    support = Counter(label for label in references if label != negative_label)
    if not support:
        raise ValueError(f"All references are {negative_label!r}, the negative class: there are no parts.")
    parts = parts_by_support(support)
    slices: dict[str, Any] = {}
    for part in PARTS:
        classes = [name for name, own in parts.items() if own == part]
        rows = [row for row, label in enumerate(references) if parts.get(label) == part]
        if not rows:
            continue
        columns: dict[str, Any] = {
            "references": [references[row] for row in rows],
            "predictions": [predictions[row] for row in rows],
            "labels": sorted({*references, *predictions}),
            "negative_label": negative_label,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is often undefined gets no interval below
            drawn = bootstrap_interval(**columns, seed=seed, n_resamples=n_resamples).intervals
        slices[part] = {
            "num_rows": len(rows),
            "classes": classes,
            "scores": f1_family(**columns),
            "intervals": {
                name: None if one.undefined_share > UNDEFINED_LIMIT else (one.low, one.high)
                for name, one in drawn.items()
            },
        }
    wrong = Counter((gold, pred) for gold, pred in zip(references, predictions, strict=True) if gold != pred)
    family: dict[str, Any] = {"predictions": predictions, "references": references}
    curve = f1_family(**family, negative_label=negative_label, averages=[f"n^{a:g}" for a in EXPONENTS])
    ordered = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))
    return {
        "support": slices,
        "confusions": [
            {"gold": gold, "predicted": pred, "rows": number} for (gold, pred), number in ordered[:10]
        ],
        "exponents": {a: curve[f"n^{a:g}_f1"] for a in EXPONENTS},
    }


def label_breakdown_tables(found: Mapping[str, Any]) -> list[Table]:
    """Return the tables of `label_breakdown`: the parts, the confusions, some points of the curve."""
    rows = [
        [
            part,
            f"{one['num_rows']:,}",
            quoted(one["classes"], 4),
            *(percent(one["scores"][f"{name}_f1"]) for name in ("micro", "macro")),
            interval(one["intervals"]["micro_f1"]) if one["intervals"]["micro_f1"] else "",
        ]
        for part, one in found["support"].items()
    ]
    return [
        Table(["classes by support", "rows", "classes", "micro F1", "macro F1", "micro, 95% interval"], rows),
        Table(
            ["taken for", "instead of", "rows"],
            [[one["predicted"], one["gold"], f"{one['rows']:,}"] for one in found["confusions"]],
        ),
        Table(
            ["weights n^a, a =", *(f"{a:g}" for a in found["exponents"])],
            [["F1 in percent", *map(percent, found["exponents"].values())]],
        ),
    ]
