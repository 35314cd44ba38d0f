"""An experiment file: systems, tracks and seeds, as arguments for `python -m finetune`.

    title: Two systems on my data
    data: {data: nyt_h, data_dir: nyt-h}            # the flags of the data
    tracks: [sent2sent, bag2bag]                    # default: sent2sent
    seeds: [9, 148]
    model_name_or_path: bert-base-uncased           # for systems on a pretrained encoder that name none
    arguments: {num_train_epochs: 3}                # flags of every system; a system's own go before them
    systems:
      - {name: PCNN, encoder: pcnn, tracks: [sent2sent]}
      - {name: PCNN+ATT, encoder: pcnn, bag_pooling: att, tracks: [bag2bag]}

Flags have the names that they have on the command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from ..arguments import DataArguments, check_seeds
from ..settings_files import OnceLoader, flag_argv, nearest, read_settings

KEYS = ("title", "data", "tracks", "seeds", "model_name_or_path", "arguments", "systems")
MAX_NAME_LENGTH = 100  # characters of a system's name, which names a folder too
TRACKS: tuple[str, ...] = get_args(get_type_hints(DataArguments)["track"])
DATA_FLAGS = frozenset(item.name for item in fields(DataArguments)) - {"track"}
# Flags that an experiment sets itself, with where they belong.
DECIDED = {
    "output_dir": "it is a flag of the experiment's command",
    "overwrite": "it is a flag of the experiment's command",
    "track": "the tracks are listed under `tracks`",
    "seed": "the seeds are listed under `seeds`, for all systems",
    "seeds": "the seeds are listed once, for all systems",
    "push_to_hub": "a finished run is pushed with `python -m finetune.push`",
    "hub_model_id": "a finished run is pushed with `python -m finetune.push`",
    **dict.fromkeys(sorted(DATA_FLAGS), "it belongs under `data`: all systems have the same data"),
}


@dataclass(frozen=True)
class System:
    """One system.

    Attributes:
        name: As in the tables.
        tracks: In the order in which they are run.
        flags: Flag -> value, those for all systems included, those of the data not.
    """

    name: str
    tracks: tuple[str, ...]
    flags: Mapping[str, Any]

    @property
    def slug(self) -> str:
        """The name of its folder.

        >>> System("PCNN + ATT", (), {}).slug
        'pcnn-att'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True)
class Experiment:
    """What a file says.

    Attributes:
        title: The heading of the comparison.
        data: Flag -> value, those of the data.
        seeds: The seeds of every run.
        systems: The systems, with all of their flags.
    """

    title: str
    data: Mapping[str, Any]
    seeds: tuple[int, ...]
    systems: tuple[System, ...]

    @property
    def tracks(self) -> tuple[str, ...]:
        """Every track that a system is run on, in the order of the tracks."""
        return tuple(track for track in TRACKS if any(track in system.tracks for system in self.systems))

    def argv(self, system: System, track: str) -> list[str]:
        """Return the arguments of `python -m finetune`, without `--output_dir`."""
        argv = flag_argv({**self.data, "track": track, **system.flags})
        return [*argv, "--seeds", *map(str, self.seeds)]

    def as_file(self) -> dict[str, Any]:
        """Return the experiment as the content of a file, nothing left to defaults or to other places."""
        systems = [
            {"name": system.name, "tracks": list(system.tracks), **system.flags} for system in self.systems
        ]
        given = {"title": self.title, "data": dict(self.data), "seeds": list(self.seeds), "systems": systems}
        return json.loads(json.dumps(given))


def read_experiment(
    path: Path, *, data_dir: str | None = None, model_name_or_path: str | None = None
) -> Experiment:
    """Return the experiment in a file; with `data_dir` and `model_name_or_path` in the place of those it has.

    Values are not looked at beyond what YAML makes of them: that is the command's parser's part.

    Raises:
        FileNotFoundError: The file is not there.
        ValueError: It is not YAML, has a key that is not known, twice, at the wrong place or of the wrong
            kind, or systems that share a name or a folder.
    """
    where = str(path)
    given = _mapping(read_settings(path, what="experiment file", loader=OnceLoader), where)
    _check_keys(given, KEYS, where)
    for key in ("title", "data", "seeds", "systems"):
        if key not in given:
            raise ValueError(f"{where}: `{key}` is missing; an experiment has {_listed(KEYS)}.")
    if not isinstance(given["title"], str) or not given["title"].strip():
        raise ValueError(f"{where}: `title` must be a text; got {given['title']!r}.")
    data = _flags(given["data"], f"{where}: data")
    _check_keys(data, DATA_FLAGS, f"{where}: data")
    if data_dir is not None:
        data["data_dir"] = data_dir
    if not isinstance(given["seeds"], list):
        raise ValueError(f"{where}: `seeds` must be a list of integers; got {given['seeds']!r}.")
    try:
        check_seeds(given["seeds"])
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    tracks = _tracks(given.get("tracks", ["sent2sent"]), where)
    shared = _flags(given.get("arguments", {}), f"{where}: arguments")
    _check_decided(shared, f"{where}: arguments")
    encoder = model_name_or_path or given.get("model_name_or_path")
    if encoder is not None and not isinstance(encoder, str):
        raise ValueError(f"{where}: `model_name_or_path` must be a text; got {encoder!r}.")
    if not isinstance(given["systems"], list) or not given["systems"]:
        raise ValueError(f"{where}: `systems` must be a list of at least one system.")
    systems = tuple(
        _system(item, number, tracks=tracks, shared=shared, encoder=encoder, where=where)
        for number, item in enumerate(given["systems"], start=1)
    )
    _check_distinct(systems, where)
    return Experiment(
        title=" ".join(given["title"].split()), data=data, seeds=tuple(given["seeds"]), systems=systems
    )


def _system(
    item: object, number: int, *, tracks: tuple[str, ...], shared: dict, encoder: object, where: str
) -> System:
    given = _mapping(item, f"{where}: system {number}")
    name = given.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{where}: system {number} must have a `name`, a text; got {name!r}.")
    place = f"{where}: system {name!r}"
    name = " ".join(name.split())
    if len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise ValueError(
            f"{place}: a name has at most {MAX_NAME_LENGTH} characters, none of them a control character."
        )
    own = _tracks(given.pop("tracks"), place) if "tracks" in given else tracks
    flags = _flags(given, place)
    _check_decided(flags, place)
    flags = {**shared, **flags}
    if encoder is not None and flags.get("encoder", "pretrained") == "pretrained":
        flags.setdefault("model_name_or_path", encoder)
    system = System(name=name, tracks=own, flags=flags)
    if not system.slug:
        raise ValueError(f"{place}: the name has no letter or digit to name a folder by; give another.")
    return system


def _check_distinct(systems: Sequence[System], where: str) -> None:
    first: dict[str, System] = {}
    for system in systems:
        other = first.setdefault(system.slug, system)
        if other is not system:
            twice = f"system {system.name!r} is listed twice"
            if other.name != system.name:
                twice = f"the systems {other.name!r} and {system.name!r} would share the folder {system.slug}"
            raise ValueError(f"{where}: {twice}; give one of them another name, or delete it.")


def _check_decided(flags: Iterable[str], place: str) -> None:
    for name in flags:
        if name in DECIDED:
            raise ValueError(f"{place}: `{name}` is not a flag of a system: {DECIDED[name]}.")


def _tracks(given: object, place: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not given:
        raise ValueError(f"{place}: `tracks` must be a list of {_listed(TRACKS)}; got {given!r}.")
    for track in given:
        if track not in TRACKS:
            raise ValueError(f"{place}: the track {track!r} is none of {_listed(TRACKS)}.")
    if len(set(given)) < len(given):
        raise ValueError(f"{place}: `tracks` names a track twice: {', '.join(given)}.")
    return tuple(track for track in TRACKS if track in given)


def _mapping(given: object, place: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"{place} must be a mapping from names to values; got {type(given).__name__}.")
    for key in given:
        if not isinstance(key, str):
            raise ValueError(f"{place}: the key {key!r} is not a text; put it in quotes if it is a name.")
    return dict(given)


def _flags(given: object, place: str) -> dict[str, Any]:
    """Flags whose values can be words; dashes in front of a name do no harm."""
    flags: dict[str, Any] = {}
    for key, value in _mapping(given, place).items():
        name = key.removeprefix("--")
        if name in flags:
            raise ValueError(f"{place}: `{name}` is there twice, with dashes and without; delete one.")
        flags[name] = value
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, (str, int, float, dict)) for one in values):
            raise ValueError(
                f"{place}: `{name}` must be a text, a number, true or false, or a list of them; got "
                f"{value!r}. A flag without a value is left out."
            )
    return flags


def _check_keys(given: Iterable[str], known: Iterable[str], place: str) -> None:
    known = list(known)
    for key in given:
        if key not in known:
            raise ValueError(f"{place}: the key {key!r} is not known{nearest(key, known)}.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
