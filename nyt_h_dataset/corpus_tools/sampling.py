"""A sample of the test pairs to judge, drawn so that the whole can be estimated; its design is kept."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

ALLOCATIONS = ("proportional", "sqrt")
STRATA = ("relation", "none")
MIN_DRAWN = 2  # of one drawn pair the error of a stratum cannot be told


def allocated(
    sizes: Mapping[str, int], *, num_drawn: int, allocation: str = "proportional"
) -> dict[str, int]:
    """Return how many pairs to draw of each stratum, at least two (or all) of each.

    Args:
        sizes: Stratum -> its number of pairs.
        num_drawn: How many to draw in all.
        allocation: "proportional" to the sizes (for micro and weighted averages), or to their "sqrt" (for
            macro averages, to which rare relations matter as much as frequent ones).

    Raises:
        ValueError: Another allocation, more pairs than there are, or fewer than two a stratum.

    >>> allocated({"a": 90, "b": 9, "c": 1}, num_drawn=10)
    {'a': 7, 'b': 2, 'c': 1}
    """
    if allocation not in ALLOCATIONS:
        raise ValueError(
            f"`allocation` must be one of {', '.join(map(repr, ALLOCATIONS))}; got {allocation!r}."
        )
    taken = {name: min(MIN_DRAWN, size) for name, size in sizes.items()}
    if not sum(taken.values()) <= num_drawn <= sum(sizes.values()):
        raise ValueError(
            f"the sample must hold {sum(taken.values())} (two of each of {len(sizes)} relations) to "
            f"{sum(sizes.values())} pairs (all of them); got {num_drawn}."
        )
    share = {name: size if allocation == "proportional" else math.sqrt(size) for name, size in sizes.items()}
    # The next pair goes to the stratum that is furthest below its share: the result grows with num_drawn.
    rest = num_drawn - sum(taken.values())
    while rest:
        name = max(
            (name for name in sizes if taken[name] < sizes[name]),
            key=lambda name: share[name] / (taken[name] + 0.5),
        )
        taken[name] += 1
        rest -= 1
    return taken


def drawn_sample(
    pairs: Sequence[tuple[str, str]],
    *,
    num_drawn: int,
    stratify: str = "relation",
    allocation: str = "proportional",
    seed: int = 0,
) -> dict[str, Any]:
    """Return the design of a sample: `strata` ({name, size, drawn}) and the `drawn` (id, relation) pairs.

    Args:
        pairs: All (id of the unit, DS relation) pairs of the test set.
        num_drawn: How many to draw.
        stratify: "relation", or "none": one draw from all.
        allocation: As in `allocated`.
        seed: The same seed draws the same pairs.

    Raises:
        ValueError: As `allocated`; another `stratify`, a seed below 0.

    >>> design = drawn_sample([(f"i{n}", "r") for n in range(5)], num_drawn=2)
    >>> design["strata"], len(design["drawn"])
    ([{'name': 'r', 'size': 5, 'drawn': 2}], 2)
    """
    if stratify not in STRATA:
        raise ValueError(f"`stratify` must be one of {', '.join(map(repr, STRATA))}; got {stratify!r}.")
    if seed < 0:
        raise ValueError(f"`seed` must be at least 0; got {seed}.")
    stratum_of = {pair: pair[1] if stratify == "relation" else "" for pair in pairs}
    sizes = dict(sorted(Counter(stratum_of.values()).items()))
    quota = allocated(sizes, num_drawn=num_drawn, allocation=allocation)
    rng = random.Random(seed)
    drawn: set[tuple[str, str]] = set()
    for name in sizes:
        drawn.update(rng.sample([pair for pair in pairs if stratum_of[pair] == name], quota[name]))
    return {
        "stratify": stratify,
        "allocation": allocation,
        "seed": seed,
        "strata": [{"name": name, "size": size, "drawn": quota[name]} for name, size in sizes.items()],
        "drawn": [list(pair) for pair in pairs if pair in drawn],
    }
