"""Track statistics -> counts per bag for resampling: on every track it is the bag that is drawn or
exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .bag_counts import BagCounts, kinds_of_bags, label_sets
from .track_statistics import TrackStatistics

__all__ = ["track_counts_by_bag", "track_differences_by_bag"]


def track_counts_by_bag(statistics: TrackStatistics) -> BagCounts:
    """Return the counts per bag of a system on a track, a block of columns per truth.

    The stratum of a bag is the set of its DS relations.
    """
    units = statistics.units
    unit, relation = np.nonzero(units.distant)
    num_bags = len(units.bag_ids)
    stratum = label_sets(units.unit_bag[unit], relation, num_bags)
    kinds = kinds_of_bags(_bag_matrix(statistics), np.ones(num_bags, dtype=np.int64), stratum)
    return BagCounts(units.relations, tuple(statistics.truths), *kinds)


def track_differences_by_bag(
    first: TrackStatistics, second: TrackStatistics
) -> tuple[BagCounts, npt.NDArray[np.float64]]:
    """Return what changes per bag when the second system's predictions replace the first's, and the first's
    counts.

    Both are statistics of the same references. Bags without a difference are left out.
    """
    base = _bag_matrix(first)
    change = _bag_matrix(second) - base
    ones = np.ones(base.shape[0], dtype=np.int64)
    kinds = kinds_of_bags(change, ones, np.zeros_like(ones), drop_empty=True)
    own = np.asarray(base.T @ ones.astype(np.float64))[None, :]
    return BagCounts(first.units.relations, tuple(first.truths), *kinds), own


def _bag_matrix(statistics: TrackStatistics) -> Any:
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
