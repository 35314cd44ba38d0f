"""What can be wrong with an experiment, found before its first run trains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from transformers.utils import logging

from ..arguments import Settings, check_track
from ..command_line import known_flags, parse_arguments
from ..data.readers import check_data_flags
from ..data.relation_rows import RelationData
from ..settings_files import flag_argv, nearest
from ..training.multi_seed import checked_input
from ..training.run_identity import as_given, differences_from, is_claimed, num_processes_of, run_identity
from .experiment_file import Experiment, System
from .runs import PlannedRun

RUNS = "runs"


def planned_runs(experiment: Experiment, *, folder: Path, where: str) -> list[PlannedRun]:
    """Return every run, track by track, its flags checked by the command's own parser.

    Args:
        experiment: The experiment.
        folder: The experiment's output folder.
        where: The file, for errors.

    Raises:
        ValueError: A flag that is not known, has a value that it does not take or does not go with others,
            with the system; two systems that are one.
    """
    known = known_flags()
    for system in experiment.systems:
        for name in system.flags:
            if name not in known:
                raise ValueError(
                    f"{where}: system {system.name!r}: `{name}` is no flag of `python -m finetune`"
                    f"{nearest(name, known)}."
                )
    output = f"--output_dir={folder}"
    _prefixed(f"{where}: data", experiment.data.values(), lambda: _checked_data(experiment, output))
    if experiment.data.get("evaluate_na") and "bag2bag" in experiment.tracks and len(experiment.tracks) > 1:
        raise ValueError(
            f"{where}: data: `evaluate_na` takes other rows on bag2bag, whole bags, than on the other tracks,"
            " and the tracks of an experiment have the same data; leave it out, or make two experiments."
        )
    runs = []
    for track in experiment.tracks:
        same: dict[str, str] = {}
        for system in (system for system in experiment.systems if track in system.tracks):
            run = _planned(experiment, system, track, folder, where)
            runs.append(run)
            other = same.setdefault(repr(sorted(as_given(run.settings).items())), system.name)
            if other != system.name:
                raise ValueError(
                    f"{where}: the systems {other!r} and {system.name!r} have the same flags on {track}; "
                    "delete one of them."
                )
    return runs


def _checked_data(experiment: Experiment, output: str) -> None:
    check_data_flags(parse_arguments([*flag_argv(experiment.data), output]).data)


def _planned(experiment: Experiment, system: System, track: str, folder: Path, where: str) -> PlannedRun:
    own = folder / RUNS / track / system.slug
    argv = [*experiment.argv(system, track), f"--output_dir={own}"]

    def parsed() -> Settings:
        settings = parse_arguments(argv)
        check_track(settings.data, settings.model)
        if settings.model.encoder == "pretrained" and settings.model.model_name_or_path is None:
            raise ValueError(
                "no encoder: give `model_name_or_path`, here or at the top of the file, or the flag "
                "`--model_name_or_path`, which is for all systems that name none."
            )
        return settings

    place = f"{where}: system {system.name!r} on {track}"
    settings = _prefixed(place, system.flags.values(), parsed)
    return PlannedRun(system=system.name, track=track, folder=own, argv=tuple(argv), settings=settings)


def _prefixed(place: str, values: Iterable[object], check: Callable[[], Settings | None]):
    try:
        return check()
    except (ValueError, OSError) as error:
        hint = ""
        if any(isinstance(value, bool) for value in values) and re.search(r"\b(true|false)\b", str(error)):
            hint = " (YAML reads a bare yes, no, on or off as true or false; put it in quotes.)"
        raise type(error)(f"{place}: {error}{hint}") from error


def check_against_folder(
    runs: Sequence[PlannedRun], *, folder: Path, data: Callable[[], RelationData]
) -> None:
    """Return None when all that has run in the folder is still part of the experiment, unchanged.

    Args:
        runs: All that is planned.
        folder: The experiment's output folder.
        data: Gives the data of the runs; read only where it is called.

    Raises:
        FileNotFoundError: A file that a run needs is not there.
        ValueError: A run differs from what is planned now, or is planned no more.
    """
    ways_out = (
        f"Put it back, or give another `--output_dir`, or `--overwrite` to delete all runs in {folder}."
    )
    planned = {run.folder for run in runs}
    there = sorted(path.parent for path in (folder / RUNS).glob("*/*/run.json"))
    gone = [path for path in there if path not in planned]
    if gone:
        number = "1 run in {} is" if len(gone) == 1 else f"{len(gone)} runs in {{}} are"
        raise ValueError(
            f"{number.format(folder)} not in the experiment now (first: {gone[0].relative_to(folder)}): a "
            f"system or track was taken out or renamed. {ways_out} Or delete the folders of what is not to "
            "be compared."
        )
    changed = []
    for run in (run for run in runs if is_claimed(run.folder)):
        identity = run_identity(run.settings, data=data())
        differences = differences_from(
            run.folder, arguments=identity["arguments"], fingerprint=identity["fingerprint"]
        )
        if differences:
            changed.append(f"{run.label}: {'; '.join(differences)}")
    if changed:
        more = f" ({len(changed)} runs differ in all)" if len(changed) > 1 else ""
        raise ValueError(f"the experiment changed after a part of it has run: {changed[0]}{more}. {ways_out}")


def check_inputs(
    runs: Sequence[PlannedRun], *, data: Callable[[], RelationData], where: str, say: Callable[[str], None]
) -> None:
    """Return None when every run that has not begun reads, encodes and could train.

    Raises:
        FileNotFoundError, ValueError: As `multi_seed.checked_input`, with the system.
    """
    logging.disable_progress_bar()
    new = [run for run in runs if not is_claimed(run.folder)]
    if new:
        say(f"checking data and encoders of {len(new)} new {'run' if len(new) == 1 else 'runs'}")
    for run in new:
        _prefixed(
            f"{where}: system {run.label}",
            (),
            lambda run=run: _checked_input(run, data),  # type: ignore[misc]
        )


def _checked_input(run: PlannedRun, data: Callable[[], RelationData]) -> None:
    checked_input(run.settings, data=data())


def check_processes(runs: Sequence[PlannedRun]) -> None:
    """Raise ValueError when finished runs were made by different numbers of processes."""
    numbers: dict[int, PlannedRun] = {}
    for run in runs:
        numbers.setdefault(num_processes_of(run.folder), run)
    if len(numbers) > 1:
        made = ", ".join(f"{run.label} by {number}" for number, run in sorted(numbers.items()))
        raise ValueError(
            f"the runs were made by different numbers of processes ({made}), so their steps have batches of "
            "different size; delete the folders of some and give the same command with one `--launcher`."
        )
