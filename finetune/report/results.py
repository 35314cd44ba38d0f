"""The output folder: files written whole, a seed's result, seeds put together, results.json, main table."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from hub_cards import markdown_table
from weighted_f1_metric import percent, read_predictions, track_table, write_text

RESULTS = "results.json"
PAGE = "README.md"
METRICS = "metrics.json"
TRAINING = "training.json"
PREDICTIONS = "predictions.jsonl"
HISTORY = "history.json"
FIGURES = "figures"
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
        false_alarms: What `evaluation.false_alarms` gives for the rows of the negative relation; None unless
            they were predicted.
        predictions: The prediction records of the test units.
        history: What was logged while training: `step`, `epoch`, and `loss` or the `eval_` measures of
            validation; no times. Empty for seeds of before.
    """

    seed: int
    scores: dict[str, dict[str, Any]]
    training: dict[str, Any]
    only_negative: bool
    false_alarms: dict[str, Any] | None = None
    predictions: tuple[dict[str, Any], ...] = ()
    history: tuple[dict[str, Any], ...] = ()


def write_seed(folder: Path, result: SeedResult) -> None:
    """Write history.json, training.json and metrics.json (the test scores) beside the predictions.

    The seed is finished then.
    """
    write_text(folder / HISTORY, to_json(result.history))
    own = ("predictions", "history")
    rest = {item.name: getattr(result, item.name) for item in fields(result) if item.name not in own}
    test = result.scores["test"]
    rest["scores"] = {split: scores for split, scores in result.scores.items() if split != "test"}
    write_text(folder / TRAINING, to_json(rest))
    write_text(folder / METRICS, to_json(test))


def read_seed(folder: Path) -> SeedResult | None:
    """Return what `write_seed` wrote, or None when the seed is not finished.

    Raises:
        ValueError: A file is not the JSON that was written.
    """
    if not all((folder / name).is_file() for name in (TRAINING, METRICS, PREDICTIONS)):
        return None
    try:
        rest, test = (json.loads((folder / name).read_text(encoding="utf-8")) for name in (TRAINING, METRICS))
        result = SeedResult(**{**rest, "scores": {**rest["scores"], "test": test}})
        kept = folder / HISTORY
        history = tuple(json.loads(kept.read_text(encoding="utf-8"))) if kept.is_file() else ()
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{folder}: {TRAINING}, {METRICS} or {HISTORY} is not what a run of this command wrote "
            f"({error!r}); delete the folder to run its seed again."
        ) from error
    return replace(result, predictions=tuple(read_predictions(folder / PREDICTIONS)), history=history)


def to_json(value: Any) -> str:
    """Return indented JSON with a final newline; NaN and infinities are refused (ValueError)."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_results(run: Path) -> dict[str, Any]:
    """Return the content of a run's results.json.

    Raises:
        FileNotFoundError: There is none: the run is not finished.
        ValueError: It is not what a run of this version writes.
    """
    path = run / RESULTS
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there: {run} holds no finished run.")
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}.") from error
    needed = ("seeds", "mean", "sd", "per_class", "signature", "data", "arguments")
    lacking = [key for key in needed if not isinstance(results, dict) or key not in results]
    if lacking:
        raise ValueError(f"{path} lacks {', '.join(lacking)}: it is not what a run of this version writes.")
    return results


def aggregate(runs: Sequence[Mapping[str, float | None]]) -> dict[str, dict[str, float | None]]:
    """Return mean and sample standard deviation (ddof = 1) of each measure over the seeds.

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
    """Return prefix -> label -> its support, and precision, recall, F1 (means over the runs) with the F1's
    `sd`.

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
    """Return what can change the last bits of the numbers: versions, threads, and the processor's kernels."""
    import torch

    found = {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}
    kernels = torch.backends.cpu.get_cpu_capability()
    return found | {"threads": str(torch.get_num_threads()), "processor": kernels}


def selection_sentence(results: Mapping[str, Any]) -> str:
    """Return which weights were scored."""
    if results["selected_by"] is None:
        return (
            "Nothing was selected (no validation split, or it was not scored): these are the final weights."
        )
    return (
        f"The weights are those with the best {results['selected_by']} on validation; test selects nothing."
    )


def score_table(results: Mapping[str, Any]) -> str:
    """Return the main table: averages by truth beside the echo; without a track precision, recall and F1."""
    mean, sd = results["mean"], results["sd"] if results["n"] > 1 else None
    if results["echo"] is not None:
        return track_table(mean, echo=results["echo"], sd=sd, bounds=results.get("magt_bounds"))
    rows = []
    for name in (key.removesuffix("_f1") for key in mean if key.endswith("_f1")):
        keys = [f"{name}_{measure}" for measure in ("precision", "recall", "f1")]
        cells = [percent(mean[key], None if sd is None else sd[key]) for key in keys]
        rows.append([name.replace("_", " "), *cells])
    return markdown_table(["average", "precision", "recall", "F1"], rows)
