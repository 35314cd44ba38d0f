"""Results in a folder, a file for each submission: the embedded default, when no Hub is configured."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .submission import check_new, parse_record, record_text

FOLDER = "results"
LOGGER = logging.getLogger(__name__)


def read_results(folder: Path) -> list[dict[str, Any]]:
    """The records in `folder`, oldest first; a file that is no record is logged and left out."""
    records = []
    for path in sorted(folder.glob("*.json")):
        try:
            records.append(parse_record(path.read_bytes()))
        except ValueError:
            LOGGER.exception("%s is left out", path.name)
    return records


class LocalResults:
    """Results in a folder; several processes may use it at once."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Makes the folder when it is not there."""
        self.folder = Path(folder) / FOLDER
        self.folder.mkdir(parents=True, exist_ok=True)

    def records(self) -> list[dict[str, Any]]:
        """All submissions, oldest first."""
        return read_results(self.folder)

    def append(self, record: Mapping[str, Any]) -> None:
        """Adds a submission, whole or not at all.

        Raises:
            BadUpload: as `check_new`.
            OSError: the folder cannot be written.
        """
        with self._locked():
            check_new(record, self.records())
            part = self.folder / f".{record['id']}.part"
            try:
                part.write_text(record_text(record), encoding="utf-8")
                os.replace(part, self.folder / f"{record['id']}.json")
            finally:
                part.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
