"""The command `stats`: [B]'s Table 1 for label files."""

from __future__ import annotations

import argparse
from typing import Any

from ..label_statistics import label_statistics, statistics_table, undirected
from ..validation import quoted
from .files import write_json
from .label_files import read_label_file

_DESCRIPTION = (
    "Label statistics of data sets or splits: number of relations and samples, share of the negative class, "
    "perplexity of the label distribution with and without it, and the imbalance ratio (largest / smallest "
    "positive class). A file holds NYT-H records (JSON lines or an array), or one label a line (the last "
    "tab-separated field)."
)


def add_stats_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Return the parser of `stats`, added to the sub-commands; its default `run` is `run_stats`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "stats", help="label statistics of data sets", description=_DESCRIPTION
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="label files, a row of the table each")
    parser.add_argument(
        "--negative", metavar="LABEL", help="the negative class, e.g. NA, Other or no_relation"
    )
    parser.add_argument(
        "--key", help="the key or column of the label (default: relation, label, gold, pred, ...)"
    )
    parser.add_argument(
        "--undirected",
        action="store_true",
        help="join the two directions of a relation, written R(e1,e2), R(e2,e1)",
    )
    parser.add_argument(
        "--together",
        action="store_true",
        help="join the files into one row, as [B] describes a data set as a whole",
    )
    parser.add_argument("--json", metavar="FILE", help="write every number")
    parser.set_defaults(run=run_stats)
    return parser


def run_stats(arguments: argparse.Namespace) -> int:
    """Print the statistics that the parsed arguments ask for, and return the exit status 0.

    A file without the negative label (NYT-H's test set has none) is counted without negative class, and this
    is said; that no file has it is an error.

    Raises:
        FileNotFoundError: As `read_label_file`.
        ValueError: As `read_label_file`; no file has the negative label.
    """
    columns = {path: read_label_file(path, key=arguments.key) for path in dict.fromkeys(arguments.files)}
    if arguments.undirected:
        columns = {path: [undirected(label) for label in labels] for path, labels in columns.items()}
    if arguments.together:
        columns = {" + ".join(columns): [label for labels in columns.values() for label in labels]}
    without = [path for path, labels in columns.items() if arguments.negative not in labels]
    if arguments.negative is not None and len(without) == len(columns):
        found = sorted(set().union(*columns.values()))
        raise ValueError(
            f"No row has the negative label {arguments.negative!r}; labels are {quoted(found)}. "
            "Leave --negative out if there is none."
        )
    statistics = {
        path: label_statistics(labels=labels, negative_label=None if path in without else arguments.negative)
        for path, labels in columns.items()
    }
    print(statistics_table(statistics))
    if arguments.negative is not None:
        for path in without:
            print(f"{path}: no row has the negative label {arguments.negative!r}.")
    if arguments.json:
        write_json(arguments.json, statistics)
    return 0
