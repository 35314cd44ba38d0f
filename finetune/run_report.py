"""What a run reports beyond the scores of its seeds, made from the prediction files of the seeds' folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weighted_f1_metric import read_predictions

from .evaluation import numbers_only, score_records
from .figures import draw_run
from .reference_lines import untrained_records
from .relation_rows import RelationData
from .results import aggregate
from .seen_pairs import PARTS, scores_by_seen_pairs


def seen_pairs_results(
    *, data: RelationData, track: str, runs: Sequence[Sequence[dict[str, Any]]], **scoring: Any
) -> dict[str, dict[str, Any]]:
    """ "seen" and "unseen" -> `num_units`, and `mean` and `sd` over the seeds of every number.

    A part without units has empty `mean` and `sd`. Arguments as for `scores_by_seen_pairs`.
    """
    parts = [scores_by_seen_pairs(data=data, track=track, records=records, **scoring) for records in runs]
    results = {}
    for part in PARTS:
        scores = [own[part] for own in parts]
        num_units = scores[0]["num_units"]
        results[part] = {
            "num_units": num_units,
            **(aggregate(scores) if num_units else {"mean": {}, "sd": {}}),
        }
    return results


def untrained_results(*, data: RelationData, track: str, **scoring: Any) -> dict[str, dict[str, Any] | None]:
    """ "majority" and "type_pair" -> `n` (1), `mean` and `sd` (None) of every number; None without types."""
    lines: dict[str, dict[str, Any] | None] = {"majority": None, "type_pair": None}
    for name, records in untrained_records(data, track=track).items():
        scores = numbers_only(score_records(data=data, split="test", track=track, records=records, **scoring))
        lines[name] = {"n": 1, **aggregate([scores])}
    return lines


def prediction_runs(paths: Sequence[Path]) -> list[list[dict[str, Any]]]:
    """The records of each file."""
    return [list(read_predictions(path)) for path in paths]


def drawn_figures(
    folder: Path, *, data: RelationData, track: str | None, runs: Sequence[Sequence[Mapping[str, Any]]]
) -> tuple[list[str], str | None]:
    """The names of the figures in `folder`/figures, and why there are none."""
    try:
        return draw_run(folder, data=data, track=track, runs=runs), None
    except ImportError as error:
        return [], str(error)
