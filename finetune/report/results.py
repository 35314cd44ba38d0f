"""The output folder: seeds put together, results.json, the main table. Values in, files out."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from hub_cards import markdown_table
from weighted_f1_metric import percent, track_table

RESULTS = "results.json"
PAGE = "README.md"
METRICS = "metrics.json"
TRAINING = "training.json"
PREDICTIONS = "predictions.jsonl"
_OF_A_CLASS = ("precision", "recall", "f1")
PACKAGES = ("nyt-h", "torch", "transformers", "tokenizers", "accelerate", "datasets", "numpy", "scipy")


@dataclass(frozen=True)
class SeedResult:
    """What one seed gave.

    Attributes:
        seed: The seed.
        scores: Split -> the dict of `evaluation.score_records`, for the evaluated splits.
        training: Steps, the step whose weights were used, mean loss, seconds, examples per second.
        only_negative: Whether every test row was given the negative relation, the sign of a run that failed.
        false_alarms: What `false_alarms.false_alarms` says of the rows of the negative relation; None unless
            they were predicted.
    """

    seed: int
    scores: dict[str, dict[str, Any]]
    training: dict[str, Any]
    only_negative: bool
    false_alarms: dict[str, Any] | None = None


def write_seed(folder: Path, result: SeedResult) -> None:
    """Write metrics.json, the test scores, and training.json, the rest; with both a seed is finished."""
    rest = asdict(result)
    test = rest["scores"].pop("test")
    write_atomically(folder / TRAINING, to_json(rest))
    write_atomically(folder / METRICS, to_json(test))


def read_seed(folder: Path) -> SeedResult | None:
    """What `write_seed` wrote, or None when the seed is not finished.

    Raises:
        ValueError: A file is not the JSON that was written.
    """
    if not ((folder / TRAINING).is_file() and (folder / METRICS).is_file()):
        return None
    try:
        rest, test = (json.loads((folder / name).read_text(encoding="utf-8")) for name in (TRAINING, METRICS))
        return SeedResult(**{**rest, "scores": {**rest["scores"], "test": test}})
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{folder}: {TRAINING} or {METRICS} is not what a run of this command wrote ({error!r}); delete "
            "the folder to run its seed again."
        ) from error


def write_atomically(path: Path, text: str) -> None:
    """Write beside and rename, so that the file is there whole or not at all."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def to_json(value: Any) -> str:
    """Indented JSON with a final newline; NaN and infinities are refused (ValueError)."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def aggregate(runs: Sequence[Mapping[str, float | None]]) -> dict[str, dict[str, float | None]]:
    """Mean and sample standard deviation (ddof = 1) of each measure over the seeds.

    A measure that is None in a run has mean and sd None; with one run every sd is None.

    >>> aggregate([{"f1": 0.5}, {"f1": 0.75}])
    {'mean': {'f1': 0.625}, 'sd': {'f1': 0.1767766952966369}}
    """
    mean: dict[str, float | None] = {}
    sd: dict[str, float | None] = {}
    for name in runs[0]:
        values = [value for run in runs if (value := run[name]) is not None]
        whole = len(values) == len(runs)
        mean[name] = statistics.fmean(values) if whole else None
        sd[name] = statistics.stdev(values) if whole and len(values) > 1 else None
    return {"mean": mean, "sd": sd}


def class_scores(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Prefix -> label -> its support, and precision, recall, F1 (means over the runs) with the F1's `sd`.

    Args:
        runs: The scores of each seed, see `evaluation.score_records`; without a track the prefix is "".

    >>> run = {"magt_per_class": {"a": {"precision": 1.0, "recall": 0.5, "f1": 0.5, "support": 2}}}
    >>> class_scores([run])["magt"]["a"]
    {'support': 2, 'precision': 1.0, 'recall': 0.5, 'f1': 0.5, 'sd': None}
    """
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for key in (key for key in runs[0] if key.endswith("per_class")):
        prefix = key.removesuffix("per_class").rstrip("_")
        found[prefix] = {}
        for label, first in runs[0][key].items():
            both = aggregate([{name: run[key][label][name] for name in _OF_A_CLASS} for run in runs])
            spread = both["sd"]["f1"]
            found[prefix][label] = {"support": first["support"], **both["mean"], "sd": spread}
    return found


def versions() -> dict[str, str]:
    """Python's version and those of the packages that the numbers depend on."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}


def selection_sentence(results: Mapping[str, Any]) -> str:
    """Which weights were scored."""
    if results["selected_by"] is None:
        return (
            "Nothing was selected (no validation split, or it was not scored): these are the final weights."
        )
    return (
        f"The weights are those with the best {results['selected_by']} on validation; test selects nothing."
    )


def score_table(results: Mapping[str, Any]) -> str:
    """The main table: averages by truth beside the echo; without a track precision, recall and F1."""
    mean, sd = results["mean"], results["sd"] if results["n"] > 1 else None
    if results["echo"] is not None:
        return track_table(mean, echo=results["echo"], sd=sd)
    rows = []
    for name in (key.removesuffix("_f1") for key in mean if key.endswith("_f1")):
        keys = [f"{name}_{measure}" for measure in ("precision", "recall", "f1")]
        cells = [percent(mean[key], None if sd is None else sd[key]) for key in keys]
        rows.append([name.replace("_", " "), *cells])
    return markdown_table(["average", "precision", "recall", "F1"], rows)
