"""Results files of systems: the runs of a system are the files of its folder, or the seeds of its run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..significance.run_measures import Run, run_measures
from .files import read_json

_SEED_FOLDER = re.compile(r"seed-\d+")
RUN_FILE = "metrics.json"  # in seed-<n>/ of an output folder of the fine-tuning command
ARGUMENTS_FILE = "run.json"  # beside its results.json


# Measures that lie in [0, 1]; others (a loss, a number of units) may be any number.
_FRACTION = re.compile(
    r"(?:^|[_/])(?:precision|recall|f1|fbeta|accuracy|auc|average_precision|prevalence|precision_at_\d+)$"
)
_SLACK = 1e-9


def read_systems(paths: Sequence[str | Path]) -> dict[str, list[Run]]:
    """Return system -> its runs from files and folders; files of one folder are runs of one system.

    Accepts results of single runs (a flat mapping measure -> number, as `score --json` writes it), an output
    folder of the fine-tuning command (its `seed-<n>/metrics.json`), and its `results.json`, which holds all
    seeds. A folder of other JSON files stands for those files. Systems are named by their folders;
    a file or folder that is given twice, under whatever path, counts once.

    Raises:
        FileNotFoundError: A path that does not exist, or a folder without results.
        ValueError: A file that is not a JSON object, or whose fractions (an F1, say) are percentages.
    """
    by_folder: dict[Path, list[Path]] = {}
    for path in map(Path, paths):
        for file in map(Path.resolve, _files(path)):
            folder = file.parent.parent if _SEED_FOLDER.fullmatch(file.parent.name) else file.parent
            by_folder.setdefault(folder, []).append(file)
    systems = {}
    for folder, name in zip(by_folder, _names(list(by_folder)), strict=True):
        files = list(dict.fromkeys(by_folder[folder]))
        if any(file.name == "results.json" for file in files):
            files = [file for file in files if file.name != ARGUMENTS_FILE]
        systems[name] = [run for file in files for run in _runs(file)]
    return systems


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"No results at {str(path)!r}: there is no such file or folder.")
    found = seed_folders(path, RUN_FILE) or sorted(
        file for file in path.glob("*.json") if file.name != ARGUMENTS_FILE
    )
    if not found:
        raise FileNotFoundError(
            f"No results in the folder {str(path)!r}: it has neither seed-<n>/{RUN_FILE} nor *.json files."
        )
    return found


def seed_folders(folder: Path, name: str) -> list[Path]:
    """Return the files of one name in the seed-<n> folders of a run, by seed."""
    files = [file for file in folder.glob(f"seed-*/{name}") if _SEED_FOLDER.fullmatch(file.parent.name)]
    return sorted(files, key=lambda file: int(file.parent.name.removeprefix("seed-")))


def _names(folders: list[Path]) -> list[str]:
    """Return the last part of each folder's path, the whole path where that would not tell them apart."""
    short = [folder.resolve().name for folder in folders]
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]


def _runs(file: Path) -> list[Run]:
    """Return the runs of one file: itself, or those of its seeds."""
    content = read_json(file)
    if not isinstance(content, Mapping):
        raise ValueError(
            f"{file} must hold a JSON object measure -> number; it holds a {type(content).__name__}."
        )
    seeds = content.get("seeds")
    runs: list[Run] = [content]
    if isinstance(seeds, Mapping) and all(
        isinstance(one, Mapping) and "test" in one for one in seeds.values()
    ):
        runs = [{**one["test"], "signature": content.get("signature")} for one in seeds.values()]
    for run in runs:
        for measure, value in run_measures(run).items():
            if value is not None and _FRACTION.search(measure) and not -_SLACK <= value <= 1 + _SLACK:
                raise ValueError(
                    f"{file}: {measure!r} is {value:g}; it is a fraction in [0, 1]. Divide "
                    "percentages by 100."
                )
    return runs
