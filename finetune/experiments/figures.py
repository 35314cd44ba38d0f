"""[A]'s Figures 3 and 4 for the systems of a track, each in [A]'s convention and in ours.

Every line is the mean over the seeds, as [A] draws it; the points of every seed are written beside as CSV.

Reference: Zhu et al. 2020 (COLING), Figures 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weighted_f1_metric import (
    PRCurve,
    TrackStatistics,
    Units,
    plot_coverage_panels,
    plot_pr_panels,
    read_unit_predictions,
    statistics_of_units,
    track_coverage,
    track_curve,
    truth_name,
    write_figures,
    write_text,
)

from ..data.relation_rows import RelationData
from ..report.evaluation import units_of
from ..report.results import FIGURES, aggregate
from .run_results import TrackRuns
from .tables import Row, csv_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_K = 2000  # where [A]'s Figure 4 ends
_CURVE_POINTS = 2001
_CSV_POINTS = 201
_COVERED = "relations_covered_at_"

# Convention -> title, the truths of its panels, what recall counts.
_CONVENTIONS = {
    "paper": ("[A]'s convention", ("dsgt", "magt_ds_scope"), "units"),
    "ours": ("our convention", ("dsgt", "magt"), "pairs"),
}


@dataclass(frozen=True)
class Pictures:
    """What was drawn.

    Attributes:
        captions: Path below the report's folder -> what it shows.
        points: Paths of the CSV files with the points of every seed.
        notes: What could not be drawn, and why; a sentence each.
    """

    captions: dict[str, str] = field(default_factory=dict)
    points: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Points:
    """What is kept of the runs: place of a panel -> system -> a value a seed.

    Attributes:
        curves: By (convention, truth).
        coverage: By truth.
    """

    curves: dict[tuple[str, str], dict[str, list[PRCurve]]] = field(default_factory=dict)
    coverage: dict[str, dict[str, list[dict[str, float | None]]]] = field(default_factory=dict)

    def add(self, system: str, statistics: TrackStatistics) -> None:
        """Keep the points of a run."""
        for convention, (_, truths, recall_of) in _CONVENTIONS.items():
            for truth in (truth for truth in truths if truth in statistics.truths):
                curve = track_curve(statistics, truth, recall_of=recall_of, max_points=_CURVE_POINTS)
                if curve is not None:
                    self.curves.setdefault((convention, truth), {}).setdefault(system, []).append(curve)
        for truth in (truth for truth in ("dsgt", "magt") if truth in statistics.truths):
            covered = track_coverage(statistics, truth, max_k=MAX_K)
            if covered is not None:
                self.coverage.setdefault(truth, {}).setdefault(system, []).append(covered)

    def curve_rows(self, runs: TrackRuns) -> list[Row]:
        """Return rows for CSV: points of the curve of every seed, exact ones, spread over the candidates
        found.
        """
        rows = []
        for (convention, truth), systems in self.curves.items():
            for system, curves in systems.items():
                for seed, curve in zip(runs.seeds, curves, strict=True):
                    at = np.linspace(0, len(curve.k) - 1, min(_CSV_POINTS, len(curve.k))).round().astype(int)
                    points = (column[at].tolist() for column in (curve.k, curve.recall, curve.precision))
                    rows += [
                        {
                            "convention": convention,
                            "truth": truth,
                            "system": system,
                            "seed": seed,
                            "k": k,
                            "recall": recall,
                            "precision": precision,
                        }
                        for k, recall, precision in zip(*points, strict=True)
                    ]
        return rows

    def coverage_rows(self, runs: TrackRuns) -> list[Row]:
        """Return rows for CSV: relations that the first k candidates cover, and the correct ones of them, by
        seed.
        """
        return [
            {
                "truth": truth,
                "system": system,
                "seed": seed,
                "k": int(key.removeprefix(_COVERED)),
                "covered": value,
                "covered_by_correct": covered[f"correct_{key}"],
            }
            for truth, systems in self.coverage.items()
            for system, seeds in systems.items()
            for seed, covered in zip(runs.seeds, seeds, strict=True)
            for key, value in covered.items()
            if key.startswith(_COVERED)
        ]


def draw_comparison(folder: Path, runs: TrackRuns, data: RelationData) -> Pictures:
    """Write the figures of a track to `folder`/figures and say what each shows.

    Systems without predictions or without scores are left out and named. Without matplotlib there are no
    pictures, and the note says so.
    """
    pictures = Pictures()
    if not runs.by_track:
        return pictures
    drawn, units = _Points(), units_of(data, "test", track=runs.track)
    without: list[str] = []
    for system in runs.systems:
        found = _system_statistics(runs, units, system)
        if found is None:
            without.append(system)
        else:
            for statistics in found:
                drawn.add(system, statistics)
    if without:
        pictures.notes.append(
            f"Not in the pictures, for want of prediction files with scores: {', '.join(without)}."
        )
    (folder / FIGURES).mkdir(exist_ok=True)
    for number, rows in ((3, drawn.curve_rows(runs)), (4, drawn.coverage_rows(runs))):
        if rows:
            pictures.points.append(f"{FIGURES}/figure_{number}_{runs.track}.csv")
            write_text(folder / pictures.points[-1], csv_text(rows))
    try:
        figures = _figures(runs, drawn, num_relations=len(data.relations))
        if figures:
            write_figures(folder / FIGURES, {name: figure for name, (figure, _) in figures.items()})
    except ImportError as error:
        pictures.notes.append(f"No pictures: {error}")
        return pictures
    pictures.captions.update({f"{FIGURES}/{name}.png": text for name, (_, text) in figures.items()})
    return pictures


def _system_statistics(runs: TrackRuns, units: Units, system: str) -> Iterator[TrackStatistics] | None:
    """The statistics of each seed, read one by one; None when one of them lacks predictions or scores."""
    first = runs.records(system, runs.seeds[0])
    if first is None or "scores" not in first[0]:
        return None
    if any(not runs.predictions_path(system, seed).is_file() for seed in runs.seeds):
        return None
    return (
        statistics_of_units(
            units,
            read_unit_predictions(first if seed == runs.seeds[0] else runs.records(system, seed), units),
            runs.truths,
        )
        for seed in runs.seeds
    )


def _figures(runs: TrackRuns, drawn: _Points, *, num_relations: int) -> dict[str, tuple[Figure, str]]:
    """Return name -> figure and caption."""
    unit = "bag" if runs.track == "bag2bag" else "sentence"
    seeds = "one seed" if len(runs.seeds) == 1 else f"mean over {len(runs.seeds)} seeds"
    bands = ", with bands of one standard deviation for up to four systems" if len(runs.seeds) > 1 else ""
    found: dict[str, tuple[Figure, str]] = {}
    for convention, (title, truths, recall_of) in _CONVENTIONS.items():
        panels = {
            truth: drawn.curves[convention, truth] for truth in truths if (convention, truth) in drawn.curves
        }
        if not panels:
            continue
        counted = f"{unit}s" if recall_of == "units" else f"({unit}, relation) pairs"
        caption = (
            f"[A] Figure 3 on {runs.track}, in {title}: precision against recall, {seeds}{bands}. Recall "
            f"counts {counted}"
        )
        if recall_of == "units":
            caption += f" with a gold relation, so it passes 1 where a {unit} has several"
            caption += "; MAGT ranks the distant relations only." if "magt_ds_scope" in panels else "."
        else:
            caption += "; MAGT ranks every relation of every unit." if "magt" in panels else "."
        caption += " The grey line is the prevalence, the precision of a random ranking. [A] shows recall up "
        caption += "to 0.4."
        figure = plot_pr_panels(
            panels, title=f"{runs.track}: precision and recall, {title}", recall=f"recall of {counted}"
        )
        found[f"figure_3_{convention}_{runs.track}"] = (figure, caption)
    found |= _coverage_figures(runs, drawn, seeds, num_relations)
    return found


def _coverage_figures(
    runs: TrackRuns, drawn: _Points, seeds: str, num_relations: int
) -> dict[str, tuple[Figure, str]]:
    means = {
        truth: {system: aggregate(own)["mean"] for system, own in systems.items()}
        for truth, systems in drawn.coverage.items()
    }
    if "dsgt" not in means:
        return {}
    every = f"first {MAX_K} candidates at most, {seeds}"
    panels = {"all candidates": means["dsgt"], "correct by DSGT": means["dsgt"]}
    paper = plot_coverage_panels(
        panels,
        correct=["correct by DSGT"],
        num_relations=num_relations,
        title=f"{runs.track}: relation coverage, [A]'s convention",
    )
    caption = (
        f"[A] Figure 4 on {runs.track}, in [A]'s convention: how many relations the first K candidates "
        f"cover, all of them and the correct ones by distant labels; {every}."
    )
    found = {f"figure_4_paper_{runs.track}": (paper, caption)}
    if "magt" in means:
        correct = {f"correct by {truth_name(truth)}": own for truth, own in means.items()}
        ours = plot_coverage_panels(
            correct,
            correct=list(correct),
            num_relations=num_relations,
            title=f"{runs.track}: coverage by correct candidates, our convention",
        )
        caption = (
            f"[A] Figure 4 on {runs.track}, in our convention: how many relations the correct ones of the "
            f"first K candidates cover, by distant labels and by people; {every}."
        )
        found[f"figure_4_ours_{runs.track}"] = (ours, caption)
    return found
