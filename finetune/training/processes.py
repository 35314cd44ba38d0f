"""One process or several: who speaks and writes, how they wait for one another, how they leave.

torchrun and accelerate launch start this command several times and say by the environment which is which.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import NoReturn


def is_launched() -> bool:
    """Return whether a launcher started this process."""
    return "LOCAL_RANK" in os.environ


def is_main_process() -> bool:
    """Return whether this process writes the files and the report: the first one of all."""
    return os.environ.get("RANK", "0") == "0"


def is_local_main_process() -> bool:
    """Return whether this process prints errors: the first one of each machine."""
    return os.environ.get("LOCAL_RANK", "0") == "0"


def print_error(message: str, *, wait: float = 30.0) -> None:
    """Print an error once for each machine.

    The launcher ends all processes as soon as one has left with a fault. The others therefore give the one
    that reports `wait` seconds to speak; whoever is then still there had a fault of its own, and says it.
    """
    if not is_local_main_process():
        time.sleep(wait)
    print(f"error: {message}", file=sys.stderr, flush=True)


def quieten() -> None:
    """Let only the first process of a machine tell what was read, and hide remarks of the process group."""
    if is_launched():
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # read when torch is imported
    if not is_local_main_process():
        logging.disable(logging.WARNING)


def limit_caches() -> None:
    """Keep 64 kernels of oneDNN for reuse, not 1,024 twice; a value in the environment goes before.

    In 16 bits torch's linear layers on the processor are oneDNN's, which makes a kernel for every shape and
    keeps it. Batches have hundreds of shapes, so memory grew by 70 to 180 MB an epoch for many epochs, and
    training was no slower without (`benchmarks.word_encoders`). Both libraries read it when first used.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):  # oneDNN's own, and torch's
        os.environ.setdefault(name, "64")


def wait_for_all() -> None:
    """Return when every process is here."""
    from accelerate import PartialState

    PartialState().wait_for_everyone()


def leave(status: int) -> NoReturn:
    """End this process with the exit status.

    Under a launcher the interpreter is not taken down in the usual way: on CPU the threads of the process
    group then abort half of the finished runs.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if is_launched():
        os._exit(status)
    sys.exit(status)
