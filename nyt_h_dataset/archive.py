"""The authors' tarball -> a folder of data files in the cache, unpacked once per content (pure)."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import platform
import shutil
import tarfile
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from typing import Any

import xxhash

from .folder import find_data_folder
from .schema import ARCHIVE_NAME, WHERE_TO_GET_IT

_MAGIC = (b"BZh", b"\x1f\x8b", b"\xfd7zXZ")
_CACHE_FOLDER = "nyt_h_archives"
_TEMPORARY = ".unpacking"
_SIZES_FILE = ".sizes.json"


def find_archive(data_dir: str | os.PathLike[str]) -> Path | None:
    """Return the archive that `data_dir` is, or that lies in it while no data files do; else None."""
    given = Path(os.path.abspath(os.path.expanduser(data_dir)))
    if given.is_file():
        return given
    archive = given / ARCHIVE_NAME
    if not archive.is_file():
        return None
    try:
        find_data_folder(given)
    except FileNotFoundError:
        return archive
    return None


def unpack(archive: Path, cache_dir: str | os.PathLike[str]) -> Path:
    """Return the folder of data files that `archive` holds, unpacked below `cache_dir`.

    The folder's name is the content of the archive: the same archive is unpacked once, a changed one anew,
    and so is one whose files were removed or cut since. It appears as a whole or not at all, whoever else
    unpacks at the same time, and is readable by others as far as the umask says; what a killed process left
    is removed. Regular files and folders only; what would land elsewhere is refused.

    Raises:
        ValueError: not a tar archive, cut off or damaged, a member with an absolute path or ``..``, a link or
            a device, or no data files of NYT-H in it.
        OSError: `cache_dir` cannot be written to, or the disk is full.
    """
    cache = Path(os.path.abspath(os.path.expanduser(cache_dir))) / _CACHE_FOLDER
    target = cache / _hexdigest(archive, xxhash.xxh3_128())
    if not _is_whole(target):
        temporary = target.parent / f"{_TEMPORARY}.{platform.node()}.{os.getpid()}.{uuid.uuid4().hex}"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(target.parent)
            temporary.mkdir()
            _extract(archive, temporary)
            _check_content(archive, temporary)
            (temporary / _SIZES_FILE).write_text(json.dumps(_sizes(temporary)), encoding="utf-8")
            _put_in_place(temporary, target)
        except OSError as error:
            # What is missing in the archive has its own message; an errno means that the disk said no.
            if error.errno is None:
                raise
            raise type(error)(
                error.errno,
                f"{archive} cannot be unpacked into {target.parent} ({error.strerror}). Nothing is left "
                "there; free space, or pass another `cache_dir`",
            ) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return find_data_folder(target)


def _sizes(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != _SIZES_FILE
    }


def _is_whole(folder: Path) -> bool:
    """Whether every file that was unpacked is there with its size."""
    try:
        sizes = json.loads((folder / _SIZES_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(sizes, dict) and sizes.items() <= _sizes(folder).items()


def _put_in_place(temporary: Path, target: Path) -> None:
    try:
        os.replace(temporary, target)
    except OSError:
        # Somebody else was faster, with the same content; or what is there is no longer whole.
        if not _is_whole(target):
            if not target.is_dir():
                raise
            old = temporary.with_name(f"{temporary.name}.old")
            os.replace(target, old)
            os.replace(temporary, target)
            shutil.rmtree(old, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove what processes of this machine that run no more were unpacking."""
    for path in folder.glob(f"{_TEMPORARY}.{glob.escape(platform.node())}.*"):
        pid = path.name.removeprefix(f"{_TEMPORARY}.{platform.node()}.").partition(".")[0]
        if pid.isdecimal() and not _runs(int(pid)):
            shutil.rmtree(path, ignore_errors=True)


def _runs(pid: int) -> bool:
    if os.name != "posix":
        return True  # there is no harmless question to a process elsewhere
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def check_archive(archive: Path) -> None:
    """Read the whole archive, the last checksum included.

    Raises:
        ValueError: it is no tar archive, or is cut off or damaged.
    """
    with _read(archive) as tar:
        for _ in tar:
            pass


def file_sha256(path: Path) -> str:
    """Return the file's SHA-256, 64 hex digits.

    Raises:
        OSError: It cannot be read.
    """
    return _hexdigest(path, hashlib.sha256())


def _hexdigest(path: Path, digest: Any) -> str:
    with open(path, "rb") as file:  # hashlib.file_digest came with Python 3.11
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _extract(archive: Path, folder: Path) -> None:
    with _read(archive) as tar:
        for member in tar:
            _check_member(archive, member)
            tar.extract(member, folder, set_attrs=False, filter="data")


@contextmanager
def _read(archive: Path) -> Iterator[tarfile.TarFile]:
    """The open archive; when the block has read its members, its end is read as well."""
    try:
        with tarfile.open(archive) as tar:
            yield tar
            # The checksum of a compressed block is compared when its last byte is read, which lies behind
            # the end of the archive proper.
            while tar.fileobj is not None and tar.fileobj.read(1 << 20):
                pass
    except (tarfile.ReadError, EOFError, zlib.error, LZMAError) as error:
        raise ValueError(_unreadable(archive)) from error
    except OSError as error:
        # Damaged compressed data is an OSError without a number.
        if error.errno is not None:
            raise
        raise ValueError(_unreadable(archive)) from error


def _check_member(archive: Path, member: tarfile.TarInfo) -> None:
    parts = member.name.replace("\\", "/").split("/")
    if member.name.startswith(("/", "\\")) or ":" in parts[0]:
        fault = "has an absolute path"
    elif ".." in parts:
        fault = "leaves the folder (`..`)"
    elif member.issym() or member.islnk():
        fault = f"is a link (to {member.linkname!r})"
    elif not (member.isfile() or member.isdir()):
        fault = "is a device or another special file"
    else:
        return
    raise ValueError(
        f"{archive}: the member {member.name!r} {fault}; nothing was unpacked. The authors' "
        f"archive holds plain files only. {WHERE_TO_GET_IT}"
    )


def _unreadable(archive: Path) -> str:
    with open(archive, "rb") as file:
        start = file.read(40)
    size = os.path.getsize(archive)
    if start.startswith(_MAGIC) or tarfile.is_tarfile(archive):
        return (
            f"{archive} is cut off or damaged ({size:,} bytes); copy or download it again. {WHERE_TO_GET_IT}"
        )
    hint = " A web page was saved in its place." if start.lstrip().startswith(b"<") else ""
    return (
        f"{archive} is not a tar archive; its {size:,} bytes begin with {start!r}.{hint} `data_dir` "
        f"must be the archive or a folder. {WHERE_TO_GET_IT}"
    )


def _check_content(archive: Path, folder: Path) -> None:
    try:
        find_data_folder(folder)
    except FileNotFoundError as error:
        names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        raise ValueError(
            f"{archive} does not hold the data files of NYT-H; it holds: {shown or 'nothing'}. "
            f"{WHERE_TO_GET_IT}"
        ) from error
