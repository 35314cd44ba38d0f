"""`python -m finetune.experiments`: systems x tracks x seeds from one file, and what compares them."""

from __future__ import annotations

import argparse
import functools
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import yaml

from ..training.processes import print_error
from . import experiment_file
from .experiment_file import Experiment, read_experiment
from .folder_lock import LOCK, locked

if TYPE_CHECKING:
    from ..data.relation_rows import RelationData
    from .runs import PlannedRun

COMMAND = "python -m finetune.experiments"
DESCRIPTION = """\
Run every system of an experiment file on its tracks, each as `python -m finetune` does, then write the tables
and figures that compare them. Every system is checked before the first one trains. Given again, the command
goes on where it was stopped; systems and tracks may be added to the file in between. When a run fails the
others go on; the exit status is then 2, and there is no comparison, since it would leave the run out. Ready
files are in the folder experiments/ of the repository."""
FILE = "experiment.yaml"
# What an experiment writes besides the runs; the comparison, which tells of all of them.
COMPARISON = ("README.md", "tables", "figures")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; see `{COMMAND} --help`.")


def _parser() -> _Parser:
    parser = _Parser(
        prog=COMMAND,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION,
        epilog=experiment_file.__doc__,
    )
    parser.add_argument("file", metavar="FILE", help="The experiment, YAML; see below.")
    parser.add_argument(
        "--output_dir",
        required=True,
        help="The folder for everything that is written: runs/TRACK/SYSTEM (as `python -m finetune` writes "
        "them, with the log beside), README.md, tables, figures.",
    )
    parser.add_argument("--data_dir", help="The folder with the data, in the place of the file's.")
    parser.add_argument(
        "--model_name_or_path",
        help="The encoder of the systems on a pretrained encoder that name none themselves, in the place of "
        "that at the top of the file.",
    )
    parser.add_argument(
        "--num_workers",
        type=int,
        default=1,
        help="How many runs at once (default 1). They share out the processor's threads, and the GPUs where "
        "there are several.",
    )
    parser.add_argument(
        "--launcher",
        default="",
        help='What starts a run instead of the Python interpreter, for example "torchrun --nproc_per_node 2" '
        'or, with GPUs, "accelerate launch --num_processes 2". The batch size is then per process. Not with '
        "--num_workers.",
    )
    parser.add_argument(
        "--dry_run",
        action="store_true",
        help="Check the flags of every system and print the commands; read no data, and write nothing.",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="Delete the experiment that the output folder holds."
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 2 for what failed or cannot be used, 130 if stopped."""
    try:
        options = _parser().parse_args(argv)
        return _run(options)
    except (ValueError, OSError) as error:
        print_error(str(error))
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on with what is there.", file=sys.stderr)
        return 130


def _run(options: argparse.Namespace) -> int:
    if options.num_workers < 1:
        raise ValueError(f"`--num_workers` must be a positive integer; got {options.num_workers}.")
    experiment = read_experiment(
        Path(options.file), data_dir=options.data_dir, model_name_or_path=options.model_name_or_path
    )
    folder = Path(options.output_dir)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"`output_dir` {str(folder)!r} is a file; give a folder.")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from ..data.readers import read_data
    from .checks import planned_runs
    from .runs import command_of, found_launcher

    launcher = found_launcher(options.launcher)
    if launcher and options.num_workers > 1:
        raise ValueError(
            "`--launcher` and `--num_workers` exclude each other: a launched run takes all there is."
        )
    runs = planned_runs(experiment, folder=folder, where=options.file)
    if options.dry_run:
        for run in runs:
            print(shlex.join(command_of(run, launcher=launcher)))
        return 0
    data = functools.cache(lambda: read_data(runs[0].settings.data))
    with locked(folder) as lock:
        return _run_locked(options, experiment, runs, data, lock=lock, launcher=launcher)


def _run_locked(
    options: argparse.Namespace,
    experiment: Experiment,
    runs: list[PlannedRun],
    data: functools._lru_cache_wrapper[RelationData],
    *,
    lock: int,
    launcher: list[str],
) -> int:
    from weighted_f1_metric import is_part_of, write_text

    from .checks import RUNS, check_against_folder, check_inputs, check_processes
    from .runs import environments, run_all

    folder = Path(options.output_dir)
    # A part is what a command left that was killed while it wrote.
    entries = {entry.name for entry in folder.iterdir()} - {LOCK}
    there = sorted(name for name in entries if not is_part_of(name, FILE))
    if there and FILE not in there:
        raise ValueError(
            f"`output_dir` {str(folder)!r} holds files that no experiment wrote (first: {there[0]!r}, "
            f"{len(there)} in all); give a new or empty folder."
        )
    if options.overwrite:
        _delete(folder, (*COMPARISON, RUNS))
    check_against_folder(runs, folder=folder, data=data)
    check_inputs(runs, data=data, where=options.file, say=_say)
    if FILE in there and not options.overwrite:
        _say_added(experiment, read_experiment(folder / FILE))
    text = yaml.safe_dump(experiment.as_file(), sort_keys=False, allow_unicode=True, width=110)
    write_text(folder / FILE, text)
    data.cache_clear()  # the runs need the memory
    to_run = [run for run in runs if run.results() is None]
    print(_plan_line(experiment, runs, to_run, options.num_workers), flush=True)
    if to_run:
        _delete(folder, COMPARISON)  # it would tell of fewer runs than the experiment has
        import torch

        workers = environments(
            options.num_workers, launched=bool(launcher), num_gpus=torch.cuda.device_count()
        )
        failed = run_all(to_run, launcher=launcher, workers=workers, lock=lock, say=_say)
        if failed:
            names = ", ".join(run.label for run in failed)
            print_error(
                f"{len(failed)} of {len(runs)} runs failed: {names}. There is no comparison, since it would "
                "leave them out. The same command runs them again, and no other."
            )
            return 2
    check_processes(runs)
    _write_comparison(experiment, runs, data(), folder)
    return 0


def _write_comparison(
    experiment: Experiment, runs: Sequence[PlannedRun], data: RelationData, folder: Path
) -> None:
    """Compare the finished runs, the systems in the order of the file."""
    from .comparison import write_comparison
    from .run_results import SystemRun

    places = {system.name: place for place, system in enumerate(experiment.systems)}
    finished = [
        SystemRun(run.system, run.track, run.folder, results, experiment.seeds)
        for run in sorted(runs, key=lambda run: places[run.system])
        if (results := run.results()) is not None
    ]
    _delete(folder, COMPARISON)  # it may hold tables of a track that is no more
    write_comparison(title=experiment.title, runs=finished, data=data, folder=folder)
    _say(f"written to {folder}: README.md, tables/, figures/")


def _say_added(experiment: Experiment, before: Experiment) -> None:
    """Say which runs the file has now and had not when the command was last given."""
    known = {(system.slug, track) for system in before.systems for track in system.tracks}
    added = [
        f"{system.name!r} on {track}"
        for system in experiment.systems
        for track in system.tracks
        if (system.slug, track) not in known
    ]
    if added:
        _say(f"added to the experiment since: {', '.join(added)}")


def _say(line: str) -> None:
    print(line, flush=True)


def _plan_line(
    experiment: Experiment, runs: Sequence[PlannedRun], to_run: Sequence[PlannedRun], num_workers: int
) -> str:
    from ..report.report_tables import counted

    num_before = len(runs) - len(to_run)
    line = (
        f"{experiment.title}: {counted(len(runs), 'run')} ({counted(len(experiment.systems), 'system')} on "
        f"{', '.join(experiment.tracks)}) with {counted(len(experiment.seeds), 'seed')} each"
    )
    if num_before:
        line += f"; {num_before} {'was' if num_before == 1 else 'were'} finished before"
    return line + (f"; {num_workers} at once" if num_workers > 1 else "")


def _delete(folder: Path, names: Sequence[str]) -> None:
    for path in (folder / name for name in names):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
