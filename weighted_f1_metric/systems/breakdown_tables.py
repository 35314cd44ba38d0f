"""Tables of a breakdown, of the sentences to look at, and of what was lost in reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..table import Table, percent
from ..tables import MACRO_ALL_TITLE, interval
from ..units import TRUTHS, truth_name
from .breakdown import GAP_PARTS


def gap_tables(gap: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Table]:
    """Return the table of the gap for each average, and of each relation, the largest gap first.

    Args:
        gap: What `gap_of_scored` returns.
    """
    parts = [part for part in GAP_PARTS if any(one[part] for one in gap["relations"].values())]
    header = ["DSGT", "MAGT", "difference", *parts]

    def cells(one: Mapping[str, float]) -> list[str]:
        return [percent(one[name]) for name in ("dsgt", "magt", "difference", *parts)]

    averages = [
        [MACRO_ALL_TITLE if name == "macro_all" else name, *cells(one)] for name, one in gap["all"].items()
    ]
    ordered = sorted(gap["relations"].items(), key=lambda item: (-abs(item[1]["difference"]), item[0]))
    return [
        Table(["F1 in percent", *header], averages),
        Table(["F1 of the relation in percent", *header], [[name, *cells(one)] for name, one in ordered]),
    ]


def gap_notes(gap: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """Return what the columns of the gap are, a line each."""
    parts = [part for part in GAP_PARTS if any(one[part] for one in gap["relations"].values())]
    return [f"{part}: {GAP_PARTS[part]}." for part in parts]


def slices_table(name: str, slices: Mapping[str, Mapping[str, Any]], *, measure: str = "micro") -> Table:
    """Return the table of one breakdown: each slice with its size, precision, recall and F1 with the interval
    of F1 under each truth, and the costliest confusion.

    Args:
        name: Of the breakdown.
        slices: Slice -> what `slices_of_scored` says of it.
        measure: The average.
    """
    some = next(iter(slices.values()))["scores"]
    prefixes = [prefix for prefix in TRUTHS[:2] if f"{prefix}_{measure}_f1" in some]
    header = [f"{name} ({measure}, percent)", "units"]
    for prefix in prefixes:
        header += [f"{truth_name(prefix)} {title}" for title in ("P", "R", "F1")]
    rows = []
    for label, one in slices.items():
        cells = [label, f"{one['num_units']:,}"]
        for prefix in prefixes:
            cells += [
                percent(one["scores"][f"{prefix}_{measure}_{kind}"]) for kind in ("precision", "recall")
            ]
            ends = one["intervals"][f"{prefix}_{measure}_f1"]
            cells.append(
                percent(one["scores"][f"{prefix}_{measure}_f1"]) + (f" {interval(ends)}" if ends else "")
            )
        worst: Sequence[Mapping[str, Any]] = one["confusions"]
        cells.append(
            f"{worst[0]['gold']} as {worst[0]['predicted']} ({len(worst[0]['units'])})" if worst else ""
        )
        rows.append(cells)
    return Table([*header, "costliest confusion"], rows)


def example_groups(examples: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[tuple[str, list[str]]]:
    """Return the sentences to look at, each group with a line that says why.

    Args:
        examples: What `examples_of_scored` returns.
    """
    groups = [
        (f"{one['gold']} taken for {one['predicted']}, {one['num_units']:,} units:", one)
        for one in examples["confusions"]
    ]
    groups += [
        (f"{one['relation']} predicted and refused by people, {one['num_units']:,} units:", one)
        for one in examples["refused"]
    ]
    return [(why, list(map(_example, one["examples"]))) for why, one in groups]


def _example(example: Mapping[str, Any]) -> str:
    score = "" if example["score"] is None else f" ({example['score']:.3f})"
    return f"{example['instance_id']}{score}: {example['sentence']}"
