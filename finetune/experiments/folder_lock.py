"""A folder that one command at a time works in.

`filelock` would let go when this process ends, while runs
that it started are still at work: they inherit this lock.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = ".lock"
# Seconds in which the runs of a command that was killed have ended.
PATIENCE = 5.0


@contextmanager
def locked(folder: Path, *, patience: float | None = None) -> Iterator[int]:
    """Yield a file descriptor that holds the folder for this command and the runs that inherit it.

    The system lets go of it when the last of them has ended, however it ended. A folder that was made here
    and in which nothing was written is deleted after a fault.

    Raises:
        ValueError: Another command, or a run that it left behind, is at work in the folder.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        end = time.monotonic() + (PATIENCE if patience is None else patience)
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    holder = os.pread(file, 20, 0).decode(errors="replace").strip()
                    raise ValueError(
                        f"another command (process {holder}), or a run that it started, is at work in "
                        f"{folder}; wait for it, or end it."
                    ) from None
                time.sleep(0.1)
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield file
    except BaseException:
        if is_new and [entry.name for entry in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
            folder.rmdir()
        raise
    finally:
        os.close(file)
