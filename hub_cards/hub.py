"""A folder staged for the Hub: written beside its place, then moved there in one step."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def _check_place(out: Path, *, overwrite: bool, replaceable: Sequence[str]) -> None:
    if out.exists() and not out.is_dir():
        raise ValueError(f"`out` {out} is a file; give a folder that is new or empty.")
    there = sorted(entry.name for entry in out.iterdir()) if out.is_dir() else []
    if there and not overwrite:
        raise ValueError(
            f"`out` {out} is not empty (it holds {', '.join(there[:5])}); give another folder, or say "
            "overwrite."
        )
    foreign = [name for name in there if name not in replaceable]
    if foreign:
        raise ValueError(
            f"`out` {out} holds what was not written here: {', '.join(foreign[:5])} ({len(foreign)} in all). "
            "Overwriting replaces the whole folder, so it is refused; give another folder."
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
    beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        fresh, old = beside / "new", beside / "old"
        fresh.mkdir()
        yield fresh
        _check_place(place, overwrite=overwrite, replaceable=replaceable)
        if place.exists():
            os.replace(place, old)
        os.replace(fresh, place)
    finally:
        shutil.rmtree(beside)
