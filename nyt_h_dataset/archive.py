"""The authors' tarball -> a folder of data files in the cache, unpacked once per content (pure)."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zlib
from lzma import LZMAError
from pathlib import Path

import xxhash

from .folder import find_data_folder
from .schema import ARCHIVE_NAME, WHERE_TO_GET_IT

_MAGIC = (b"BZh", b"\x1f\x8b", b"\xfd7zXZ")
_CACHE_FOLDER = "nyt_h_archives"


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

    The folder's name is the content of the archive: the same archive is unpacked once, a changed one anew.
    It appears as a whole or not at all, whoever else unpacks at the same time. Regular files and folders
    only; what would land elsewhere is refused.

    Raises:
        ValueError: not a tar archive, cut off or damaged, a member with an absolute path or ``..``, a link or
            a device, or no data files of NYT-H in it.
        OSError: `cache_dir` cannot be written to, or the disk is full.
    """
    target = Path(os.path.abspath(os.path.expanduser(cache_dir))) / _CACHE_FOLDER / _content_key(archive)
    if not target.is_dir():
        beside = None
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(prefix=".unpacking.", dir=target.parent))
            _extract(archive, beside)
            _check_content(archive, beside)
            try:
                os.replace(beside, target)
            except OSError:
                # Somebody else was faster, with the same content.
                if not target.is_dir():
                    raise
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
            if beside is not None:
                shutil.rmtree(beside, ignore_errors=True)
    return find_data_folder(target)


def _content_key(archive: Path) -> str:
    digest = xxhash.xxh3_128()
    with open(archive, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _extract(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                _check_member(archive, member)
                tar.extract(member, folder, set_attrs=False, filter="data")
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
