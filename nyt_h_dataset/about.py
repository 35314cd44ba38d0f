"""What the data say of themselves: name, licence, whether a program made them, and what was done to them.

`convert_corpus`, `build_corpus` and `merge_answers` write it to ABOUT.json beside the data files; cards of
the data, and of models trained on them, say that and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import datasets

from .archive import find_archive, unpack
from .folder import find_data_folder

ABOUT_FILE = "ABOUT.json"
MARKER_FILE = "SYNTHETIC.md"


@dataclass(frozen=True)
class About:
    """What a data set says of itself.

    Attributes:
        name: Its name; None where it has none.
        licence: The identifier or name of its licence; None where nobody said.
        citation: How to cite it, BibTeX or a sentence; None where nobody said.
        is_synthetic: Whether a program made the sentences.
        validation: How the validation split was made; None where nobody said.
        judged: Who judged test, and how well they agreed; None where nobody said.
        steps: What was done to the data, a sentence each, in order.
        empty_files: The data files without a record, as the corpus has no rows for them.
    """

    name: str | None = None
    licence: str | None = None
    citation: str | None = None
    is_synthetic: bool = False
    validation: str | None = None
    judged: str | None = None
    steps: tuple[str, ...] = ()
    empty_files: tuple[str, ...] = ()

    def after(self, step: str, **changes: Any) -> About:
        """Return the same with one more step and `changes` of other fields."""
        return replace(self, steps=(*self.steps, step), **changes)

    def to_json(self) -> str:
        """Return the text of ABOUT.json."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"


def read_about(data_dir: str | os.PathLike[str], *, cache_dir: str | os.PathLike[str] | None = None) -> About:
    """Return what the data in `data_dir` (as for `load_nyt_h`) say of themselves; nothing, where they do not.

    An archive is unpacked below `cache_dir` (default: the cache of `datasets`), where loading unpacks it.

    Raises:
        FileNotFoundError: `data_dir` or a file in it is not there.
        ValueError: ABOUT.json does not hold what `About` has.
    """
    archive = find_archive(data_dir)
    root = Path(os.path.abspath(os.path.expanduser(data_dir)))
    if archive is not None:
        root = unpack(archive, cache_dir or datasets.config.HF_DATASETS_CACHE)
    folder = find_data_folder(root)
    about = about_of(folder)
    if any((place / MARKER_FILE).is_file() for place in (folder, root)):
        about = replace(about, is_synthetic=True)
    return about


def about_of(folder: Path) -> About:
    """Return what ABOUT.json in the folder of the data files says; nothing, where there is none.

    Raises:
        ValueError: it does not hold what `About` has.
    """
    path = folder / ABOUT_FILE
    if not path.is_file():
        return About()
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
        if not isinstance(found, Mapping):
            raise ValueError(f"it must hold one object; got {type(found).__name__}")
        texts = {key: found.get(key) for key in ("name", "licence", "citation", "validation", "judged")}
        steps, empty = found.get("steps", []), found.get("empty_files", [])
        is_synthetic = found.get("is_synthetic", False)
        if not all(value is None or isinstance(value, str) for value in [*texts.values(), *steps, *empty]):
            raise ValueError("its values must be texts")
        if not isinstance(is_synthetic, bool):
            raise ValueError(f"`is_synthetic` must be true or false; got {is_synthetic!r}")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}. It is written by convert, build and merge.") from error
    return About(**texts, is_synthetic=is_synthetic, steps=tuple(steps), empty_files=tuple(empty))


def is_synthetic(
    data_dir: str | os.PathLike[str], *, cache_dir: str | os.PathLike[str] | None = None
) -> bool:
    """Return whether a program made the sentences of the data: `write_sample`, or data made of its corpus."""
    return read_about(data_dir, cache_dir=cache_dir).is_synthetic
