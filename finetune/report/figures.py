"""The figures of a run, and its results over seeds by seen pairs and by reference lines without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weighted_f1_metric import (
    COLOURS,
    class_counts,
    draw_track_figures,
    family_from_counts,
    plot_averages,
    plot_f1_by_support,
    read_unit_predictions,
    score_units,
    write_figures,
)

from ..data.reference_lines import untrained_records
from ..data.relation_rows import RelationData
from .evaluation import PARTS, numbers_only, score_records, scores_by_seen_pairs, units_of
from .results import FIGURES, aggregate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# What the classes weigh does not depend on the model, and is not drawn.
DRAWN = ("averages", "pr_curves", "f1_by_support", "relation_coverage")


def draw_run(
    folder: Path,
    *,
    data: RelationData,
    track: str | None,
    runs: Sequence[Sequence[Mapping[str, Any]]],
    histories: Mapping[str, Sequence[Mapping[str, Any]]],
    measure: str | None,
) -> list[str]:
    """Return the names of the files written to `folder`/figures, sorted.

    Args:
        folder: The output folder.
        data: With the test split.
        track: The track of `score_track`, or None for data that `f1_family` scores.
        runs: The prediction records of the test split, for each seed.
        histories: Name of a seed -> what was logged while it trained.
        measure: What selects on validation.

    Raises:
        ImportError: matplotlib is not installed.
    """
    if track is not None:
        units = units_of(data, "test", track=track)
        scored = [score_units(units, read_unit_predictions(records, units)) for records in runs]
        drawn = draw_track_figures(*scored)
    else:
        drawn = _family_figures(data, runs)
    kept = {name: figure for name, figure in drawn.items() if name.startswith(DRAWN)}
    if any(histories.values()):
        kept["training_history"] = plot_history(histories, measure=measure)
    return sorted(path.name for path in write_figures(folder / FIGURES, kept))


def plot_history(histories: Mapping[str, Sequence[Mapping[str, Any]]], *, measure: str | None) -> Figure:
    """Return the training loss, and the measure of validation that selects, by step; a line a seed.

    Args:
        histories: Name of a seed -> entries with `step`, and `loss` or `eval_<measure>`.
        measure: What selects; None draws the loss alone.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    shown = {"loss": "training loss"}
    if measure is not None:
        shown[f"eval_{measure}"] = f"validation {measure.replace('_', ' ')}"
    figure = Figure(figsize=(4.2 * len(shown), 3.2), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, (key, label) in zip(panels, shown.items(), strict=True):
        for number, (name, history) in enumerate(histories.items()):
            entries = [entry for entry in history if key in entry]
            steps, values = [entry["step"] for entry in entries], [entry[key] for entry in entries]
            axes.plot(steps, values, color=COLOURS[number % len(COLOURS)], marker=".", label=name)
        axes.set_xlabel("step")
        axes.set_ylabel(label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(histories) > 1:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def _family_figures(data: RelationData, runs: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Figure]:
    counts = [
        class_counts(
            predictions=[record["pred"] for record in records],
            references=data.relations_of("test"),
            labels=list(data.label_names),
            negative_label=data.negative_relation,
        )
        for records in runs
    ]
    families = [family_from_counts(own) for own in counts]
    return {
        "averages": plot_averages({data.name: families}),
        "f1_by_support": plot_f1_by_support({data.name: counts[0]}),
    }


def seen_pairs_results(
    *, data: RelationData, track: str, runs: Sequence[Sequence[dict[str, Any]]], **scoring: Any
) -> dict[str, dict[str, Any]]:
    """Return "seen" and "unseen" -> `num_units`, and `mean` and `sd` over the seeds of every number.

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
    """Return "majority" and "type_pair" -> `n` (1), `mean` and `sd` (None) of every number; None without
    types.
    """
    lines: dict[str, dict[str, Any] | None] = {"majority": None, "type_pair": None}
    for name, records in untrained_records(data, track=track).items():
        scores = numbers_only(score_records(data=data, split="test", track=track, records=records, **scoring))
        lines[name] = {"n": 1, **aggregate([scores])}
    return lines


def drawn_figures(folder: Path, **given: Any) -> tuple[list[str], str | None]:
    """Return the names of the figures in `folder`/figures, and why there are none; see `draw_run`."""
    try:
        return draw_run(folder, **given), None
    except ImportError as error:
        return [], str(error)
