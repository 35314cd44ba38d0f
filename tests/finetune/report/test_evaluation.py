"""Scores of data without human labels."""

from __future__ import annotations

import numpy as np

from finetune.data.relation_rows import RelationData, RelationRows
from finetune.report.evaluation import score_records


def test_a_split_without_the_negative_relation_is_scored():
    # Neither the truth nor the predictions hold NA, which is a label all the same.
    rows = RelationRows(
        row_names=["a", "b"],
        sentences=["Ann in Bonn", "Bob in Rome"],
        spans=np.array([[0, 3, 7, 11]] * 2),
        labels=np.array([1, 2]),
        pair_names=["a", "b"],
        entity_pairs=["ann\tbonn", "bob\trome"],
    )
    data = RelationData(
        name="hub", splits={"train": rows, "test": rows}, label_names=("NA", "r", "s"), negative_relation="NA"
    )
    records = [{"instance_id": "a", "pred": "r"}, {"instance_id": "b", "pred": "r"}]

    scores = score_records(data=data, split="test", track="sent2sent", records=records)

    assert scores["micro_f1"] == 0.5
    assert scores["macro_f1"] == (2 / 3) / 2
