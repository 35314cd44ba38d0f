"""Rows -> counts per bag, the unit that resampling draws; bags that count alike are kept once.

A bag enters a resample with a multiplicity, and every score follows from the sums of the counts. So all
that resampling needs is a sparse matrix of counts, one line per distinct kind of bag, and how many bags are
of each kind. Rows without bags are bags of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns import Label, read_label_set, read_labels, wrong_label
from ..counts import class_counts
from ..track_statistics import TrackStatistics
from ..validation import quoted

IntArray = npt.NDArray[np.int64]
# The options of `class_counts` that label columns take here; row weights have no meaning among drawn rows.
OPTIONS = ("labels", "negative_label", "groups", "outside")
_EXACT_FLOAT32 = 1 << 24  # up to here float32 holds every whole number


@dataclass(frozen=True, eq=False)
class BagCounts:
    """Counts of bags, one line per distinct kind.

    Attributes:
        labels: The C classes scored.
        truths: Prefixes of the result keys, one block of columns each; ("",) without tracks.
        counts: Sparse (num_kinds, num_truths * (3 C + 1)): per truth the true positives, predicted counts and
            supports of the classes, then the rows that N counts.
        multiplicity: Bags of each kind, (num_kinds,).
        stratum: Number of the stratum of each kind, (num_kinds,).
    """

    labels: tuple[Label, ...]
    truths: tuple[str, ...]
    counts: Any
    multiplicity: IntArray
    stratum: IntArray

    @property
    def num_bags(self) -> int:
        """The number of bags."""
        return int(self.multiplicity.sum())

    def sums(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the counts of resamples that hold each kind so many times, (num_resamples, num_columns)."""
        by_column = self._by_column
        return np.ascontiguousarray((by_column @ times.T.astype(by_column.dtype)).T, dtype=np.float64)

    @cached_property
    def _by_column(self) -> Any:
        """The counts, a line per column; float32, twice as fast, where its sums of whole numbers are exact.

        A resample holds as many bags as the data: no partial sum exceeds that many times the largest count.
        """
        largest = self.num_bags * float(abs(self.counts).max()) if self.counts.nnz else 0.0
        is_exact = largest < _EXACT_FLOAT32 and bool(np.all(self.counts.data % 1 == 0))
        return self.counts.T.astype(np.float32 if is_exact else np.float64)

    def totals(self) -> npt.NDArray[np.float64]:
        """Return the counts of the data as they are, one line (1, num_columns)."""
        return self.sums(self.multiplicity[None, :])


def split_counts(
    counts: npt.NDArray[np.float64], num_classes: int, truth: int
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the block of one truth as the arguments of the scoring core: (..., num_classes) and (...).

    >>> parts = split_counts(np.array([[1.0, 2.0, 3.0, 4.0]]), 1, 0)
    >>> {name: part.tolist() for name, part in parts.items()}
    {'true_positives': [[1.0]], 'predicted': [[2.0]], 'support': [[3.0]], 'total': [4.0]}
    """
    block = counts[..., truth * (3 * num_classes + 1) : (truth + 1) * (3 * num_classes + 1)]
    names = ("true_positives", "predicted", "support")
    parts = {name: block[..., i * num_classes : (i + 1) * num_classes] for i, name in enumerate(names)}
    return parts | {"total": block[..., -1]}


def counts_by_bag(*, predictions: Any, references: Any, bags: Any = None, **options: Any) -> BagCounts:
    """Return the counts per bag of label columns.

    Args:
        predictions: As in `class_counts`.
        references: As in `class_counts`.
        bags: One id per row; rows of one id are drawn together. None: every row is its own bag.
        options: `labels`, `negative_label`, `groups`, `outside` of `class_counts`.

    The stratum of a bag is the set of its reference labels.

    Raises:
        TypeError: As `class_counts`.
        ValueError: As `class_counts`; a number of `bags` that is not the number of rows.

    >>> counts = counts_by_bag(predictions=["a", "b", "b"], references=["a", "a", "a"])
    >>> counts.multiplicity.tolist(), counts.totals().tolist()  # tp, predicted and support of a and b, N
    ([1, 2], [[1.0, 0.0, 1.0, 2.0, 3.0, 0.0, 3.0]])
    """
    classes, (gold, predicted), class_of = _encoded([references, predictions], options)
    number = bag_numbers(bags, len(gold))
    if number is None:
        cells, multiplicity = np.unique(gold * len(class_of) + predicted, return_counts=True)
        gold, predicted = np.divmod(cells, len(class_of))
        rows, stratum = _row_matrix(gold, predicted, class_of, len(classes)), gold
    else:
        rows = summed_by_bag(_row_matrix(gold, predicted, class_of, len(classes)), number)
        multiplicity, stratum = np.ones(rows.shape[0], dtype=np.int64), label_sets(number, gold)
    kinds, multiplicity, stratum = kinds_of_bags(rows, multiplicity, stratum)
    return BagCounts(classes, ("",), kinds, multiplicity, stratum)


def differences_by_bag(
    *, predictions_a: Any, predictions_b: Any, references: Any, bags: Any = None, **options: Any
) -> tuple[BagCounts, npt.NDArray[np.float64]]:
    """Return what changes per bag when system b's predictions take the place of a's, and a's own counts.

    Args:
        predictions_a: As `predictions` of `class_counts`.
        predictions_b: The other system's, for the same rows.
        references: As in `class_counts`.
        bags: As in `counts_by_bag`.
        options: As in `counts_by_bag`.

    Returns:
        Differences b - a per kind of bag, bags without a difference left out; and a's counts, one line.

    Raises:
        TypeError: As `class_counts`.
        ValueError: As `counts_by_bag`; systems with different numbers of predictions.
    """
    classes, (gold, first, second), class_of = _encoded([references, predictions_a, predictions_b], options)
    number = bag_numbers(bags, len(gold))
    multiplicity = np.ones(len(gold), dtype=np.int64)
    if number is None:
        size = len(class_of)
        cells, multiplicity = np.unique((gold * size + first) * size + second, return_counts=True)
        gold, first, second = cells // size**2, cells // size % size, cells % size
    base = _row_matrix(gold, first, class_of, len(classes))
    change = _row_matrix(gold, second, class_of, len(classes)) - base
    own = np.asarray(base.T @ multiplicity.astype(np.float64))[None, :]
    if number is not None:
        change = summed_by_bag(change, number)
        multiplicity = np.ones(change.shape[0], dtype=np.int64)
    stratum = np.zeros(change.shape[0], dtype=np.int64)
    kinds = kinds_of_bags(change, multiplicity, stratum, drop_empty=True)
    return BagCounts(classes, ("",), *kinds), own


def label_matrices(
    *, predictions: Sequence[Any], references: Any, bags: Any = None, **options: Any
) -> tuple[tuple[Label, ...], list[Any]]:
    """Return the classes of several systems, and for each its counts per bag, sparse (num_bags, 3 C + 1).

    Args:
        predictions: One label column per system.
        references: As in `class_counts`.
        bags: As in `counts_by_bag`.
        options: As in `counts_by_bag`.

    Raises:
        TypeError: As `class_counts`.
        ValueError: As `counts_by_bag`; systems with different numbers of predictions.
    """
    classes, (gold, *systems), class_of = _encoded([references, *predictions], options)
    number = bag_numbers(bags, len(gold))
    matrices = [_row_matrix(gold, system, class_of, len(classes)) for system in systems]
    return classes, matrices if number is None else [summed_by_bag(rows, number) for rows in matrices]


def bag_numbers(bags: Any, num_rows: int) -> IntArray | None:
    """Return the bags as numbers from 0 on, one per row; None for None.

    Raises:
        TypeError: `bags` is no sequence of ids.
        ValueError: Not one id per row.
    """
    if bags is None:
        return None
    ids = read_labels(bags, "bags")
    if isinstance(ids, list) and not all(isinstance(bag, str) for bag in ids):
        raise wrong_label(ids, "bags")
    if len(ids) != num_rows:
        raise ValueError(f"`bags` must name the bag of every row; got {len(ids)} ids for {num_rows} rows.")
    return _codes([ids])[1][0]


def _codes(columns: list[Any]) -> tuple[list[Label], list[IntArray]]:
    """Return the distinct labels of all columns, sorted, and the columns as positions in them."""
    if isinstance(columns[0], list):
        names = sorted(set().union(*columns))
        place = {name: code for code, name in enumerate(names)}
        return names, [np.array([place[name] for name in column], dtype=np.int64) for column in columns]
    values = np.unique(np.concatenate([np.unique(column) for column in columns]))
    return values.tolist(), [np.searchsorted(values, column).astype(np.int64) for column in columns]


def _joined(columns: list[Any]) -> Any:
    """The rows of all columns one after another."""
    if len(columns) == 1:
        return columns[0]
    return list(chain(*columns)) if isinstance(columns[0], list) else np.concatenate(columns)


def _encoded(
    columns: list[Any], options: dict[str, Any]
) -> tuple[tuple[Label, ...], list[IntArray], IntArray]:
    """Return the classes, the columns as codes, and the class of each code (-1: not scored).

    `class_counts` reads every column first, so that each check and each message stands in one place.
    """
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise TypeError(f"Unknown options {quoted(unknown)}; label columns take {quoted(OPTIONS)}.")
    names = ["references", *["predictions"] * (len(columns) - 1)]
    references, *systems = (read_labels(column, name) for column, name in zip(columns, names, strict=True))
    for system in systems:
        if len(system) != len(references):
            raise ValueError(
                f"`predictions` and `references` must be equally long; got {len(system)} predictions and "
                f"{len(references)} references."
            )
        if isinstance(system, list) is not isinstance(references, list):
            raise TypeError("Labels must be all str or all int, in the predictions and in the references.")
    # All systems at once: a class, the negative one too, may occur in the predictions of one of them only.
    classes = class_counts(
        predictions=_joined(systems), references=_joined([references] * len(systems)), **options
    ).labels
    values, codes = _codes([references, *systems])
    place = {label: number for number, label in enumerate(classes)}
    groups: Mapping[Any, Label] | None = options.get("groups")
    chosen = None if options.get("labels") is None else set(read_label_set(options["labels"], "labels"))
    class_of = np.full(len(values), -1, dtype=np.int64)
    for code, label in enumerate(values):
        if label != options.get("negative_label") and (chosen is None or label in chosen):
            class_of[code] = place.get(label if groups is None else groups.get(label, label), -1)
    return classes, codes, class_of


def _row_matrix(gold: IntArray, predicted: IntArray, class_of: IntArray, num_classes: int) -> Any:
    """Return the counts of each row, sparse (num_rows, 3 C + 1)."""
    from scipy.sparse import csr_array

    rows = np.arange(len(gold))
    gold_class, predicted_class = class_of[gold], class_of[predicted]
    events = [
        ((gold == predicted) & (gold_class >= 0), gold_class),
        (predicted_class >= 0, num_classes + predicted_class),
        (gold_class >= 0, 2 * num_classes + gold_class),
        (np.ones(len(gold), dtype=np.bool_), np.full(len(gold), 3 * num_classes)),
    ]
    row = np.concatenate([rows[happens] for happens, _ in events])
    column = np.concatenate([where[happens] for happens, where in events])
    return csr_array((np.ones(len(row)), (row, column)), shape=(len(gold), 3 * num_classes + 1))


def summed_by_bag(rows: Any, number: IntArray) -> Any:
    """Return the rows of each bag added up, sparse (num_bags, num_columns)."""
    from scipy.sparse import csr_array

    ones = np.ones(len(number))
    return csr_array((ones, (number, np.arange(len(number)))), shape=(number.max() + 1, len(number))) @ rows


def label_sets(number: IntArray, label: IntArray, num_bags: int | None = None) -> IntArray:
    """Return a number for the set of labels of each bag, (num_bags,); bags without any label share one.

    >>> label_sets(np.array([0, 0, 1, 2]), np.array([5, 6, 5, 5])).tolist()
    [1, 0, 0]
    """
    num_bags = int(number.max()) + 1 if num_bags is None else num_bags
    pairs = np.unique(np.stack([number, label], axis=1), axis=0)
    sets = np.split(pairs[:, 1], np.cumsum(np.bincount(pairs[:, 0], minlength=num_bags))[:-1])
    keys = [members.tobytes() for members in sets]
    place = {key: code for code, key in enumerate(sorted(set(keys)))}
    return np.array([place[key] for key in keys], dtype=np.int64)


def kinds_of_bags(
    rows: Any, multiplicity: IntArray, stratum: IntArray, *, drop_empty: bool = False
) -> tuple[Any, IntArray, IntArray]:
    """Return the distinct lines of a sparse matrix within each stratum, how often they occur, their strata.

    The kinds are sorted, so that the same bags in another order draw the same random numbers.

    Args:
        rows: Sparse (num_bags, num_columns).
        multiplicity: How often each line occurs, (num_bags,).
        stratum: The stratum of each line, (num_bags,).
        drop_empty: Leaves out lines of zeros.
    """
    rows = rows.tocsr()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rows.sort_indices()
    bounds = rows.indptr.tolist()
    keys = [
        (part, rows.indices[start:stop].tobytes(), rows.data[start:stop].tobytes())
        for part, start, stop in zip(stratum.tolist(), bounds, bounds[1:], strict=False)
    ]
    first: dict[tuple[int, bytes, bytes], int] = {}
    for line, key in enumerate(keys):
        first.setdefault(key, line)
    ordered = sorted(first)
    place = {key: number for number, key in enumerate(ordered)}
    kind = np.array([place[key] for key in keys], dtype=np.int64)
    sums = np.bincount(kind, weights=multiplicity, minlength=len(ordered)).astype(np.int64)
    chosen = np.array([first[key] for key in ordered], dtype=np.int64)
    kinds = rows[chosen]
    keep = np.diff(kinds.indptr) > 0 if drop_empty else np.ones(len(chosen), dtype=np.bool_)
    return kinds[keep], sums[keep], stratum[chosen][keep]


def track_counts_by_bag(statistics: TrackStatistics) -> BagCounts:
    """Return the counts per bag of a system on a track, a block of columns per truth.

    The stratum of a bag is the set of its DS relations.
    """
    units = statistics.units
    unit, relation = np.nonzero(units.distant)
    num_bags = len(units.bag_ids)
    stratum = label_sets(units.unit_bag[unit], relation, num_bags)
    kinds = kinds_of_bags(track_matrix(statistics), np.ones(num_bags, dtype=np.int64), stratum)
    return BagCounts(units.relations, tuple(statistics.truths), *kinds)


def track_differences_by_bag(
    first: TrackStatistics, second: TrackStatistics
) -> tuple[BagCounts, npt.NDArray[np.float64]]:
    """Return what changes per bag when the second system's predictions replace the first's, and the first's
    counts.

    Both are statistics of the same references. Bags without a difference are left out.
    """
    base = track_matrix(first)
    change = track_matrix(second) - base
    ones = np.ones(base.shape[0], dtype=np.int64)
    kinds = kinds_of_bags(change, ones, np.zeros_like(ones), drop_empty=True)
    own = np.asarray(base.T @ ones.astype(np.float64))[None, :]
    return BagCounts(first.units.relations, tuple(first.truths), *kinds), own


def track_matrix(statistics: TrackStatistics) -> Any:
    """Return the counts of each bag, sparse (num_bags, num_truths * (3 C + 1))."""
    from scipy.sparse import csr_array

    units, num_classes = statistics.units, len(statistics.units.relations)
    width = 3 * num_classes + 1
    bags, columns, values = [], [], []
    for place, truth in enumerate(statistics.truths.values()):
        for kind, events in enumerate((truth.true_positives, truth.predicted, truth.gold)):
            bags.append(units.unit_bag[events.unit])
            columns.append(place * width + kind * num_classes + events.relation)
            values.append(np.ones(len(events.unit)))
        bags.append(units.unit_bag)
        columns.append(np.full(units.num_units, (place + 1) * width - 1))
        values.append(statistics.unit_total.astype(np.float64))
    shape = (len(units.bag_ids), len(statistics.truths) * width)
    entries = (np.concatenate(values), (np.concatenate(bags), np.concatenate(columns)))
    return csr_array(entries, shape=shape)
