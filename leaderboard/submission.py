"""An uploaded prediction file -> the record of a submission: parsed, checked, scored; never executed."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from weighted_f1_metric import TRACKS, TRUTHS, VERSION, parse_signature, read_predictions, space

from .board import MEASURES
from .gold_data import GoldData

LIMITS = space.UploadLimits(num_bytes=64_000_000, num_rows=200_000)
MAX_NAME_LENGTH = 60
MAX_LINK_LENGTH = 200
MAX_RECORD_LENGTH = 1_000_000
_LINK = re.compile(r"https://[A-Za-z0-9.-]+(:\d+)?(/[^\s<>\"'`\\]*)?")
SHOWN_SCORES = frozenset(f"{truth}_{measure}" for truth in TRUTHS for measure in MEASURES)
_KEYS = {
    "id": str, "name": str, "link": str, "track": str, "submitted": str, "sha256": str, "scores": dict,
    "signatures": dict, "version": str,
}  # fmt: skip


def scored_record(
    *, name: str, link: str, track: str, predictions_file: str | None, gold: GoldData
) -> dict[str, Any]:
    """The record of a submission: who, when, all scores, and the signature of each truth.

    Args:
        name: what the board calls the model.
        link: where it is described, https://..., or "".
        track: "sent2sent", "bag2sent" or "bag2bag".
        predictions_file: JSON lines with an id and `pred`, and `scores` where given.
        gold: what it is scored against.

    Raises:
        UploadError: a name, link or file that is refused.
        TypeError, ValueError: as `read_predictions` and `score_track`.
    """
    shown = checked_name(name)
    checked_link = _checked_link(link)
    file = space.checked_upload(predictions_file, "prediction file", LIMITS)
    if track not in TRACKS:
        raise space.UploadError(f"`track` must be one of {', '.join(TRACKS)}; got {track!r:.40}.")
    scores = gold.score(track, read_predictions(file))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    now = datetime.datetime.now(datetime.UTC)
    key = hashlib.sha256(f"{shown}\n{digest}".encode()).hexdigest()[:8]
    return {
        "id": f"{now:%Y%m%dT%H%M%S}-{track}-{key}",
        "name": shown,
        "link": checked_link,
        "track": track,
        "submitted": now.isoformat(timespec="seconds"),
        "sha256": digest,
        "scores": flat_numbers(scores),
        "signatures": scores["signatures"],
        "version": VERSION,
    }


def flat_numbers(scores: Mapping[str, Any]) -> dict[str, float | int | None]:
    """The numbers of a result, without echo, lists and signatures."""
    return {key: value for key, value in scores.items() if value is None or isinstance(value, (int, float))}


def checked_name(name: str) -> str:
    """The name of a model, one line of printable characters.

    >>> checked_name("  my   model ")
    'my model'

    Raises:
        UploadError: it is empty, too long or not printable.
    """
    shown = " ".join(name.split())
    if not shown:
        raise space.UploadError("The model has no name; give one.")
    if len(shown) > MAX_NAME_LENGTH:
        raise space.UploadError(f"The name has {len(shown):,} characters, at most {MAX_NAME_LENGTH}.")
    if not shown.isprintable():
        raise space.UploadError(f"The name holds characters that cannot be printed: {shown!r}.")
    return shown


def _checked_link(link: str) -> str:
    link = link.strip()
    if link and (len(link) > MAX_LINK_LENGTH or not _LINK.fullmatch(link)):
        raise space.UploadError(
            f"The link must be an address that starts with https://, of at most {MAX_LINK_LENGTH} "
            f"characters; got {link!r:.60}."
        )
    return link


def check_new(record: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Checks that a submission is not on the board already.

    Raises:
        UploadError: another submission of the track has its name, or holds the same file.
    """
    for other in records:
        if other["track"] != record["track"]:
            continue
        if other["name"].casefold() == record["name"].casefold():
            raise space.UploadError(
                f"The name {record['name']!r} stands on the {record['track']} board already; give this model "
                "a name of its own."
            )
        if other["sha256"] == record["sha256"]:
            raise space.UploadError(
                f"This file was submitted to the {record['track']} board already, as {other['name']!r}."
            )


def record_text(record: Mapping[str, Any]) -> str:
    """A record as the text of its file."""
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def parse_record(text: str | bytes) -> dict[str, Any]:
    """A record from the text of its file, checked: whoever may write to the results may have made it.

    Of its scores those are kept that the board shows, and nothing but the keys of a record is kept.

    Raises:
        ValueError: too long, no JSON, a missing key, a shown score that is no number in [0, 1] or None, a
            signature that is none.
    """
    if len(text) > MAX_RECORD_LENGTH:
        raise ValueError(f"a result has {len(text):,} characters, at most {MAX_RECORD_LENGTH:,}.")
    try:
        record = json.loads(text)
    except RecursionError:
        raise ValueError("a result nests its JSON too deeply.") from None
    if not isinstance(record, dict) or any(
        not isinstance(record.get(key), kind) for key, kind in _KEYS.items()
    ):
        raise ValueError(f"a result must be an object with {', '.join(_KEYS)}.")
    checked_name(record["name"])
    _checked_link(record["link"])
    if record["track"] not in TRACKS:
        raise ValueError(f"a result has the unknown track {record['track']!r:.40}.")
    shown = {key: value for key, value in record["scores"].items() if key in SHOWN_SCORES}
    wrong = [key for key, value in shown.items() if not _is_fraction(value)]
    if wrong:
        raise ValueError(f"a result has scores that are no numbers in [0, 1]: {', '.join(wrong[:5])}.")
    for line in record["signatures"].values():
        if not isinstance(line, str):
            raise ValueError(f"a result has a signature that is no text: {line!r:.40}.")
        parse_signature(line)
    return {**{key: record[key] for key in _KEYS}, "scores": shown}


def _is_fraction(value: object) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)  # type: ignore[operator]
