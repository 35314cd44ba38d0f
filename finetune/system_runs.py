"""What an experiment's runs are to those who compare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SystemRun:
    """One finished run of an experiment: a system on a track, all seeds.

    Attributes:
        system: The name in the experiment file.
        track: sent2sent, bag2sent or bag2bag.
        folder: Its output folder, with `results.json` and `seed-<n>/predictions.jsonl`.
        results: What `results.json` holds; see `results.py` for its keys.
        seeds: In the order in which they were run.
    """

    system: str
    track: str
    folder: Path
    results: Mapping[str, Any]
    seeds: tuple[int, ...]
