"""How often a model says a relation where there is none: its predictions on rows of the negative relation."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def false_alarms(records: Sequence[Mapping[str, Any]], *, negative_relation: str) -> dict[str, Any]:
    """The share of units that were given a relation, and the same for each relation.

    Returns:
        `num_units`, `share` in [0, 1], and `relations`: relation -> share of all units that were given it,
        the most frequent first; relations without a false alarm are left out. Where several relations are
        predicted for a unit, each counts once.

    >>> false_alarms([{"pred": "NA"}, {"pred": "born"}, {"pred": []}, {"pred": "NA"}], negative_relation="NA")
    {'num_units': 4, 'share': 0.25, 'relations': {'born': 0.25}}
    """
    said: Counter[str] = Counter()
    num_alarms = 0
    for record in records:
        predicted = [record["pred"]] if isinstance(record["pred"], str) else record["pred"]
        positive = {relation for relation in predicted if relation != negative_relation}
        said.update(sorted(positive))
        num_alarms += bool(positive)
    total = len(records)
    return {
        "num_units": total,
        "share": num_alarms / total,
        "relations": {relation: count / total for relation, count in said.most_common()},
    }


def mean_false_alarms(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean over the seeds of what `false_alarms` gives; `sd` (ddof = 1) of the share, None for one seed.

    >>> one, two = ({"num_units": 4, "share": s, "relations": {"born": s}} for s in (0.25, 0.75))
    >>> mean_false_alarms([one, two])["relations"]
    {'born': 0.5}
    """
    shares = [run["share"] for run in runs]
    relations: Counter[str] = Counter()
    for run in runs:
        relations.update(run["relations"])
    return {
        "num_units": runs[0]["num_units"],
        "share": statistics.fmean(shares),
        "sd": statistics.stdev(shares) if len(shares) > 1 else None,
        "relations": {relation: total / len(runs) for relation, total in relations.most_common()},
    }
