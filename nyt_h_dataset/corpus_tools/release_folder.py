"""A folder in the layout of NYT-H's release, which `load_nyt_h` reads, and single files, written whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

from ..about import ABOUT_FILE, About
from ..schema import BAG_LABEL_FILE, BAG_LABELS, DATA_FILES, NEGATIVE_RELATION, RECORD_FILES, RELATION_FILE


def pair_id(head_guid: str, tail_guid: str) -> str:
    """Return the `bag_id` of an entity pair: the same for the same pair in every file, run and corpus.

    >>> pair_id("Q1", "Q2") == pair_id("Q1", "Q2"), pair_id("Q1", "Q2") == pair_id("Q2", "Q1")
    (True, False)
    """
    key = f"{len(head_guid)}:{head_guid}{tail_guid}".encode()
    return "PAIR#" + hashlib.blake2b(key, digest_size=12).hexdigest()


class ReleaseWriter:
    """The open files of one folder; `num_rows` counts the records written per file."""

    def __init__(self, folder: Path, files: Mapping[str, TextIO]) -> None:
        """Take the folder and its open record files by name."""
        self.folder = folder
        self.num_rows = dict.fromkeys(RECORD_FILES, 0)
        self._files = files

    def write(self, name: str, record: dict[str, Any]) -> None:
        """Append one record to the file `name`."""
        self._files[name].write(json.dumps(record, ensure_ascii=False) + "\n")
        self.num_rows[name] += 1

    def write_about(self, about: About) -> None:
        """Write what the data say of themselves."""
        (self.folder / ABOUT_FILE).write_text(about.to_json(), encoding="utf-8")

    def write_labels(self, relations: list[str]) -> None:
        """Write the label files; `relations` are all names in id order, the negative one first."""
        for name, labels in ((RELATION_FILE, relations), (BAG_LABEL_FILE, list(BAG_LABELS))):
            text = json.dumps(
                {label: index for index, label in enumerate(labels)}, ensure_ascii=False, indent=2
            )
            (self.folder / name).write_text(text + "\n", encoding="utf-8")


@contextmanager
def release_folder(out: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[ReleaseWriter]:
    """Give a writer for a folder that appears at `out` as a whole when the block ends well, else not at all.

    Raises:
        ValueError: `out` is a file or not empty; with `overwrite`, it holds anything but a release's files.
    """
    # It brings the libraries of cards along, which reading NYT-H does without.
    from hub_cards import staged_folder

    with (
        staged_folder(out, overwrite=overwrite, replaceable=(*DATA_FILES, ABOUT_FILE)) as folder,
        ExitStack() as stack,
    ):
        files = {
            name: stack.enter_context(open(folder / name, "w", encoding="utf-8", newline="\n"))
            for name in RECORD_FILES
        }
        yield ReleaseWriter(folder, files)


@contextmanager
def atomic_file(path: Path, *, encoding: str = "utf-8", newline: str = "\n") -> Iterator[TextIO]:
    """Yield a text file that gets its name when the block ends without an error; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding=encoding, newline=newline) as file:
            yield file
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with atomic_file(path) as file:
        file.write(text)


def relation_order(names: set[str]) -> list[str]:
    """Return the names in id order: NA first, the others by their text.

    >>> relation_order({"b", "a"})
    ['NA', 'a', 'b']
    """
    return [NEGATIVE_RELATION, *sorted(names - {NEGATIVE_RELATION})]
