"""What the commands that push have in common: their options, a dry run, how they end."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from .upload import OWNERS_METADATA, preview, push_folder

INTERRUPTED = 130  # as shells report a program that Ctrl-C ended


def add_push_options(command: argparse.ArgumentParser, what: str) -> None:
    """Add `--repo_id`, `--public` and `--dry_run`; `what` is the kind of repository, for people."""
    command.add_argument(
        "--repo_id", required=True, metavar="OWNER/NAME", help=f"the {what}; made when it is not there"
    )
    command.add_argument("--public", action="store_true", help="let everybody see it (default: private)")
    command.add_argument(
        "--dry_run",
        action="store_true",
        help="upload nothing; list what would be added, changed and deleted, and print the card",
    )


def publish(
    folder: Path,
    *,
    repo_id: str,
    repo_type: str,
    message: str,
    public: bool,
    dry_run: bool,
    keep_metadata: Sequence[str] = OWNERS_METADATA,
) -> str:
    """Push a folder and return what was done, for people; with `dry_run` what would be done, and the card.

    Raises:
        FileNotFoundError, ValueError, HubError: As `push_folder`.
    """
    if dry_run:
        return preview(
            folder, repo_id=repo_id, repo_type=repo_type, public=public, keep_metadata=keep_metadata
        )
    done = push_folder(
        folder,
        repo_id=repo_id,
        repo_type=repo_type,
        message=message,
        public=public,
        keep_metadata=keep_metadata,
    )
    return done.sentence()


def run_command(name: str, call: Callable[[], int | None]) -> int:
    """Return what `call` returns (None: 0); 2 after an error of input or of the Hub, 130 after Ctrl-C.

    An error is one line on standard error. A request to end (SIGTERM, SIGHUP) unwinds the stack, so that
    temporary folders are deleted.
    """
    try:
        with _unwinding():
            return call() or 0
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2


@contextlib.contextmanager
def _unwinding() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
