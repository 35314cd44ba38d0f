"""The output folder: seeds put together, results.json, and the page with the tables. Values in, files out."""

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

from weighted_f1_metric import track_table

RESULTS = "results.json"
PAGE = "README.md"
METRICS = "metrics.json"
TRAINING = "training.json"
PACKAGES = ("nyt-h", "torch", "transformers", "tokenizers", "accelerate", "datasets", "numpy", "scipy")


@dataclass(frozen=True)
class SeedResult:
    """What one seed gave.

    Attributes:
        seed: The seed.
        scores: Split -> the dict of `evaluation.score_records`, for the evaluated splits.
        training: Steps, the step whose weights were used, mean loss, seconds, examples per second.
        only_negative: Whether every test row was given the negative relation, the sign of a run that failed.
    """

    seed: int
    scores: dict[str, dict[str, Any]]
    training: dict[str, Any]
    only_negative: bool


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


def versions() -> dict[str, str]:
    """Python's version and those of the packages that the numbers depend on."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}


def page(results: Mapping[str, Any]) -> str:
    """The tables of a run as Markdown."""
    seeds = ", ".join(results["seeds"])
    several = results["n"] > 1
    what = f"mean and standard deviation of {results['n']} seeds" if several else "one seed"
    data = results["data"]
    encoder = Path(results["arguments"]["model_name_or_path"])
    lines = [
        f"# {encoder.name if encoder.is_dir() else encoder} on {data['name']}, {results['track']}",
        "",
        f"Test scores in percent, {what} ({seeds}). {selection_sentence(results)}",
        "",
        score_table(results),
        "",
        "| split | rows | cut to a window | entity not found | entities do not fit |",
        "| --- | --- | --- | --- | --- |",
    ]
    for split, counts in data["splits"].items():
        lines.append(
            f"| {split} | {counts['num_rows']:,} | {counts['num_windowed']:,} | "
            f"{counts['num_not_found']:,} | {counts['num_cannot_be_kept']:,} |"
        )
    lines += [
        "",
        f"Rows without both entities are left out of training and scored as {data['negative_relation']}.",
        *(f"{note[0].upper()}{note[1:]}." for note in data["notes"]),
        f"Data fingerprint {data['fingerprint']}. Signatures:",
        "",
        *(f"- {prefix}: `{line}`" for prefix, line in results["signature"].items()),
        "",
        f"All numbers: `{RESULTS}`. Predictions: `seed-*/predictions.jsonl`.",
    ]
    return "\n".join(lines) + "\n"


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
    lines = ["| average | precision | recall | F1 |", "| --- | ---: | ---: | ---: |"]
    names = [name.removesuffix("_f1") for name in mean if name.endswith("_f1")]
    for name in names:
        cells = []
        for measure in ("precision", "recall", "f1"):
            key = f"{name}_{measure}"
            spread = "" if sd is None or sd[key] is None else f" ± {100 * sd[key]:.2f}"
            cells.append(f"{100 * mean[key]:.2f}{spread}")
        lines.append(f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
