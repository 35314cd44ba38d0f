"""Counts per bag of several systems and runs side by side, so that all are scored on the same drawn bags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns import Label
from ..fscore import AveragedScores
from .bag_counts import BagCounts, IntArray, kinds_of_bags
from .resampling import FamilyOptions, drawn_bags

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointCounts:
    """Counts of bags under all runs of all systems.

    Attributes:
        bags: The kinds of bags; the columns hold for each of the T truths the supports of the C classes and N
            (T (C + 1) columns), then for each run and truth the true positives and predicted counts (2 T C).
        run_system: Number of the system of each run, (num_runs,); runs of a system stand together.
    """

    bags: BagCounts
    run_system: IntArray

    @classmethod
    def of_systems(
        cls, systems: Sequence[Sequence[Any]], labels: tuple[Label, ...], truths: tuple[str, ...]
    ) -> JointCounts:
        """Return the joint counts of sparse matrices (num_bags, T (3 C + 1)), one list of runs per system.

        Runs are ordered by what they hold, so that their order draws no other random numbers.
        """
        from scipy.sparse import hstack

        num_classes = len(labels)
        own = np.arange(len(truths) * (3 * num_classes + 1)).reshape(len(truths), -1)
        gold, predicted = own[:, 2 * num_classes :].ravel(), own[:, : 2 * num_classes].ravel()
        ordered = [sorted(runs, key=_content) for runs in systems]
        blocks = [ordered[0][0][:, gold], *(run[:, predicted] for runs in ordered for run in runs)]
        ones = np.ones(blocks[0].shape[0], dtype=np.int64)
        kinds = kinds_of_bags(hstack(blocks, format="csr"), ones, np.zeros_like(ones))
        sizes = [len(runs) for runs in systems]
        return cls(BagCounts(labels, truths, *kinds), np.repeat(np.arange(len(systems)), sizes))

    @property
    def num_runs(self) -> IntArray:
        """The number of runs of each system, (num_systems,)."""
        return np.bincount(self.run_system)

    def scores(self, family: FamilyOptions, sums: FloatArray) -> AveragedScores:
        """Return measure -> its values (num_runs, num_resamples) from sums of counts."""
        truths, num_classes = self.bags.truths, len(self.bags.labels)
        split = len(truths) * (num_classes + 1)
        gold = sums[:, :split].reshape(len(sums), len(truths), num_classes + 1)
        own = sums[:, split:].reshape(len(sums), len(self.run_system), len(truths), 2, num_classes)
        own = np.moveaxis(own, 0, 1)
        values: dict[str, FloatArray] = {}
        undefined: dict[str, npt.NDArray[np.bool_]] = {}
        for place, truth in enumerate(truths):
            parts = {
                "true_positives": own[:, :, place, 0],
                "predicted": own[:, :, place, 1],
                "support": gold[:, place, :-1],
                "total": gold[:, place, -1],
            }
            found = family.scores_of_truth(truth, parts)
            shape = own.shape[:2]
            values |= {name: np.broadcast_to(value, shape) for name, value in found.values.items()}
            undefined |= {name: np.broadcast_to(absent, shape) for name, absent in found.undefined.items()}
        return AveragedScores(values, undefined)

    def resampled(
        self, family: FamilyOptions, n_resamples: int, rng: np.random.Generator
    ) -> Iterator[AveragedScores]:
        """Yield the scores of all runs on the same drawn bags, in chunks of resamples."""
        for times in drawn_bags(self.bags, n_resamples, rng, stratify=False):
            yield self.scores(family, self.bags.sums(times))

    def bags_that_differ(self) -> dict[str, IntArray]:
        """Return truth -> the number of bags on which two systems count differently, (S, S).

        What a system counts is the mean over its runs. A bag is compared by a checksum of its counts: a
        product with random whole numbers modulo 2^64, which takes different counts for equal once in 2^64.
        """
        truths, num_classes = self.bags.truths, len(self.bags.labels)
        split = len(truths) * (num_classes + 1)
        factors = np.random.default_rng(0).integers(1, 2**62, size=2 * num_classes, dtype=np.int64)
        counts = self.bags.counts[:, split:].astype(np.int64).tocsc()
        runs, common = self.num_runs, np.lcm.reduce(self.num_runs)
        differ = {}
        for place, truth in enumerate(truths):
            sums = np.zeros((len(runs), counts.shape[0]), dtype=np.int64)
            for run, system in enumerate(self.run_system):
                start = (run * len(truths) + place) * 2 * num_classes
                sums[system] += counts[:, start : start + 2 * num_classes] @ factors
            sums *= (common // runs)[:, None]
            pairs = np.zeros((len(runs), len(runs)), dtype=np.int64)
            for system, own in enumerate(sums):
                pairs[system, system:] = (sums[system:] != own).astype(np.float64) @ self.bags.multiplicity
            differ[truth] = np.maximum(pairs, pairs.T)
        return differ


def _content(matrix: Any) -> tuple[bytes, bytes]:
    """Return a key of the lines of a sparse matrix, whatever their order."""
    factors = np.random.default_rng(0).integers(1, 2**31, size=matrix.shape[1])
    return np.asarray(matrix.sum(axis=0)).tobytes(), np.sort(matrix @ factors).tobytes()


def mean_over_runs(values: FloatArray, joint: JointCounts) -> FloatArray:
    """Return the means (num_systems, ...) over the runs of each system of values (num_runs, ...)."""
    starts = np.cumsum(joint.num_runs) - joint.num_runs
    sizes = joint.num_runs.reshape(-1, *[1] * (values.ndim - 1))
    means: FloatArray = np.add.reduceat(values, starts, axis=0) / sizes
    return means


def runs_of(systems: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return name -> the runs of each system, in the order of the names.

    A system is one run's predictions or a list of several runs' predictions; predictions are a label column,
    records, columns or a table.

    >>> runs_of({"b": [["x", "y"], ["x", "x"]], "a": ["x", "y"]})
    {'a': [['x', 'y']], 'b': [['x', 'y'], ['x', 'x']]}

    Raises:
        TypeError: `systems` is no mapping, or a name no text.
        ValueError: Fewer than two systems, or one without a run.
    """
    if not isinstance(systems, Mapping):
        raise TypeError(f"`systems` must be a mapping name -> predictions; got {type(systems).__name__}.")
    if len(systems) < 2:
        raise ValueError(f"A ranking needs at least two systems; got {len(systems)}.")
    for name in systems:
        if not isinstance(name, str):
            raise TypeError(f"Systems are named by texts; got {name!r}.")
    runs = {name: _runs(systems[name]) for name in sorted(systems)}
    empty = [name for name, own in runs.items() if not own]
    if empty:
        raise ValueError(f"{empty[0]!r} has no run ({len(empty)} such systems).")
    return runs


def _runs(system: Any) -> list[Any]:
    if not isinstance(system, (list, tuple)) or not system:
        return [] if isinstance(system, (list, tuple)) else [system]
    first = system[0]
    if isinstance(first, (str, int, np.integer)):
        return [system]
    if isinstance(first, Mapping):
        # A record names one unit, columns name many.
        ids = [first[key] for key in ("instance_id", "bag_id") if key in first]
        return [system] if all(isinstance(value, (str, int, np.integer)) for value in ids) else list(system)
    return list(system)
