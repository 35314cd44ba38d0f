"""Results in a folder, a file for each submission: the embedded default, when no Hub is configured."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from weighted_f1_metric import write_text

from .kept_counts import counts_text, parse_counts
from .submission import check_new, check_quota, parse_record, record_text, revision_of

FOLDER, COUNTS_FOLDER = "results", "counts"
Record = dict[str, Any]
LOGGER = logging.getLogger(__name__)


def read_results(folder: Path, known: dict[tuple[str, int, int], Record | None]) -> list[Record]:
    """Return the records in `folder`, oldest first; a file that is no record is logged and left out.

    Args:
        folder: holds a JSON file for each record.
        known: (name, time of change, size) of a file -> its record, from earlier calls; brought up to date.
    """
    stats = [(path, path.stat()) for path in sorted(folder.glob("*.json"))]
    files = {(path.name, stat.st_mtime_ns, stat.st_size): path for path, stat in stats}
    for key in known.keys() - files.keys():
        known.pop(key, None)
    for key, path in files.items():
        if key not in known:
            try:
                known[key] = parse_record(path.read_bytes())
            except ValueError:
                LOGGER.exception("%s is left out", path.name)
                known[key] = None
    return [record for key in files if (record := known.get(key)) is not None]


class LocalResults:
    """Results in a folder; several processes may use it at once."""

    def __init__(self, folder: str | os.PathLike[str], *, quota: int | None = None) -> None:
        """Makes the folder when it is not there; `quota` is how many submissions a login has a day."""
        self.folder, self.quota = Path(folder) / FOLDER, quota
        self.counts = Path(folder) / COUNTS_FOLDER
        for place in (self.folder, self.counts):
            place.mkdir(parents=True, exist_ok=True)
        self._known: dict[tuple[str, int, int], Record | None] = {}

    def records(self) -> list[Record]:
        """Return all submissions, oldest first."""
        return read_results(self.folder, self._known)

    def counts_of(self, record_id: str) -> Any:
        """Return the counts per bag of a submission.

        Raises:
            FileNotFoundError: none were kept.
            ValueError: as `parse_counts`.
        """
        return parse_counts((self.counts / f"{record_id}.json").read_bytes())

    def append(self, record: Mapping[str, Any], counts: Mapping[str, Any] | None = None) -> None:
        """Add a submission, whole or not at all: the counts first, so that a record never lacks its own.

        Raises:
            UploadError: as `check_new` and `check_quota`.
            OSError: the folder cannot be written.
        """
        with self._locked():
            records = self.records()
            check_new(record, records)
            check_quota(record, records, self.quota)
            name = f"{record['id']}.json"
            if counts is not None:
                write_text(self.counts / name, counts_text(counts))
            write_text(self.folder / name, record_text({**record, "revision": revision_of(record, records)}))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
