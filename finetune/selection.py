"""The measure of the validation split that chooses among the epochs, and the threshold for label lists."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from weighted_f1_metric import make_compute_metrics

from .bag_threshold import best_threshold
from .bag_units import id_key, scored_track, unit_names
from .evaluation import is_scored_by_track, numbers_only, references_of, score_records
from .prediction_records import prediction_records, require_finite, scores_of
from .preparation import Prepared


def metric_of_trainer(prepared: Prepared, activation: str) -> Callable[[Any], dict[str, float]]:
    """The Trainer's `compute_metrics`: the F1 scores, which it prints, and the measure that selects.

    Args:
        prepared: The input of every seed.
        activation: What makes scores of the model's outputs, see `prediction_records.scores_of`.
    """
    data = prepared.data
    compute_all: Callable[[Any], dict[str, Any]]
    if prepared.multi_label:

        def compute_all(evaluated: Any) -> dict[str, Any]:
            outputs, (_, row_ids) = evaluated
            outputs = in_unit_order(outputs, row_ids, prepared.batches["validation"].row_ids)
            threshold = chosen_threshold(prepared, outputs, activation)
            records = split_records(prepared, "validation", outputs, activation, threshold)
            return numbers_only(split_scores(prepared, "validation", records))

    else:
        options: dict[str, Any] = {"macro_over": "supported"}
        if is_scored_by_track(data, track=prepared.track, multi_label=False):
            split = "validation" if "validation" in data.splits else "test"
            options = {
                "references": references_of(data, split),
                "track": scored_track(prepared.track, split),
                "scores": activation,
            }
        compute_all = make_compute_metrics(
            id2label=dict(enumerate(data.label_names)), negative_label=data.negative_relation, **options
        )

    def compute(evaluated: Any) -> dict[str, float]:
        outputs, _ = evaluated
        require_finite(outputs)
        with warnings.catch_warnings():
            # A model at its beginning often predicts nothing; the run says it of the weights that are used.
            warnings.simplefilter("ignore", UserWarning)
            measures = compute_all(evaluated)
        return {
            name: value
            for name, value in measures.items()
            if name.endswith("_f1") or name == prepared.select_by
        }

    return compute


def check_selection(prepared: Prepared) -> None:
    """Raise ValueError when no measure of the validation split has the name `select_by`.

    The metric is run once on the gold labels, before any training.
    """
    if prepared.select_by is None:
        return
    units = prepared.batches["validation"]
    gold = (units.labels > 0).astype(np.float32)
    if units.labels.ndim == 1:
        gold = np.eye(len(prepared.data.label_names), dtype=np.float32)[units.labels]
    measures = metric_of_trainer(prepared, "identity")((gold, (units.labels, units.row_ids)))
    if prepared.select_by not in measures:
        listed = ", ".join(name for name in measures if name.endswith("f1"))
        raise ValueError(
            f"`select_by` {prepared.select_by!r} is no measure of the validation split; such are {listed}."
        )


def chosen_threshold(prepared: Prepared, outputs: np.ndarray, activation: str) -> float:
    """The best threshold for the label sets of the validation split; outputs in the order of its units."""
    labels = prepared.batches["validation"].labels
    positive = labels[0] != -100
    scores = scores_of(outputs, activation=activation)
    return best_threshold(scores=scores[:, positive], gold=labels[:, positive] == 1)


def split_records(
    prepared: Prepared, split: str, outputs: np.ndarray, activation: str, threshold: float | None
) -> list[dict[str, Any]]:
    """The prediction records of a split; see `prediction_records.prediction_records`."""
    return prediction_records(
        names=unit_names(prepared.batches[split], prepared.data.splits[split]),
        outputs=outputs,
        label_names=prepared.data.label_names,
        negative_relation=prepared.data.negative_relation,
        activation=activation,
        id_key=id_key(prepared.track, split),
        threshold=threshold,
    )


def split_scores(prepared: Prepared, split: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of a split's records; see `evaluation.score_records`."""
    return score_records(
        data=prepared.data,
        split=split,
        track=prepared.track,
        records=records,
        multi_label=prepared.multi_label,
    )


def in_unit_order(outputs: np.ndarray, row_ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Gathered outputs in the order of the wanted units.

    Raises:
        RuntimeError: A unit did not come back, or one that was not asked for.
    """
    # The last batches of several processes are filled up.
    found, first = np.unique(row_ids, return_index=True)
    if not np.array_equal(found, np.sort(wanted)):
        missing = np.setdiff1d(wanted, found)
        raise RuntimeError(
            f"the processes gave back {len(found)} different rows for {len(wanted)}; "
            f"{len(missing)} are missing (first: {missing[:3].tolist()})."
        )
    return outputs[first[np.searchsorted(found, wanted)]]
