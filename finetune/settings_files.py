"""Settings and experiments as files: YAML or JSON in, a value out; and flags as words on a command line.

Not `HfArgumentParser.parse_yaml_file`: it reads 3e-5 as a text, takes the last of two equal keys, and its
errors name neither the file nor the line.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml


class OnceLoader(yaml.SafeLoader):
    """YAML in which a key that is there twice is an error; values that are not plain are texts."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        repeated = next((key for key in keys if keys.count(key) > 1), None)
        if repeated is not None:
            mark = node.start_mark
            raise yaml.constructor.ConstructorError(None, None, f"the key {repeated!r} is there twice", mark)
        return super().construct_mapping(node, deep)


class SettingsLoader(OnceLoader):
    """The same, in which 3e-5 is a number, as in JSON and YAML 1.2."""


SettingsLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+\Z"),
    list("-+.0123456789"),
)


def read_settings(path: Path, *, what: str, loader: type[yaml.SafeLoader] = SettingsLoader) -> object:
    """Return the content of a JSON or YAML file, which may begin with a byte order mark.

    Args:
        path: The file; JSON when its name ends in .json.
        what: What it is called in messages.
        loader: For YAML; OnceLoader where values become words on a command line, as they are written.

    Raises:
        FileNotFoundError: It is not there.
        ValueError: It is not UTF-8, or not JSON or YAML, or nested too deeply.
    """
    if not path.is_file():
        raise FileNotFoundError(f"the {what} {path} is not there.")
    try:
        text = path.read_text(encoding="utf-8-sig")
        return json.loads(text) if path.suffix == ".json" else yaml.load(text, loader)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}: not JSON: {error.msg}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not YAML: {' '.join(str(error).split())}.") from error
    except RecursionError as error:
        raise ValueError(f"{path}: lists or mappings within each other are nested too deeply.") from error


def flag_argv(flags: Mapping[str, Any]) -> list[str]:
    """Return flags as words on a command line.

    >>> flag_argv({"bf16": False, "columns": ["head=subj", "tail=obj"], "learning_rate": 1e-05})
    ['--bf16=false', '--columns', 'head=subj', 'tail=obj', '--learning_rate=1e-05']
    """
    argv = []
    for name, value in flags.items():
        if isinstance(value, list):
            argv += [f"--{name}", *map(_word, value)]
        else:
            argv.append(f"--{name}={_word(value)}")
    return argv


def _word(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, dict) else str(value)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the part of an error that names similar names.

    >>> nearest("sedes", ["seeds", "title"]), nearest("x", ["title"])
    ('; did you mean `seeds`?', '')
    """
    found = difflib.get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(f'`{one}`' for one in found)}?" if found else ""
