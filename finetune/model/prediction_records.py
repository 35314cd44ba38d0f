"""From a model's outputs to prediction records in the authors' format: values in, records out.

This file is flat and uses numpy only, because it travels with a saved model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Decimals of a probability in prediction files; the numbers are made from the rounded values, so that a file
# scored again gives the same ones.
DECIMALS = 8


class FinetuneError(Exception):
    """The base of the errors of this package."""


class TrainingDivergedError(FinetuneError, ValueError):
    """The model's scores are no numbers any more."""


def require_finite(logits: np.ndarray) -> None:
    """Raise TrainingDivergedError when a score is NaN or infinite; shape (num_rows, num_labels)."""
    broken = int(np.count_nonzero(~np.isfinite(logits).all(axis=1)))
    if broken:
        raise TrainingDivergedError(
            f"the model's scores are not finite in {broken} of {len(logits)} rows: training has diverged; "
            "use a smaller `--learning_rate`."
        )


def scores_of(outputs: np.ndarray, *, activation: str) -> np.ndarray:
    """Return scores from a model's outputs, float64, shape (num_units, num_labels), rounded as they are
    written.

    Args:
        outputs: Shape (num_units, num_labels).
        activation: "softmax" over the labels (they sum to 1), "sigmoid" for each, or "identity" (they are
            scores).

    >>> scores_of(np.array([[0.0, 0.0], [-1e4, 1e4]]), activation="softmax").tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    scores = outputs.astype(np.float64)
    if activation == "softmax":
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
    elif activation == "sigmoid":
        scores = np.exp(-np.logaddexp(0.0, -scores))
    return scores.round(DECIMALS)


def prediction_records(
    *,
    names: Sequence[str],
    outputs: np.ndarray,
    label_names: Sequence[str],
    negative_relation: str,
    activation: str = "softmax",
    id_key: str = "instance_id",
    threshold: float | None = None,
) -> list[dict[str, Any]]:
    """Return one record per unit, in order: its id, `pred`, and `scores` (name -> score).

    `pred` is the name of the best label; with a threshold the list of the positive relations whose score
    reaches it.

    Args:
        names: The ids of the units.
        outputs: Shape (num_units, num_labels), in the order of the units.
        label_names: Names by label id.
        negative_relation: The name that means "none of the relations".
        activation: See `scores_of`.
        id_key: "instance_id" or "bag_id".
        threshold: For models that predict relations separately.

    Raises:
        TrainingDivergedError: An output is not finite.
    """
    require_finite(outputs)
    scores = scores_of(outputs, activation=activation)
    predicted: list[Any]
    if threshold is None:
        predicted = [label_names[choice] for choice in outputs.argmax(axis=1).tolist()]
    else:
        reached = scores >= threshold
        reached[:, label_names.index(negative_relation)] = False
        predicted = [[label_names[label] for label in np.flatnonzero(row).tolist()] for row in reached]
    return [
        {id_key: name, "pred": choice, "scores": dict(zip(label_names, row, strict=True))}
        for name, choice, row in zip(names, predicted, scores.tolist(), strict=True)
    ]


# Used where there is no validation split to choose a threshold on.
DEFAULT_THRESHOLD = 0.5


def best_threshold(*, scores: np.ndarray, gold: np.ndarray) -> float:
    """Return the threshold with the highest micro F1 over all pairs of unit and relation; a score at it
    counts.

    It is one of the scores; of several equally good ones the highest, which predicts least. Where no pair is
    gold every threshold is as bad, and DEFAULT_THRESHOLD is returned.

    Args:
        scores: Shape (num_units, num_relations), without the negative relation.
        gold: bool, same shape.

    >>> best_threshold(scores=np.array([[0.9, 0.1], [0.4, 0.3]]), gold=np.array([[True, False]] * 2))
    0.4
    """
    if not gold.any():
        return DEFAULT_THRESHOLD
    flat = scores.ravel()
    order = np.argsort(-flat, kind="stable")
    hits = np.cumsum(gold.ravel()[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + np.count_nonzero(gold))
    last_of_value = np.append(np.diff(flat[order]) != 0, True)
    return float(flat[order][np.where(last_of_value, f1, -1.0).argmax()])
