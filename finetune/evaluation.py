"""The numbers made from the prediction records of one split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weighted_f1_metric import data_fingerprint, f1_family, score_track, signature

from .bag_units import scored_track
from .relation_rows import RelationData, RelationRows


def is_scored_by_track(data: RelationData, *, track: str, multi_label: bool) -> bool:
    """Whether `score_track` makes the numbers: for data with human labels, for bags, and for lists."""
    return data.has_human_labels or track != "sent2sent" or multi_label


def references_of(data: RelationData, split: str) -> list[dict[str, str]]:
    """The records that `score_track` reads; data without human labels count as unjudged."""
    rows = data.splits[split]
    if rows.references is not None:
        return rows.references
    return [
        {"instance_id": name, "bag_id": bag, "relation": data.label_names[label], "bag_label": "unk"}
        for name, bag, label in zip(rows.row_names, rows.pair_names, rows.labels.tolist(), strict=True)
    ]


def score_records(
    *, data: RelationData, split: str, track: str, records: list[dict[str, Any]], multi_label: bool = False
) -> dict[str, Any]:
    """Every number for a split, flat, plus `echo` on a track, `undefined` and `signature`.

    The classes of each prefix are under `{prefix}_per_class` (`per_class` without one), as in `f1_family`.

    What `is_scored_by_track` names is scored by `score_track`, the validation split of bag2sent as bags; the
    rest by `f1_family` over the labels without the negative relation and, where labels have a direction, by
    group under `official_`.
    """
    if is_scored_by_track(data, track=track, multi_label=multi_label):
        scores = score_track(
            track=scored_track(track, split),
            references=references_of(data, split),
            predictions=records,
            relations=[name for name in data.label_names if name != data.negative_relation],
            negative_relation=data.negative_relation,
            per_class=True,
        )
        return {**scores, "signature": scores.pop("signatures")}
    return _family(data, data.splits[split], [record["pred"] for record in records])


def _family(data: RelationData, rows: RelationRows, predicted: list[str]) -> dict[str, Any]:
    gold = [data.label_names[label] for label in rows.labels.tolist()]
    positive = [name for name in data.label_names if name != data.negative_relation]
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
            labels=positive, data=fingerprint, **options
        )
    result["num_units"] = len(rows)
    return {**result, "undefined": undefined, "signature": signatures}


def numbers_only(scores: Mapping[str, Any]) -> dict[str, float | int | None]:
    """The flat numbers of a score dict, without `echo`, `undefined` and `signature`."""
    return {name: value for name, value in scores.items() if value is None or isinstance(value, (int, float))}
