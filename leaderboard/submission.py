"""Uploaded prediction files -> the record of a submission: parsed, checked, scored; never executed."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from weighted_f1_metric import (
    TRACKS,
    TRUTHS,
    VERSION,
    ScoredTrack,
    bounds_of_scored,
    mean_bounds,
    parse_json,
    parse_signature,
    read_predictions,
    space,
)

from .board import MEASURES
from .gold_data import GoldData
from .kept_counts import counts_of_run, counts_of_runs
from .names import checked_name, skeleton

LIMITS = space.UploadLimits(num_bytes=64_000_000, num_rows=200_000)
MAX_RUNS = 10
MAX_LINK_LENGTH = 200
MAX_RECORD_LENGTH = 1_000_000
_ID = re.compile(r"[A-Za-z0-9-]{1,100}")  # part of file names
_LINK = re.compile(r"https://[A-Za-z0-9.-]+(:\d+)?(/[^\s<>\"'`\\]*)?")
SHOWN_SCORES = frozenset(f"{truth}_{measure}" for truth in TRUTHS for measure in MEASURES)
_KEYS = {
    "id": str, "name": str, "link": str, "track": str, "submitted": str, "sha256": str, "scores": dict,
    "signatures": dict, "version": str,
}  # fmt: skip
# Keys that records of earlier versions lack, with what they mean there.
_LATER_KEYS: dict[str, Any] = {
    "sd": {}, "bounds": {}, "num_runs": 1, "files": [], "login": "", "revision": 1,
}  # fmt: skip
Record = dict[str, Any]


def scored_record(**submission: Any) -> Record:
    """Return the record of a submission without the counts; arguments as in `scored_submission`."""
    return scored_submission(**submission)[0]


def scored_submission(
    *,
    name: str,
    link: str,
    track: str,
    predictions_file: str | Sequence[str] | None,
    gold: GoldData,
    login: str = "",
) -> tuple[Record, dict[str, Any]]:
    """Return the record of a submission, and its counts per bag.

    The record says who, when, the mean and sample standard deviation of all scores over the runs, the bounds
    of MAGT (as `mean_bounds`), and the signature of each truth. The counts are what other measures, ranks and
    paired tests can be made from later: for each run and truth the cells [bag, relation, true positives,
    predicted, support] that are not all 0, and what each bag adds to N.

    Args:
        name: What the board calls the model.
        link: Where it is described, https://..., or "".
        track: "sent2sent", "bag2sent" or "bag2bag".
        predictions_file: A file for each run (seed): JSON lines with an id and `pred`, and `scores` where
            given.
        gold: What it is scored against.
        login: Who submits; "" when that is not known.

    Raises:
        UploadError: A name, link or file that is refused.
        TypeError, ValueError: As `read_predictions` and `score_track`.
    """
    shown = checked_name(name)
    checked_link = _checked_link(link)
    given = (
        [predictions_file]
        if predictions_file is None or isinstance(predictions_file, str)
        else predictions_file
    )
    if len(given) > MAX_RUNS:
        raise space.UploadError(f"There are {len(given)} files, at most {MAX_RUNS}: one for each seed.")
    files = [space.checked_upload(file, "prediction file", LIMITS) for file in given or [None]]
    if track not in TRACKS:
        raise space.UploadError(f"`track` must be one of {', '.join(TRACKS)}; got {track!r:.40}.")
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    if len(set(digests)) < len(digests):
        raise space.UploadError("Two of the files are the same; each seed has a file of its own.")
    runs, counts, bounds = [], [], []
    for file in files:  # one at a time: only the numbers of a run are kept
        scored = gold.scored(track, read_predictions(file))
        runs.append(flat_numbers(scored.scores))
        bounds.append(shown_bounds(scored))
        counts.append(counts_of_run(scored))
    digest = (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
    )
    now = datetime.datetime.now(datetime.timezone.utc)
    key = hashlib.sha256(f"{shown}\n{digest}".encode()).hexdigest()[:8]
    record = {
        "id": f"{now:%Y%m%dT%H%M%S}-{track}-{key}",
        "name": shown,
        "link": checked_link,
        "track": track,
        "submitted": now.isoformat(timespec="seconds"),
        "sha256": digest,
        "files": digests,
        "login": login,
        "revision": 1,
        "num_runs": len(runs),
        **mean_and_sd(runs),
        "bounds": mean_bounds(bounds),
        "signatures": scored.signatures,
        "version": VERSION,
    }
    return record, counts_of_runs(scored, counts)


def shown_bounds(scored: ScoredTrack) -> dict[str, tuple[float, float]]:
    """Return the least and greatest MAGT of the measures that the board shows; nothing without MAGT."""
    found = bounds_of_scored(scored) or {}
    return {key: ends for key, ends in found.items() if key in MEASURES}


def mean_and_sd(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return mean and sample standard deviation of each number over the runs; no sd of one run.

    >>> mean_and_sd([{"f1": 0.5}, {"f1": 0.75}])
    {'scores': {'f1': 0.625}, 'sd': {'f1': 0.1767766952966369}}
    """
    if len(runs) == 1:
        return {"scores": dict(runs[0]), "sd": {}}
    columns = {key: [run[key] for run in runs] for key in runs[0]}
    whole = {key: None not in values for key, values in columns.items()}
    return {
        "scores": {key: statistics.fmean(v) if whole[key] else None for key, v in columns.items()},
        "sd": {key: statistics.stdev(v) if whole[key] else None for key, v in columns.items()},
    }


def flat_numbers(scores: Mapping[str, Any]) -> dict[str, float | int | None]:
    """Return the numbers of a result, without echo, lists and signatures."""
    return {key: value for key, value in scores.items() if value is None or isinstance(value, (int, float))}


def _checked_link(link: str) -> str:
    link = link.strip()
    if link and (len(link) > MAX_LINK_LENGTH or not _LINK.fullmatch(link)):
        raise space.UploadError(
            f"The link must be an address that starts with https://, of at most {MAX_LINK_LENGTH} "
            f"characters; got {link!r:.60}."
        )
    return link


def check_new(record: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Check that a submission is not on the board already.

    Raises:
        UploadError: Somebody else's submission of the track has its name, or one that looks like it; or
            another submission holds one of its files.
    """
    own = set(record.get("files") or [record["sha256"]])
    for other in records:
        if other["track"] != record["track"]:
            continue
        if own & set(other.get("files") or [other["sha256"]]):
            raise space.UploadError(
                f"This file was submitted to the {record['track']} board already, as {other['name']!r}."
            )
        if skeleton(other["name"]) == skeleton(record["name"]) and not _is_owner(record, other):
            raise space.UploadError(
                f"The name {other['name']!r} stands on the {record['track']} board already; give this model "
                "a name of its own." + (" (Log in as its owner to update it.)" if other.get("login") else "")
            )


def check_quota(record: Mapping[str, Any], records: Sequence[Mapping[str, Any]], quota: int | None) -> None:
    """Check that the submitter has something left of the day's quota (UTC); without login all share one.

    Raises:
        UploadError: Nothing is left.
    """
    day, login = record["submitted"][:10], record["login"]
    used = sum(other["submitted"][:10] == day and other.get("login", "") == login for other in records)
    if quota is not None and used >= quota:
        whose = f"{login} has" if login else "visitors without a login have"
        raise space.UploadError(
            f"Today {whose} submitted {used} times; {quota} a day are taken, so that the scores do not give "
            "the answers of the test set away. The next day begins at 00:00 UTC."
        )


def revision_of(record: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of this version of a model: 1, or one more than its owner's last."""
    return 1 + max(
        (
            other.get("revision", 1)
            for other in records
            if other["track"] == record["track"]
            and skeleton(other["name"]) == skeleton(record["name"])
            and _is_owner(record, other)
        ),
        default=0,
    )


def latest(records: Sequence[Record]) -> list[Record]:
    """Return the last version of each model on each track, in the order of the records."""
    by_revision = sorted(records, key=lambda record: record.get("revision", 1))
    last = {(record["track"], skeleton(record["name"])): record for record in by_revision}
    kept = {id(record) for record in last.values()}
    return [record for record in records if id(record) in kept]


def _is_owner(record: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(record.get("login")) and record["login"] == other.get("login")


def record_text(record: Mapping[str, Any]) -> str:
    """Return a record as the text of its file."""
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def parse_record(text: str | bytes) -> Record:
    """Return a record from the text of its file, checked: whoever may write to the results may have made it.

    Of its scores those are kept that the board shows, and nothing but the keys of a record is kept.

    Raises:
        ValueError: too long, no JSON, a missing key, a shown score that is no number in [0, 1] or None, a
            signature that is none.
    """
    if len(text) > MAX_RECORD_LENGTH:
        raise ValueError(f"a result has {len(text):,} characters, at most {MAX_RECORD_LENGTH:,}.")
    try:
        record = parse_json(text if isinstance(text, str) else text.decode())
    except ValueError as error:
        raise ValueError(f"a result cannot be read: {error}.") from None
    if not isinstance(record, dict):
        raise ValueError(f"a result must be an object with {', '.join(_KEYS)}.")
    record = {**_LATER_KEYS, **record}
    kinds = _KEYS | {key: type(value) for key, value in _LATER_KEYS.items()}
    if any(type(record.get(key)) is not kind for key, kind in kinds.items()):
        raise ValueError(f"a result must be an object with {', '.join(_KEYS)}.")
    checked_name(record["name"])
    _checked_link(record["link"])
    if not _ID.fullmatch(record["id"]):
        raise ValueError(f"a result has the id {record['id']!r:.40}, which is no name of a file.")
    if record["track"] not in TRACKS:
        raise ValueError(f"a result has the unknown track {record['track']!r:.40}.")
    for part in ("scores", "sd"):
        record[part] = {key: value for key, value in record[part].items() if key in SHOWN_SCORES}
        wrong = [key for key, value in record[part].items() if not _is_fraction(value)]
        if wrong:
            raise ValueError(f"a result has {part} that are no numbers in [0, 1]: {', '.join(wrong[:5])}.")
    record["bounds"] = {key: ends for key, ends in record["bounds"].items() if key in MEASURES}
    for key, ends in record["bounds"].items():
        if not (
            isinstance(ends, list) and len(ends) == 2 and all(map(_is_fraction, ends)) and None not in ends
        ):
            raise ValueError(f"a result has bounds of {key} that are no two numbers in [0, 1].")
    if not all(isinstance(file, str) for file in record["files"]):
        raise ValueError("a result has files that are no text.")
    for line in record["signatures"].values():
        if not isinstance(line, str):
            raise ValueError(f"a result has a signature that is no text: {line!r:.40}.")
        parse_signature(line)
    return {key: record[key] for key in kinds}


def _is_fraction(value: object) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)  # type: ignore[operator]
