"""The runs of an experiment: each a `python -m finetune` of its own, several side by side, none twice."""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..training.run_identity import num_processes_of

if TYPE_CHECKING:
    from ..arguments import Settings


# Seconds that a run has to end when it is told to, before it is killed.
PATIENCE = 20.0
POLL = 0.1
LAST_LINES = 8
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class PlannedRun:
    """One run of an experiment: a system on a track, all seeds.

    Attributes:
        system: The system's name.
        track: The track.
        folder: Its output folder.
        argv: The arguments of `python -m finetune`.
        settings: The same, checked.
    """

    system: str
    track: str
    folder: Path
    argv: tuple[str, ...]
    settings: Settings

    @property
    def label(self) -> str:
        """The run as errors and progress name it."""
        return f"{self.system!r} on {self.track}"

    @property
    def log(self) -> Path:
        """The file with all that it prints."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def results(self) -> dict[str, Any] | None:
        """Return what results.json holds, or None when the run is not finished, or lacks a seed or the lines.

        Raises:
            ValueError: The file is broken.
        """
        path = self.folder / "results.json"
        if not path.is_file():
            return None
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(
                f"{path} is broken ({error}); delete it, and the run is put together again."
            ) from error
        is_whole = list(found.get("seeds", ())) == list(map(str, self.settings.run.seeds or ()))
        if self.settings.run.reference_lines and "reference_lines" not in found:
            is_whole = False
        return found if is_whole else None


def command_of(run: PlannedRun, *, launcher: Sequence[str]) -> list[str]:
    """Return the command of a run; `launcher` takes the place of the Python interpreter."""
    return [*(launcher or [sys.executable]), "-m", "finetune", *run.argv]


def environments(num_workers: int, *, launched: bool, num_gpus: int) -> list[dict[str, str]]:
    """Return the environment of each worker's runs: a share of the threads, and one of the GPUs.

    With a launcher there is one worker, whose processes share the machine out among themselves.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    plain = {**os.environ, "PATH": path}
    if launched:
        return [plain]
    share = max(1, num_threads() // num_workers)
    threads = {name: str(min(share, _number(os.environ.get(name)) or share)) for name in THREADS}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    gpus = [name for name in visible.split(",") if name.strip()] or [str(gpu) for gpu in range(num_gpus)]
    found = []
    for worker in range(num_workers):
        own = {**plain, **(threads if num_workers > 1 else {})}
        if num_gpus > 1:
            own["CUDA_VISIBLE_DEVICES"] = gpus[worker % len(gpus)]
        found.append(own)
    return found


THREADS = ("OMP_NUM_THREADS", "RAYON_NUM_THREADS")


def num_threads() -> int:
    """Return how many threads this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


@dataclass
class _Child:
    run: PlannedRun
    process: subprocess.Popen[bytes]
    worker: int
    started: float


# Not concurrent.futures: its pools cannot stop a run that has begun, nor give it a process group and a log.
def run_all(
    runs: Sequence[PlannedRun],
    *,
    launcher: Sequence[str],
    workers: Sequence[Mapping[str, str]],
    lock: int,
    say: Callable[[str], None],
) -> list[PlannedRun]:
    """Run them, as many at once as there are workers; those that failed, after which the others go on.

    Args:
        runs: In the order in which they start.
        launcher: What starts a run in the place of the Python interpreter; empty for that.
        workers: The environment of each worker.
        lock: A file descriptor that the runs inherit, so that what it locks stays locked while one lives.
        say: Gets a line for each run that ended.

    Raises:
        KeyboardInterrupt: After every run was told to stop, and has.
    """
    waiting, failed, times = list(runs), [], []
    free = list(range(len(workers)))[::-1]
    children: list[_Child] = []
    num_done = 0
    try:
        while waiting or children:
            while waiting and free:
                children.append(_start(waiting.pop(0), free.pop(), launcher, workers, lock))
            time.sleep(POLL)
            for child in [child for child in children if child.process.poll() is not None]:
                children.remove(child)
                free.append(child.worker)
                num_done += 1
                seconds = time.monotonic() - child.started
                at = f"[{num_done}/{len(runs)}] {child.run.label}"
                if child.process.returncode == 0 and child.run.results() is not None:
                    times.append(seconds)
                    if launcher:  # which may not have started as many as it was asked for
                        number = num_processes_of(child.run.folder)
                        at += f" by {number} {'process' if number == 1 else 'processes'}"
                    say(f"{at}: {duration(seconds)}{_left(len(runs) - num_done, times, len(workers))}")
                else:
                    failed.append(child.run)
                    say(f"{at}: failed after {duration(seconds)}, {_status(child.process.returncode)}")
                    say(_last_lines(child.run.log))
    except BaseException:
        _stop(children)
        raise
    return failed


def _start(
    run: PlannedRun, worker: int, launcher: Sequence[str], workers: Sequence[Mapping[str, str]], lock: int
) -> _Child:
    command = command_of(run, launcher=launcher)
    run.log.parent.mkdir(parents=True, exist_ok=True)
    with run.log.open("ab") as log:
        log.write(f"$ {' '.join(command)}\n".encode())
        log.flush()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**workers[worker], "PYTHONUNBUFFERED": "1"},
            pass_fds=(lock,),
            start_new_session=True,  # so that a launcher is stopped with all of its processes
            preexec_fn=_ends_with_parent(),
        )
    return _Child(run, process, worker, time.monotonic())


def _ends_with_parent() -> Callable[[], None] | None:
    """For the child: be told to end when the parent is killed. Where there is no such thing, the lock that
    the child holds keeps a second command away from its folder.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl, parent = ctypes.CDLL(None, use_errno=True).prctl, os.getpid()

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return ask


def _stop(children: Sequence[_Child]) -> None:
    """Interrupt the runs, wait for them, kill those that do not end."""
    for number, patience in ((signal.SIGINT, PATIENCE), (signal.SIGKILL, PATIENCE)):
        for child in children:
            if child.process.poll() is None:
                os.killpg(child.process.pid, number)
        end = time.monotonic() + patience
        for child in children:
            try:
                child.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                continue


def _status(code: int) -> str:
    """
    >>> _status(-9), _status(2)
    ('ended by signal 9 (SIGKILL)', 'exit status 2')
    """
    if code >= 0:
        return f"exit status {code}"
    return f"ended by signal {-code} ({signal.Signals(-code).name})"


def _last_lines(log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    shown = [f"    {line[:500]}" for line in lines[-LAST_LINES:]]
    return "\n".join([*shown, f"    (all of it: {log})"])


def _left(num_left: int, times: Sequence[float], num_workers: int) -> str:
    """Return what is left, from the mean time of the runs so far.

    >>> _left(3, [60.0, 120.0], 2), _left(0, [60.0], 1)
    ('; 3 runs left, about 3 min', '')
    """
    if not num_left:
        return ""
    rounds = -(-num_left // num_workers)
    about = duration(rounds * sum(times) / len(times))
    return f"; {num_left} {'run' if num_left == 1 else 'runs'} left, about {about}"


def duration(seconds: float) -> str:
    """Return a time for people.

    >>> duration(4.2), duration(100), duration(4000)
    ('4 s', '2 min', '1 h 7 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def found_launcher(text: str) -> list[str]:
    """Return the launcher's words, its program as a path, looked for beside the Python interpreter first.

    Raises:
        ValueError: A quotation mark without its other, or there is no such program.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"`--launcher` {text!r}: {error}.") from error
    if not words:
        return []
    folder = str(Path(sys.executable).parent)
    program = shutil.which(words[0], path=folder) or shutil.which(words[0])
    if program is None:
        raise ValueError(f"`--launcher`: the program {words[0]!r} is not found; give its path.")
    return [program, *words[1:]]
