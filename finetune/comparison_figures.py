"""[A]'s Figures 3 and 4 for the systems of a track, each in [A]'s convention and in ours.

Every line is the mean over the seeds, as [A] draws it. Predictions are read one run at a time; what is kept
of a run are points of its curves.

Reference: Zhu et al. 2020 (COLING), Figures 3 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weighted_f1_metric import (
    PRCurve,
    plot_coverage_panels,
    plot_pr_panels,
    track_coverage,
    track_curve,
    track_statistics,
    truth_name,
    write_figures,
)

from .comparison_runs import TrackRuns
from .evaluation import references_of
from .figures import FIGURES
from .relation_rows import RelationData
from .results import aggregate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_K = 2000  # where [A]'s Figure 4 ends
_CURVE_POINTS = 2001

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
        notes: What could not be drawn, and why; a sentence each.
    """

    captions: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass
class _Drawn:
    """Points of the runs: (convention, truth) -> system -> a curve a seed; truth -> system -> coverage."""

    curves: dict[tuple[str, str], dict[str, list[PRCurve]]] = field(default_factory=dict)
    coverage: dict[str, dict[str, list[dict[str, float | None]]]] = field(default_factory=dict)

    def add(self, system: str, statistics: Any) -> None:
        for convention, (_, truths, recall_of) in _CONVENTIONS.items():
            for truth in (truth for truth in truths if truth in statistics.truths):
                curve = track_curve(statistics, truth, recall_of=recall_of, max_points=_CURVE_POINTS)
                if curve is not None:
                    self.curves.setdefault((convention, truth), {}).setdefault(system, []).append(curve)
        for truth in (truth for truth in ("dsgt", "magt") if truth in statistics.truths):
            covered = track_coverage(statistics, truth, max_k=MAX_K)
            if covered is not None:
                self.coverage.setdefault(truth, {}).setdefault(system, []).append(covered)


def draw_comparison(folder: Path, runs: TrackRuns, data: RelationData) -> Pictures:
    """Write the figures of a track to `folder`/figures and say what each shows.

    Systems without predictions or without scores are left out and named. Without matplotlib there are no
    pictures, and the note says so.
    """
    pictures = Pictures()
    if not runs.by_track:
        return pictures
    drawn = _Drawn()
    without: list[str] = []
    for system in runs.systems:
        found = [records for seed in runs.seeds if (records := runs.records(system, seed)) is not None]
        if len(found) < len(runs.seeds) or "scores" not in found[0][0]:
            without.append(system)
            continue
        for records in found:
            drawn.add(system, _statistics(runs, data, records))
    if without:
        pictures.notes.append(
            f"Not in the pictures, for want of prediction files with scores: {', '.join(without)}."
        )
    try:
        figures = _figures(runs, drawn, num_relations=len(data.label_names) - 1)
        if figures:
            write_figures(folder / FIGURES, {name: figure for name, (figure, _) in figures.items()})
    except ImportError as error:
        pictures.notes.append(f"No pictures: {error}")
        return pictures
    pictures.captions.update({f"{FIGURES}/{name}.png": text for name, (_, text) in figures.items()})
    return pictures


def _statistics(runs: TrackRuns, data: RelationData, records: Sequence[dict[str, Any]]) -> Any:
    return track_statistics(
        track=runs.track,
        references=references_of(data, "test"),
        predictions=records,
        relations=[name for name in data.label_names if name != data.negative_relation],
        negative_relation=data.negative_relation,
    )


def _figures(runs: TrackRuns, drawn: _Drawn, *, num_relations: int) -> dict[str, tuple[Figure, str]]:
    """Name -> figure and caption."""
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
    runs: TrackRuns, drawn: _Drawn, seeds: str, num_relations: int
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
