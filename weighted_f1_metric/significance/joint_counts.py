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
from .joint_rankings import RankedBags, ranking_scores
from .resampling import FamilyOptions, drawn_bags

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunCounts:
    """What one run counts in each bag.

    Attributes:
        counts: Sparse (num_bags, T (3 C + 1)).
        ranked: Its candidates under each truth of which a ranking is measured.
    """

    counts: Any
    ranked: tuple[RankedBags, ...] = ()


@dataclass(frozen=True, eq=False)
class JointCounts:
    """Counts of bags under all runs of all systems.

    Attributes:
        bags: The kinds of bags; the columns hold for each of the T truths the supports of the C classes and N
            (T (C + 1) columns), then for each run and truth the true positives and predicted counts (2 T C),
            then for each run and truth in `rankings` the candidates.
        run_system: Number of the system of each run, (num_runs,); runs of a system stand together.
        rankings: Truth -> names of its ranking measures, without prefix; truths without any are left out.
        widths: Number of columns of each run's and truth's ranking, (num_runs, len(rankings)).
        rankings_that_differ: Truth -> number of bags that two systems score differently, (S, S).
    """

    bags: BagCounts
    run_system: IntArray
    rankings: Mapping[str, Sequence[str]]
    widths: IntArray
    rankings_that_differ: dict[str, IntArray]

    @classmethod
    def of_systems(
        cls,
        systems: Sequence[Sequence[RunCounts]],
        labels: tuple[Label, ...],
        truths: tuple[str, ...],
        rankings: Mapping[str, Sequence[str]] | None = None,
    ) -> JointCounts:
        """Return the joint counts of systems, each a list of runs.

        Runs are ordered by what they hold, so that their order draws no other random numbers.
        """
        from scipy.sparse import hstack

        num_classes = len(labels)
        own = np.arange(len(truths) * (3 * num_classes + 1)).reshape(len(truths), -1)
        gold, predicted = own[:, 2 * num_classes :].ravel(), own[:, : 2 * num_classes].ravel()
        runs = [run for own_runs in systems for run in sorted(own_runs, key=_content)]
        blocks = [runs[0].counts[:, gold], *(run.counts[:, predicted] for run in runs)]
        blocks += [ranked.counts for run in runs for ranked in run.ranked]
        ones = np.ones(blocks[0].shape[0], dtype=np.int64)
        kinds = kinds_of_bags(hstack(blocks, format="csr"), ones, np.zeros_like(ones))
        sizes = [len(own_runs) for own_runs in systems]
        run_system = np.repeat(np.arange(len(systems)), sizes)
        widths = np.array([[ranked.counts.shape[1] for ranked in run.ranked] for run in runs], dtype=np.int64)
        ranked = zip(*(run.ranked for run in runs), strict=True)
        differ = {
            truth: _bags_that_differ(np.stack([one.checksum for one in own]), run_system, ones)
            for truth, own in zip(rankings or (), ranked, strict=True)
        }
        return cls(BagCounts(labels, truths, *kinds), run_system, rankings or {}, widths, differ)

    @property
    def num_runs(self) -> IntArray:
        """The number of runs of each system, (num_systems,)."""
        return np.bincount(self.run_system)

    def scores(self, family: FamilyOptions, sums: FloatArray) -> AveragedScores:
        """Return measure -> its values (num_runs, num_resamples) from sums of counts."""
        truths, num_classes = self.bags.truths, len(self.bags.labels)
        split = len(truths) * (num_classes + 1)
        end = split + len(self.run_system) * len(truths) * 2 * num_classes
        gold = sums[:, :split].reshape(len(sums), len(truths), num_classes + 1)
        own = sums[:, split:end].reshape(len(sums), len(self.run_system), len(truths), 2, num_classes)
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
        if self.rankings:
            found = self._ranking_scores(sums[:, end:])
            values, undefined = values | found.values, undefined | found.undefined
        return AveragedScores(values, undefined)

    def _ranking_scores(self, sums: FloatArray) -> AveragedScores:
        blocks = iter(np.split(sums, np.cumsum(self.widths)[:-1], axis=1))
        found = [
            [ranking_scores(next(blocks), names) for names in self.rankings.values()] for _ in self.widths
        ]
        values, undefined = {}, {}
        for place, (truth, names) in enumerate(self.rankings.items()):
            for name in names:
                values[f"{truth}_{name}"] = np.stack([own[place].values[name] for own in found])
                undefined[f"{truth}_{name}"] = np.stack([own[place].undefined[name] for own in found])
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
        counts = self.bags.counts.astype(np.int64).tocsc()
        differ = {}
        for place, truth in enumerate(truths):
            starts = split + (np.arange(len(self.run_system)) * len(truths) + place) * 2 * num_classes
            checksums = np.stack([counts[:, start : start + 2 * num_classes] @ factors for start in starts])
            differ[truth] = _bags_that_differ(checksums, self.run_system, self.bags.multiplicity)
        return differ


def _bags_that_differ(checksums: IntArray, run_system: IntArray, multiplicity: IntArray) -> IntArray:
    """Return on how many bags the sums of two systems' checksums over their runs differ, (S, S).

    Args:
        checksums: (num_runs, num_kinds).
        run_system: Number of the system of each run.
        multiplicity: Bags of each kind.
    """
    runs = np.bincount(run_system)
    sums = np.zeros((len(runs), checksums.shape[1]), dtype=np.int64)
    np.add.at(sums, run_system, checksums)
    sums *= (np.lcm.reduce(runs) // runs)[:, None]
    pairs = np.zeros((len(runs), len(runs)), dtype=np.int64)
    for system, own in enumerate(sums):
        pairs[system, system:] = (sums[system:] != own).astype(np.float64) @ multiplicity
    return np.maximum(pairs, pairs.T)


def _content(run: RunCounts) -> list[bytes]:
    """Return a key of the bags of a run, whatever their order."""
    key = []
    for matrix in (run.counts, *(ranked.counts for ranked in run.ranked)):
        factors = np.random.default_rng(0).integers(1, 2**31, size=matrix.shape[1])
        key += [np.asarray(matrix.sum(axis=0)).tobytes(), np.sort(matrix @ factors).tobytes()]
    return key


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
