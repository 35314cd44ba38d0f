"""Files of systems that know nothing of NYT-H: their predictions, and maps of their labels."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..systems.foreign import PARTS, TRIPLES, ForeignPredictions, ForeignRules, fit_predictions
from ..validation import quoted
from .files import json_values, parse_json, read_text
from .prediction_files import HINT

if TYPE_CHECKING:  # the package is imported without its commands
    import argparse

RULE_FLAGS = ("map", "unknown", "missing", "extra", "id_key", "scores_key", "threshold", "na_rows")


def add_foreign_flags(parser: argparse.ArgumentParser) -> None:
    """Add how the output of a system that knows nothing of the data is read."""
    group = parser.add_argument_group("output of any system (not with --gold)")
    group.add_argument("--map", metavar="FILE", help="its labels -> ours: a JSON object, or two columns")
    group.add_argument(
        "--unknown", choices=("error", "negative"), help="labels that are no relation of the data"
    )
    group.add_argument("--missing", choices=("error", "negative"), help="units without a prediction")
    group.add_argument(
        "--extra", choices=("error", "ignore"), help="predictions for units that are not tested"
    )
    group.add_argument("--id_key", metavar="NAME", help="its name of instance_id (bag_id on bag2bag)")
    group.add_argument("--scores_key", metavar="NAME", help="its name of scores")
    group.add_argument("--threshold", type=float, metavar="T", help="take back what has a lower score")
    group.add_argument(
        "--na_rows",
        metavar="FILE",
        help="rows of the negative relation, as test.json, with predictions in --pred: the false alarms",
    )


def is_foreign(rules: ForeignRules, records: Sequence[tuple[str, Any]]) -> bool:
    """Return whether rules or records ask for more than the authors' format."""
    return rules != ForeignRules() or any(
        isinstance(record, Mapping) and TRIPLES in record for _, record in records
    )


def rules_of(arguments: argparse.Namespace) -> ForeignRules:
    """Return the rules that the flags give.

    Raises:
        FileNotFoundError, ValueError: As `read_label_map`.
    """
    return ForeignRules(
        label_map={} if arguments.map is None else read_label_map(arguments.map),
        unknown=arguments.unknown or "error",
        missing=arguments.missing or "error",
        extra=arguments.extra or "error",
        id_key=arguments.id_key,
        pred_key=arguments.pred_key,
        scores_key=arguments.scores_key,
        threshold=arguments.threshold,
    )


def read_label_map(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return label -> relation from a JSON object or from two columns (tab, semicolon or comma; no header).

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: Something else; a label with two targets; with the line.
    """
    return label_map_of(read_text(path), path)


def label_map_of(text: str, path: Any) -> dict[str, str]:
    """Return label -> relation from the text of a file; `path` is how messages call it.

    >>> label_map_of("place of birth\\tborn_in\\nspouse\\tmarried_to\\n", "map.tsv")
    {'place of birth': 'born_in', 'spouse': 'married_to'}

    Raises:
        ValueError: As `read_label_map`.
    """
    if text.lstrip()[:1] == "{":
        try:
            pairs = parse_json(text)
        except ValueError as error:
            raise ValueError(f"{path}: {error}.") from None
        wrong = [label for label, target in pairs.items() if not isinstance(target, str)]
        if wrong:
            raise ValueError(f"{path}: a label has one relation; {quoted(wrong)} have something else.")
        return dict(pairs)
    found: dict[str, str] = {}
    for number, cells in _rows(text, path):
        cells = [cell.strip() for cell in cells]
        if len(cells) != 2 or not all(cells):
            raise ValueError(f"{path}, line {number}: expected a label and its relation; got {cells!r:.80}.")
        label, target = cells
        if found.setdefault(label, target) != target:
            raise ValueError(
                f"{path}, line {number}: {label!r} has two targets, {found[label]!r} and {target!r}."
            )
    if not found:
        raise ValueError(f"{path} maps no label.")
    return found


def _rows(text: str, path: Any) -> list[tuple[int, list[str]]]:
    """The cells of each line that is not blank, with its number; the separator is that of the first line."""
    first = text.lstrip().split("\n", 1)[0]
    separator = next((mark for mark in "\t;," if mark in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: not a table ({error}).") from None


def read_any_records(
    path: str | os.PathLike[str], *, broken: list[str] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """Return the records of JSON lines, a JSON array or a table with a header, each with its place.

    Args:
        path: The file.
        broken: Where lines that cannot be read go; None: the first one is an error.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: No records; a broken line, where they are not collected; a row of another width.
    """
    text = read_text(path, hint=HINT)
    first = text.lstrip()[:1]
    if not first:
        raise ValueError(f"{path} holds no records.")
    if first in "[{":
        return [(where, value) for where, value in json_values(text, path, broken=broken)]
    (_, header), *rows = _rows(text, path)
    if len(header) < 2:
        raise ValueError(
            f"{path}, line 1: not valid JSON, nor a table with a header; it is {header[0]!r:.60}."
        )
    names = [name.strip() for name in header]
    for number, cells in rows:
        if len(cells) != len(names):
            raise ValueError(f"{path}, line {number}: {len(cells)} cells, where the header has {len(names)}.")
    return [(f"{path}, line {number}", dict(zip(names, cells, strict=True))) for number, cells in rows]


def fitted_records(
    records: Sequence[tuple[str, Any]], rules: ForeignRules, *, broken: Sequence[str] = (), **track: Any
) -> ForeignPredictions:
    """Return `fit_predictions` of records with their places; `track` are its arguments about the track."""
    return fit_predictions(
        [record for _, record in records],
        places=[where for where, _ in records],
        broken=broken,
        rules=rules,
        **track,
    )


def report_lines(report: Mapping[str, Any]) -> list[str]:
    """Return what was read and lost, a line each.

    Args:
        report: That of `fit_predictions`.
    """
    parts = [
        f"{report[part]:,} {text}" for part, text in PARTS.items() if report[part] or part == "num_mapped"
    ]
    lines = [
        f"{report['num_records']:,} records, {report['num_statements']:,} statements: {'; '.join(parts)}."
    ]
    if report["num_missing"]:
        lines.append(f"{report['num_missing']:,} units have no record and count as the negative relation.")
    if report["num_without_scores"]:
        lines.append(
            f"{report['num_without_scores']:,} units lack scores of some relation: no ranking is scored."
        )
    if report["unknown_labels"]:
        shown = (f"{label!r} {times:,}" for label, times in list(report["unknown_labels"].items())[:10])
        lines.append(
            f"Labels that are no relation here ({len(report['unknown_labels'])}): {', '.join(shown)}."
        )
    return [*lines, *(f"Cannot be read: {line}" for line in report["broken_lines"])]
