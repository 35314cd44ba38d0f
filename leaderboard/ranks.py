"""Rank sets and groups of the board's systems, made from the kept counts while visitors read on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from functools import lru_cache
from typing import Any

from weighted_f1_metric import RankIntervals, rank_counts

from .board import MEASURES, Record
from .gold_data import GoldData
from .kept_counts import count_matrices

MAX_RANKED = 40  # systems; the time grows with their square
PATIENCE = 4.0  # seconds that a visitor waits for ranks
SEED = 0
LOGGER = logging.getLogger(__name__)


class BoardRanks:
    """The ranks of the systems of each track and truth, made once for each set of systems."""

    def __init__(
        self, gold: GoldData, counts_of: Callable[[str], Any], *, patience: float = PATIENCE
    ) -> None:
        """Make nothing yet; `counts_of` gives the kept counts of the id of a record."""
        self.gold, self.patience = gold, patience
        self.bags = gold.unit_ids("bag2bag")
        self._matrices = lru_cache(maxsize=3 * MAX_RANKED)(  # 0.3 MB each at the size of NYT-H
            lambda record_id, truth: count_matrices(counts_of(record_id), truth, self.bags, gold.relations)
        )
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ranks")
        self._made: dict[tuple[str, str], tuple[list[str], Future[RankIntervals | None]]] = {}

    def latest(self, track: str, truth: str, records: Sequence[Record]) -> tuple[RankIntervals | None, str]:
        """Return the ranks of the best `MAX_RANKED` records, and what is to be said of them.

        None where there are fewer than two systems, where their counts are not kept or cannot be read, and
        while the ranks are being made.

        Args:
            track: the track of the records.
            truth: their truth.
            records: comparable ones, as `records_of` returns them.
        """
        best = sorted(records, key=lambda record: -(record["scores"].get(f"{truth}_micro_f1") or 0.0))
        chosen = best[:MAX_RANKED]
        if len(chosen) < 2:
            return None, ""
        ids = sorted(record["id"] for record in chosen)
        with self._lock:
            made, future = self._made.get((track, truth), ([], None))
            if future is None or made != ids:
                if future is not None:
                    future.cancel()
                future = self._pool.submit(self._ranked, truth, chosen)
                self._made[track, truth] = ids, future
        try:
            ranks = future.result(timeout=self.patience)
        except FutureTimeout:
            return None, "The rank sets are being made; load the page again in a minute."
        except Exception:  # whatever the Hub or a file does, the board has its scores
            LOGGER.exception("the systems could not be ranked")
            with self._lock:
                self._made.pop((track, truth), None)
            return None, "The rank sets cannot be made at the moment."
        left = len(records) - (0 if ranks is None else len(next(iter(ranks.rankings.values())).systems))
        return ranks, f"Not ranked: {left} of {len(records)} models." if left else ""

    def _ranked(self, truth: str, records: Sequence[Record]) -> RankIntervals | None:
        systems = {}
        for record in records:
            try:
                systems[record["name"]] = self._matrices(record["id"], truth)
            except (ValueError, FileNotFoundError):
                LOGGER.exception("%s has no counts that can be ranked", record["id"])
        if len(systems) < 2:
            return None
        # One run says nothing of other seeds, and few systems' seeds little of those of others.
        several = all(len(runs) > 1 for runs in systems.values())
        return rank_counts(
            systems=systems,
            labels=self.gold.relations,
            truths=[truth],
            seed=SEED,
            question="seeds" if several else "runs",
            measures=[f"{truth}_{measure}" for measure in MEASURES if measure != "auc"],
        )
