"""How much an example counts in the loss, by its label: the class weighting schemes of the metric."""

from __future__ import annotations

import numpy as np

from weighted_f1_metric import class_weights


def label_weights(*, labels: np.ndarray, num_labels: int, negative_id: int, scheme: str) -> np.ndarray | None:
    """Factor of an example by its label, float32, shape (num_labels,); None where each counts 1.

    An example of class i with n_i examples counts w_i / n_i, scaled to mean 1 over the examples of positive
    classes, so that all examples of a class together count as much as the class does in the average of that
    name. An example of the negative class counts 1. "weighted" (w_i = n_i) is the unweighted loss. A class
    without examples has 0, which nothing uses.

    Args:
        labels: Label ids of what is trained on, shape (num_units,).
        num_labels: Number of labels, the negative one included.
        negative_id: Id of the negative relation.
        scheme: "none", "weighted", "dodrans", "entropy" (its N counts the negative examples too) or "macro".

    >>> label_weights(labels=np.array([0, 1, 1, 1, 2]), num_labels=3, negative_id=0, scheme="macro").tolist()
    [1.0, 0.6666666865348816, 2.0]

    Raises:
        ValueError: No example is positive, or the scheme gives every class the weight 0.

    Reference: [B] Harbecke et al. 2022, section 2.1 and Table 2.
    """
    if scheme == "none":
        return None
    support = np.bincount(labels, minlength=num_labels).astype(np.float64)
    support[negative_id] = 0
    weights = class_weights(support, scheme, total=float(len(labels)))
    if not weights.sum() > 0:
        raise ValueError(
            f"`--loss_weighting {scheme}` gives every class the weight 0: {int(support.sum())} of "
            f"{len(labels)} training examples are of {np.count_nonzero(support)} positive classes; use "
            "`--loss_weighting none`."
        )
    scale = support.sum() / weights.sum()
    factors = np.divide(weights * scale, support, out=np.zeros_like(support), where=support > 0)
    factors[negative_id] = 1.0
    return factors.astype(np.float32)
