"""Whether a folder holds this run: the flags, the content of the files they name, and the claim on it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from weighted_f1_metric import is_part_of, write_text

from ..arguments import OWN_GROUPS, Settings
from ..data.relation_rows import RelationData
from ..encoders.label_words import read_label_words, words_fingerprint
from ..model.entity_inputs import OLD_HEADS
from ..report.results import FIGURES, PAGE, RESULTS, to_json, versions
from ..trainer_arguments import (
    DEFAULT_SEED,
    GOES_ON_EXACTLY_FROM,
    NUMBERS_DO_NOT_DEPEND_ON,
    given_values,
    has_transformers,
)
from .relation_trainer import PREFIX


def as_given(settings: Settings) -> dict[str, Any]:
    """Return all of our flags, and those of the Trainer's that differ from its defaults."""
    groups = (settings.data, settings.model, settings.run)
    own = {name: value for group in groups for name, value in asdict(group).items()}
    return own | given_values(settings.training)


def run_identity(settings: Settings, *, data: RelationData) -> dict[str, Any]:
    """Return what a run that goes on must have in common with the one that was stopped, for `claim_folder`.

    Files that flags name may be edited or moved in between: their content counts, and not their path.

    Raises:
        FileNotFoundError, ValueError: The files of label words or word vectors cannot be used.
    """
    model, training = settings.model, settings.training
    given = as_given(settings)
    if model.input == "prompt":
        words = read_label_words(model.label_words, label_names=data.label_names, data=data.name)
        given["label_words"] = f"words {words_fingerprint(words)}"
    if model.word_vectors is not None:
        given["word_vectors"] = f"vectors {file_fingerprint(model.word_vectors)}"
    return {"arguments": given, "fingerprint": data.fingerprint, "num_processes": training.world_size}


def file_fingerprint(path: str) -> str:
    """Return 16 hex digits that change with any byte of the file.

    Raises:
        FileNotFoundError: It is not there.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"the file {path} is not there.")
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()[:16]


STARTED = "run.json"


def claim_folder(
    folder: Path,
    *,
    arguments: Mapping[str, Any],
    fingerprint: str,
    num_processes: int,
    seeds: Sequence[int],
    overwrite: bool,
) -> None:
    """Make the folder ready: empty but for what the run is, or that of the same run, which then goes on.

    Args:
        folder: The output folder.
        arguments: Flag -> value, all that the numbers depend on and more.
        fingerprint: Of the data.
        num_processes: Processes that train together.
        seeds: The seeds of the run.
        overwrite: Delete the run that is there.

    Raises:
        ValueError: It is a file, or holds files that no run wrote, or the run of another command or of other
            data, and `overwrite` is off; or a seed's folder is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"`output_dir` {str(folder)!r} is a file; give a folder.")
    there = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
    started = folder / STARTED
    # A part is what a process left that was killed while it wrote.
    if there and STARTED not in there and not all(is_part_of(name, STARTED) for name in there):
        raise ValueError(
            f"`output_dir` {str(folder)!r} holds files that no run of this command wrote "
            f"(first: {there[0]!r}, {len(there)} in all); give a new or empty folder."
        )
    run = _record(arguments, fingerprint, num_processes)
    if STARTED in there and not overwrite:
        differences = _differences(_read(started), run)
        if differences:
            listed = "; ".join(differences)
            finished = "a finished" if RESULTS in there else "an unfinished"
            raise ValueError(
                f"`output_dir` {str(folder)!r} holds {finished} run that differs: {listed}. "
                "Give what it was started with to go on, another folder, or `--overwrite` to delete it."
            )
        for seed in seeds:
            path = folder / f"seed-{seed}"
            if path.is_file():
                raise ValueError(f"{path} is a file, where the folder of seed {seed} belongs; delete it.")
        return
    # results.json goes first: a folder that has one always holds the whole run it tells of.
    ours = [
        name
        for name in there
        if name in (RESULTS, PAGE, STARTED, FIGURES) or name.startswith(("seed-", "reference-"))
    ]
    for name in sorted(ours, key=lambda name: name != RESULTS):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    write_text(started, to_json(run))


def _record(arguments: Mapping[str, Any], fingerprint: str, num_processes: int) -> dict[str, Any]:
    """Return what STARTED holds."""
    run = {
        "arguments": dict(arguments),
        "data_fingerprint": fingerprint,
        "num_processes": num_processes,
        "versions": versions(),
    }
    return json.loads(to_json(run))


def version_notes(folder: Path) -> list[str]:
    """Return a line where the run of a claimed folder began under other versions, threads or kernels, and one
    where it goes on with a transformers that does not do so exactly.

    Raises:
        ValueError: The folder does not say what its run is.
    """
    before, now = _read(folder / STARTED).get("versions", {}), versions()
    changed = [
        f"{name} {before[name]} then, {now[name]} now"
        for name in now
        if name in before and before[name] != now[name]
    ]
    notes = []
    if changed:
        notes = [f"This run began under others, which can change its numbers slightly: {'; '.join(changed)}."]
    if not has_transformers(GOES_ON_EXACTLY_FROM) and any(folder.glob(f"seed-*/*/{PREFIX}*")):
        notes.append(
            f"transformers {now['transformers']} draws other random numbers where a run goes on: its numbers "
            f"differ slightly from those of a run that was not stopped. They are equal from "
            f"{'.'.join(map(str, GOES_ON_EXACTLY_FROM))} on."
        )
    return notes


def is_claimed(folder: Path) -> bool:
    """Return whether the folder is that of a run, finished or not."""
    return (folder / STARTED).is_file()


def num_processes_of(folder: Path) -> int:
    """Return how many processes train the run of a claimed folder together.

    Raises:
        ValueError: The folder does not say so.
    """
    return int(_read(folder / STARTED).get("num_processes", 1))


def differences_from(folder: Path, *, arguments: Mapping[str, Any], fingerprint: str) -> list[str]:
    """Return what differs between the run of a claimed folder and this one, in words; processes do not count.

    Raises:
        ValueError: The folder does not say what its run is.
    """
    there = _read(folder / STARTED)
    return _differences(there, _record(arguments, fingerprint, there.get("num_processes", 1)))


def _read(path: Path) -> dict[str, Any]:
    try:
        run: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        arguments = dict(run["arguments"])
        if arguments.get("classifier_head") in OLD_HEADS:
            arguments["classifier_head"] = OLD_HEADS[arguments["classifier_head"]]
        begun = [entry.name.removeprefix("seed-") for entry in path.parent.glob("seed-*")]
        seeds = {*seeds_of(arguments), *(int(seed) for seed in begun if seed.isdecimal())}
        return {**run, "arguments": arguments, "seeds": seeds}
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} is not what a run of this command wrote; `--overwrite` deletes it."
        ) from error


# Those of our flags that have one.
_OWN_DEFAULTS = {
    item.name: item.default for group in OWN_GROUPS for item in fields(group) if item.default is not MISSING
}


def seeds_of(arguments: Mapping[str, Any]) -> list[int]:
    """Return the seeds that the arguments of a run ask for."""
    return arguments.get("seeds") or [arguments.get("seed", DEFAULT_SEED)]


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return what differs and matters, in words.

    Seeds may be added, left out and reordered; a run with none of the seeds that were begun is another one.
    """
    found = []
    absent = object()
    before, now = old["arguments"], new["arguments"]
    same = {"seed", "seeds"} if old["seeds"] & set(seeds_of(now)) else set()
    for name in sorted({*before, *now} - NUMBERS_DO_NOT_DEPEND_ON - same):
        # A flag that came after the run had begun has what it stands for without.
        values = [group.get(name, _OWN_DEFAULTS.get(name, absent)) for group in (before, now)]
        if values[0] != values[1]:
            was, given = ("the default" if value is absent else repr(value) for value in values)
            found.append(f"`--{name}`: {was} then, {given} now")
    if old.get("num_processes") != new["num_processes"]:
        found.append(f"the number of processes: {old.get('num_processes')} then, {new['num_processes']} now")
    if old.get("data_fingerprint") != new["data_fingerprint"]:
        found.append(
            f"the data: fingerprint {old.get('data_fingerprint')} then, {new['data_fingerprint']} now"
        )
    return found
