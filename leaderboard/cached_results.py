"""Results as they were last read: the board stays up while the Hub is busy, and says how old it is."""

from __future__ import annotations

import datetime
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, Protocol

from weighted_f1_metric import space

from .submission import Record

MAX_AGE = 15.0  # seconds that a reading is shown without asking again
PATIENCE = 4.0  # seconds that a visitor waits for a newer one
LOGGER = logging.getLogger(__name__)


class Store(Protocol):
    """Where results are kept."""

    def records(self) -> list[Record]:
        """Return all submissions, oldest first."""

    def append(self, record: Any, counts: Any = None) -> None:
        """Add a submission."""

    def counts_of(self, record_id: str) -> Any:
        """Return the counts per bag of a submission."""


@dataclass(frozen=True)
class Reading:
    """Results at a time.

    Attributes:
        records: All submissions, oldest first.
        read_at: When they were read (UTC).
        is_current: False when a newer reading was asked for and did not come.
    """

    records: list[Record]
    read_at: datetime.datetime
    is_current: bool = True


class CachedResults:
    """The readings of a store: at most one at a time, and one every `max_age` seconds."""

    def __init__(
        self,
        store: Store,
        *,
        max_age: float = MAX_AGE,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read nothing yet."""
        self.store, self.max_age, self.patience, self.clock = store, max_age, patience, clock
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="results")
        self._reading: Reading | None = None
        self._future: Future[list[Record]] | None = None
        self._asked_at = -float("inf")

    def latest(self) -> Reading:
        """Return the results, newly read where that is due and the store answers in time.

        Raises:
            UploadError: They could not be read, now or ever before.
        """
        with self._lock:
            is_due = self.clock() - self._asked_at >= self.max_age
            if self._reading is not None and not is_due and self._future is None:
                return self._reading
            if self._future is None and (is_due or self._reading is None):
                self._asked_at = self.clock()
                self._future = self._pool.submit(self.store.records)
            future = self._future
        if future is not None:
            self._take(future)
        if self._reading is None:
            raise space.UploadError(
                "The results cannot be read at the moment; nothing is lost. Please load the page again in a "
                "minute."
            )
        return self._reading

    def append(self, record: Any, counts: Any = None) -> None:
        """Add a submission; the next reading is due at once. Raises as the store."""
        self.store.append(record, counts)
        self._asked_at = -float("inf")

    def _take(self, future: Future[list[Record]]) -> None:
        """Wait for a reading; when it fails or takes too long, the last one stands and says so."""
        try:
            records = future.result(timeout=self.patience)
        except FutureTimeout:
            self._mark_old()
            return  # it goes on; whoever comes next takes it
        except Exception:  # whatever the Hub or the disk does, the board shows what it knows
            LOGGER.exception("the results could not be read")
            self._mark_old()
        else:
            self._reading = Reading(records, datetime.datetime.now(datetime.timezone.utc))
        with self._lock:
            if self._future is future:
                self._future = None

    def _mark_old(self) -> None:
        if self._reading is not None:
            self._reading = Reading(self._reading.records, self._reading.read_at, is_current=False)
