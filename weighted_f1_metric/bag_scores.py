"""Sums of bags' counts -> the whole family under every truth, for many resamples in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .bag_counts import BagCounts, split_counts
from .fscore import averaged_scores
from .validation import check_choice
from .weighting import AVERAGES, Average

__all__ = ["FamilyOptions"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FamilyOptions:
    """The options of `f1_family` that choose what is computed from counts."""

    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES
    beta: float = 1.0
    zero_division: float = 0.0
    macro_over: str = "supported"
    entropy_total: str = "all"

    def scores(self, counts: BagCounts, sums: FloatArray) -> dict[str, FloatArray]:
        """Return measure -> its values (num_resamples,) from sums of counts (num_resamples, num_columns).

        On a track the keys carry the prefix of the truth, and macro over all relations is among them.

        Raises:
            ValueError: An option out of its range.
        """
        check_choice("entropy_total", self.entropy_total, ("all", "positive"))
        found: dict[str, FloatArray] = {}
        for place, truth in enumerate(counts.truths):
            parts = split_counts(sums, len(counts.labels), place)
            if self.entropy_total == "positive":
                parts["total"] = parts["support"].sum(axis=-1)
            prefix = f"{truth}_" if truth else ""
            found |= self._averages(parts, self.averages, self.macro_over, prefix)
            if truth:
                found |= self._averages(parts, {"macro_all": "macro"}, "labels", prefix)
        return found

    def _averages(
        self,
        parts: Mapping[str, FloatArray],
        averages: Average | Sequence[Average] | Mapping[str, Average],
        macro_over: str,
        prefix: str,
    ) -> dict[str, FloatArray]:
        scores = averaged_scores(
            **parts,
            averages=averages,
            beta=self.beta,
            zero_division=self.zero_division,
            macro_over=macro_over,
        )
        return {f"{prefix}{name}": values for name, values in scores.values.items()}
