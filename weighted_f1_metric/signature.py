"""The signature: one line that says how a number was made, and parses back.

Fields are joined by `|`; in values `%`, `|`, `:` and `+` are percent-encoded. Labels that are ints are
written as they are; a string that looks like an int, or like the word none, has its first character encoded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from .columns import Label
from .validation import is_integer
from .weighting import AVERAGES, Average, named_averages

VERSION = "0.1.0"


@dataclass(frozen=True)
class Signature:
    """How a number was made; `str()` gives the line and `parse_signature` reads it.

    Attributes:
        averages: the averages in order; one under another name is "name=average" ("name=function").
        beta, negative, macro, entropy, zero: the options of `f1_family`.
        track, truth, by, unk: those of `score_track`, or None.
        judgments: a short hash of the judgments that were used, or None.
        outside: "ignore" where labels outside the scored ones were left unscored, else None.
        groups, weights: short hashes of `groups` and `sample_weight`, or None.
        labels: a short hash of the scored labels, independent of their order.
        data: a short fingerprint of the references, independent of the order of their rows.
        v: the version of this package.
    """

    averages: tuple[str, ...]
    beta: float
    negative: Label | None
    macro: str
    entropy: str
    zero: float
    track: str | None
    truth: str | None
    by: str | None
    unk: str | None
    judgments: str | None
    outside: str | None
    groups: str | None
    weights: str | None
    labels: str
    data: str
    v: str

    def __str__(self) -> str:
        """The one line."""
        parts = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "averages":
                text = "+".join(_encoded(name) for name in value)
            elif field.name == "negative":
                text = _label_text(value)
            elif value is None:
                continue
            else:
                text = _number_text(value) if isinstance(value, (int, float)) else _encoded(value)
            parts.append(f"{field.name}:{text}")
        return "|".join(parts)


def signature(
    *,
    labels: Iterable[Label],
    data: str,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    negative_label: Label | None = None,
    macro_over: str = "supported",
    entropy_total: str = "all",
    zero_division: float = 0.0,
    track: str | None = None,
    truth: str | None = None,
    by: str | None = None,
    unk: str | None = None,
    judgments: str | None = None,
    outside: str = "error",
    groups: Mapping[Any, Label] | None = None,
    sample_weight: Any = None,
) -> str:
    """The signature line of a score.

    Args:
        labels: the scored labels (for a track: the positive relations).
        data: the fingerprint of the references, from `data_fingerprint`.
        averages, beta, negative_label, macro_over, entropy_total, zero_division, outside, groups,
            sample_weight: as given to `f1_family`.
        track, truth, by, unk: as given to `score_track`, with `truth` one prefix.
        judgments: the mark of the judgments, `Units.judgments`.

    >>> line = signature(labels=["a", "b"], data=data_fingerprint(["a", "b", "NA"]), negative_label="NA")
    >>> line.split("|")[:4]
    ['averages:micro+weighted+dodrans+entropy+macro', 'beta:1', 'negative:NA', 'macro:supported']
    >>> str(parse_signature(line)) == line
    True
    """
    names = []
    for name, average in named_averages(averages).items():
        if callable(average):
            names.append(f"{name}=function")
        else:
            names.append(name if name == average else f"{name}={average}")
    grouping = None
    if groups is not None:
        grouping = short_hash(sorted([str(label), str(group)] for label, group in groups.items()))
    weights = None
    if sample_weight is not None:
        weights = short_hash([float(weight) for weight in sample_weight])
    return str(
        Signature(
            averages=tuple(names),
            beta=float(beta),
            negative=negative_label,
            macro=macro_over,
            entropy=entropy_total,
            zero=float(zero_division),
            track=track,
            truth=truth,
            by=by,
            unk=unk,
            judgments=judgments,
            outside=None if outside == "error" else outside,
            groups=grouping,
            weights=weights,
            labels=label_hash(labels),
            data=data,
            v=VERSION,
        )
    )


def parse_signature(line: str) -> Signature:
    """The fields of a signature line.

    Raises:
        TypeError: `line` is no string.
        ValueError: a field is missing, unknown, there twice, or no number where one belongs.
    """
    if not isinstance(line, str):
        raise TypeError(f"A signature is one line of text; got {type(line).__name__}.")
    from urllib.parse import unquote

    known = [field.name for field in fields(Signature)]
    optional = {"track", "truth", "by", "unk", "judgments", "outside", "groups", "weights"}
    values: dict[str, Any] = dict.fromkeys(optional)
    seen: list[str] = []
    for part in line.strip().split("|"):
        name, colon, text = part.partition(":")
        if not colon or name not in known or name in seen:
            raise ValueError(
                f"Not a signature: {part!r} in {line!r}; fields are {', '.join(known)}, each once."
            )
        seen.append(name)
        if name == "averages":
            values[name] = tuple(unquote(item) for item in text.split("+"))
        elif name == "negative":
            values[name] = None if text == "none" else int(text) if _is_int(text) else unquote(text)
        elif name in ("beta", "zero"):
            try:
                values[name] = float(text)
            except ValueError:
                raise ValueError(f"Not a signature: {name} is {text!r}, not a number, in {line!r}.") from None
        else:
            values[name] = unquote(text)
    missing = [name for name in known if name not in seen and name not in optional]
    if missing:
        raise ValueError(f"Not a signature: {', '.join(missing)} missing in {line!r}.")
    return Signature(**values)


def comparable(first: str, second: str) -> bool:
    """Whether two signature lines agree in everything but `v`.

    >>> line = signature(labels=["a"], data="0123456789ab")
    >>> comparable(line, line.replace("v:", "v:0."))
    True
    >>> comparable(line, line.replace("beta:1", "beta:2"))
    False
    """
    return replace(parse_signature(first), v="") == replace(parse_signature(second), v="")


def label_hash(labels: Iterable[Label]) -> str:
    """A short hash of a set of labels, 12 hex digits; ints and strings differ, the order does not matter."""
    plain = [int(label) if is_integer(label) else str(label) for label in labels]
    return short_hash(sorted(plain, key=lambda label: (isinstance(label, str), label)))


def data_fingerprint(rows: Iterable[Any]) -> str:
    """A short fingerprint of reference rows (labels, or tuples of ids, relations, answers), 12 hex digits.

    The order of the rows does not matter, their number does.

    >>> data_fingerprint(["a", "b"]) == data_fingerprint(["b", "a"])
    True
    >>> data_fingerprint(["a", "b"]) == data_fingerprint(["a", "b", "b"])
    False
    """
    return _digest("\n".join(sorted(json.dumps(_plain(row), ensure_ascii=True) for row in rows)))


def short_hash(value: Any) -> str:
    """The first 12 hex digits of the SHA-256 of `value` as canonical JSON."""
    return _digest(json.dumps(value, ensure_ascii=True))


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]


def _plain(value: Any) -> Any:
    """`value` as JSON types: numpy scalars become Python numbers, tuples become lists."""
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def _is_int(text: str) -> bool:
    return re.fullmatch(r"-?\d+", text) is not None


def _label_text(label: Label | None) -> str:
    if label is None:
        return "none"
    if is_integer(label):
        return str(int(label))
    text = _encoded(str(label))
    if text and (_is_int(text) or text == "none"):
        return f"%{ord(text[0]):02X}{text[1:]}"
    return text


def _encoded(text: str) -> str:
    return re.sub(r"[%|:+\s]", lambda match: "".join(f"%{b:02X}" for b in match.group().encode()), text)


def _number_text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
