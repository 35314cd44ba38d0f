"""Results in a dataset repository on the Hub: one commit for each submission, made on the state that was
read. Nothing of it is kept on disk."""

from __future__ import annotations

import logging
import random
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd, HfApi, RepoFile, hf_hub_download, snapshot_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

from .kept_counts import counts_text, parse_counts
from .local_results import COUNTS_FOLDER, FOLDER
from .submission import Record, check_new, check_quota, parse_record, record_text, revision_of

TRIES = 12
MAX_WAIT = 2.0  # seconds
MAX_SECONDS = 60.0  # that a submission tries
TIMEOUT = 10.0  # seconds for an answer
LOGGER = logging.getLogger(__name__)


class HubResults:
    """Results in a dataset repository; several servers may use it at once."""

    def __init__(self, repo_id: str, *, api: HfApi | None = None, quota: int | None = None) -> None:
        """Makes the repository, private, when it is not there; `quota` is submissions a login and day."""
        self.repo_id, self.quota = repo_id, quota
        self.api = api or HfApi()
        self._lock = threading.Lock()
        self._is_there = False
        self._read: tuple[str, list[Record]] = ("", [])
        self._known: dict[tuple[str, str], Record | None] = {}
        try:
            self._make()
        except Exception:  # the board starts without the Hub, and asks again
            LOGGER.exception("the repository of the results could not be looked at")

    def records(self) -> list[Record]:
        """Return all submissions, oldest first, as the repository holds them now.

        Raises:
            HfHubHTTPError, OSError: the repository cannot be read.
        """
        return self._records_at(self._head())

    def counts_of(self, record_id: str) -> Any:
        """Return the counts per bag of a submission.

        Raises:
            FileNotFoundError: none were kept.
            ValueError: as `parse_counts`.
            HfHubHTTPError, OSError: the repository cannot be read.
        """
        with tempfile.TemporaryDirectory(prefix="counts-") as folder:
            try:
                path = hf_hub_download(
                    self.repo_id,
                    f"{COUNTS_FOLDER}/{record_id}.json",
                    repo_type="dataset",
                    local_dir=folder,
                    endpoint=self.api.endpoint,
                    token=self.api.token,
                )
            except EntryNotFoundError as error:
                raise FileNotFoundError(str(error)) from error
            return parse_counts(Path(path).read_bytes())

    def append(self, record: Mapping[str, Any], counts: Mapping[str, Any] | None = None) -> None:
        """Add a submission by one commit; where somebody else was faster, reads again and tries again.

        Raises:
            UploadError: as `check_new` and `check_quota`.
            HfHubHTTPError: the Hub refuses, or kept failing.
        """
        end = time.monotonic() + MAX_SECONDS
        with self._lock:  # submissions to this server wait for each other
            for attempt in range(1, TRIES + 1):
                try:
                    head = self._head()
                    records = self._records_at(head)
                    if any(other["id"] == record["id"] for other in records):
                        return  # an earlier try arrived and only its answer was lost
                    check_new(record, records)
                    check_quota(record, records, self.quota)
                    self._commit({**record, "revision": revision_of(record, records)}, counts, head)
                    return
                except HfHubHTTPError as error:
                    status = error.response.status_code
                    is_last = attempt == TRIES or time.monotonic() > end
                    if is_last or (status not in (412, 429) and status < 500):
                        raise
                time.sleep(random.uniform(0, min(MAX_WAIT, 0.1 * 2**attempt)))

    def _commit(self, record: Mapping[str, Any], counts: Mapping[str, Any] | None, head: str) -> None:
        files = {f"{FOLDER}/{record['id']}.json": record_text(record)}
        if counts is not None:
            files[f"{COUNTS_FOLDER}/{record['id']}.json"] = counts_text(counts)
        self.api.create_commit(
            self.repo_id,
            [CommitOperationAdd(path, text.encode("utf-8")) for path, text in files.items()],
            commit_message=f"Result {record['id']}",
            repo_type="dataset",
            parent_commit=head,
        )

    def _make(self) -> None:
        if not self._is_there:
            self.api.create_repo(self.repo_id, repo_type="dataset", private=True, exist_ok=True)
            self._is_there = True

    def _head(self) -> str:
        self._make()
        return str(self.api.repo_info(self.repo_id, repo_type="dataset", timeout=TIMEOUT).sha)

    def _records_at(self, commit: str) -> list[Record]:
        seen, records = self._read
        if seen != commit:
            entries = self.api.list_repo_tree(
                self.repo_id, repo_type="dataset", revision=commit, recursive=True
            )
            files = sorted(
                (entry.path, entry.blob_id)
                for entry in entries
                if isinstance(entry, RepoFile) and entry.path.startswith(f"{FOLDER}/")
            )
            files = [key for key in files if key[0].endswith(".json")]
            self._fetch([key for key in files if key not in self._known], commit)
            for key in self._known.keys() - set(files):
                del self._known[key]
            records = [record for key in files if (record := self._known.get(key)) is not None]
            self._read = (commit, records)
        return list(records)

    def _fetch(self, new: list[tuple[str, str]], commit: str) -> None:
        """Read the files that are not known yet; their folder is deleted again."""
        if not new:
            return
        with tempfile.TemporaryDirectory(prefix="results-") as folder:
            snapshot_download(
                self.repo_id,
                repo_type="dataset",
                revision=commit,
                allow_patterns=[path for path, _ in new],
                local_dir=folder,
                endpoint=self.api.endpoint,
                token=self.api.token,
            )
            for key in new:
                try:
                    self._known[key] = parse_record((Path(folder) / key[0]).read_bytes())
                except ValueError:
                    LOGGER.exception("%s is left out", key[0])
                    self._known[key] = None
