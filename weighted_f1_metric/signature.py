"""The signature: one line that says how a number was made, and parses back.

Fields are joined by `|`; in values `%`, `|`, `:` and `+` are percent-encoded. Labels that are ints are
written as they are; a string that looks like an int, or like the word none, has its first character encoded.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .columns import Label
from .row_sources import NESTED, REFERENCE_KEYS, is_table, read_columns, row_source
from .validation import is_integer
from .weighting import AVERAGES, Average, exponent, named_averages

VERSION = "0.1.0"


@dataclass(frozen=True)
class Signature:
    """How a number was made; `str()` gives the line and `parse_signature` reads it.

    Attributes:
        averages: the averages in order; one under another name is "name=average", a function
            "name=function-<hash>", of the weights that it gives.
        beta, negative, macro, entropy, zero: the options of `f1_family`.
        track, truth, by, unk: those of `score_track`, or None.
        judgments: a short hash of the judgments that were used, or None.
        outside: "ignore" where labels outside the scored ones were left unscored, else None.
        groups, weights: short hashes of `groups`, and of `sample_weight` with the rows it weighs, or None.
        labels: a short hash of the scored labels, independent of their order.
        data: a short fingerprint of the references, independent of the order of their rows, or None.
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
    data: str | None
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
    data: Any,
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
    """Return the signature line of a score.

    Args:
        labels: the scored labels (for a track: the positive relations).
        data: the references, in any form that `data_fingerprint` takes, its fingerprint of them, or None when
            unknown. With `sample_weight` the references themselves, a row for each weight.
        averages, beta, negative_label, macro_over, entropy_total, zero_division, outside, groups,
            sample_weight: as given to `f1_family`.
        track, truth, by, unk: as given to `score_track`, with `truth` one prefix.
        judgments: the mark of the judgments, `Units.judgments`.

    >>> line = signature(labels=["a", "b"], data=["a", "b", "NA"], negative_label="NA")
    >>> line.split("|")[:4]
    ['averages:micro+weighted+dodrans+entropy+macro', 'beta:1', 'negative:NA', 'macro:supported']
    >>> str(parse_signature(line)) == line
    True

    Raises:
        TypeError: `data` is neither rows nor a fingerprint.
        ValueError: `sample_weight` with a fingerprint, which has lost the order, or with another number of
            rows.
    """
    labels = list(labels)
    names = []
    for name, average in named_averages(averages).items():
        if callable(average):
            names.append(f"{name}=function-{_weights_mark(average, len(labels))}")
        elif average in AVERAGES:
            names.append(name if name == average else f"{name}={average}")
        else:  # "n^.5" is "n^0.5"
            text = f"n^{_number_text(exponent(average))}"
            names.append(text if name == average else f"{name}={text}")
    if isinstance(data, str) and not data:
        raise TypeError("`data` must be the references, their fingerprint, or None; got ''.")
    grouping = None
    if groups is not None:
        grouping = short_hash(sorted([str(label), str(group)] for label, group in groups.items()))
    weights = None
    if sample_weight is not None:
        weights = _weighted_rows_mark(data, sample_weight)
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
            data=data if data is None or isinstance(data, str) else data_fingerprint(data),
            v=VERSION,
        )
    )


def parse_signature(line: str) -> Signature:
    """Return the fields of a signature line.

    Raises:
        TypeError: `line` is no string.
        ValueError: a field is missing, unknown, there twice, or no number where one belongs.
    """
    if not isinstance(line, str):
        raise TypeError(f"A signature is one line of text; got {type(line).__name__}.")
    from urllib.parse import unquote

    known = [field.name for field in fields(Signature)]
    optional = {"track", "truth", "by", "unk", "judgments", "outside", "groups", "weights", "data"}
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
    """Return whether two signature lines agree in everything but `v`.

    >>> line = signature(labels=["a"], data="0123456789ab")
    >>> comparable(line, line.replace("v:", "v:0."))
    True
    >>> comparable(line, line.replace("beta:1", "beta:2"))
    False
    """
    return replace(parse_signature(first), v="") == replace(parse_signature(second), v="")


def label_hash(labels: Iterable[Label]) -> str:
    """Return a short hash of a set of labels, 12 hex digits; ints and strings differ, the order does not
    matter.
    """
    plain = [int(label) if is_integer(label) else str(label) for label in labels]
    return short_hash(sorted(plain, key=lambda label: (isinstance(label, str), label)))


def data_fingerprint(rows: Any) -> str:
    """Return a short fingerprint of reference rows, 12 hex digits.

    The order of the rows does not matter, their number does; nor does the form: records, a dict of columns, a
    DataFrame, an Arrow table and a split of `load_nyt_h` (either config) with the same rows have one mark. Of
    references of a track the keys `instance_id`, `bag_id`, `relation`, `bag_label` count.

    Args:
        rows: labels, tuples (of ids, relations, answers), or a table in one of these forms.

    >>> data_fingerprint(["a", "b"]) == data_fingerprint(["b", "a"])
    True
    >>> data_fingerprint(["a", "b"]) == data_fingerprint(["a", "b", "b"])
    False
    >>> data_fingerprint({"x": [1, 2]}) == data_fingerprint([{"x": 2}, {"x": 1}])
    True

    Raises:
        TypeError: `rows` is a text, or no collection.
    """
    times = Counter(_row_texts(rows))
    return _digest("".join((text + "\n") * times[text] for text in sorted(times)).removesuffix("\n"))


def _row_texts(rows: Any) -> list[str]:
    """Each row as canonical JSON."""
    if isinstance(rows, (str, bytes)) or (not is_table(rows) and not isinstance(rows, Iterable)):
        raise TypeError(f"A fingerprint is one of rows; got {type(rows).__name__}.")
    if not is_table(rows):
        rows = rows.to_pylist() if hasattr(rows, "to_pylist") else rows
        rows = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
        if all(type(row) is str or type(row) is int for row in rows):  # labels: each distinct one once
            texts = {row: json.dumps(row, ensure_ascii=True) for row in set(rows)}
            return [texts[row] for row in rows]
        return [json.dumps(_plain(row), ensure_ascii=True) for row in rows]
    source = row_source(rows, "rows")
    if NESTED in source.keys or set(REFERENCE_KEYS) <= set(source.keys):
        columns = read_columns(source, required=REFERENCE_KEYS, name="rows")
        return [
            json.dumps(_plain(row), ensure_ascii=True)
            for row in zip(*(columns[key] for key in REFERENCE_KEYS), strict=True)
        ]
    first, *others = sorted(source.keys)
    columns = read_columns(source, required=[first], optional=others, name="rows")
    return [
        json.dumps(_plain({k: v for k, v in zip(columns, row, strict=True) if v is not None}))
        for row in zip(*columns.values(), strict=True)
    ]


def _weighted_rows_mark(data: Any, sample_weight: Any) -> str:
    """A hash of the rows with their weights; the order of the rows does not matter, the pairing does."""
    if data is None or isinstance(data, str):
        raise ValueError(
            "With `sample_weight` pass the references themselves as `data`: their fingerprint does not tell "
            "which row has which weight."
        )
    weights = [float(weight) for weight in sample_weight]
    rows = _row_texts(data)
    if len(rows) != len(weights):
        raise ValueError(f"`sample_weight` has {len(weights)} numbers for {len(rows)} rows of `data`.")
    return short_hash(sorted(zip(rows, weights, strict=True)))


def _weights_mark(scheme: Callable[..., Any], num_classes: int) -> str:
    """A hash of the weights that a function gives to supports of so many classes, at three sizes of data.

    What it does counts, not what it is called or how it is written.
    """
    support = np.arange(1.0, num_classes + 1.0) ** 2
    try:
        given = [np.asarray(scheme(size * support), dtype=np.float64).tolist() for size in (1.0, 7.0, 1000.0)]
        return short_hash([[f"{weight:.9g}" for weight in weights] for weights in given])
    except (ArithmeticError, LookupError, TypeError, ValueError):  # made for other supports
        return short_hash(getattr(scheme, "__qualname__", type(scheme).__qualname__))


def short_hash(value: Any) -> str:
    """Return the first 12 hex digits of the SHA-256 of `value` as canonical JSON."""
    return _digest(json.dumps(value, ensure_ascii=True))


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]


def _plain(value: Any) -> Any:
    """`value` as JSON types: numpy scalars become Python numbers, tuples become lists."""
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in sorted(value.items())}
    return value.item() if hasattr(value, "item") else value


def _is_int(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]+", text) is not None


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
