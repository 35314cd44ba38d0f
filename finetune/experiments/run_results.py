"""Finished runs put together by track, checked to be comparable with each other and with the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weighted_f1_metric import AVERAGES, TRACKS, check_comparable, comparable, read_predictions

from ..data.bag_units import id_key
from ..data.relation_rows import RelationData
from ..report.evaluation import score_records
from ..report.results import PREDICTIONS, RESULTS


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


# [A]'s tables set DSGT beside the MAGT of the DS scope, so these two stand together here.
TRUTHS = ("dsgt", "magt_ds_scope", "magt")
OFFICIAL = "official_macro_f1"
ALL_RELATIONS = "macro, all relations"  # [A]'s F1


@dataclass(frozen=True)
class TrackRuns:
    """The runs of one track.

    Attributes:
        track: sent2sent, bag2sent or bag2bag.
        systems: Name -> its run, in the order given; all with the same seeds and comparable signatures.
        seeds: In order.
        signatures: Prefix -> signature line, that of the first run.
        missing: Systems that have runs on other tracks only.
    """

    track: str
    systems: Mapping[str, SystemRun]
    seeds: tuple[int, ...]
    signatures: Mapping[str, str]
    missing: tuple[str, ...]

    @property
    def truths(self) -> tuple[str, ...]:
        """The truth prefixes; ("",) for data that are scored without a track."""
        return tuple(truth for truth in TRUTHS if truth in self.signatures) or ("",)

    @property
    def by_track(self) -> bool:
        """Whether `score_track` made the numbers."""
        return self.truths != ("",)

    @property
    def echo(self) -> Mapping[str, Any] | None:
        """The scores of copying the distant labels, the same for every system; None without a track."""
        return next(iter(self.systems.values())).results["echo"]

    def seed_scores(self, system: str) -> list[dict[str, Any]]:
        """Return the flat numbers of each seed, with the signatures, as `compare_runs` takes them."""
        return scores_of_seeds(self.systems[system])

    def f1_keys(self, truth: str) -> dict[str, str]:
        """Return name -> key of every F1 that ranks systems under a truth.

        Macro over all relations on a track, the five averages, the official score where there is one.
        """
        prefix = f"{truth}_" if truth else ""
        keys = {ALL_RELATIONS: f"{prefix}macro_all_f1"} if truth else {}
        keys |= {average: f"{prefix}{average}_f1" for average in AVERAGES}
        if not truth and "official" in self.signatures:
            keys["official"] = OFFICIAL
        return keys

    def predictions_path(self, system: str, seed: int) -> Path:
        """Return where the predictions of the test units are."""
        return self.systems[system].folder / f"seed-{seed}" / PREDICTIONS

    def records(self, system: str, seed: int) -> list[dict[str, Any]] | None:
        """Return the predictions of the test units, or None when the file is not there."""
        path = self.predictions_path(system, seed)
        return list(read_predictions(path)) if path.is_file() else None


def scores_of_seeds(run: SystemRun) -> list[dict[str, Any]]:
    """Return the flat numbers of each seed of a run, with its signatures.

    Raises:
        ValueError: `results.json` is not what a run wrote, or lacks a seed.
    """
    try:
        seeds, signatures = run.results["seeds"], run.results["signature"]
        if set(seeds) != set(map(str, run.seeds)):
            raise ValueError(
                f"{run.folder / RESULTS} holds the seeds {', '.join(seeds) or 'none'}; the run of "
                f"{run.system!r} on {run.track} has {_listed(run.seeds)}. Run what is missing."
            )
        return [{**seeds[str(seed)]["test"], "signature": dict(signatures)} for seed in run.seeds]
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{run.folder / RESULTS} is not what a run of this command wrote ({error!r})."
        ) from error


def runs_by_track(runs: Sequence[SystemRun], data: RelationData) -> list[TrackRuns]:
    """Return the runs of each track that has some, in the order of TRACKS.

    Raises:
        ValueError: No runs; a system twice on a track or an unknown track; runs of one track with different
            seeds, data or signatures (beyond the version), or of other data than `data`.
    """
    if not runs:
        raise ValueError("There are no finished runs to compare.")
    found: dict[str, dict[str, SystemRun]] = {}
    for run in runs:
        if run.track not in TRACKS:
            raise ValueError(
                f"The track of {run.system!r} must be one of {', '.join(TRACKS)}; it is {run.track!r}."
            )
        own = found.setdefault(run.track, {})
        if run.system in own:
            raise ValueError(
                f"The system {run.system!r} has two runs on {run.track}: {own[run.system].folder} and "
                f"{run.folder}. Give each its own name."
            )
        own[run.system] = run
    names = dict.fromkeys(run.system for run in runs)
    return [
        _checked(track, found[track], tuple(name for name in names if name not in found[track]), data)
        for track in TRACKS
        if track in found
    ]


def _checked(
    track: str, systems: Mapping[str, SystemRun], missing: tuple[str, ...], data: RelationData
) -> TrackRuns:
    first = next(iter(systems.values()))
    scores = {name: scores_of_seeds(run) for name, run in systems.items()}
    for run in systems.values():
        if run.seeds != first.seeds:
            raise ValueError(
                f"The runs on {track} have different seeds: {first.system!r} {_listed(first.seeds)}, "
                f"{run.system!r} {_listed(run.seeds)}. Run every system with the same seeds."
            )
        prints = [one.results["data"]["fingerprint"] for one in (first, run)]
        if prints[0] != prints[1]:
            raise ValueError(
                f"The runs on {track} have different data: {first.system!r} fingerprint {prints[0]}, "
                f"{run.system!r} {prints[1]}. Run every system on the same data."
            )
    check_comparable(scores)
    runs = TrackRuns(
        track=track,
        systems=systems,
        seeds=first.seeds,
        signatures=first.results["signature"],
        missing=missing,
    )
    _check_data(runs, data)
    return runs


def _check_data(runs: TrackRuns, data: RelationData) -> None:
    """Refuse data whose test split is not the one that the runs were scored on: their signatures tell."""
    key = id_key(runs.track, "test")
    names = dict.fromkeys(data.splits["test"].units(runs.track))
    nothing = [{key: name, "pred": data.negative_relation} for name in names]
    scores = score_records(
        data=data, split="test", track=runs.track, records=nothing, multi_label=runs.by_track
    )
    for prefix, line in scores["signature"].items():
        own = runs.signatures.get(prefix)
        if own is None or not comparable(own, line):
            raise ValueError(
                f"The runs on {runs.track} were scored on other data than those given: their signature "
                f"{'of ' + prefix if prefix else ''} is {own}, that of the data {line}. Read the data with "
                "the flags of the runs."
            )


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
