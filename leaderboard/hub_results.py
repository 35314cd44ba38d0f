"""Results in a dataset repository on the Hub: one commit for each submission, made on the state that was
read."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd, HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError

from .local_results import FOLDER, Record, read_results
from .submission import check_new, record_text

TRIES = 12
MAX_WAIT = 2.0  # seconds


class HubResults:
    """Results in a dataset repository; several servers may use it at once."""

    def __init__(self, repo_id: str, *, api: HfApi | None = None) -> None:
        """Makes the repository, private, when it is not there."""
        self.repo_id = repo_id
        self.api = api or HfApi()
        self.api.create_repo(repo_id, repo_type="dataset", private=True, exist_ok=True)
        self._lock = threading.Lock()
        self._read: tuple[str, list[Record]] = ("", [])
        self._known: dict[tuple[str, int, int], Record | None] = {}

    def records(self) -> list[Record]:
        """All submissions, oldest first, as the repository holds them now.

        Raises:
            HfHubHTTPError, OSError: the repository cannot be read.
        """
        return self._records_at(self._head())

    def append(self, record: Mapping[str, Any]) -> None:
        """Adds a submission by one commit; where somebody else was faster, reads again and tries again.

        Raises:
            UploadError: as `check_new`.
            HfHubHTTPError: the Hub refuses, or kept failing.
        """
        addition = CommitOperationAdd(f"{FOLDER}/{record['id']}.json", record_text(record).encode("utf-8"))
        with self._lock:  # submissions to this server wait for each other
            for attempt in range(1, TRIES + 1):
                head = self._head()
                records = self._records_at(head)
                if any(other["id"] == record["id"] for other in records):
                    return  # an earlier try arrived and only its answer was lost
                check_new(record, records)
                try:
                    self.api.create_commit(
                        self.repo_id,
                        [addition],
                        commit_message=f"Result {record['id']}",
                        repo_type="dataset",
                        parent_commit=head,
                    )
                    return
                except HfHubHTTPError as error:
                    status = error.response.status_code
                    if attempt == TRIES or (status not in (412, 429) and status < 500):
                        raise
                time.sleep(random.uniform(0, min(MAX_WAIT, 0.1 * 2**attempt)))

    def _head(self) -> str:
        return str(self.api.repo_info(self.repo_id, repo_type="dataset").sha)

    def _records_at(self, commit: str) -> list[Record]:
        seen, records = self._read
        if seen != commit:
            folder = snapshot_download(
                self.repo_id,
                repo_type="dataset",
                revision=commit,
                allow_patterns=f"{FOLDER}/*.json",
                endpoint=self.api.endpoint,
                token=self.api.token,
            )
            records = read_results(Path(folder) / FOLDER, self._known)
            self._read = (commit, records)
        return list(records)
