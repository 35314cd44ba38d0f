"""The folder of data files: finding it, what must be in it, its fingerprint and its label files (pure)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import xxhash

from .record_lines import DECODER
from .schema import (
    BAG_LABEL_FILE,
    BAG_LABELS,
    DATA_FILES,
    NEGATIVE_RELATION,
    OLDER_DATA_FILES,
    OLDER_NA,
    OLDER_RECORD_FILES,
    PREPARED_DATA_FILES,
    RECORD_FILES,
    RELATION_FILE,
    WHERE_TO_GET_IT,
)


def find_data_folder(data_dir: str | os.PathLike[str] | None) -> Path:
    """Return the absolute folder that holds the data files: `data_dir` itself or its ``data/`` folder.

    Either release is found: line-JSON files (DATA_FILES), or the older one of JSON arrays (OLDER_DATA_FILES);
    where neither is, the ``train/`` folder that the authors' training code reads (PREPARED_DATA_FILES).

    Raises:
        ValueError: no `data_dir`, a file, or the files of both releases.
        FileNotFoundError: no such folder, or a file is missing from it (the message says which).
    """
    if data_dir is None:
        raise ValueError(f"`data_dir` is needed: the folder of NYT-H's data files. {WHERE_TO_GET_IT}")
    given = Path(os.path.abspath(os.path.expanduser(data_dir)))
    if given.is_file():
        raise ValueError(f"`data_dir` must be a folder here; {given} is a file.")
    if not given.is_dir():
        raise FileNotFoundError(f"`data_dir` {given} does not exist. {WHERE_TO_GET_IT}")
    found: list[tuple[Path, tuple[str, ...], list[str]]] = [
        (folder, files, [name for name in files if _path(folder, name).is_file()])
        for folder in (given, given / "data")
        for files in (DATA_FILES, OLDER_DATA_FILES)
    ]
    _refuse_both_releases(found)
    folder, files, there = max(found, key=lambda entry: len(entry[2]))
    missing = [name for name in files if name not in there]
    if missing and (prepared := _prepared_folder(given)):
        return prepared
    if missing:
        names = sorted(entry.name for entry in folder.iterdir())
        shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        raise FileNotFoundError(
            f"{folder} lacks {', '.join(missing)} ({len(missing)} of {len(files)} files missing); it "
            f"holds: {shown or 'nothing'}. {WHERE_TO_GET_IT}"
        )
    return folder


def _prepared_folder(given: Path) -> Path | None:
    for folder in (given, given / "train", given / "data" / "train"):
        # Beside release/ it is one half of the older release.
        beside_release = (folder.parent / "release").is_dir()
        if not beside_release and all(_path(folder, name).is_file() for name in PREPARED_DATA_FILES):
            return folder
    return None


def _path(folder: Path, name: str) -> Path:
    """Where the file lies; label files may also lie beside the arrays, or above the folder of train.json."""
    if name in (RELATION_FILE, BAG_LABEL_FILE):
        for place in (folder, folder / "train", folder / "release", folder.parent):
            if (place / name).is_file():
                return place / name
    return folder / name


def _refuse_both_releases(found: list[tuple[Path, tuple[str, ...], list[str]]]) -> None:
    records = [
        (folder, [name for name in there if name not in (RELATION_FILE, BAG_LABEL_FILE)], there == [*files])
        for folder, files, there in found
    ]
    for folder, names, complete in records[::2]:
        for other_folder, other_names, other_complete in records[1::2]:
            # What the authors' scripts made of the newer release stands beside it without an NA set.
            if complete and OLDER_NA not in other_names:
                continue
            # Side by side any file is one too many; from different folders only whole releases compete.
            if names and other_names and (folder == other_folder or (complete and other_complete)):
                newer = ", ".join(str(folder / name) for name in names)
                older = ", ".join(str(other_folder / name) for name in other_names)
                raise ValueError(
                    f"both releases are there: line-JSON files ({newer}) and the older release's JSON arrays "
                    f"({older}). Move one of them away, so that it is plain which one is meant."
                )


def is_older_release(folder: Path) -> bool:
    """Return whether a folder found by `find_data_folder` holds the older release."""
    return all((folder / name).is_file() for name in OLDER_RECORD_FILES)


def is_prepared(folder: Path) -> bool:
    """Return whether a folder found by `find_data_folder` is what the authors' training code reads."""
    return not is_older_release(folder) and not all((folder / name).is_file() for name in RECORD_FILES)


def data_paths(folder: Path) -> dict[str, Path]:
    """Return the data files of a folder found by `find_data_folder`: name -> path, label files first."""
    names: tuple[str, ...] = DATA_FILES
    if is_older_release(folder):
        names = OLDER_DATA_FILES
    elif is_prepared(folder):
        names = PREPARED_DATA_FILES
    return {name: _path(folder, name) for name in names}


def content_fingerprint(folder: Path, options: Iterable[str]) -> str:
    """Return 32 hex digits that change when a byte of a data file, or one of `options`, changes."""
    digest = xxhash.xxh3_128()
    for option in options:
        digest.update(option.encode() + b"\0")
    for name, path in data_paths(folder).items():
        digest.update(f"{name}\0{os.path.getsize(path)}\0".encode())
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def _read_label_ids(path: Path) -> dict[str, int]:
    """Read one label -> id object; the ids are distinct and 0..n-1."""
    try:
        ids = DECODER.decode(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} is not UTF-8.") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: not valid JSON ({error.msg}).") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}; each label needs one id.") from error
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
    path = _path(folder, RELATION_FILE)
    ids = _read_label_ids(path)
    if NEGATIVE_RELATION not in ids:
        raise ValueError(f"{path} lacks the negative relation {NEGATIVE_RELATION!r}; it holds {sorted(ids)}.")
    return sorted(ids, key=ids.__getitem__)


def check_bag_labels(folder: Path) -> None:
    """Raise ValueError unless bag_label2id.json says no 0, yes 1, unk 2."""
    path = _path(folder, BAG_LABEL_FILE)
    ids, expected = _read_label_ids(path), {name: index for index, name in enumerate(BAG_LABELS)}
    if ids != expected:
        raise ValueError(f"{path} must hold {json.dumps(expected)}; got {json.dumps(ids)}.")
