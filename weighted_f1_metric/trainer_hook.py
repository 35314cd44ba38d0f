"""`make_compute_metrics`: the family, or a track's scores, for the Trainer's `compute_metrics`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .eval_outputs import read_label_names, read_labels_and_rows, read_outputs, relation_scores
from .family import f1_family
from .ranking import DEFAULT_KS
from .reference_splits import ReferenceSplit, read_splits, split_of_rows
from .tracks import score_track
from .units import TRACKS
from .validation import check_choice, is_integer, quoted
from .weighting import AVERAGES, Average

SCORE_KINDS = ("softmax", "sigmoid", "identity", "none")


def make_compute_metrics(
    *,
    id2label: Mapping[Any, str] | Sequence[str],
    negative_label: str | int | None = None,
    references: Any = None,
    track: str | None = None,
    scores: str = "softmax",
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
    entropy_total: str = "all",
    groups: Mapping[str, str] | None = None,
    truths: str | Sequence[str] = "auto",
    unk: str = "error",
    by: str = "rows",
    ks: Sequence[int] = DEFAULT_KS,
) -> Callable[[Any], dict[str, float]]:
    """A function for the Trainer's `compute_metrics`: an EvalPrediction in, a flat dict of floats out.

    Without `track` the dict is the family of `f1_family` over the label ids. With `references` and `track`
    it is what `score_track` returns for the split whose rows were evaluated: the keys with the prefixes and
    counts.

    Args:
        id2label: label id -> name, as in a model's config (keys may be strings of digits), or the names in
            order.
        negative_label: name or id of the class without a score; with `track` the default is "NA" if there is
            one.
        references: the reference records (or columns) of one split, or a mapping split -> records.
        track: "sent2sent", "bag2sent" or "bag2bag".
        scores: how logits become the scores of the ranking measures of a track: "softmax" over all classes,
            "sigmoid" each, "identity" (they are scores already), or "none" (no ranking measures).
        averages, beta, zero_division, entropy_total: as in `f1_family`.
        macro_over, groups: likewise, without `track`; `groups` maps names.
        truths, unk, by, ks: as in `score_track`.

    The returned function takes an object with `predictions` and `label_ids` (or the pair of them):

    - predictions: logits (num_rows, num_classes); a tuple or dict of outputs holding them first, or under
      "logits"; or predicted ids (num_rows,);
    - label_ids: (num_rows,) labels. With `track` the row ids travel as a second column: (num_rows, 2), or a
      tuple (labels, row_ids). A row id is the position of the unit in the references, counted on over the
      splits in the order of the mapping: the position of the record on the sentence tracks, of the bag (in
      order of first appearance) on bag2bag. The split is recognised by its ids, each of which must be there
      exactly once.

    A value that does not exist (precision at a K beyond the candidates) is left out; one that is undefined
    (see `f1_family`) is `zero_division`, so that the keys are the same at every evaluation.

    >>> compute_metrics = make_compute_metrics(id2label=["NA", "born_in"], negative_label="NA")
    >>> logits = np.array([[2.0, 1.0], [0.0, 3.0], [0.0, 1.0]])
    >>> scores = compute_metrics((logits, np.array([0, 1, 0])))
    >>> scores["micro_precision"], scores["micro_recall"]
    (0.5, 1.0)

    Warns:
        UserWarning: every prediction is the negative class; or no `negative_label` was given, so that micro
            precision, recall and F1 are one number, the accuracy.

    Raises:
        TypeError, ValueError: arguments that do not fit each other; when called: logits of another shape or
            with NaN, labels of -100 or -1 or outside `id2label`, labels that disagree with the references,
            row ids that are missing, there twice or of no split.
    """
    names = read_label_names(id2label)
    negative = _negative_id(names, negative_label, track)
    check_choice("scores", scores, SCORE_KINDS)
    if (references is None) != (track is None):
        raise ValueError(
            "`references` and `track` belong together; give both, or neither for the plain family."
        )
    family: dict[str, Any] = {
        "averages": averages,
        "beta": beta,
        "zero_division": zero_division,
        "entropy_total": entropy_total,
    }
    if track is None:
        id_of_name = {name: index for index, name in enumerate(names)}
        id_groups = None
        if groups is not None:
            strangers = [name for name in groups if name not in id_of_name]
            if strangers:
                raise ValueError(f"`groups` maps names that `id2label` lacks: {quoted(strangers)}.")
            id_groups = {id_of_name[name]: group for name, group in groups.items()}

        def family_metrics(eval_prediction: Any) -> dict[str, float]:
            outputs, label_ids = read_outputs(eval_prediction, len(names))
            labels, _ = read_labels_and_rows(label_ids, len(names), with_rows=False)
            predicted = _decided(outputs)
            _warn(predicted, negative)
            result = f1_family(
                predictions=predicted,
                references=labels,
                labels=list(range(len(names))),
                negative_label=negative,
                macro_over=macro_over,
                groups=id_groups,
                **family,
            )
            return _flat(result)

        return family_metrics

    check_choice("track", track, TRACKS)
    if groups is not None or macro_over != "supported":
        raise ValueError("`groups` and `macro_over` have no meaning with `track`, which reports both macros.")
    relations = [name for index, name in enumerate(names) if index != negative]
    splits = read_splits(references, track)

    def track_metrics(eval_prediction: Any) -> dict[str, float]:
        outputs, label_ids = read_outputs(eval_prediction, len(names))
        labels, rows = read_labels_and_rows(label_ids, len(names), with_rows=True)
        split, positions = split_of_rows(rows, splits)
        _check_agreement(labels, positions, split, names)
        predicted = _decided(outputs)
        _warn(predicted, negative)
        id_key = "bag_id" if track == "bag2bag" else "instance_id"
        columns: dict[str, Any] = {
            id_key: [split.unit_ids[position] for position in positions],
            "pred": [names[index] for index in predicted],
        }
        if outputs.ndim == 2 and scores != "none":
            matrix = relation_scores(outputs, scores)
            columns["scores"] = np.delete(matrix, negative, axis=1)
        result = score_track(
            track=track,
            references=split.records,
            predictions=columns,
            relations=relations,
            negative_relation=names[negative],
            truths=truths,
            unk=unk,
            by=by,
            ks=ks,
            **family,
        )
        return _flat(result)

    return track_metrics


def _negative_id(names: list[str], negative_label: str | int | None, track: str | None) -> Any:
    """The id of the negative class, or None."""
    if negative_label is None:
        if track is None:
            return None
        if "NA" not in names:
            raise ValueError(
                f"A track needs `negative_label`, the relation without a score; labels: {quoted(names)}."
            )
        return names.index("NA")
    if isinstance(negative_label, str):
        if negative_label not in names:
            raise ValueError(
                f"`negative_label` is {negative_label!r}, which `id2label` lacks: {quoted(names)}."
            )
        return names.index(negative_label)
    if not is_integer(negative_label):
        raise TypeError(f"`negative_label` must be a name or an id; got {negative_label!r}.")
    if not 0 <= int(negative_label) < len(names):
        raise ValueError(f"`negative_label` is {negative_label!r}; ids go from 0 to {len(names) - 1}.")
    return int(negative_label)


def _decided(outputs: np.ndarray) -> np.ndarray:
    return outputs.argmax(axis=-1) if outputs.ndim == 2 else outputs


def _warn(predicted: np.ndarray, negative: int | None) -> None:
    """Warns about the two results that look like scores and mean that something is wrong."""
    if negative is None:
        warnings.warn(
            "No `negative_label`: with every class scored, micro precision, recall and F1 are all the "
            "accuracy. If one class means 'no relation', name it, or the numbers are not comparable with "
            "published ones.",
            UserWarning,
            stacklevel=3,
        )
    elif np.all(predicted == negative):
        warnings.warn(
            f"All {len(predicted)} predictions are the negative class, so every score is 0: the model has "
            "collapsed (too high a learning rate, too few steps) or the label ids do not fit.",
            UserWarning,
            stacklevel=3,
        )


def _check_agreement(
    labels: np.ndarray, positions: np.ndarray, split: ReferenceSplit, names: list[str]
) -> None:
    """The labels of the rows are those of the references, or the label map is not the data's."""
    if split.relations is None:
        return
    for label, position in zip(labels.tolist(), positions.tolist(), strict=True):
        if names[label] != split.relations[position]:
            raise ValueError(
                f"Label {label} is {names[label]!r} in `id2label`, but the references say "
                f"{split.relations[position]!r} for {split.unit_ids[position]!r}: labels, row ids and "
                "references belong to different data or orders."
            )


def _flat(result: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a result as Python floats; None and nested entries are left out."""
    return {key: float(value) for key, value in result.items() if isinstance(value, (int, float))}
