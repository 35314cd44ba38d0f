"""`make_compute_metrics`: the family, or a track's scores, for the Trainer's `compute_metrics`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import repeated_ids
from .counts import class_counts
from .family import f1_family
from .ranking import DEFAULT_KS
from .row_sources import NESTED, REFERENCE_KEYS, read_columns
from .track_statistics import resolve_truths
from .tracks import checked_options, score_units
from .unit_predictions import predictions_of_ids
from .units import TRACKS, Units, read_units
from .validation import check_choice, is_integer, quoted
from .weighting import AVERAGES, Average


def read_label_names(id2label: Mapping[Any, str] | Sequence[str]) -> list[str]:
    """Return the label names in id order.

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
        if sorted(by_id) != list(range(len(id2label))):
            raise ValueError(f"The ids of `id2label` must be 0 to n - 1; got {quoted(sorted(by_id))}.")
        names = [by_id[index] for index in range(len(by_id))]
    else:
        is_ordered = isinstance(id2label, Iterable) and not isinstance(id2label, Set)
        names = list(id2label) if is_ordered else []
    if not names or not all(isinstance(name, str) for name in names) or isinstance(id2label, str):
        raise TypeError("`id2label` must be a mapping id -> name, or the list of names (strings).")
    if repeated_ids(names):
        raise ValueError(f"`id2label` holds names twice: {quoted(repeated_ids(names))}.")
    return names


def unpacked(eval_prediction: Any) -> tuple[Any, Any]:
    """Return predictions and label ids of an evaluation; batches that were kept apart are joined.

    Raises:
        TypeError: neither an EvalPrediction nor a pair.
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
    both_listed = isinstance(outputs, list) and isinstance(label_ids, list) and len(outputs) == len(label_ids)
    if both_listed and outputs and all(map(_is_batch, outputs)) and all(map(np.ndim, label_ids)):
        return joined_batches(list(zip(outputs, label_ids, strict=True)))
    return outputs, label_ids


def joined_batches(batches: Sequence[tuple[Any, Any]]) -> tuple[np.ndarray, Any]:
    """Return the rows of (predictions, label ids) batches as one."""
    outputs = np.concatenate([_array(_logits_of(batch)) for batch, _ in batches])
    label_ids = [own for _, own in batches]
    if any(own is None for own in label_ids):
        return outputs, None
    if isinstance(label_ids[0], (tuple, list)):
        columns = zip(*label_ids, strict=True)
        return outputs, tuple(np.concatenate([_array(part) for part in column]) for column in columns)
    return outputs, np.concatenate([_array(own) for own in label_ids])


def _is_batch(outputs: Any) -> bool:
    """Whether these are the outputs of several rows, not of one."""
    if isinstance(outputs, (tuple, Mapping)) or np.ndim(outputs) == 2:
        return True
    return np.ndim(outputs) == 1 and hasattr(outputs, "dtype") and _array(outputs).dtype.kind in "iu"


def _logits_of(outputs: Any) -> Any:
    """The logits, or predicted ids, out of all that a model returns."""
    if isinstance(outputs, Mapping):
        return outputs["logits"] if "logits" in outputs else next(iter(outputs.values()))
    if isinstance(outputs, tuple) and len(outputs) and np.ndim(outputs[0]) >= 1:
        return outputs[0]  # hidden states may follow; a plain sequence of rows has rows of one dimension
    return outputs


def _array(values: Any) -> np.ndarray:
    """An array, of a tensor on any device too."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if values.is_floating_point() else values).numpy()
    return np.asarray(values)


def read_outputs(eval_prediction: Any, num_labels: int) -> tuple[np.ndarray, Any]:
    """Return logits (num_rows, num_labels) float64 or predicted ids (num_rows,) int64; and the label ids as
    they are.

    Raises:
        TypeError: neither an EvalPrediction nor a pair.
        ValueError: another shape, no rows, NaN.
    """
    outputs, label_ids = unpacked(eval_prediction)
    outputs = _logits_of(outputs)
    array = _array(outputs)
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
    """Return the labels and the row ids, (num_rows,) int64 each; without row ids the second is empty.

    Raises:
        TypeError: labels that are no integers.
        ValueError: no labels; row ids that are needed and missing; labels of -100 or -1, or outside
            `id2label`.
    """
    if label_ids is None:
        raise ValueError("There are no label_ids: the Trainer found no label column to evaluate against.")
    if isinstance(label_ids, (tuple, list)) and len(label_ids) == 2 and np.ndim(label_ids[0]) == 1:
        columns = [_array(column) for column in label_ids]
    else:
        array = _array(label_ids)
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
    """Return scores from logits, (num_rows, num_labels): "softmax", "sigmoid" or "identity".

    >>> relation_scores(np.array([[0.0, 0.0]]), "softmax").tolist()
    [[0.5, 0.5]]
    """
    if kind == "softmax":
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)
    if kind == "sigmoid":
        return np.exp(-np.logaddexp(0.0, -logits))
    return logits


@dataclass(frozen=True)
class ReferenceSplit:
    """One split.

    Attributes:
        name: its name.
        units: its units; row ids count their ids.
        start: the row id of its first unit.
        relations: the relation of each row, or None where the units are bags.
    """

    name: str
    units: Units
    start: int
    relations: list[Any] | None

    @property
    def unit_ids(self) -> tuple[Any, ...]:
        """The ids of its units, in row order."""
        return self.units.ids


def read_splits(references: Any, judgments: Any, **inputs: Any) -> list[ReferenceSplit]:
    """Return the splits, with their row ids counted on from one to the next.

    Args:
        references: see `make_compute_metrics`.
        judgments: likewise.
        inputs: `track`, `relations`, `negative_relation`, `by` of `read_units`.

    Raises:
        TypeError, ValueError: see `read_units`; a judgment of an id that no split has.
    """
    is_split_map = isinstance(references, Mapping) and not {"instance_id", NESTED} & set(references)
    named = dict(references) if is_split_map else {"references": references}
    columns = {
        name: read_columns(
            records, required=REFERENCE_KEYS, optional=["sentence"], name=f"references[{name!r}]"
        )
        for name, records in named.items()
    }
    judged = _judgments_by_split(judgments, {name: own["instance_id"] for name, own in columns.items()})
    splits: list[ReferenceSplit] = []
    start = 0
    for name, own in columns.items():
        units = read_units(references=own, judgments=judged[name], **inputs)
        relations = None if units.track == "bag2bag" else own["relation"]
        splits.append(ReferenceSplit(name, units, start, relations))
        start += len(units.ids)
    return splits


def _judgments_by_split(
    judgments: Any, ids_of_split: Mapping[str, Sequence[Any]]
) -> dict[str, list[dict[str, Any]]]:
    """Split -> the judgments of its rows, as records.

    Raises:
        TypeError, ValueError: see `read_columns`; an id that no split has.
    """
    parts: dict[str, list[dict[str, Any]]] = {name: [] for name in ids_of_split}
    if judgments is None or (isinstance(judgments, (list, tuple)) and not judgments):
        return parts
    keys = ("instance_id", "relation", "answer")
    columns = read_columns(judgments, required=keys, name="judgments")
    split_of = {number: name for name, ids in ids_of_split.items() for number in ids}
    unknown = [number for number in columns["instance_id"] if number not in split_of]
    if unknown:
        raise ValueError(f"`judgments` holds instance_ids that no split has: {quoted(unknown)}.")
    for values in zip(*(columns[key] for key in keys), strict=True):
        parts[split_of[values[0]]].append(dict(zip(keys, values, strict=True)))
    return parts


def split_of_rows(rows: np.ndarray, splits: list[ReferenceSplit]) -> tuple[ReferenceSplit, np.ndarray]:
    """Return the split that the row ids are from, and the position of each row in it.

    Raises:
        ValueError: ids of no split or of several, there twice, or not all there.
    """
    end = splits[-1].start + len(splits[-1].unit_ids)
    if rows.min() < 0 or rows.max() >= end:
        raise ValueError(f"Row ids must lie in 0 to {end - 1}; got {rows.min()} to {rows.max()}.")
    split = next(part for part in reversed(splits) if rows.min() >= part.start)
    positions = rows - split.start
    num_units = len(split.unit_ids)
    if positions.max() >= num_units:
        raise ValueError(
            f"The row ids {rows.min()} to {rows.max()} reach over split {split.name!r}, which ends at "
            f"{split.start + num_units - 1}; evaluate one split at a time."
        )
    times = np.bincount(positions, minlength=num_units)
    repeated, missing = np.flatnonzero(times > 1), np.flatnonzero(times == 0)
    if len(repeated) or len(missing):
        parts = [
            f"{len(where)} of {num_units} units of split {split.name!r} {what}: "
            f"{quoted(split.unit_ids[position] for position in where)}"
            for where, what in ((repeated, "came more than once"), (missing, "are missing"))
            if len(where)
        ]
        raise ValueError(f"{'; '.join(parts)}. Every unit needs exactly one prediction.")
    return split, positions


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
    judgments: Any = None,
    ks: Sequence[int] = DEFAULT_KS,
) -> Callable[..., dict[str, float]]:
    """Return a function for the Trainer's `compute_metrics`: an EvalPrediction in, a flat dict of floats out.

    Without `track` the dict is the family of `f1_family` over the label ids. With `references` and `track`
    it is what `score_track` returns for the split whose rows were evaluated: the keys with the prefixes and
    counts.

    Args:
        id2label: label id -> name, as in a model's config (keys may be strings of digits), or the names in
            order.
        negative_label: name or id of the class without a score; with `track` the default is "NA" if there is
            one.
        references: the references of one split, in any form that `score_track` takes (a split of
            `load_nyt_h` among them), or a mapping split -> references.
        track: "sent2sent", "bag2sent" or "bag2bag".
        scores: how logits become the scores of the ranking measures of a track: "softmax" over all classes,
            "sigmoid" each, "identity" (they are scores already), or "none" (no ranking measures).
        averages, beta, zero_division, entropy_total: as in `f1_family`.
        macro_over, groups: likewise, without `track`; `groups` maps names.
        truths, unk, by, ks: as in `score_track`.
        judgments: likewise; of several splits together, each row's answers go to its split.

    The returned function takes an object with `predictions` and `label_ids` (or the pair of them):

    - predictions: logits (num_rows, num_classes); a tuple or dict of outputs holding them first, or under
      "logits"; or predicted ids (num_rows,);
    - label_ids: (num_rows,) labels. With `track` the row ids travel as a second column: (num_rows, 2), or a
      tuple (labels, row_ids). A row id is the position of the unit in the references, counted on over the
      splits in the order of the mapping: the position of the record on the sentence tracks, of the bag (in
      order of first appearance) on bag2bag. The split is recognised by its ids, each of which must be there
      exactly once.

    Batches that were kept apart (`eval_do_concat_batches=False`: lists of them) are joined. With
    `batch_eval_metrics=True` the Trainer calls with `compute_result`: batches are collected until it is True.

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
        TypeError, ValueError: arguments that do not fit each other, options out of their range, references
            that `score_track` would refuse; when called: logits of another shape or
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
    if judgments is not None and track is None:
        raise ValueError("`judgments` are about the relations of a track; give `references` and `track`.")
    family: dict[str, Any] = {
        "averages": averages,
        "beta": beta,
        "zero_division": zero_division,
        "entropy_total": entropy_total,
    }
    checked_options(ks=ks, **family)
    check_choice("macro_over", macro_over, ("supported", "labels"))
    if track is None:
        id_of_name = {name: index for index, name in enumerate(names)}
        id_groups = None
        if groups is not None:
            strangers = [name for name in groups if name not in id_of_name]
            if strangers:
                raise ValueError(f"`groups` maps names that `id2label` lacks: {quoted(strangers)}.")
            id_groups = {id_of_name[name]: group for name, group in groups.items()}
        every = list(range(len(names)))
        class_counts(  # refuses groups that do not fit
            predictions=every, references=every, labels=every, negative_label=negative, groups=id_groups
        )

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

        return _collecting(family_metrics)

    check_choice("track", track, TRACKS)
    if groups is not None or macro_over != "supported":
        raise ValueError("`groups` and `macro_over` have no meaning with `track`, which reports both macros.")
    splits = read_splits(
        references,
        judgments,
        track=track,
        relations=[name for index, name in enumerate(names) if index != negative],
        negative_relation=names[negative],
        by=by,
    )
    for split in splits:
        resolve_truths(truths, unk, split.units)

    def track_metrics(eval_prediction: Any) -> dict[str, float]:
        outputs, label_ids = read_outputs(eval_prediction, len(names))
        labels, rows = read_labels_and_rows(label_ids, len(names), with_rows=True)
        split, positions = split_of_rows(rows, splits)
        if len(outputs) != len(rows):
            raise ValueError(f"There are {len(outputs)} predictions, but {len(rows)} labels with row ids.")
        _check_agreement(labels, positions, split, names)
        predicted = _decided(outputs)
        _warn(predicted, negative)
        units, order = split.units, np.argsort(positions)
        classes = np.delete(np.arange(len(names)), negative)
        matrix = None
        if outputs.ndim == 2 and scores != "none":
            matrix = relation_scores(outputs, scores)[order][:, classes]
        system = predictions_of_ids(units, predicted[order, None] == classes, matrix)
        return _flat(score_units(units, system, truths=truths, unk=unk, ks=ks, **family).scores)

    return _collecting(track_metrics)


def _collecting(metrics: Callable[[Any], dict[str, float]]) -> Callable[..., dict[str, float]]:
    """`metrics`, which also takes an evaluation batch by batch."""
    batches: list[tuple[Any, Any]] = []

    def compute_metrics(eval_prediction: Any, compute_result: bool | None = None) -> dict[str, float]:
        if compute_result is None:
            batches.clear()  # of an evaluation that did not end
            return metrics(eval_prediction)
        outputs, label_ids = unpacked(eval_prediction)
        batches.append(joined_batches([(outputs, label_ids)]))
        if not compute_result:
            return {}
        whole = joined_batches(batches)
        batches.clear()
        return metrics(whole)

    return compute_metrics


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
