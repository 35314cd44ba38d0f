"""Prediction files of several systems and what they are scored against, for `compare` and `rank`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .label_files import GOLD_NAMES, PREDICTED_NAMES, read_label_column
from .label_scores import aligned_labels, direction_groups
from .prediction_files import read_predictions, read_references, read_relations

Files = Mapping[str, Sequence[str | Path]]
Systems = dict[str, list[Any]]


def read_systems_and_truth(arguments: argparse.Namespace, files: Files) -> tuple[Systems, dict[str, Any]]:
    """Return name -> the predictions of each of its files, and the arguments that all systems share.

    Args:
        arguments: With the flags of `add_track_flags` and `add_label_flags`.
        files: Name of a system -> its prediction files, one per run.

    Raises:
        FileNotFoundError: A file that is not there.
        ValueError: A broken file; a row without prediction; flags that are lacking.
    """
    if arguments.gold:
        return _labels(arguments, files)
    lacking = [f"--{name}" for name in ("track", "rel2id", "test") if getattr(arguments, name) is None]
    if lacking:
        raise ValueError(
            f"{', '.join(lacking)} must be given to compare prediction files (or --gold, for label files)."
        )
    shared = {
        "track": arguments.track,
        "references": read_references(arguments.test),
        "relations": read_relations(arguments.rel2id, negative_relation=arguments.negative_relation),
        "negative_relation": arguments.negative_relation,
        "unk": arguments.unk,
        "by": arguments.by,
    }
    return {name: [read_predictions(path) for path in own] for name, own in files.items()}, shared


def _labels(arguments: argparse.Namespace, files: Files) -> tuple[Systems, dict[str, Any]]:
    gold = read_label_column(arguments.gold, key=arguments.gold_key, names=GOLD_NAMES)
    systems = {
        name: [
            aligned_labels(gold, read_label_column(path, key=arguments.pred_key, names=PREDICTED_NAMES))
            for path in own
        ]
        for name, own in files.items()
    }
    occurring = sorted(set(gold.labels).union(*(run for runs in systems.values() for run in runs)))
    # The negative class may be missing in one system or in the references: the shared list of labels has it.
    shared: dict[str, Any] = {"references": gold.labels}
    if arguments.negative is not None:
        shared |= {
            "negative_label": arguments.negative,
            "labels": sorted({*occurring, arguments.negative}),
        }
    if arguments.groups == "direction":
        shared = {key: value for key, value in shared.items() if key != "labels"}
        shared["groups"] = direction_groups(set(occurring) - {arguments.negative})
    return systems, shared
