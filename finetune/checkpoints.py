"""Checkpoints of a seed on disk: only whole ones count, and the last good one stays until the next is whole.

A checkpoint is whole when its seal is there, a file that is written last and names every other file with its
size. A process that is killed while it saves therefore leaves a folder that nobody uses.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

SEAL = "sealed.json"
PREFIX = "checkpoint-"


class SavingError(OSError):
    """Something could not be written: the disk is full, or the folder cannot be written to."""


@contextmanager
def saving(what: str, *, at: Path) -> Iterator[None]:
    """Raise SavingError where writing fails; torch and safetensors have errors of their own for that."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SavingError(
            f"{what} could not be written to {at}: {reason}. What was there before is kept; make room, then "
            "give the same command again to go on."
        ) from error


def seal(folder: Path, values: Mapping[str, Any]) -> None:
    """Declare the checkpoint whole and keep `values` (JSON) in it; its files are on the disk before the seal.

    Raises:
        OSError: A file cannot be read or the seal not be written.
    """
    sizes = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SEAL):
        with path.open("rb") as file:
            os.fsync(file.fileno())
        sizes[str(path.relative_to(folder))] = path.stat().st_size
    beside = folder / f".{SEAL}.part"
    with beside.open("w", encoding="utf-8") as file:
        json.dump({"files": sizes, "values": dict(values)}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, folder / SEAL)


def sealed_values(folder: Path) -> dict[str, Any] | None:
    """The values of a whole checkpoint; None where the seal or a file is missing or has another size."""
    try:
        content = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in content["files"].items())
    except (OSError, ValueError):
        return None
    return content["values"] if whole else None


def step_of(folder: Path) -> int:
    """Optimizer steps done at a checkpoint, from its name.

    >>> step_of(Path("checkpoint-14"))
    14
    """
    return int(folder.name.removeprefix(PREFIX))


def checkpoints(folder: Path) -> list[Path]:
    """All checkpoint folders in `folder`, whole or not, the latest first."""
    there = [path for path in folder.glob(f"{PREFIX}*") if path.name.removeprefix(PREFIX).isdigit()]
    return sorted(there, key=step_of, reverse=True)


def last_good(folder: Path) -> Path | None:
    """The latest whole checkpoint whose best checkpoint is whole too; None when there is none."""
    for path in checkpoints(folder):
        values = sealed_values(path)
        if values is None:
            continue
        best = values["best_step"]
        if best is None or sealed_values(folder / f"{PREFIX}{best}") is not None:
            return path
    return None


def keep_only(folder: Path, kept: set[int]) -> None:
    """Delete the checkpoints of all other steps."""
    for path in checkpoints(folder):
        if step_of(path) not in kept:
            # Without its seal a folder that is half deleted is not taken for a checkpoint.
            (path / SEAL).unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)
