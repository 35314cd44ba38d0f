"""What a Trainer hands to `compute_metrics` -> checked arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .columns import first_repeat
from .validation import quoted


def read_label_names(id2label: Mapping[Any, str] | Sequence[str]) -> list[str]:
    """The label names in id order.

    >>> read_label_names({"1": "b", "0": "a"})
    ['a', 'b']

    Raises:
        TypeError: names that are no strings.
        ValueError: ids that are not 0 .. n - 1, a name twice, no labels.
    """
    if isinstance(id2label, Mapping):
        try:
            by_id = {int(key): name for key, name in id2label.items()}
        except (TypeError, ValueError):
            raise ValueError(f"`id2label` must map ids to names; its keys are {quoted(id2label)}.") from None
        if sorted(by_id) != list(range(len(by_id))):
            raise ValueError(f"The ids of `id2label` must be 0 to n - 1; got {quoted(sorted(by_id))}.")
        names = [by_id[index] for index in range(len(by_id))]
    else:
        names = list(id2label) if isinstance(id2label, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names) or isinstance(id2label, str):
        raise TypeError("`id2label` must be a mapping id -> name, or the list of names (strings).")
    if first_repeat(names):
        raise ValueError(f"`id2label` holds names twice: {quoted(first_repeat(names))}.")
    return names


def read_outputs(eval_prediction: Any, num_labels: int) -> tuple[np.ndarray, Any]:
    """Logits (num_rows, num_labels) float64 or predicted ids (num_rows,) int64; and the label ids as they
    are.

    Raises:
        TypeError: neither an EvalPrediction nor a pair.
        ValueError: another shape, no rows, NaN.
    """
    if hasattr(eval_prediction, "predictions") and hasattr(eval_prediction, "label_ids"):
        outputs, label_ids = eval_prediction.predictions, eval_prediction.label_ids
    elif isinstance(eval_prediction, tuple) and len(eval_prediction) == 2:
        outputs, label_ids = eval_prediction
    else:
        raise TypeError(
            "compute_metrics takes an EvalPrediction, or the pair (predictions, label_ids); got "
            f"{type(eval_prediction).__name__}."
        )
    if isinstance(outputs, Mapping):
        outputs = outputs["logits"] if "logits" in outputs else next(iter(outputs.values()))
    if isinstance(outputs, (tuple, list)) and len(outputs) and np.ndim(outputs[0]) >= 1:
        # Hidden states may follow the logits; a plain list of rows has rows of one dimension.
        outputs = outputs[0] if isinstance(outputs, tuple) else outputs
    array = np.asarray(outputs)
    if array.ndim == 1 and array.dtype.kind in "iu" and array.size:
        if array.min() < 0 or array.max() >= num_labels:
            raise ValueError(
                f"Predicted ids must lie in 0 to {num_labels - 1}; got {array.min()} to {array.max()}."
            )
        return array.astype(np.int64), label_ids
    if array.ndim != 2 or array.shape[1] != num_labels or not len(array):
        raise ValueError(
            f"Logits must have shape (num_rows, {num_labels}), a column for each entry of `id2label`; got "
            f"{array.shape}."
        )
    logits = array.astype(np.float64)
    diverged = (~(logits < np.inf)).any(axis=1)  # -inf is how a class is masked
    if diverged.any():
        raise ValueError(
            f"{int(diverged.sum())} of {len(logits)} rows of logits hold NaN or infinity: the model diverged."
        )
    return logits, label_ids


def read_labels_and_rows(
    label_ids: Any, num_labels: int, *, with_rows: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The labels and the row ids, (num_rows,) int64 each; without row ids the second is empty.

    Raises:
        TypeError: labels that are no integers.
        ValueError: no labels; row ids that are needed and missing; labels of -100 or -1, or outside
            `id2label`.
    """
    if label_ids is None:
        raise ValueError("There are no label_ids: the Trainer found no label column to evaluate against.")
    if isinstance(label_ids, (tuple, list)) and len(label_ids) == 2 and np.ndim(label_ids[0]) == 1:
        columns = [np.asarray(column) for column in label_ids]
    else:
        array = np.asarray(label_ids)
        columns = (
            [array] if array.ndim == 1 else list(array.T) if array.ndim == 2 and array.shape[1] == 2 else []
        )
    if not columns or len({len(column) for column in columns}) > 1:
        raise ValueError(
            "label_ids must be labels (num_rows,), or labels and row ids: (num_rows, 2), or a tuple of two "
            f"vectors; got shape {np.shape(label_ids) if not isinstance(label_ids, tuple) else 'of a tuple'}."
        )
    if any(column.dtype.kind not in "iu" for column in columns):
        raise TypeError("Labels and row ids must be integers.")
    if with_rows and len(columns) < 2:
        raise ValueError(
            "A track needs the row ids as a second label column, e.g. label_names=['labels', 'row_ids'], so "
            "that rows that were gathered twice or not at all are seen."
        )
    labels = columns[0].astype(np.int64)
    ignored = labels < 0
    if ignored.any():
        raise ValueError(
            f"{int(ignored.sum())} of {len(labels)} labels are below 0 (the first: {labels[ignored][0]}); -1 "
            "and -100 mark rows without a label. Leave them out of the evaluation set."
        )
    if labels.max() >= num_labels:
        raise ValueError(f"Label {labels.max()} is outside `id2label`, which has {num_labels} entries.")
    rows = columns[1].astype(np.int64) if len(columns) > 1 else np.empty(0, dtype=np.int64)
    return labels, rows


def relation_scores(logits: np.ndarray, kind: str) -> np.ndarray:
    """Scores from logits, (num_rows, num_labels): "softmax", "sigmoid" or "identity".

    >>> relation_scores(np.array([[0.0, 0.0]]), "softmax").tolist()
    [[0.5, 0.5]]
    """
    if kind == "softmax":
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)
    if kind == "sigmoid":
        return np.exp(-np.logaddexp(0.0, -logits))
    return logits
