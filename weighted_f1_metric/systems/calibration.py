"""What a system's scores are worth: calibration, and what is gained by leaving unsure predictions out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..table import Table, number, percent
from ..track_statistics import TrackStatistics
from ..units import truth_name
from ..validation import check_real, is_integer

WANTED_PRECISION = 0.9


@dataclass(frozen=True)
class Calibration:
    """The scores of a system's predictions under one truth.

    Attributes:
        num_predictions: Predicted (unit, relation) pairs that the truth counts.
        precision: Their share that is right.
        mean_score: Of them, or None where a score lies outside [0, 1].
        ece: Expected calibration error over equal-mass bins, in [0, 1], or None likewise (the scores are no
            probabilities then).
        bins: Mean score, precision and size of each bin, lowest scores first; empty likewise.
        aurc: Area under the risk-coverage curve: the mean over coverages of 1 - precision, when predictions
            are kept from the highest score on; ties count as in random order.
        coverage_at: The largest share of the predictions that can be kept with at least `wanted` precision.
        threshold_at: The score from which they are kept; None when none can be kept.
        wanted: That precision.
        least_sum, greatest_sum: Of the scores over all positive relations of a unit: above 1 they are no
            distribution over relations (attention pooling, sigmoids).
        curve: (coverage, risk) at each distinct score, from the highest on.
    """

    num_predictions: int
    precision: float
    mean_score: float | None
    ece: float | None
    bins: tuple[tuple[float, float, int], ...]
    aurc: float
    coverage_at: float
    threshold_at: float | None
    wanted: float
    least_sum: float
    greatest_sum: float
    curve: tuple[tuple[float, float], ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values, without the curve."""
        return {name: value for name, value in asdict(self).items() if name != "curve"}


def calibration(
    statistics: TrackStatistics, prefix: str, *, num_bins: int = 10, wanted: float = WANTED_PRECISION
) -> Calibration | None:
    """Return what the scores are worth under a truth; None without scores or predictions.

    Only predicted pairs are looked at: their score is the system's confidence, being in the gold of the truth
    is what it should foretell.

    Args:
        statistics: Of the system.
        prefix: The truth.
        num_bins: Of the reliability diagram; equal-mass, equal scores stay together.
        wanted: The precision that `coverage_at` asks for, in (0, 1].

    Raises:
        TypeError: `num_bins` is no int.
        ValueError: `num_bins` below 1, `wanted` outside (0, 1].

    Reference: Naeini et al. 2015 (ECE), Nguyen and O'Connor 2015 (equal-mass bins), Geifman and El-Yaniv 2017
    (risk and coverage).
    """
    if not is_integer(num_bins):
        raise TypeError(f"`num_bins` must be an int; got {num_bins!r}.")
    if num_bins < 1 or not check_real("wanted", wanted, low=0, high=1):
        raise ValueError(f"`num_bins` must be at least 1 and `wanted` above 0; got {num_bins} and {wanted}.")
    scores = statistics.predictions.scores
    truth = statistics.truths[prefix]
    if scores is None or not len(truth.predicted.unit):
        return None
    score = scores[truth.predicted.unit, truth.predicted.relation]
    width = scores.shape[1]
    right = np.isin(
        truth.predicted.unit * width + truth.predicted.relation,
        truth.true_positives.unit * width + truth.true_positives.relation,
    )
    curve = _curve(score, right)
    kept = [place for place, (_, risk, _) in enumerate(curve) if 1 - risk >= wanted - 1e-12]
    probable = bool(np.all((score >= 0) & (score <= 1)))
    bins = _bins(score, right, num_bins) if probable else ()
    sums = scores.sum(axis=1)
    return Calibration(
        num_predictions=len(score),
        precision=float(right.mean()),
        mean_score=float(score.mean()) if probable else None,
        ece=math.fsum(size * abs(mean - share) for mean, share, size in bins) / len(score)
        if probable
        else None,
        bins=bins,
        aurc=_area(score, right),
        coverage_at=curve[kept[-1]][0] if kept else 0.0,
        threshold_at=curve[kept[-1]][2] if kept else None,
        wanted=wanted,
        least_sum=float(sums.min()),
        greatest_sum=float(sums.max()),
        curve=tuple((coverage, risk) for coverage, risk, _ in curve),
    )


def _by_score(score: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct scores from the highest on, how many predictions have each, and how many are right."""
    values, place, number_of = np.unique(-score, return_inverse=True, return_counts=True)
    return -values, number_of, np.bincount(place, weights=right)


def _curve(score: np.ndarray, right: np.ndarray) -> list[tuple[float, float, float]]:
    """Coverage, risk and score at each distinct score."""
    values, number_of, hits = _by_score(score, right)
    kept, found = np.cumsum(number_of), np.cumsum(hits)
    return list(zip((kept / len(score)).tolist(), (1 - found / kept).tolist(), values.tolist(), strict=True))


def _area(score: np.ndarray, right: np.ndarray) -> float:
    """The mean risk over the coverages 1/n, ..., 1, in expectation over orders of equal scores."""
    _, number_of, hits = _by_score(score, right)
    share = np.repeat(hits / number_of, number_of)
    kept = np.arange(1, len(score) + 1)
    return float(np.mean(1 - np.cumsum(share) / kept))


def _bins(score: np.ndarray, right: np.ndarray, num_bins: int) -> tuple[tuple[float, float, int], ...]:
    """Mean score, precision and size of about equally large groups; equal scores share one."""
    values, number_of, hits = (array[::-1] for array in _by_score(score, right))
    middle = np.cumsum(number_of) - number_of / 2
    group = np.minimum((middle * num_bins / len(score)).astype(np.int64), num_bins - 1)
    sizes = np.bincount(group, weights=number_of, minlength=num_bins)
    means = np.bincount(group, weights=values * number_of, minlength=num_bins)
    rights = np.bincount(group, weights=hits, minlength=num_bins)
    return tuple(
        (float(mean / size), float(good / size), int(size))
        for mean, good, size in zip(means, rights, sizes, strict=True)
        if size
    )


def calibration_table(found: Mapping[str, Calibration]) -> Table:
    """Return the table of calibrations, a row a truth.

    Args:
        found: Prefix -> its calibration.
    """
    wanted = next(iter(found.values())).wanted
    header = ["scores of the predictions", "precision", "mean score", "ECE", "AURC"]
    header += [f"kept at {percent(wanted, digits=0)}% precision", "threshold"]
    rows = [
        [
            truth_name(prefix),
            percent(one.precision),
            percent(one.mean_score),
            number(one.ece),
            number(one.aurc),
            percent(one.coverage_at),
            number(one.threshold_at),
        ]
        for prefix, one in found.items()
    ]
    return Table(header, rows)


def calibration_notes(found: Mapping[str, Calibration]) -> list[str]:
    """Return what is to be known of the scores before their calibration is read."""
    some = next(iter(found.values()))
    lines = []
    if some.ece is None:
        lines.append(
            "Some scores lie outside [0, 1]: they are no probabilities, and have no calibration error."
        )
    if some.greatest_sum > 1 + 1e-6:
        lines.append(
            f"The scores of a unit sum to {number(some.least_sum)} to {number(some.greatest_sum)}: each is "
            "read by itself, not as a part of a distribution."
        )
    return lines
