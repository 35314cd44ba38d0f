"""A run: the seeds one after another, their scores put together, the output folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .arguments import DataArguments, ModelArguments, RunArguments
from .evaluation import numbers_only
from .preparation import Prepared, plan_lines, prepare
from .results import PAGE, RESULTS, aggregate, claim_folder, page, to_json, versions, write_atomically
from .train import SeedResult, check_selection, run_seed
from .trainer_arguments import RelationTrainingArguments, given_values

Arguments = tuple[DataArguments, ModelArguments, RunArguments, RelationTrainingArguments]


@dataclasses.dataclass(frozen=True)
class Run:
    """A checked run: everything was read and encoded, the output folder is claimed."""

    arguments: Arguments
    seeds: tuple[int, ...]
    prepared: Prepared
    folder: Path


def start_run(arguments: Arguments) -> Run:
    """Check everything that the user gave, read the data, and claim the output folder.

    Raises:
        FileNotFoundError: A data file is not there.
        ValueError: See `prepare`, `check_selection` and `claim_folder`; or `--seed` together with `--seeds`.
    """
    data_arguments, _, run_arguments, training_arguments = arguments
    if run_arguments.seeds is not None and training_arguments.seed_given:
        raise ValueError("`--seed` and `--seeds` exclude each other: give `--seeds` alone, for one seed too.")
    seeds = tuple(run_arguments.seeds or [int(training_arguments.seed or 0)])
    prepared = prepare(*arguments)
    check_selection(prepared, data_arguments.track)
    folder = Path(str(training_arguments.output_dir))
    claim_folder(folder, arguments=_as_given(arguments), overwrite=run_arguments.overwrite)
    return Run(arguments=arguments, seeds=seeds, prepared=prepared, folder=folder)


def finish_run(run: Run, *, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Train and score every seed, write the folder, and return what results.json holds."""
    data_arguments, model_arguments, _, training_arguments = run.arguments
    for line in plan_lines(run.prepared, training_arguments, len(run.seeds)):
        say(line)
    done: list[SeedResult] = []
    for seed in run.seeds:
        result = run_seed(
            seed=seed,
            prepared=run.prepared,
            data_arguments=data_arguments,
            model_arguments=model_arguments,
            training_arguments=training_arguments,
            folder=run.folder / f"seed-{seed}",
        )
        done.append(result)
        say(f"seed {seed}: {result.training['examples_per_second']:.1f} training examples per second")
        if result.only_negative:
            say(f"warning: seed {seed} predicts {run.prepared.data.negative_relation} for every test row.")
    results = run_results(run, done)
    write_atomically(run.folder / PAGE, page(results))
    write_atomically(run.folder / RESULTS, to_json(results))
    return results


def run_results(run: Run, done: list[SeedResult]) -> dict[str, Any]:
    """The content of results.json."""
    data = run.prepared.data
    test = [numbers_only(result.scores["test"]) for result in done]
    first = done[0].scores["test"]
    return {
        "track": run.arguments[0].track,
        "n": len(done),
        **aggregate(test),
        "echo": numbers_only(first["echo"]) if "echo" in first else None,
        "undefined": sorted({name for result in done for name in result.scores["test"]["undefined"]}),
        "signature": first["signature"],
        "selected_by": run.prepared.select_by,
        "seeds": {str(result.seed): _seed_entry(result) for result in done},
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "label_names": list(data.label_names),
            "negative_relation": data.negative_relation,
            "notes": list(data.notes),
            "splits": dict(run.prepared.counts),
        },
        "max_length": run.prepared.max_length,
        "arguments": _as_given(run.arguments),
        "versions": versions(),
    }


def _seed_entry(result: SeedResult) -> dict[str, Any]:
    scores = {split: numbers_only(values) for split, values in result.scores.items()}
    return {**scores, "training": result.training}


def _as_given(arguments: Arguments) -> Mapping[str, Any]:
    """All of our flags, and those of the Trainer's that differ from its defaults."""
    own = {name: value for group in arguments[:3] for name, value in dataclasses.asdict(group).items()}
    return own | given_values(arguments[3])
