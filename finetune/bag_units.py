"""What a track trains on and scores: rows, entity pairs, or pairs with one relation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arguments import ModelArguments
from .bag_batches import BagBatches
from .bag_examples import Bags, bags_of_one, label_sets, pair_bags, relation_bags
from .batching import RowBatches
from .relation_rows import RelationData, RelationRows

UnitBatches = RowBatches | BagBatches


def scored_track(track: str, split: str) -> str:
    """The track by which a split is scored: bag2sent selects on validation bags.

    >>> scored_track("bag2sent", "validation"), scored_track("bag2sent", "test")
    ('bag2bag', 'bag2sent')
    """
    return "bag2bag" if track == "bag2sent" and split == "validation" else track


def id_key(track: str, split: str) -> str:
    """What a prediction names its unit by: "bag_id" or "instance_id"."""
    return "bag_id" if scored_track(track, split) == "bag2bag" else "instance_id"


def training_units(
    rows: RowBatches, data: RelationData, *, track: str, arguments: ModelArguments
) -> UnitBatches:
    """The training examples, without what has no usable row.

    Sentences, or bags: one for each entity pair and relation, the negative relation too, as OpenNRE has them;
    with `multi_label` one for each pair, with all of its relations.

    Args:
        rows: All encoded rows of the training split.
        data: The data as read.
        track: The track.
        arguments: Say whether bags, of what size, and whether with several labels.
    """
    of_split = data.splits["train"]
    if track == "sent2sent" or arguments.train_on == "sentences":
        if arguments.multi_label:
            rows = _with_label_sets(rows, of_split, data)
        return rows.usable_only()
    make = pair_bags if arguments.multi_label else relation_bags
    bags = make(pair_names=of_split.pair_names, labels=of_split.labels)
    if arguments.multi_label:
        bags = _with_sets(bags, of_split.labels, data)
    bags = bags.restricted_to(rows.rows.usable)
    return BagBatches(rows=rows, bags=bags, row_ids=np.arange(len(bags)), bag_size=arguments.bag_size)


def evaluated_units(
    rows: RowBatches, data: RelationData, split: str, *, track: str, multi_label: bool, first_id: int
) -> UnitBatches:
    """The units of an evaluated split, none left out; their ids count on from `first_id`.

    Rows on sent2sent; entity pairs with all of their rows on bag2bag and, for selection, on the validation
    split of bag2sent; on its test split bags of one.
    """
    of_split = data.splits[split]
    if track == "sent2sent":
        if multi_label:
            rows = _with_label_sets(rows, of_split, data)
        row_ids = first_id + np.arange(len(of_split))
        return RowBatches(rows=rows.rows, labels=rows.labels, row_ids=row_ids, pad_id=rows.pad_id)
    if scored_track(track, split) == "bag2bag":
        bags = pair_bags(pair_names=of_split.pair_names, labels=of_split.labels)
    else:
        bags = bags_of_one(row_names=of_split.row_names, labels=of_split.labels)
    if multi_label:
        bags = _with_sets(bags, of_split.labels, data)
    return BagBatches(rows=rows, bags=bags, row_ids=first_id + np.arange(len(bags)))


def unit_names(units: UnitBatches, rows: RelationRows) -> Sequence[str]:
    """The ids of the units of an evaluated split: `bag_id`s of bags, row names of rows."""
    return units.bags.names if isinstance(units, BagBatches) else rows.row_names


def _with_sets(bags: Bags, labels: np.ndarray, data: RelationData) -> Bags:
    names = data.label_names
    sets = label_sets(
        bags, labels=labels, num_labels=len(names), negative_id=names.index(data.negative_relation)
    )
    return Bags(names=bags.names, rows=bags.rows, starts=bags.starts, labels=sets)


def _with_label_sets(rows: RowBatches, of_split: RelationRows, data: RelationData) -> RowBatches:
    bags = _with_sets(
        bags_of_one(row_names=of_split.row_names, labels=of_split.labels), of_split.labels, data
    )
    return RowBatches(rows=rows.rows, labels=bags.labels, row_ids=rows.row_ids, pad_id=rows.pad_id)
