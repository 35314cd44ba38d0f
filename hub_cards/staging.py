"""A folder staged for the Hub: written as a whole, looked at, and checked before it is uploaded."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from .cards import front_matter

REPO_TYPES = ("dataset", "model", "space")
# Hidden files are settings, secrets (.env) and caches of one person; of them the Hub reads only these.
HIDDEN_SENT = (".eval_results", ".gitattributes")
CARD = "README.md"
MAX_LISTED = 5


def _check_place(out: Path, *, overwrite: bool, replaceable: Sequence[str]) -> None:
    if out.exists() and not out.is_dir():
        raise ValueError(f"`out` {out} is a file; give a folder that is new or empty.")
    there = sorted(entry.name for entry in out.iterdir()) if out.is_dir() else []
    if there and not overwrite:
        raise ValueError(
            f"`out` {out} is not empty (it holds {', '.join(there[:MAX_LISTED])}); give another folder, "
            "or say overwrite."
        )
    foreign = [name for name in there if name not in replaceable]
    if foreign:
        raise ValueError(
            f"`out` {out} holds what was not written here: {', '.join(foreign[:MAX_LISTED])} "
            f"({len(foreign)} in all). Overwriting replaces the whole folder, so it is refused; give another."
        )


@contextmanager
def staged_folder(
    out: str | os.PathLike[str], *, overwrite: bool = False, replaceable: Sequence[str] = ()
) -> Iterator[Path]:
    """Give an empty folder to write into; when the block ends well, it is at `out` as a whole.

    When the block fails, `out` is as it was and nothing is left beside it.

    Args:
        out: where the folder goes; new or empty, unless `overwrite`.
        overwrite: replace a folder that holds nothing but `replaceable`.
        replaceable: names of files and folders that an earlier run writes.

    Raises:
        ValueError: `out` is a file, is not empty, or holds something else.

    >>> with tempfile.TemporaryDirectory() as root:
    ...     with staged_folder(Path(root) / "out") as folder:
    ...         (folder / "a").touch()
    ...     sorted(os.listdir(root)), os.listdir(Path(root) / "out")
    (['out'], ['a'])
    """
    place = Path(os.path.abspath(os.path.expanduser(out)))
    _check_place(place, overwrite=overwrite, replaceable=replaceable)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        fresh, old = temporary / "new", temporary / "old"
        fresh.mkdir()
        yield fresh
        _check_place(place, overwrite=overwrite, replaceable=replaceable)
        if place.exists():
            os.replace(place, old)
        os.replace(fresh, place)
    finally:
        shutil.rmtree(temporary)


def folder_files(folder: str | os.PathLike[str]) -> dict[str, int]:
    """Return path -> bytes of every file that a push of this folder sends, sorted.

    Caches and all that is hidden (.git, .env, ...) are left out, except `HIDDEN_SENT`.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: it holds no file, or a link: what a link leads to was not put there to be published.
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root} to push.")
    kept = [
        path
        for path in sorted(root.rglob("*"))
        if not any(
            part == "__pycache__" or (part.startswith(".") and part not in HIDDEN_SENT)
            for part in path.relative_to(root).parts
        )
    ]
    links = [path for path in kept if path.is_symlink()]
    if links:
        raise ValueError(
            f"{links[0]} is a link ({len(links)} in all): a push sends files only. Put the file itself "
            "there, or take the link away."
        )
    kept = [path for path in kept if path.is_file()]
    if not kept:
        raise ValueError(f"the folder {root} holds no file to push.")
    return {path.relative_to(root).as_posix(): path.stat().st_size for path in kept}


def check_repo_id(repo_id: str) -> str:
    """Return the id, checked.

    Raises:
        ValueError: it is not of the form user/name, or has characters that the Hub does not take.

    >>> check_repo_id("user/nyt-h")
    'user/nyt-h'
    """
    try:
        validate_repo_id(repo_id)
        if repo_id.count("/") != 1:
            raise HFValidationError("the owner is missing")
    except HFValidationError as error:
        raise ValueError(
            f"`repo_id` must be OWNER/NAME, e.g. user/nyt-h (letters, digits, '-', '_', '.'; at most 96 "
            f"characters); got {repo_id!r}."
        ) from error
    return repo_id


def check_folder(folder: str | os.PathLike[str], *, repo_type: str) -> dict[str, int]:
    """Return `folder_files`, after checks: a card with readable metadata, and what each kind of repository
    needs.

    Raises:
        FileNotFoundError: no folder, or no README.md in it.
        ValueError: a card whose metadata are no YAML mapping; a dataset with code; a Space whose card lacks
            `sdk`, `sdk_version` or `app_file`, or names a file that is not there.
    """
    if repo_type not in REPO_TYPES:
        raise ValueError(f"`repo_type` must be one of {', '.join(map(repr, REPO_TYPES))}; got {repo_type!r}.")
    files = folder_files(folder)
    card = Path(folder) / CARD
    if not card.is_file():
        raise FileNotFoundError(f"{card} is not there: every repository needs its card.")
    metadata = front_matter(card.read_text(encoding="utf-8"), name=str(card))
    code = [path for path in files if path.endswith(".py")]
    if repo_type == "dataset" and code:
        raise ValueError(
            f"{folder} holds code ({code[0]}, {len(code)} in all): a dataset repository is Parquet and a "
            "card; with code beside them it does not load."
        )
    if repo_type == "space":
        lacking = [key for key in ("sdk", "sdk_version", "app_file") if key not in metadata]
        if lacking:
            raise ValueError(f"the metadata of {card} lack {', '.join(lacking)}, which a Space needs.")
        if metadata["app_file"] not in files:
            raise ValueError(f"{card} names app_file {metadata['app_file']!r}, which is not in the folder.")
    return files
