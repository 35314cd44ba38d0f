"""Data sets as rows with two spans: one reader for each kind of data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from .relation_rows import RelationData, RelationRows, entity_pair, short_type
from .semeval import SEMEVAL_NEGATIVE, read_semeval


def read_nyt_h(data_dir: str) -> RelationData:
    """NYT-H: train with its sampled NA rows, validation and test.

    Raises:
        FileNotFoundError: The folder or a file is not there.
        ValueError: A file is broken, or a split is empty.
    """
    from nyt_h_dataset import NEGATIVE_RELATION, load_nyt_h

    loaded = load_nyt_h(data_dir, "sentence")
    features = loaded["test"].features
    label_names = tuple(features["relation"].names)
    splits = {}
    for split in ("train", "validation", "test"):
        table = loaded[split].with_format("numpy")
        columns = {name: table[name][:] for name in ("relation", "bag_label")}
        plain = loaded[split]
        heads, tails = plain["head"][:], plain["tail"][:]
        spans = [(h["start"], h["end"], t["start"], t["end"]) for h, t in zip(heads, tails, strict=True)]
        names, sentences, bags = (plain[name][:] for name in ("instance_id", "sentence", "bag_id"))
        judged = features["bag_label"].names
        splits[split] = RelationRows(
            row_names=names,
            sentences=sentences,
            spans=np.array(spans, dtype=np.int64).reshape(-1, 4),
            labels=columns["relation"].astype(np.int64),
            pair_names=bags,
            entity_pairs=[f"{h['guid']}\t{t['guid']}" for h, t in zip(heads, tails, strict=True)],
            types=[(short_type(h["type"]), short_type(t["type"])) for h, t in zip(heads, tails, strict=True)],
            references=[
                {
                    "instance_id": i,
                    "bag_id": b,
                    "relation": label_names[r],
                    "bag_label": judged[j],
                    "sentence": s,
                }
                for i, b, r, j, s in zip(
                    names,
                    bags,
                    columns["relation"],
                    columns["bag_label"],
                    sentences,
                    strict=True,
                )
            ],
        )
    return RelationData(
        name="nyt_h", splits=splits, label_names=label_names, negative_relation=NEGATIVE_RELATION
    )


def read_semeval2010(data_dir: str) -> RelationData:
    """SemEval-2010 Task 8: directed labels, no validation split, so nothing is selected.

    Raises:
        FileNotFoundError: A file is not there.
        ValueError: A record is broken (file and line), no label is "Other", or a split is empty.
    """
    read = {
        split: read_semeval(Path(data_dir) / name)
        for split, name in (("train", "TRAIN_FILE.TXT"), ("test", "TEST_FILE_FULL.TXT"))
    }
    label_names = tuple(sorted({record.label for records in read.values() for record in records}))
    if label_names and SEMEVAL_NEGATIVE not in label_names:
        raise ValueError(
            f"{data_dir}: no sentence has the label {SEMEVAL_NEGATIVE!r}, the negative relation."
        )
    index = {name: position for position, name in enumerate(label_names)}
    splits = {}
    for split, records in read.items():
        pairs = [
            entity_pair(*(r.sentence[span.start : span.end] for span in (r.head, r.tail))) for r in records
        ]
        splits[split] = RelationRows(
            row_names=[record.number for record in records],
            sentences=[record.sentence for record in records],
            spans=np.array([record.head + record.tail for record in records], dtype=np.int64).reshape(-1, 4),
            labels=np.array([index[record.label] for record in records], dtype=np.int64),
            pair_names=pairs,
            entity_pairs=pairs,
        )
    groups = {name: name.partition("(")[0] for name in label_names if name != SEMEVAL_NEGATIVE}
    return RelationData(
        name="semeval2010",
        splits=splits,
        label_names=label_names,
        negative_relation=SEMEVAL_NEGATIVE,
        groups=groups,
    )


READERS: dict[str, Callable[[str], RelationData]] = {"nyt_h": read_nyt_h, "semeval2010": read_semeval2010}
