"""Rows of the negative relation that a system gives a relation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..table import Table, percent
from ..tables import interval

_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution


def false_alarms(
    records: Sequence[Mapping[str, Any]], *, negative_relation: str, bags: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Return the share of units of the negative relation that were given a relation, and of each relation.

    Args:
        records: The predictions of the units, each with `pred`.
        negative_relation: Its name.
        bags: The bag of each unit; None: each is its own.

    Returns:
        `num_units`, `share` in [0, 1], its 95 % `interval`, `relations`: relation -> share of all units that
        were given it, the most frequent first, and `relation_intervals`; relations without a false alarm are
        left out. Where several are predicted for a unit, each counts once. An interval is Wilson's with the
        number of units that, were they independent, would know as much as these in their bags (Korn and
        Graubard 1998, *Confidence intervals for proportions with small expected number of positive counts*).

    >>> alarms = false_alarms([{"pred": "NA"}, {"pred": "born"}, {"pred": []}, {"pred": "NA"}],
    ...                       negative_relation="NA")
    >>> alarms["share"], alarms["relations"], [round(end, 3) for end in alarms["interval"]]
    (0.25, {'born': 0.25}, [0.046, 0.699])

    Raises:
        ValueError: No records.
    """
    if not records:
        raise ValueError("There are no units of the negative relation, and so no share of false alarms.")
    given = [
        {record["pred"]} if isinstance(record["pred"], str) else set(record["pred"]) for record in records
    ]
    given = [relations - {negative_relation} for relations in given]
    total = len(given)
    bags = range(total) if bags is None else bags
    said = Counter(relation for relations in given for relation in sorted(relations))
    alarms = [bool(relations) for relations in given]
    return {
        "num_units": total,
        "share": sum(alarms) / total,
        "interval": _interval(alarms, bags),
        "relations": {relation: count / total for relation, count in said.most_common()},
        "relation_intervals": {
            relation: _interval([relation in relations for relations in given], bags)
            for relation, _ in said.most_common()
        },
    }


def false_alarms_note(alarms: Mapping[str, Any]) -> str:
    """Return the share of false alarms with its interval, one line."""
    share = f"{percent(alarms['share'])}% {interval(alarms['interval'])}"
    return (
        f"False alarms: {share} of {alarms['num_units']:,} units of the negative relation get a relation; "
        "in brackets the 95% interval."
    )


def false_alarms_table(alarms: Mapping[str, Any]) -> Table:
    """Return the table of false alarms: the share in percent of all, and of each relation."""
    rows = [["any relation", percent(alarms["share"]), interval(alarms["interval"])]]
    rows += [
        [relation, percent(share), interval(alarms["relation_intervals"][relation])]
        for relation, share in alarms["relations"].items()
    ]
    return Table(["false alarms", "percent of units", "95% interval"], rows)


def _interval(alarms: Sequence[bool], bags: Sequence[Any]) -> tuple[float, float]:
    return _wilson(sum(alarms) / len(alarms), _independent(alarms, bags))


def _independent(alarms: Sequence[bool], bags: Sequence[Any]) -> float:
    """How many independent units know as much about the share as these do in their bags."""
    total, share = len(alarms), sum(alarms) / len(alarms)
    excess: dict[Any, float] = {}
    for bag, alarm in zip(bags, alarms, strict=True):
        excess[bag] = excess.get(bag, 0.0) + alarm - share
    if share in (0, 1) or len(excess) == 1:
        return len(excess)
    clustered = len(excess) / (len(excess) - 1) * math.fsum(value**2 for value in excess.values())
    independent = total / (total - 1) * total * share * (1 - share)
    return total / max(1.0, clustered / independent)


def _wilson(share: float, number: float) -> tuple[float, float]:
    centre = share + _Z**2 / (2 * number)
    half = _Z * math.sqrt(share * (1 - share) / number + (_Z / (2 * number)) ** 2)
    scale = 1 + _Z**2 / number
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)
