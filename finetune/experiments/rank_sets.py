"""Ranks of the systems of a track with confidence sets, from the prediction files of all seeds.

Welch's test sees no other test data and the exchange of bags no other seeds; this answers both at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hub_cards import as_text
from weighted_f1_metric import (
    RankIntervals,
    measure_notes,
    question_notes,
    rank_intervals,
    rank_overview,
    write_rank_figures,
)

from ..data.relation_rows import RelationData
from ..report.results import FIGURES
from .run_results import TrackRuns
from .significance import RESAMPLING_SEED, predictions_of, scored_on
from .tables import Row, Table, truth_title

RESAMPLES = 2000


@dataclass(frozen=True)
class RankSets:
    """What is known of the ranks of a track's systems.

    Attributes:
        result: From `rank_intervals`; None for fewer than two systems with predictions of all seeds.
        left_out: Systems without them.
    """

    result: RankIntervals | None
    left_out: tuple[str, ...]


def rank_sets(runs: TrackRuns, data: RelationData) -> RankSets:
    """Return the ranks over new test bags, and over new seeds as well where there are several."""
    systems: dict[str, list[Any]] = {}
    for system in runs.systems:
        found = [runs.records(system, seed) for seed in runs.seeds]
        if all(records is not None for records in found):
            systems[system] = [predictions_of(records or [], runs, data) for records in found]
    left_out = tuple(system for system in runs.systems if system not in systems)
    if len(systems) < 2:
        return RankSets(None, left_out)
    shared = scored_on(runs, data)
    if runs.by_track:
        shared["truths"] = runs.truths
    result = rank_intervals(
        systems=systems,
        question="seeds" if len(runs.seeds) > 1 else "runs",
        seed=RESAMPLING_SEED,
        n_resamples=RESAMPLES,
        **shared,
    )
    return RankSets(result, left_out)


def rank_sets_table(runs: TrackRuns, ranks: RankSets) -> Table | None:
    """Return the table of the rank sets, what was asked and what may be concluded; None without ranks."""
    result = ranks.result
    if result is None:
        return None
    parts = [as_text(note) for note in question_notes(result)]
    if ranks.left_out:
        without = ", ".join(map(as_text, ranks.left_out))
        parts.append(f"Not ranked, for want of prediction files of every seed: {without}.")
    for truth in runs.truths:
        overview = rank_overview(result, truth)
        if overview is not None:
            parts.append(f"**{truth_title(truth)}**\n\n{overview.markdown()}")
    notes = "\n".join(f"- {as_text(note)}" for note in measure_notes(result))
    summary = "<details><summary>What can be told apart, and what would be needed</summary>"
    parts.append(f"{summary}\n\n{notes}\n\n</details>")
    rows: list[Row] = [
        {"track": runs.track, "key": key, "question": result.question, **vars(system)}
        for key, ranking in result.rankings.items()
        for system in ranking.systems
    ]
    return Table(f"rank_sets_{runs.track}", "Ranks with confidence", "\n\n".join(parts), rows)


def draw_rank_sets(folder: Path, runs: TrackRuns, ranks: RankSets) -> Sequence[str]:
    """Write the rank plot and the matrix of P(a > b) by the first F1 of the last truth; return the PNG files.

    Nothing is drawn without ranks or without matplotlib, whose lack the other pictures tell.
    """
    if ranks.result is None:
        return []
    first = next(iter(runs.f1_keys(runs.truths[-1]).values()))
    shown = {f"{runs.track}_{first}": ranks.result.rankings[first]}
    try:
        paths = write_rank_figures(folder / FIGURES, replace(ranks.result, rankings=shown))
    except ImportError:
        return []
    return [f"{FIGURES}/{path.name}" for path in paths if path.suffix == ".png"]
