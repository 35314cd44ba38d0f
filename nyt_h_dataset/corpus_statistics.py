"""Numbers of a label distribution: counts, perplexity, divergence, bag sizes (pure: arrays to numbers)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray


def label_counts(labels: pa.ChunkedArray | pa.Array, num_labels: int) -> NDArray[np.int64]:
    """Return how often each of the ids 0..num_labels-1 comes, shape (num_labels,); -1 is not counted.

    >>> label_counts(pa.array([2, 0, 2, -1]), 3).tolist()
    [1, 0, 2]
    """
    ids = np.asarray(labels.to_numpy(), dtype=np.int64)
    return np.bincount(ids[ids >= 0], minlength=num_labels)


def perplexity(counts: ArrayLike) -> float | None:
    """Return exp of the entropy (natural logarithm) of `counts`, in [1, number of labels]; None without rows.

    >>> perplexity([5, 5, 0])
    2.0

    Reference: Harbecke et al. 2022, Table 1.
    """
    values = np.asarray(counts, dtype=float)
    shares = values[values > 0] / values.sum() if values.sum() else values[:0]
    return float(np.exp(-(shares * np.log(shares)).sum())) if shares.size else None


def imbalance_ratio(counts: ArrayLike) -> float | None:
    """Return the largest count over the smallest that is not 0; None without rows.

    >>> imbalance_ratio([8, 0, 2])
    4.0

    Reference: Harbecke et al. 2022, Table 1.
    """
    values = np.asarray(counts, dtype=float)
    values = values[values > 0]
    return float(values.max() / values.min()) if values.size else None


def jensen_shannon(counts_a: ArrayLike, counts_b: ArrayLike) -> float | None:
    """Return the Jensen-Shannon divergence of two label distributions in bits (base 2), in [0, 1].

    0 where the shares are equal, 1 where no label is in both; None when one side has no rows. It is the
    divergence, not its square root (the distance). It puts Zhu et al. 2020, Figure 2, in a number.

    >>> jensen_shannon([1, 1], [10, 10]), jensen_shannon([3, 0], [0, 3])
    (0.0, 1.0)
    >>> round(jensen_shannon([1, 0], [1, 1]), 4)  # h(3/4) - h(1/2) / 2 with the binary entropy h
    0.3113
    """
    a, b = np.asarray(counts_a, dtype=float), np.asarray(counts_b, dtype=float)
    if not a.sum() or not b.sum():
        return None
    a, b = a / a.sum(), b / b.sum()
    middle = (a + b) / 2
    terms = [(p[p > 0] * np.log2(p[p > 0] / middle[p > 0])).sum() for p in (a, b)]
    return float(min(1.0, max(0.0, sum(terms) / 2)))


def bag_sizes(bag_ids: pa.ChunkedArray | pa.Array, *, largest: int = 5) -> dict[str, int]:
    """Return the number of bags with 1, 2, ... rows; the last class is `largest` and more.

    >>> bag_sizes(pa.array(["a", "a", "a", "b"]), largest=3)
    {'1': 1, '2': 0, '3+': 1}
    """
    sizes = pc.value_counts(bag_ids).field("counts").to_numpy() if len(bag_ids) else np.zeros(0, np.int64)
    counts = np.bincount(np.minimum(sizes, largest), minlength=largest + 1)
    names = [*(str(size) for size in range(1, largest)), f"{largest}+"]
    return dict(zip(names, (int(count) for count in counts[1:]), strict=True))


def shares(counts: Sequence[int] | NDArray[np.int64]) -> list[float]:
    """Return `counts` as shares of their sum, all 0 when the sum is 0.

    >>> shares([1, 3])
    [0.25, 0.75]
    """
    values = np.asarray(counts, dtype=float)
    return (values / values.sum() if values.sum() else values).tolist()
