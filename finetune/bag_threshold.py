"""The one threshold above which a relation is predicted, for models with a sigmoid per relation."""

from __future__ import annotations

import numpy as np

# Used where there is no validation split to choose a threshold on.
DEFAULT_THRESHOLD = 0.5


def best_threshold(*, scores: np.ndarray, gold: np.ndarray) -> float:
    """The threshold with the highest micro F1 over all pairs of unit and relation; a score at it counts.

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
