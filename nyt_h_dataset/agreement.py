"""How far two annotators agree (pure; standard library only)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Agreement:
    """Two annotators on the same items: how often they agree, how often chance would, and Cohen's kappa.

    `observed` and `expected` are shares in [0, 1], `kappa` lies in [-1, 1]; it is None where both gave one
    and the same answer throughout, because there chance agrees as well.
    """

    num_items: int
    num_disagreements: int
    observed: float
    expected: float
    kappa: float | None


def cohen_kappa(*, answers_a: Sequence[str], answers_b: Sequence[str]) -> Agreement:
    """Return the agreement of two annotators; the answers stand in the same order of items.

    ``kappa = (observed - expected) / (1 - expected)``, with `expected` the sum over the answers of the
    product of both annotators' shares of it.

    Raises:
        ValueError: no items, or a different number of answers.

    Of four items they agree on three (3/4). A says yes twice and B three times, so chance agrees on
    2/4 * 3/4 + 2/4 * 1/4 = 1/2, and kappa is (3/4 - 1/2) / (1 - 1/2) = 1/2:

    >>> cohen_kappa(answers_a=["yes", "yes", "no", "no"], answers_b=["yes", "yes", "yes", "no"])
    Agreement(num_items=4, num_disagreements=1, observed=0.75, expected=0.5, kappa=0.5)

    Reference: Cohen 1960, "A Coefficient of Agreement for Nominal Scales", equation 1.
    """
    if len(answers_a) != len(answers_b):
        raise ValueError(
            f"`answers_a` and `answers_b` must be about the same items; got {len(answers_a)} and "
            f"{len(answers_b)} answers."
        )
    if not answers_a:
        raise ValueError("there are no answers to compare; agreement needs at least one item.")
    total = len(answers_a)
    agreed = sum(a == b for a, b in zip(answers_a, answers_b, strict=True))
    counts_a, counts_b = Counter(answers_a), Counter(answers_b)
    # Integers up to here: whether chance agrees always is then no question of rounding.
    by_chance = sum(count * counts_b[answer] for answer, count in counts_a.items())
    kappa = None if by_chance == total**2 else (agreed * total - by_chance) / (total**2 - by_chance)
    return Agreement(total, total - agreed, agreed / total, by_chance / total**2, kappa)
