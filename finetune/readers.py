"""Data sets as rows with two spans: one reader for each kind of data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .semeval import SEMEVAL_NEGATIVE, read_semeval


@dataclass(frozen=True)
class RelationRows:
    """The rows of one split.

    Attributes:
        row_names: The id of each row, unique in the split (`instance_id`, or the sentence number).
        sentences: The texts.
        spans: int64, shape (num_rows, 4): head start, head end, tail start, tail end; -1 when not found.
        labels: int64, shape (num_rows,), positions in RelationData.label_names.
        references: The records that `score_track` reads; None where the data has no human labels.
    """

    row_names: list[str]
    sentences: list[str]
    spans: np.ndarray
    labels: np.ndarray
    references: list[dict[str, str]] | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.row_names)


@dataclass(frozen=True)
class RelationData:
    """A data set.

    Attributes:
        name: The reader's name.
        splits: "train", "test" and, where the data has one, "validation".
        label_names: Relation names by label id, the negative relation included; the same for all splits.
        negative_relation: The name that means "none of the relations".
        groups: Label name -> group for direction-aware scores, None where labels have no direction.
    """

    name: str
    splits: Mapping[str, RelationRows]
    label_names: tuple[str, ...]
    negative_relation: str
    groups: Mapping[str, str] | None = None
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        """Refuse an empty split and compute the fingerprint.

        Raises:
            ValueError: A split has no rows.
        """
        for split, rows in self.splits.items():
            if not len(rows):
                raise ValueError(
                    f"the split {split!r} of {self.name} has no rows; training and scoring need some."
                )
        object.__setattr__(self, "fingerprint", self._fingerprint())

    def _fingerprint(self) -> str:
        """16 hex digits that change with any text, span, label or id that a run uses."""
        digest = hashlib.sha256(json.dumps([self.label_names, self.negative_relation]).encode())
        for split, rows in sorted(self.splits.items()):
            digest.update(json.dumps([split, rows.row_names, rows.sentences, rows.references]).encode())
            digest.update(rows.spans.tobytes() + rows.labels.tobytes())
        return digest.hexdigest()[:16]

    @property
    def has_human_labels(self) -> bool:
        """Whether the tracks of `score_track` apply."""
        return self.splits["test"].references is not None


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
        names, sentences = plain["instance_id"][:], plain["sentence"][:]
        judged = features["bag_label"].names
        splits[split] = RelationRows(
            row_names=names,
            sentences=sentences,
            spans=np.array(spans, dtype=np.int64).reshape(-1, 4),
            labels=columns["relation"].astype(np.int64),
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
                    plain["bag_id"][:],
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
    splits = {
        split: RelationRows(
            row_names=[record.number for record in records],
            sentences=[record.sentence for record in records],
            spans=np.array([record.head + record.tail for record in records], dtype=np.int64).reshape(-1, 4),
            labels=np.array([index[record.label] for record in records], dtype=np.int64),
        )
        for split, records in read.items()
    }
    groups = {name: name.partition("(")[0] for name in label_names if name != SEMEVAL_NEGATIVE}
    return RelationData(
        name="semeval2010",
        splits=splits,
        label_names=label_names,
        negative_relation=SEMEVAL_NEGATIVE,
        groups=groups,
    )


READERS: dict[str, Callable[[str], RelationData]] = {"nyt_h": read_nyt_h, "semeval2010": read_semeval2010}
