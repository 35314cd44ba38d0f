"""The test set of a leaderboard: read on the server, never sent to the page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weighted_f1_metric import read_references, read_relations, score_track, space, unit_id_key

FILES = ("test.json", "rel2id.json")
NEGATIVE_RELATION = "NA"


@dataclass(frozen=True)
class GoldData:
    """What submissions are scored against.

    Attributes:
        references: the records of test.json.
        relations: the positive relations, in id order.
        is_example: whether it is the made-up one, because none was configured.
    """

    references: list[dict[str, Any]]
    relations: list[str]
    is_example: bool = False

    def score(self, track: str, predictions: Any) -> dict[str, Any]:
        """What `score_track` says of prediction records.

        Raises:
            TypeError, ValueError: as `score_track`.
        """
        return score_track(
            track=track,
            references=self.references,
            predictions=predictions,
            relations=self.relations,
            negative_relation=NEGATIVE_RELATION,
        )

    def echo(self, track: str) -> dict[str, Any]:
        """The scores of copying the distant labels, with the signatures of the track."""
        key = unit_id_key(track)
        ids = dict.fromkeys(row[key] for row in self.references)
        scores = self.score(track, [{key: unit, "pred": NEGATIVE_RELATION} for unit in ids])
        return {**scores["echo"], "signatures": scores["signatures"]}


def read_gold_data(environment: Mapping[str, str] = os.environ) -> GoldData:
    """The test set that the environment names.

    `LEADERBOARD_TEST_DIR` is a folder with test.json and rel2id.json, `LEADERBOARD_TEST_REPO` a (private)
    dataset repository with these two files. Without either it is the made-up example.

    Raises:
        FileNotFoundError, ValueError: as `read_references` and `read_relations`.
        OSError: the repository cannot be read.
    """
    folder = environment.get("LEADERBOARD_TEST_DIR")
    repo_id = environment.get("LEADERBOARD_TEST_REPO")
    if folder:
        test, rel2id = (Path(folder) / name for name in FILES)
    elif repo_id:
        from huggingface_hub import hf_hub_download

        test, rel2id = (Path(hf_hub_download(repo_id, name, repo_type="dataset")) for name in FILES)
    else:
        return GoldData(**space.example_track(), is_example=True)
    return GoldData(
        references=read_references(test),
        relations=read_relations(rel2id, negative_relation=NEGATIVE_RELATION),
    )
