"""The test set of a leaderboard: read on the server, never sent to the page."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weighted_f1_metric import ScoredTrack, read_references, read_relations, scored_track, space, unit_id_key

FILES = ("test.json", "rel2id.json")
NEGATIVE_RELATION = "NA"


@dataclass(frozen=True)
class GoldData:
    """What submissions are scored against.

    Attributes:
        references: the records of test.json.
        relations: the positive relations, in id order.
        is_example: whether it is the made-up one, because none was configured.
        is_hidden: whether the answers are known to the server only, so that scores are shown with one decimal
            and submissions are counted.
        name: What the board calls it.
        date: When it was last changed, ISO 8601; "" when that is not known.
    """

    references: list[dict[str, Any]]
    relations: list[str]
    is_example: bool = False
    is_hidden: bool = False
    name: str = "made-up example"
    date: str = ""

    def score(self, track: str, predictions: Any) -> dict[str, Any]:
        """Return what `score_track` says of prediction records.

        Raises:
            TypeError, ValueError: as `score_track`.
        """
        return self.scored(track, predictions).scores

    def unit_ids(self, track: str) -> list[str]:
        """Return the ids that a submission to the track must have, in the order of the test set."""
        return list(dict.fromkeys(row[unit_id_key(track)] for row in self.references))

    def scored(self, track: str, predictions: Any) -> ScoredTrack:
        """Return prediction records scored; raises as `score`."""
        return scored_track(
            track=track,
            references=self.references,
            predictions=predictions,
            relations=self.relations,
            negative_relation=NEGATIVE_RELATION,
        )

    def echo(self, track: str) -> dict[str, Any]:
        """Return the scores of copying the distant labels, with the signatures of the track."""
        key = unit_id_key(track)
        nothing = [{key: unit, "pred": NEGATIVE_RELATION} for unit in self.unit_ids(track)]
        scores = self.score(track, nothing)
        return {**scores["echo"], "signatures": scores["signatures"]}


def read_gold_data(environment: Mapping[str, str] = os.environ) -> GoldData:
    """Return the test set that the environment names.

    `LEADERBOARD_TEST_DIR` is a folder with test.json and rel2id.json, `LEADERBOARD_TEST_REPO` a (private)
    dataset repository with these two files. Without either it is the made-up example.
    `LEADERBOARD_TEST_NAME` is what the board calls it, `LEADERBOARD_TEST_IS_PUBLIC=1` says that everybody may
    know its answers.

    Raises:
        FileNotFoundError, ValueError: as `read_references` and `read_relations`.
        OSError: the repository cannot be read.
    """
    folder = environment.get("LEADERBOARD_TEST_DIR")
    repo_id = environment.get("LEADERBOARD_TEST_REPO")
    name = environment.get("LEADERBOARD_TEST_NAME") or Path(folder or repo_id or "").name
    date = ""
    if folder:
        test, rel2id = (Path(folder) / name for name in FILES)
        changed = datetime.datetime.fromtimestamp(test.stat().st_mtime) if test.is_file() else None
        date = changed.date().isoformat() if changed else ""
    elif repo_id:
        from huggingface_hub import HfApi, hf_hub_download

        changed = HfApi().repo_info(repo_id, repo_type="dataset").last_modified
        date = changed.date().isoformat() if changed else ""
        test, rel2id = (Path(hf_hub_download(repo_id, name, repo_type="dataset")) for name in FILES)
    else:
        return GoldData(**space.example_track(), is_example=True)
    return GoldData(
        references=read_references(test),
        relations=read_relations(rel2id, negative_relation=NEGATIVE_RELATION),
        is_hidden=environment.get("LEADERBOARD_TEST_IS_PUBLIC", "") not in ("1", "true", "yes"),
        name=name,
        date=date,
    )
