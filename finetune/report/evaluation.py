"""Numbers from prediction records: scores of a split, false alarms, entity pairs seen and unseen."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weighted_f1_metric import (
    Units,
    bounds_of_scored,
    data_fingerprint,
    f1_family,
    read_unit_predictions,
    read_units,
    score_units,
    signature,
    unit_id_key,
)

from ..data.bag_units import scored_track
from ..data.relation_rows import RelationData


def is_scored_by_track(data: RelationData, *, track: str, multi_label: bool) -> bool:
    """Return whether `score_track` makes the numbers: for data with human labels, for bags, and for lists."""
    return data.has_human_labels or track != "sent2sent" or multi_label


def references_of(data: RelationData, split: str) -> list[dict[str, str]]:
    """Return the records that `score_track` reads; data without human labels count as unjudged."""
    rows = data.splits[split]
    if rows.references is not None:
        return rows.references
    return [
        {"instance_id": name, "bag_id": bag, "relation": relation, "bag_label": "unk"}
        for name, bag, relation in zip(rows.row_names, rows.pair_names, data.relations_of(split), strict=True)
    ]


def units_of(data: RelationData, split: str, *, track: str) -> Units:
    """Return the units of a split on a track."""
    return read_units(
        track=track,
        references=references_of(data, split),
        relations=data.relations,
        negative_relation=data.negative_relation,
    )


def score_records(
    *, data: RelationData, split: str, track: str, records: list[dict[str, Any]], multi_label: bool = False
) -> dict[str, Any]:
    """Return every number for a split, flat, plus `echo` on a track, `undefined` and `signature`.

    What nobody judged leaves of MAGT is under `magt_bounds`, as `weighted_f1_metric.magt_bounds` gives it.
    The classes of each prefix are under `{prefix}_per_class` (`per_class` without one), as in `f1_family`.

    What `is_scored_by_track` names is scored by `score_track`, the validation split of bag2sent as bags; the
    rest by `f1_family` over the labels without the negative relation and, where labels have a direction, by
    group under `official_`.
    """
    if is_scored_by_track(data, track=track, multi_label=multi_label):
        units = units_of(data, split, track=scored_track(track, split))
        scored = score_units(units, read_unit_predictions(records, units), per_class=True)
        bounds = bounds_of_scored(scored)
        scores = scored.scores | ({} if bounds is None else {"magt_bounds": bounds})
        return {**scores, "signature": scores.pop("signatures")}
    return _family(data, split, [record["pred"] for record in records])


def _family(data: RelationData, split: str, predicted: list[str]) -> dict[str, Any]:
    rows, gold = data.splits[split], data.relations_of(split)
    fingerprint = data_fingerprint(list(zip(rows.row_names, gold, strict=True)))
    result: dict[str, Any] = {}
    undefined: list[str] = []
    signatures = {}
    parts: list[tuple[str, dict[str, Any]]] = [("", {})]
    if data.groups is not None:
        parts.append(("official_", {"groups": data.groups, "averages": ("macro",)}))
    for prefix, chosen in parts:
        options = {"negative_label": data.negative_relation, **chosen}
        scores = f1_family(
            predictions=predicted, references=gold, labels=data.label_names, per_class=True, **options
        )
        undefined += [prefix + name for name in scores.pop("undefined")]
        result |= {prefix + name: value for name, value in scores.items()}
        signatures[prefix.rstrip("_") or "f1_family"] = signature(
            labels=data.relations, data=fingerprint, **options
        )
    result["num_units"] = len(rows)
    return {**result, "undefined": undefined, "signature": signatures}


def numbers_only(scores: Mapping[str, Any]) -> dict[str, float | int | None]:
    """Return the flat numbers of a score dict, without `echo`, `undefined` and `signature`."""
    return {name: value for name, value in scores.items() if value is None or isinstance(value, (int, float))}


def mean_false_alarms(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean over the seeds of what `false_alarms` gives; `sd` (ddof = 1) of the share, None for one
    seed.

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


PARTS = ("seen", "unseen")


def scores_by_seen_pairs(
    *, data: RelationData, track: str, records: Sequence[dict[str, Any]], **scoring: Any
) -> dict[str, dict[str, float | int | None]]:
    """Return the numbers of the units whose entity pair is among the training rows ("seen"), and of the
    others.

    A unit is a row or, on bag2bag, a bag. The training rows are those of the train split with its negative
    rows, without what went into the validation split. A part without units has `num_units` 0 and no scores.

    Args:
        data: With the splits "train" and "test".
        track: The track.
        records: The predictions of all test units, in any order.
        scoring: More arguments of `evaluation.score_records`.
    """
    test = data.splits["test"]
    known = set(data.splits["train"].entity_pairs)
    seen = np.array([pair in known for pair in test.entity_pairs])
    scores: dict[str, dict[str, float | int | None]] = {}
    for part, chosen in zip(PARTS, (seen, ~seen), strict=True):
        if not chosen.any():
            scores[part] = {"num_units": 0}
            continue
        rows = test.select(np.flatnonzero(chosen))
        units = set(rows.units(track))
        own = [record for record in records if record[unit_id_key(track)] in units]
        split = replace(data, splits={"test": rows})
        scores[part] = numbers_only(
            score_records(data=split, split="test", track=track, records=own, **scoring)
        )
    return scores
