"""Counts per bag: what is kept of a submission's predictions, and read again to rank the systems."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weighted_f1_metric import ScoredTrack, parse_json

MAX_COUNTS_LENGTH = 64_000_000
MAX_COUNT = 1_000_000_000


def counts_of_run(scored: ScoredTrack) -> dict[str, Any]:
    """Return truth -> the cells [bag, relation, true positives, predicted, support] of a run that are not all
    0, and what each bag adds to N."""
    return {truth: _cells(*scored.statistics.bag_counts(truth)) for truth in scored.signatures}


def _cells(
    true_positives: np.ndarray, predicted: np.ndarray, support: np.ndarray, total: np.ndarray
) -> dict[str, Any]:
    bags, classes = np.nonzero(true_positives + predicted + support)
    columns = [bags, classes, *(counts[bags, classes] for counts in (true_positives, predicted, support))]
    return {"cells": np.stack(columns, axis=1).tolist(), "total": total.tolist()}


def counts_of_runs(scored: ScoredTrack, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is kept of all runs of a submission; bags and relations are those of any one of them."""
    return {
        "bags": list(map(str, scored.units.bag_ids)),
        "relations": list(scored.units.relations),
        "runs": list(runs),
    }


def counts_text(counts: Mapping[str, Any]) -> str:
    """Return counts per bag as the text of their file, without blanks."""
    return json.dumps(counts, ensure_ascii=False, separators=(",", ":")) + "\n"


def parse_counts(content: bytes) -> Any:
    """Return the counts in a file; `count_matrices` checks them.

    Raises:
        ValueError: too long, or no JSON.
    """
    if len(content) > MAX_COUNTS_LENGTH:
        raise ValueError(f"counts have {len(content):,} bytes, at most {MAX_COUNTS_LENGTH:,}.")
    return parse_json(content.decode())


def _places(names: Sequence[str], ours: Sequence[str]) -> np.ndarray:
    place = {name: number for number, name in enumerate(ours)}
    return np.array([place[name] for name in names], dtype=np.int64)


def count_matrices(counts: Any, truth: str, bags: Sequence[str], relations: Sequence[str]) -> list[Any]:
    """Return the counts of each run under a truth, sparse (num_bags, 3 C + 1), as `rank_counts` takes them.

    Args:
        counts: what `parse_counts` returns: whoever may write to the results may have made it.
        truth: "dsgt", "magt" or "magt_ds_scope".
        bags: the bags of the test set, in the order of the lines.
        relations: the C relations, in the order of the columns.

    Raises:
        ValueError: other bags or relations, a missing truth, cells that are no counts.
    """
    from scipy.sparse import csr_array

    try:
        places = [_places(counts["bags"], bags), _places(counts["relations"], relations)]
        runs = [(np.array(run[truth]["cells"]), np.array(run[truth]["total"])) for run in counts["runs"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"counts cannot be read: {error!r:.200}.") from None
    if [len(set(own.tolist())) for own in places] != [len(bags), len(relations)] or not runs:
        raise ValueError("counts have other bags or relations than the test set, or no run.")
    matrices = []
    width = 3 * len(relations) + 1
    for cells, total in runs:
        cells = cells.reshape(0, 5) if not cells.size else cells
        if cells.ndim != 2 or cells.shape[1] != 5 or total.shape != (len(bags),):
            raise ValueError(f"counts have the shapes {cells.shape} and {total.shape}.")
        for numbers in (cells, total):
            if numbers.size and (numbers.dtype.kind != "i" or numbers.min() < 0 or numbers.max() > MAX_COUNT):
                raise ValueError(f"counts are no whole numbers from 0 to {MAX_COUNT:,}.")
        bag, relation, *events = cells.astype(np.int64).T
        if (bag >= len(bags)).any() or (relation >= len(relations)).any() or (events[0] > events[1:]).any():
            raise ValueError("counts have cells outside the test set, or more hits than there can be.")
        line, column = places[0][bag], places[1][relation]
        entries = np.concatenate([*events, total]).astype(np.float64)
        lines = np.concatenate([line, line, line, places[0]])
        columns = np.concatenate(
            [*(kind * len(relations) + column for kind in range(3)), np.full(len(bags), width - 1)]
        )
        matrices.append(csr_array((entries, (lines, columns)), shape=(len(bags), width)))
    return matrices
