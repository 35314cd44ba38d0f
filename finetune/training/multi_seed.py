"""A run: the seeds one after another, their scores put together, the output folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from weighted_f1_metric import mean_bounds, write_text

from ..arguments import Settings
from ..data.reference_lines import TRAINED, changed_data
from ..data.relation_rows import RelationData
from ..encoders.lora import check_lora
from ..report.evaluation import mean_false_alarms, numbers_only
from ..report.figures import drawn_figures, seen_pairs_results, untrained_results
from ..report.model_card import run_card
from ..report.results import (
    PAGE,
    RESULTS,
    SeedResult,
    aggregate,
    class_scores,
    read_results,
    read_seed,
    to_json,
    versions,
)
from ..trainer_arguments import check_installed, check_processes
from .messages import data_warnings, plan_lines, score_warnings
from .preparation import Prepared, prepare
from .processes import is_main_process, wait_for_all
from .relation_trainer import check_trainer, saving
from .run_identity import as_given, claim_folder, run_identity, version_notes
from .train import build_trainer, check_run, check_selection, run_seed


@dataclasses.dataclass(frozen=True)
class Run:
    """A checked run: everything was read and encoded, the output folder is claimed.

    Attributes:
        settings: As given.
        seeds: In the order in which they are run.
        prepared: The input of every seed.
        folder: The output folder.
        finished: What the seeds gave that the folder already holds.
    """

    settings: Settings
    seeds: tuple[int, ...]
    prepared: Prepared
    folder: Path
    finished: Mapping[int, SeedResult]


def start_run(settings: Settings) -> Run:
    """Check everything that the user gave, read the data, and claim the output folder.

    Raises:
        FileNotFoundError: A data file is not there.
        ValueError: See `prepare`, `check_selection`, `check_run`, `claim_folder` and `read_seed`; or `--seed`
            together with `--seeds`.
    """
    if settings.run.seeds is not None and settings.training.seed_given:
        raise ValueError("`--seed` and `--seeds` exclude each other: give `--seeds` alone, for one seed too.")
    seeds = tuple(settings.run.seeds or [int(settings.training.seed or 0)])
    check_processes(settings.training)
    check_installed(settings.training)
    check_trainer()
    check_lora(settings.model)
    prepared = checked_input(settings)
    return _claimed(settings, seeds, prepared, Path(str(settings.training.output_dir)))


def checked_input(settings: Settings, *, data: RelationData | None = None) -> Prepared:
    """Return the input of every seed, read, unless `data` are given, and checked as far as it can be
    untrained.

    Raises:
        FileNotFoundError, ValueError: See `prepare`, `check_selection` and `check_run`.
    """
    prepared = prepare(settings, data=data)
    check_selection(prepared)
    check_run(prepared, settings.run)
    return prepared


def _claimed(settings: Settings, seeds: tuple[int, ...], prepared: Prepared, folder: Path) -> Run:
    """Return the run in its folder, which is claimed, and read for the seeds that are finished."""
    if is_main_process():
        identity = run_identity(settings, data=prepared.data)
        claim_folder(folder, **identity, seeds=seeds, overwrite=settings.run.overwrite)
    wait_for_all()
    found = {seed: read_seed(folder / f"seed-{seed}") for seed in seeds}
    finished = {seed: result for seed, result in found.items() if result is not None}
    return Run(settings=settings, seeds=seeds, prepared=prepared, folder=folder, finished=finished)


def finish_run(run: Run, *, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Train and score every seed that is not finished, write the folder, return what results.json holds.

    Raises:
        SavingError: The disk is full.
        TrainingDivergedError: A score is not finite.
        ValueError: results.json of before is broken.
    """
    if not is_main_process():
        say = _say_nothing
    for line in plan_lines(run.prepared, run.settings.training, len(run.seeds)) + data_warnings(run.prepared):
        say(line)
    if len(run.finished) < len(run.seeds):
        for line in version_notes(run.folder):
            say(line)
    done = [_finished_seed(run, seed, say) for seed in run.seeds]
    with_lines = run.settings.run.reference_lines
    before = _results_of_before(run)
    if before is not None and (not with_lines or "reference_lines" in before):
        return before  # with the versions that made the numbers
    results = run_results(run, done) if before is None else _with_argument(before, "reference_lines", True)
    if with_lines:
        results["reference_lines"] = _reference_results(run, say)
    if is_main_process():
        with saving("the results", at=run.folder):
            results |= _from_predictions(run, results, done, say)
            write_text(run.folder / PAGE, run_card(results))
            write_text(run.folder / RESULTS, to_json(results))
    return results


def _say_nothing(line: str) -> None:
    """For the processes that do not report."""


def _finished_seed(run: Run, seed: int, say: Callable[[str], None]) -> SeedResult:
    """Return what a seed gave, trained now unless it was before."""
    result = run.finished.get(seed)
    if result is not None:
        say(f"seed {seed}: finished before")
    else:
        folder = run.folder / f"seed-{seed}"
        trainer = build_trainer(
            seed=seed, prepared=run.prepared, settings=run.settings, folder=folder, say=say
        )
        result = run_seed(trainer, prepared=run.prepared, folder=folder)
        say(f"seed {seed}: {result.training['examples_per_second']:.1f} training examples per second")
    wait_for_all()
    for line in score_warnings(result, run.prepared.data):
        say(line)
    return result


def _results_of_before(run: Run) -> dict[str, Any] | None:
    """Return what results.json holds where it is that of these seeds, all of them finished before."""
    if len(run.finished) < len(run.seeds) or not (run.folder / RESULTS).is_file():
        return None
    results = read_results(run.folder)
    return results if list(results["seeds"]) == list(map(str, run.seeds)) else None


def _with_argument(results: dict[str, Any], name: str, value: object) -> dict[str, Any]:
    return {**results, "arguments": {**results["arguments"], name: value}}


def _from_predictions(
    run: Run, results: Mapping[str, Any], done: Sequence[SeedResult], say: Callable[[str], None]
) -> dict[str, Any]:
    """Return what is made from the predictions: scores of seen and unseen pairs, and the figures drawn."""
    data, track = run.prepared.data, run.settings.data.track
    runs = [result.predictions for result in done]
    figures: list[str] = []
    if run.settings.run.figures:
        scored = track if results["echo"] is not None else None
        histories = {f"seed {result.seed}": result.history for result in done}
        figures, why_not = drawn_figures(
            run.folder,
            data=data,
            track=scored,
            runs=runs,
            histories=histories,
            measure=run.prepared.select_by,
        )
        if why_not is not None:
            say(f"no figures: {why_not}")
    seen = seen_pairs_results(data=data, track=track, runs=runs, multi_label=run.prepared.multi_label)
    return {"seen_pairs": seen, "figures": figures}


def _reference_results(run: Run, say: Callable[[str], None]) -> dict[str, Any]:
    """Return name -> `n`, `mean`, `sd` of each reference line; trained ones are runs in their own folders."""
    options = dataclasses.replace(run.settings.run, reference_lines=False, figures=False)
    settings = dataclasses.replace(run.settings, run=options)
    lines: dict[str, Any] = {
        **untrained_results(
            data=run.prepared.data, track=settings.data.track, multi_label=run.prepared.multi_label
        )
    }
    for name in TRAINED:
        say(f"reference line {name}: the same training on changed sentences")
        prepared = prepare(settings, data=changed_data(run.prepared.data, name))
        folder = run.folder / f"reference-{name.replace('_', '-')}"
        results = finish_run(_claimed(settings, run.seeds, prepared, folder), say=say)
        lines[name] = {key: results[key] for key in ("n", "mean", "sd")}
    return lines


def run_results(run: Run, done: list[SeedResult]) -> dict[str, Any]:
    """Return the content of results.json."""
    data = run.prepared.data
    test = [numbers_only(result.scores["test"]) for result in done]
    first = done[0].scores["test"]
    alarms = [result.false_alarms for result in done if result.false_alarms is not None]
    return {
        "track": run.settings.data.track,
        "n": len(done),
        **aggregate(test),
        "per_class": class_scores([result.scores["test"] for result in done]),
        "magt_bounds": _bounds([result.scores["test"].get("magt_bounds") for result in done]),
        "echo": numbers_only(first["echo"]) if "echo" in first else None,
        "undefined": sorted({name for result in done for name in result.scores["test"]["undefined"]}),
        "signature": first["signature"],
        "selected_by": run.prepared.select_by,
        "false_alarms": mean_false_alarms(alarms) if len(alarms) == len(done) else None,
        "seeds": {str(result.seed): _seed_entry(result) for result in done},
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "label_names": list(data.label_names),
            "negative_relation": data.negative_relation,
            "notes": list(data.notes),
            "synthetic": data.is_synthetic,
            "about": data.about,
            "splits": dict(run.prepared.counts),
        },
        "max_length": run.prepared.source.max_length,
        **({"label_words": run.prepared.label_words} if run.prepared.label_words else {}),
        "arguments": as_given(run.settings),
        "versions": versions(),
    }


def _bounds(runs: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The ends of MAGT's interval, means over the seeds; None where a seed has none."""
    known = [run for run in runs if run is not None]
    return mean_bounds(known) if len(known) == len(runs) else None


def _seed_entry(result: SeedResult) -> dict[str, Any]:
    scores = {split: numbers_only(values) for split, values in result.scores.items()}
    alarms = {} if result.false_alarms is None else {"false_alarms": result.false_alarms}
    return {**scores, **alarms, "training": result.training}
