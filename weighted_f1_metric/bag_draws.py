"""Random numbers of bags: how often each kind is drawn with replacement, or exchanged between two systems."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from .bag_counts import BagCounts

__all__ = ["drawn_bags", "exchanged_bags"]

IntArray = npt.NDArray[np.int64]

_CHUNK_CELLS = 1 << 20  # resamples x kinds (or x columns of counts) held at once: 8 MB an array
_RARE = 5  # kinds of fewer bags are drawn bag by bag, which then costs less than a binomial draw for each


def drawn_bags(
    counts: BagCounts, n_resamples: int, rng: np.random.Generator, *, stratify: bool
) -> Iterator[IntArray]:
    """Yield how often each kind of bag is drawn, arrays (chunk, num_kinds) that make up all resamples.

    Every resample draws as many bags as there are, with replacement; with `stratify`, as many of each stratum
    as it has.
    """
    for size in _chunks(n_resamples, counts):
        if not stratify:
            yield _multinomial(rng, counts.multiplicity, size)
            continue
        drawn = np.empty((size, len(counts.multiplicity)), dtype=np.int64)
        for part in np.unique(counts.stratum):
            kinds = np.flatnonzero(counts.stratum == part)
            drawn[:, kinds] = _multinomial(rng, counts.multiplicity[kinds], size)
        yield drawn


def exchanged_bags(counts: BagCounts, n_resamples: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield how many bags of each kind are exchanged, each with probability 1/2, arrays (chunk,
    num_kinds)."""
    for size in _chunks(n_resamples, counts):
        yield rng.binomial(counts.multiplicity, 0.5, size=(size, len(counts.multiplicity)))


def _chunks(n_resamples: int, counts: BagCounts) -> Iterator[int]:
    size = max(1, _CHUNK_CELLS // max(1, *counts.counts.shape))
    for start in range(0, n_resamples, size):
        yield min(size, n_resamples - start)


def _multinomial(rng: np.random.Generator, multiplicity: IntArray, size: int) -> IntArray:
    """Return draws of sum(multiplicity) bags with replacement, by kind, (size, num_kinds).

    Frequent kinds are drawn by number, together with how many draws fall on any rare kind; those draws are
    then made bag by bag.
    """
    total = int(multiplicity.sum())
    rare = multiplicity < _RARE
    num_rare_bags = int(multiplicity[rare].sum())
    drawn = np.empty((size, len(multiplicity)), dtype=np.int64)
    common = np.append(multiplicity[~rare], num_rare_bags)
    by_number = rng.multinomial(total, common / total, size=size)
    drawn[:, ~rare] = by_number[:, :-1]
    if num_rare_bags:
        kind_of_bag = np.repeat(np.arange(rare.sum()), multiplicity[rare])
        times = by_number[:, -1]
        cell = kind_of_bag[rng.integers(0, num_rare_bags, size=int(times.sum()))]
        cell += np.repeat(np.arange(size) * int(rare.sum()), times)
        drawn[:, rare] = np.bincount(cell, minlength=size * int(rare.sum())).reshape(size, -1)
    return drawn
