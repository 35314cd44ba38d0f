"""What is said of a scored track, in sections that are printed, written as JSON, and shown on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ranking import DEFAULT_KS
from ..systems.breakdown import gap_of_scored, slices_of_scored
from ..systems.breakdown_tables import example_groups, gap_notes, gap_tables, slices_table
from ..systems.calibration import calibration, calibration_notes, calibration_table
from ..systems.examples import examples_of_scored
from ..table import Table, number, percent
from ..tables import (
    BOUNDS_NOTE,
    RANKING_NAMES,
    averages_by_truth,
    classes_table,
    measures_table,
    open_note,
    track_notes,
    twins_note,
)
from ..tracks import ScoredTrack
from ..units import truth_name
from ..unjudged.bounds import bounds_of_scored


@dataclass(frozen=True)
class Section:
    """A part of what is said.

    Attributes:
        title: Its heading.
        tables: Each with its caption.
        lines: Text, a paragraph each.
        examples: Sentences under a line that says why they are shown.
        numbers: The same for programs.
    """

    title: str
    tables: Sequence[tuple[str, Table]] = ()
    lines: Sequence[str] = ()
    examples: Sequence[tuple[str, Sequence[str]]] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)


def scores_section(
    scored: ScoredTrack, *, ks: Sequence[int] = DEFAULT_KS, for_people: bool = True
) -> Section:
    """Return the averages under each truth with the bounds of MAGT, the classes where they are wanted, and
    what the numbers depend on.

    Args:
        scored: The system.
        ks: The K of P@K that are listed.
        for_people: Whether bounds stand behind the numbers; a program that reads a cell wants one number.
    """
    scores, prefixes = scored.scores, list(scored.signatures)
    bounds = bounds_of_scored(scored)
    shown = bounds if for_people else None
    tables = [
        ("F1 under each truth", averages_by_truth(scores, bounds=shown)),
        ("Precision, recall and F1", measures_table(scores, prefixes, bounds=shown)),
    ]
    for prefix in prefixes:
        if f"{prefix}_per_class" in scores:
            table = classes_table(scores[f"{prefix}_per_class"], title=f"relation, {truth_name(prefix)}")
            tables.append((f"Relations, {truth_name(prefix)}", table))
    lines = [f"{truth_name(prefix)}: {line}" for prefix, line in scored.signatures.items()]
    lines += ["", *track_notes(scores), *_ranking_lines(scores, ks)]
    if scores.get("num_twins") and scored.units.by == "rows":
        lines.append(f"{twins_note(scores)} To score each sentence once, type: --by sentences")
    if shown is not None:
        lines += [BOUNDS_NOTE, open_note(shown)]
    numbers = scores if bounds is None else {**scores, "magt_bounds": bounds}
    return Section("Scores", tables, lines, numbers=numbers)


def _ranking_lines(scores: dict[str, Any], ks: Sequence[int]) -> list[str]:
    """The best recall and the ranking measures of each truth."""
    lines = []
    for prefix in scores["signatures"]:
        parts = [
            f"best micro recall with one relation a unit {percent(scores[f'{prefix}_max_single_recall'])}%"
        ]
        if f"{prefix}_auc" in scores:
            parts.append(f"prevalence {number(scores[f'{prefix}_prevalence'])}")
            parts += [f"{name} {number(scores[f'{prefix}_{key}'])}" for key, name in RANKING_NAMES.items()]
            parts += [f"P@{k} {number(scores[f'{prefix}_precision_at_{k}'])}" for k in ks]
        lines.append(f"{truth_name(prefix)}: {', '.join(parts)}.")
    return lines


def calibration_section(scored: ScoredTrack, *, for_people: bool = True) -> Section | None:
    """Return what the scores of the predictions are worth; None where there are none."""
    found = {
        prefix: own
        for prefix in scored.signatures
        if (own := calibration(scored.statistics, prefix)) is not None
    }
    if not found:
        return None
    tables = [("Calibration and abstaining", calibration_table(found))] if for_people else []
    numbers = {"calibration": {prefix: own.to_json() for prefix, own in found.items()}}
    return Section("What the scores are worth", tables, calibration_notes(found), numbers=numbers)


def breakdown_section(
    scored: ScoredTrack, names: Sequence[str], *, references: list[dict[str, Any]], train: Any
) -> Section:
    """Return the reasons of a score: the gap where people judged, parts of the test set, sentences.

    Args:
        scored: The system.
        names: Of the parts (see `slices_of_scored`).
        references: Those that were scored.
        train: Training rows, or None.

    Raises:
        ValueError: As `slices_of_scored`.
    """
    slices = slices_of_scored(scored, names, references=references, train=train)
    numbers: dict[str, Any] = {"slices": {name: _counted(of_name) for name, of_name in slices.items()}}
    tables, lines, examples = [], [], []
    if "magt" in scored.signatures:
        numbers["gap"] = gap_of_scored(scored)
        captions = ("From DSGT to MAGT, averages", "From DSGT to MAGT, relations")
        tables += list(zip(captions, gap_tables(numbers["gap"]), strict=True))
        lines += gap_notes(numbers["gap"])
    tables += [(f"Parts of the test set: {name}", slices_table(name, one)) for name, one in slices.items()]
    if slices:
        lines.append("In brackets behind the F1 of a part: its 95% interval over bags.")
    if all("sentence" in row for row in references):
        numbers["examples"] = examples_of_scored(scored, references=references)
        examples = example_groups(numbers["examples"])
    return Section("Why", tables, lines, examples, {"breakdown": numbers})


def _counted(slices: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The slices with numbers of units in place of their positions."""
    return {
        label: {
            **one,
            "confusions": [
                {**confusion, "units": len(confusion["units"])} for confusion in one["confusions"]
            ],
        }
        for label, one in slices.items()
    }
