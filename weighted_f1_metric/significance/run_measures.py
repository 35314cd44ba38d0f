"""What runs hold: their measures as flat numbers, and whether their signatures allow a comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

Run = Mapping[str, Any]

# Not measures of the run: the reference line, which is the same for every system, and descriptions.
_NOT_MEASURES = ("signature", "signatures", "echo", "per_class")


def run_measures(run: Run) -> dict[str, float | None]:
    """Return the measures of one run under flat keys, in their order.

    Numbers are kept and None stays None (a measure the data do not define). Mappings are gone into and their
    keys joined with "/" (a mapping named `scores` adds nothing to its keys); texts, lists and flags are left
    out, and so are `signature`, `echo` and `per_class`, which are not measures of the run.

    >>> run_measures({"seed": 9, "scores": {"magt_micro_f1": 0.5, "magt_auc": None}, "model": "tiny"})
    {'seed': 9.0, 'magt_micro_f1': 0.5, 'magt_auc': None}

    Raises:
        TypeError: The run is not a mapping, or a key is not a text.
        ValueError: A number is NaN or infinite, or two keys become one.
    """
    if not isinstance(run, Mapping):
        raise TypeError(
            f"A run must be a mapping measure -> number; got {type(run).__name__}. "
            "Pass a list of such mappings, one per run (also for a single run)."
        )
    flat: dict[str, float | None] = {}
    _collect(run, "", flat)
    return flat


def _collect(values: Mapping[str, Any], prefix: str, flat: dict[str, float | None]) -> None:
    for key, value in values.items():
        if not isinstance(key, str):
            raise TypeError(f"Measures are named by texts; got the key {key!r} of type {type(key).__name__}.")
        name = prefix + key
        if key in _NOT_MEASURES or isinstance(value, (bool, np.bool_)):
            continue
        if isinstance(value, Mapping):
            _collect(value, prefix if key == "scores" else f"{name}/", flat)
        elif value is None or isinstance(value, (Real, np.number)):
            if value is not None and not _is_finite(value):
                raise ValueError(
                    f"The measure {name!r} is {value!s:.40}; a run holds finite numbers or null."
                )
            if name in flat:
                raise ValueError(
                    f"The measure {name!r} stands twice in one run, inside and outside of `scores`."
                )
            flat[name] = None if value is None else float(value)


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # an int beyond the floats
        return False


def measures_of_system(runs: Sequence[Run], name: str) -> dict[str, list[float | None]]:
    """Return measure -> its values over the runs of one system.

    Raises:
        TypeError: `runs` is a single run or no collection.
        ValueError: There is no run, or one lacks a measure that another has.
    """
    if isinstance(runs, (Mapping, str, bytes)) or not isinstance(runs, Sequence):
        raise TypeError(
            f"`{name}` must be a list of runs, each a mapping measure -> number; got {type(runs).__name__}. "
            "Put a single run into a list."
        )
    if not runs:
        raise ValueError(f"`{name}` holds no run; a comparison needs at least one run of each system.")
    flat = [run_measures(run) for run in runs]
    for number, measures in enumerate(flat):
        odd = sorted(measures.keys() ^ flat[0].keys())
        if odd:
            raise ValueError(
                f"The runs of `{name}` hold different measures: run {number} and run 0 (counted from 0) "
                f"differ in {odd[0]!r} ({len(odd)} in all). Score every run with the same options."
            )
    return {measure: [measures[measure] for measures in flat] for measure in flat[0]}


def check_comparable(systems: Mapping[str, Sequence[Run]]) -> None:
    """Check that the signatures of all runs of all systems agree in everything but the version `v`.

    A run carries its signature under `signature`: one line, or a mapping prefix -> line. Runs without any
    signature (numbers taken from a paper) are accepted as long as no run has one.

    Raises:
        ValueError: Two signatures differ, or only some of the runs carry one; the message names both runs.
    """
    lines = [
        (f"run {number} of {name}", _signature_lines(run))
        for name, runs in systems.items()
        for number, run in enumerate(runs)
    ]
    where_first, first = next(((where, own) for where, own in lines if own), ("", {}))
    for where, own in lines:
        if not own and first:
            raise ValueError(
                f"{where} (counted from 0) carries no signature while {where_first} does, so nothing shows "
                "that they are comparable. Score it again with this metric."
            )
        for prefix in sorted(own.keys() | first.keys()):
            difference = _first_difference(first.get(prefix, ""), own.get(prefix, ""))
            if difference:
                field, theirs, ours = difference
                raise ValueError(
                    f"The runs are not comparable: the signatures of {where_first} and "
                    f"{where}{f' for {prefix!r}' if prefix else ''} (runs counted from 0) differ in "
                    f"{field!r}: {theirs!r} and {ours!r}. Score both on the same data with the same options."
                )


def _signature_lines(run: Run) -> dict[str, str]:
    signature = run.get("signature", run.get("signatures"))
    if signature is None:
        return {}
    if isinstance(signature, str):
        return {"": signature}
    if isinstance(signature, Mapping) and all(isinstance(line, str) for line in signature.values()):
        return {str(prefix): line for prefix, line in signature.items()}
    raise TypeError(
        f"`signature` of a run must be a line or a mapping prefix -> line; got {type(signature).__name__}."
    )


def _first_difference(one: str, other: str) -> tuple[str, str | None, str | None] | None:
    """Return the first field other than `v` in which two signature lines differ, and its two values."""
    fields_one, fields_other = _fields(one), _fields(other)
    for field in [*fields_one, *fields_other]:
        values = fields_one.get(field), fields_other.get(field)
        if field != "v" and values[0] != values[1]:
            return field, *values
    return None


def _fields(line: str) -> dict[str, str]:
    return {field: value for field, _, value in (part.partition(":") for part in line.split("|") if part)}


_SEED_FOLDER = re.compile(r"seed-\d+")
RUN_FILE = "metrics.json"  # in seed-<n>/ of an output folder of the fine-tuning command
ARGUMENTS_FILE = "run.json"  # beside its results.json


def read_systems(paths: Sequence[str | Path]) -> dict[str, list[Run]]:
    """Return system -> its runs from files and folders; files of one folder are runs of one system.

    Accepts results of single runs (a flat mapping measure -> number, as `score --json` writes it), an output
    folder of the fine-tuning command (its `seed-<n>/metrics.json`), and its `results.json`, which holds all
    seeds. A folder of other JSON files stands for those files. Systems are named by their folders.

    Raises:
        FileNotFoundError: A path that does not exist, or a folder without results.
        ValueError: A file that is not a JSON object.
    """
    by_folder: dict[Path, list[Path]] = {}
    for path in map(Path, paths):
        for file in _files(path):
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
    seeds = [file for file in path.glob(f"seed-*/{RUN_FILE}") if _SEED_FOLDER.fullmatch(file.parent.name)]
    found = sorted(seeds, key=lambda file: int(file.parent.name.removeprefix("seed-"))) or sorted(
        file for file in path.glob("*.json") if file.name != ARGUMENTS_FILE
    )
    if not found:
        raise FileNotFoundError(
            f"No results in the folder {str(path)!r}: it has neither seed-<n>/{RUN_FILE} nor *.json files."
        )
    return found


def _names(folders: list[Path]) -> list[str]:
    """Return the last part of each folder's path, the whole path where that would not tell them apart."""
    short = [folder.resolve().name for folder in folders]
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]


def _runs(file: Path) -> list[Run]:
    """Return the runs of one file: itself, or those of its seeds."""
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{file} is not JSON: {error}.") from error
    except RecursionError:
        raise ValueError(f"{file} nests its JSON too deeply to be read.") from None
    if not isinstance(content, Mapping):
        raise ValueError(
            f"{file} must hold a JSON object measure -> number; it holds a {type(content).__name__}."
        )
    seeds = content.get("seeds")
    if isinstance(seeds, Mapping) and all(
        isinstance(one, Mapping) and "test" in one for one in seeds.values()
    ):
        return [{**one["test"], "signature": content.get("signature")} for one in seeds.values()]
    return [content]
