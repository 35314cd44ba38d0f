"""Whether the values of a group of flags are of the kinds that its fields say."""

from __future__ import annotations

from dataclasses import fields
from typing import Literal, get_args, get_origin, get_type_hints


def check_values(arguments: object) -> None:
    """Raise ValueError for a value of the wrong kind: a settings file can hold any."""
    hints = get_type_hints(type(arguments))
    for item in fields(arguments):  # type: ignore[arg-type]
        kinds = get_args(hints[item.name]) or (hints[item.name],)
        value = getattr(arguments, item.name)
        # A choice that may be left open is a Literal beside None.
        choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), None)
        if get_origin(hints[item.name]) is Literal:
            choices = kinds
        if choices is not None:
            if value not in choices and not (value is None and type(None) in kinds):
                raise ValueError(
                    f"`{item.name}` must be one of {', '.join(map(repr, choices))}; got {value!r}."
                )
        elif type(value) is int and float in kinds:
            setattr(arguments, item.name, float(value))
        elif type(value) not in {get_origin(kind) or kind for kind in kinds}:
            expected = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
            raise ValueError(f"`{item.name}` must be {expected}; got {value!r}.")
