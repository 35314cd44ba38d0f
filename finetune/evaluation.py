"""Prediction records of one split in the authors' format, and the numbers made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weighted_f1_metric import data_fingerprint, f1_family, score_track, signature

from .relation_rows import RelationData, RelationRows

# Decimals of a probability in prediction files; the numbers are made from the rounded values, so that a file
# scored again gives the same ones.
DECIMALS = 8


class TrainingDivergedError(ValueError):
    """The model's scores are no numbers any more."""


def require_finite(logits: np.ndarray) -> None:
    """Raise TrainingDivergedError when a score is NaN or infinite; shape (num_rows, num_labels)."""
    broken = int(np.count_nonzero(~np.isfinite(logits).all(axis=1)))
    if broken:
        raise TrainingDivergedError(
            f"the model's scores are not finite in {broken} of {len(logits)} rows: training has diverged; "
            "use a smaller `--learning_rate`."
        )


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Softmax over the last axis in float64, shape (num_rows, num_labels), rows sum to 1.

    >>> probabilities(np.array([[0.0, 0.0], [-1e4, 1e4]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    shifted = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def prediction_records(
    *, rows: RelationRows, logits: np.ndarray, label_names: tuple[str, ...]
) -> list[dict[str, Any]]:
    """One record per row, in order: `instance_id`, `pred` (a name), `scores` (name -> probability).

    Args:
        rows: The split.
        logits: Shape (num_rows, num_labels), in the order of the rows.
        label_names: Names by label id.

    Raises:
        TrainingDivergedError: A logit is not finite.
    """
    require_finite(logits)
    best = logits.argmax(axis=1)
    rounded = probabilities(logits).round(DECIMALS).tolist()
    return [
        {
            "instance_id": name,
            "pred": label_names[choice],
            "scores": dict(zip(label_names, scores, strict=True)),
        }
        for name, choice, scores in zip(rows.row_names, best.tolist(), rounded, strict=True)
    ]


def score_records(
    *, data: RelationData, split: str, track: str, records: list[dict[str, Any]]
) -> dict[str, Any]:
    """Every number for a split, flat, plus `echo` where there are human labels, `undefined` and `signature`.

    Data with human labels are scored by `score_track`; the others by `f1_family` over the labels without the
    negative relation and, where labels have a direction, by group under `official_`.
    """
    rows = data.splits[split]
    positive = [name for name in data.label_names if name != data.negative_relation]
    if rows.references is not None:
        scores = score_track(
            track=track,
            references=rows.references,
            predictions=records,
            relations=positive,
            negative_relation=data.negative_relation,
        )
        return {**scores, "signature": scores.pop("signatures")}
    return _family(data, rows, [record["pred"] for record in records])


def _family(data: RelationData, rows: RelationRows, predicted: list[str]) -> dict[str, Any]:
    gold = [data.label_names[label] for label in rows.labels.tolist()]
    positive = [name for name in data.label_names if name != data.negative_relation]
    fingerprint = data_fingerprint(list(zip(rows.row_names, gold, strict=True)))
    result: dict[str, Any] = {}
    undefined: list[str] = []
    signatures = {}
    parts: list[tuple[str, dict[str, Any]]] = [("", {})]
    if data.groups is not None:
        parts.append(("official_", {"groups": data.groups, "averages": ("macro",)}))
    for prefix, chosen in parts:
        options = {"negative_label": data.negative_relation, **chosen}
        scores = f1_family(predictions=predicted, references=gold, **options)
        undefined += [prefix + name for name in scores.pop("undefined")]
        result |= {prefix + name: value for name, value in scores.items()}
        signatures[prefix.rstrip("_") or "f1_family"] = signature(
            labels=positive, data=fingerprint, **options
        )
    result["num_units"] = len(rows)
    return {**result, "undefined": undefined, "signature": signatures}


def numbers_only(scores: Mapping[str, Any]) -> dict[str, float | int | None]:
    """The flat numbers of a score dict, without `echo`, `undefined` and `signature`."""
    return {name: value for name, value in scores.items() if value is None or isinstance(value, (int, float))}
