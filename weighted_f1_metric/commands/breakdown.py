"""`score --breakdown`: what is printed and written about the reasons of a score."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from ..systems.breakdown import gap_of_scored, slices_of_scored
from ..systems.breakdown_tables import example_lines, gap_notes, gap_tables, slices_table
from ..systems.examples import examples_of_scored
from ..table import Table
from ..tracks import ScoredTrack
from .prediction_files import read_references


@dataclass(frozen=True)
class Reasons:
    """What is said about the reasons of a score, for people and for programs."""

    tables: list[Table]
    notes: list[str]
    numbers: dict[str, Any]


def read_breakdown(
    scored: ScoredTrack, references: list[dict[str, Any]], arguments: argparse.Namespace
) -> Reasons:
    """Return the breakdown that the parsed arguments ask for; the gap only where people judged.

    Raises:
        FileNotFoundError, ValueError: As `read_references` and `slices_of_scored`.
    """
    train = None if arguments.train is None else read_references(arguments.train)
    slices = slices_of_scored(scored, arguments.breakdown, references=references, train=train)
    numbers: dict[str, Any] = {"slices": {name: _plain(of_name) for name, of_name in slices.items()}}
    tables, notes = [], []
    if "magt" in scored.signatures:
        numbers["gap"] = gap_of_scored(scored)
        tables += gap_tables(numbers["gap"])
        notes += gap_notes(numbers["gap"])
    tables += [slices_table(name, of_name) for name, of_name in slices.items()]
    if slices:
        notes.append("In brackets behind the F1 of a part: its 95% interval over bags.")
    if all("sentence" in row for row in references):
        numbers["examples"] = examples_of_scored(scored, references=references)
        notes += example_lines(numbers["examples"])
    return Reasons(tables, notes, numbers)


def _plain(slices: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
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
