"""What runs hold: their measures as flat numbers, and whether their signatures allow a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

Run = Mapping[str, Any]

# Not measures of the run: the reference line, which is the same for every system, and descriptions.
_NOT_MEASURES = ("signature", "signatures", "echo", "per_class")


def run_measures(run: Run) -> dict[str, float | None]:
    """Return the measures of one run under flat keys, in their order.

    Numbers are kept and None stays None (a measure the data do not define). Mappings are gone into and their
    keys joined with "/" (a mapping named `scores` adds nothing to its keys); texts, lists and flags are left
    out, and so are `signature`, `echo` and `per_class`, which are not measures of the run.

    >>> run_measures({"seed": 9, "scores": {"magt_micro_f1": 0.5, "magt_auc": None}, "model": "tiny"})
    {'seed': 9.0, 'magt_micro_f1': 0.5, 'magt_auc': None}

    Raises:
        TypeError: The run is not a mapping, or a key is not a text.
        ValueError: A number is NaN or infinite, or two keys become one.
    """
    if not isinstance(run, Mapping):
        raise TypeError(
            f"A run must be a mapping measure -> number; got {type(run).__name__}. "
            "Pass a list of such mappings, one per run (also for a single run)."
        )
    flat: dict[str, float | None] = {}
    _collect(run, "", flat)
    return flat


def _collect(values: Mapping[str, Any], prefix: str, flat: dict[str, float | None]) -> None:
    for key, value in values.items():
        if not isinstance(key, str):
            raise TypeError(f"Measures are named by texts; got the key {key!r} of type {type(key).__name__}.")
        name = prefix + key
        if key in _NOT_MEASURES or isinstance(value, (bool, np.bool_)):
            continue
        if isinstance(value, Mapping):
            _collect(value, prefix if key == "scores" else f"{name}/", flat)
        elif value is None or isinstance(value, (Real, np.number)):
            if value is not None and not _is_finite(value):
                raise ValueError(
                    f"The measure {name!r} is {value!s:.40}; a run holds finite numbers or null."
                )
            if name in flat:
                raise ValueError(
                    f"The measure {name!r} stands twice in one run, inside and outside of `scores`."
                )
            flat[name] = None if value is None else float(value)


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # an int beyond the floats
        return False


def measures_of_system(runs: Sequence[Run], name: str) -> dict[str, list[float | None]]:
    """Return measure -> its values over the runs of one system.

    Raises:
        TypeError: `runs` is a single run or no collection.
        ValueError: There is no run, or one lacks a measure that another has.
    """
    if isinstance(runs, (Mapping, str, bytes)) or not isinstance(runs, Sequence):
        raise TypeError(
            f"`{name}` must be a list of runs, each a mapping measure -> number; got {type(runs).__name__}. "
            "Put a single run into a list."
        )
    if not runs:
        raise ValueError(f"`{name}` holds no run; a comparison needs at least one run of each system.")
    flat = [run_measures(run) for run in runs]
    for number, measures in enumerate(flat):
        odd = sorted(measures.keys() ^ flat[0].keys())
        if odd:
            raise ValueError(
                f"The runs of `{name}` hold different measures: run {number} and run 0 (counted from 0) "
                f"differ in {odd[0]!r} ({len(odd)} in all). Score every run with the same options."
            )
    return {measure: [measures[measure] for measures in flat] for measure in flat[0]}


def check_comparable(systems: Mapping[str, Sequence[Run]]) -> None:
    """Check that the signatures of all runs of all systems agree in everything but the version `v`.

    A run carries its signature under `signature`: one line, or a mapping prefix -> line. Runs without any
    signature (numbers taken from a paper) are accepted as long as no run has one.

    Raises:
        ValueError: Two signatures differ, or only some of the runs carry one; the message names both runs.
    """
    lines = [
        (f"run {number} of {name}", _signature_lines(run))
        for name, runs in systems.items()
        for number, run in enumerate(runs)
    ]
    where_first, first = next(((where, own) for where, own in lines if own), ("", {}))
    for where, own in lines:
        if not own and first:
            raise ValueError(
                f"{where} (counted from 0) carries no signature while {where_first} does, so nothing shows "
                "that they are comparable. Score it again with this metric."
            )
        for prefix in sorted(own.keys() | first.keys()):
            difference = _first_difference(first.get(prefix, ""), own.get(prefix, ""))
            if difference:
                field, theirs, ours = difference
                raise ValueError(
                    f"The runs are not comparable: the signatures of {where_first} and "
                    f"{where}{f' for {prefix!r}' if prefix else ''} (runs counted from 0) differ in "
                    f"{field!r}: {theirs!r} and {ours!r}. Score both on the same data with the same options."
                )


def _signature_lines(run: Run) -> dict[str, str]:
    signature = run.get("signature", run.get("signatures"))
    if signature is None:
        return {}
    if isinstance(signature, str):
        return {"": signature}
    if isinstance(signature, Mapping) and all(isinstance(line, str) for line in signature.values()):
        return {str(prefix): line for prefix, line in signature.items()}
    raise TypeError(
        f"`signature` of a run must be a line or a mapping prefix -> line; got {type(signature).__name__}."
    )


def _first_difference(one: str, other: str) -> tuple[str, str | None, str | None] | None:
    """Return the first field other than `v` in which two signature lines differ, and its two values."""
    fields_one, fields_other = _fields(one), _fields(other)
    for field in [*fields_one, *fields_other]:
        values = fields_one.get(field), fields_other.get(field)
        if field != "v" and values[0] != values[1]:
            return field, *values
    return None


def _fields(line: str) -> dict[str, str]:
    return {field: value for field, _, value in (part.partition(":") for part in line.split("|") if part)}
