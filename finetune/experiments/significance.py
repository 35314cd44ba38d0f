"""How systems differ pair by pair: Welch's test over seeds, or with one seed the exchange of whole bags.

Holm's correction is over a family that is stated: all pairs of systems and all F1 measures of one truth on
one track. [B]'s own correction, over the averages of one pair, stands in the tables made after [B].
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hub_cards import as_text, markdown_table
from weighted_f1_metric import (
    SIGNIFICANCE_LEVEL,
    Comparison,
    compare_runs,
    holm_adjusted,
    p_text,
    randomization_test,
    reference_table,
    smallest_effect,
)

from ..data.relation_rows import RelationData
from ..report.evaluation import references_of
from ..report.report_tables import counted
from .run_results import OFFICIAL, TrackRuns
from .tables import Row, Table, of_seeds, truth_title

RESAMPLES = 10_000  # the smallest p is 1 / 10,001
RESAMPLING_SEED = 0


@dataclass(frozen=True)
class PairTest:
    """One F1 measure of system a against system b.

    Attributes:
        comparison: What `compare_runs` says.
        p_value: Of the test that `method` names.
        p_holm: With Holm's correction over the family of the truth; None where nothing was tested.
        reason: Why nothing was exchanged; else the reason of `comparison` holds.
    """

    comparison: Comparison
    p_value: float | None
    p_holm: float | None = None
    reason: str | None = None

    @property
    def difference(self) -> float:
        """Mean of a - mean of b."""
        difference = self.comparison.difference
        if difference is None:
            raise ValueError(f"The measure {self.comparison.measure!r} has no value in some run.")
        return difference

    @property
    def significant(self) -> bool | None:
        """Whether `p_holm` reaches the level; None where nothing was tested."""
        return None if self.p_holm is None else self.p_holm <= SIGNIFICANCE_LEVEL


# (a, b), a before b in the order of the systems -> key -> test.
PairTests = Mapping[tuple[str, str], Mapping[str, PairTest]]


def pair_tests(runs: TrackRuns, data: RelationData) -> PairTests:
    """Return every pair of systems by every F1 that ranks them.

    With several seeds the p-values are Welch's. With one seed they are those of the paired randomization test
    over bags (rows where the data have none), from the prediction files.
    """
    keys = {truth: list(runs.f1_keys(truth).values()) for truth in runs.truths}
    wanted = [key for own in keys.values() for key in own]
    scores = {system: runs.seed_scores(system) for system in runs.systems}
    exchanged = _Exchanges(runs, data) if len(runs.seeds) == 1 else None
    tests: dict[tuple[str, str], dict[str, PairTest]] = {}
    for a, b in itertools.combinations(runs.systems, 2):
        compared = compare_runs(runs_a=scores[a], runs_b=scores[b])
        if exchanged is None:
            tests[a, b] = {key: PairTest(compared[key], compared[key].p_value) for key in wanted}
        else:
            p_values, reason = exchanged.p_values(a, b)
            tests[a, b] = {key: PairTest(compared[key], p_values.get(key), reason=reason) for key in wanted}
    for family in keys.values():
        _correct(tests, family)
    return tests


def _correct(tests: dict[tuple[str, str], dict[str, PairTest]], family: Sequence[str]) -> None:
    """Fill in `p_holm` for all pairs and the measures of one truth."""
    places, p_values = [], []
    for pair, own in tests.items():
        for key in family:
            p_value = own[key].p_value
            if p_value is not None:
                places.append((pair, key))
                p_values.append(p_value)
    for (pair, key), p_holm in zip(places, holm_adjusted(p_values), strict=True):
        tests[pair][key] = replace(tests[pair][key], p_holm=p_holm)


class _Exchanges:
    """The randomization tests of systems with one seed; predictions are read once."""

    def __init__(self, runs: TrackRuns, data: RelationData) -> None:
        self.runs, self.data = runs, data
        self.records = {system: runs.records(system, runs.seeds[0]) for system in runs.systems}

    def p_values(self, a: str, b: str) -> tuple[dict[str, float], str | None]:
        """Return key -> p-value, or none and the reason."""
        without = [system for system in (a, b) if self.records[system] is None]
        if without:
            return {}, f"{without[0]} has no predictions of its only seed, and one seed has no spread"
        runs, data = self.runs, self.data
        shared = {
            "predictions_a": predictions_of(self.records[a] or [], runs, data),
            "predictions_b": predictions_of(self.records[b] or [], runs, data),
            "seed": RESAMPLING_SEED,
            "n_resamples": RESAMPLES,
            **scored_on(runs, data),
        }
        found = dict(randomization_test(**shared).p_values)
        if data.groups is not None and not runs.by_track:
            grouped = randomization_test(**shared, groups=data.groups, averages="macro")
            found[OFFICIAL] = grouped.p_values["macro_f1"]
        return found, None


def scored_on(runs: TrackRuns, data: RelationData) -> dict[str, Any]:
    """Return what all systems of a track are scored against, as the metric's functions take it."""
    if runs.by_track:
        return {
            "references": references_of(data, "test"),
            "track": runs.track,
            "relations": data.relations,
            "negative_relation": data.negative_relation,
        }
    return {
        "references": data.relations_of("test"),
        "bags": data.splits["test"].pair_names,
        "labels": list(data.label_names),
        "negative_label": data.negative_relation,
    }


def predictions_of(records: Sequence[dict[str, Any]], runs: TrackRuns, data: RelationData) -> Sequence[Any]:
    """Return a run's records as they are on a track, else the labels in the order of the test rows."""
    if runs.by_track:
        return records
    predicted = {record["instance_id"]: record["pred"] for record in records}
    return [predicted[row] for row in data.splits["test"].row_names]


def difference_text(test: PairTest, sign: int = 1) -> str:
    """Return a difference in points, times `sign`, and Holm's p-value."""
    p_value = "not tested" if test.p_holm is None else f"p = {p_text(test.p_holm)}"
    return f"{100 * sign * test.difference:+.2f} ({p_value})"


def method(runs: TrackRuns) -> str:
    """Return which test the p-values come from and what they are corrected for."""
    if len(runs.seeds) > 1:
        test = (
            f"Welch's t-test over {len(runs.seeds)} seeds, which asks whether other seeds would give the "
            "same order on this test split; it says nothing about other test data, and with few seeds finds "
            "large differences only"
        )
    else:
        test = (
            f"the paired randomization test over bags ({RESAMPLES:,} random exchanges, seed "
            f"{RESAMPLING_SEED}), which asks whether the order could be chance on test data like these; with "
            "one seed nothing is said about other seeds"
        )
    num_pairs = len(runs.systems) * (len(runs.systems) - 1) // 2
    num_measures = len(runs.f1_keys(runs.truths[0]))
    least = smallest_effect(len(runs.seeds), len(runs.seeds), num_tests=num_pairs * num_measures)
    size = "" if least is None else f"The first difference must be {least:.1f} sds of the seeds. "
    return (
        f"p-values: {test}. Holm's correction is over all {counted(num_pairs, 'pair')} of systems x "
        f"{num_measures} F1 measures of one truth; significant means p <= {SIGNIFICANCE_LEVEL} after it. "
        f"{size}What is not significant is not shown to be equal."
    )


def pairs_table(runs: TrackRuns, tests: PairTests) -> Table | None:
    """Return [B]'s Tables 3 and 4: the first system, a, against each of the others; in the CSV every pair.

    None for a single system.
    """
    if not tests:
        return None
    reference = next(iter(runs.systems))
    others = {
        b: {key: test.comparison for key, test in own.items()}
        for (a, b), own in tests.items()
        if a == reference
    }
    note = (
        f"In percent, {of_seeds(runs)}. a is {as_text(reference)}, the first system of the experiment, as "
        "PTR in [B]; a positive difference or d says that a scores higher. "
    )
    parts = []
    for truth in runs.truths:
        heading = f"**{truth_title(truth)}**\n\n" if truth else ""
        if len(runs.seeds) > 1:
            parts.append(heading + reference_table(others, reference=reference, truth=truth))
        else:
            cells = [
                [
                    as_text(b),
                    *(difference_text(tests[reference, b][key]) for key in runs.f1_keys(truth).values()),
                ]
                for b in others
            ]
            header = ["a - b, b is", *runs.f1_keys(truth)]
            parts.append(heading + markdown_table(header, cells))
    if len(runs.seeds) > 1:
        note += (
            "Welch's p, Holm's correction over the averages of the pair, Cohen's d with Sawilowsky's word."
        )
        if OFFICIAL in runs.f1_keys("").values():
            parts.append(
                "**The official score**: macro F1 over groups, direction counts\n\n"
                + reference_table(others, reference=reference, truth="official")
            )
    else:
        note += (
            "One seed has no standard deviation, so [B]'s p and d are null; in their place stands Holm's p "
            "of the randomization test above."
        )
    rows = [
        _csv_row(runs, truth, measure, key, (a, b), own[key])
        for truth in runs.truths
        for (a, b), own in tests.items()
        for measure, key in runs.f1_keys(truth).items()
    ]
    return Table(
        f"comparisons_{runs.track}",
        "[B] Tables 3 and 4: averages, significance and effect sizes",
        "\n\n".join([note, *parts]),
        rows,
    )


def _csv_row(
    runs: TrackRuns, truth: str, measure: str, key: str, pair: tuple[str, str], test: PairTest
) -> Row:
    own = test.comparison.to_json()
    one_seed = len(runs.seeds) == 1
    return {
        "track": runs.track,
        "truth": truth,
        "measure": measure,
        "key": key,
        "a": pair[0],
        "b": pair[1],
        "n": own["n_a"],
        **{name: own[name] for name in ("mean_a", "sd_a", "mean_b", "sd_b", "difference")},
        "p_welch": own["p_value"],
        "p_holm_of_pair": own["p_holm"],
        **{name: own[name] for name in ("cohens_d", "hedges_g", "effect")},
        "p_randomization": test.p_value if one_seed else None,
        "p_holm_of_family": test.p_holm,
        "reason": own["reason"] if test.reason is None else test.reason,
    }
