"""The folder of data files: finding it, what must be in it, its fingerprint and its label files (pure)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xxhash

from .schema import (
    BAG_LABEL_FILE,
    BAG_LABELS,
    DATA_FILES,
    NEGATIVE_RELATION,
    RELATION_FILE,
    WHERE_TO_GET_IT,
)


def find_data_folder(data_dir: str | os.PathLike[str] | None) -> Path:
    """Return the absolute folder that holds the data files: `data_dir` itself or its ``data/`` folder.

    Raises:
        ValueError: no `data_dir`, a file (a tarball, say) or the older release of JSON arrays.
        FileNotFoundError: no such folder, or a file is missing from it (the message says which).
    """
    if data_dir is None:
        raise ValueError(f"`data_dir` is needed: the folder of NYT-H's data files. {WHERE_TO_GET_IT}")
    given = Path(os.path.abspath(os.path.expanduser(data_dir)))
    if given.is_file():
        raise ValueError(
            f"`data_dir` must be a folder; {given} is a file. An archive is not read as it is: extract it "
            f"(tar -xf {given.name}) and pass the folder that comes out."
        )
    if not given.is_dir():
        raise FileNotFoundError(f"`data_dir` {given} does not exist. {WHERE_TO_GET_IT}")
    candidates = (given, given / "data")
    folder = max(candidates, key=lambda c: sum((c / name).is_file() for name in DATA_FILES))
    missing = [name for name in DATA_FILES if not (folder / name).is_file()]
    if missing:
        if any((c / "train" / "train.json").is_file() or (c / "release").is_dir() for c in candidates):
            raise ValueError(
                f"{given} holds the older release (JSON arrays in train/ and release/), which is not read; "
                f"what is read are the line-JSON files {', '.join(DATA_FILES)}. {WHERE_TO_GET_IT}"
            )
        there = sorted(entry.name for entry in folder.iterdir())
        shown = ", ".join(there[:12]) + (f" and {len(there) - 12} more" if len(there) > 12 else "")
        raise FileNotFoundError(
            f"{folder} lacks {', '.join(missing)} ({len(missing)} of {len(DATA_FILES)} files missing); it "
            f"holds: {shown or 'nothing'}. {WHERE_TO_GET_IT}"
        )
    return folder


def content_fingerprint(folder: Path, options: Iterable[str]) -> str:
    """Return 32 hex digits that change when a byte of a data file, or one of `options`, changes."""
    digest = xxhash.xxh3_128()
    for option in options:
        digest.update(option.encode() + b"\0")
    for name in DATA_FILES:
        digest.update(f"{name}\0{os.path.getsize(folder / name)}\0".encode())
        with open(folder / name, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def _read_label_ids(path: Path) -> dict[str, int]:
    """Read one label -> id object; the ids are distinct and 0..n-1."""

    def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{path}: {twice!r} is there twice; each label needs one id.")
        return dict(pairs)

    try:
        ids = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=refuse_duplicates)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} is not UTF-8.") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: not valid JSON ({error.msg}).") from error
    if not isinstance(ids, dict) or not ids:
        raise ValueError(f"{path} must hold one JSON object of label -> id; got {type(ids).__name__}.")
    for name, value in ids.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{path}: the id of {name!r} must be an integer; got {value!r}.")
        if not name:
            raise ValueError(f"{path}: a label is empty.")
    if sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(
            f"{path}: the ids must be 0 to {len(ids) - 1}, each once; got {sorted(ids.values())[:30]}."
        )
    return ids


def read_relations(folder: Path) -> list[str]:
    """Return the relation names of rel2id.json in id order, the negative relation NA among them.

    Raises:
        ValueError: not an object of name -> id, ids that are not 0..n-1 each once, a name twice, or no NA.
    """
    path = folder / RELATION_FILE
    ids = _read_label_ids(path)
    if NEGATIVE_RELATION not in ids:
        raise ValueError(f"{path} lacks the negative relation {NEGATIVE_RELATION!r}; it holds {sorted(ids)}.")
    return sorted(ids, key=ids.__getitem__)


def check_bag_labels(folder: Path) -> None:
    """Raise ValueError unless bag_label2id.json says no 0, yes 1, unk 2."""
    path = folder / BAG_LABEL_FILE
    ids, expected = _read_label_ids(path), {name: index for index, name in enumerate(BAG_LABELS)}
    if ids != expected:
        raise ValueError(f"{path} must hold {json.dumps(expected)}; got {json.dumps(ids)}.")
