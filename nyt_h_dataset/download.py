"""`download_nyt_h`: the authors' archive from Google Drive, resumed where it stopped, with its checksum."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .archive import check_archive, file_sha256
from .schema import ARCHIVE_NAME, HOMEPAGE

DRIVE_ID = "1my4W7O-ioCYWRiP6VCbgGfXTzgdrDep0"
DRIVE_PAGE = f"https://drive.google.com/file/d/{DRIVE_ID}/view"
# Not yet checked: the archive has its own name only when it is complete and an archive.
_UNCHECKED = f"{ARCHIVE_NAME}.unchecked"


@dataclass(frozen=True)
class DownloadInfo:
    """The archive: its path, its SHA-256 in hex, its size, and whether it was there already."""

    path: Path
    sha256: str
    num_bytes: int
    was_there: bool


def by_hand(folder: str | os.PathLike[str]) -> str:
    """Return what to do on a machine that cannot reach the authors' file.

    >>> print(by_hand("corpus"))
    By hand: on a machine with access, open ... in a browser (the page that names it: ...), save
    nyt-h.tar.bz2, and copy it to corpus. Then load_nyt_h("corpus") reads it as it is.
    """
    return (
        f"By hand: on a machine with access, open {DRIVE_PAGE} in a browser (the page that names it: "
        f"{HOMEPAGE}), save {ARCHIVE_NAME}, and copy it to {os.fspath(folder)}. Then "
        f'load_nyt_h("{os.fspath(folder)}") reads it as it is.'
    )


def download_nyt_h(
    out: str | os.PathLike[str],
    *,
    sha256: str | None = None,
    url: str | None = None,
    quiet: bool = False,
    retries: int = 5,
    timeout: float = 60.0,
) -> DownloadInfo:
    """Download the authors' archive to ``out/nyt-h.tar.bz2`` and return where it is and its checksum.

    An interrupted download goes on where it stopped when this is called again. An archive that is there
    already is not downloaded again, only checked; one that is cut off or damaged is fetched anew.

    Args:
        out: the folder; made when it is not there.
        sha256: the checksum that the archive must have, 64 hex digits. The authors publish none.
        url: another address of the same file (default: the authors' file on Google Drive).
        quiet: no progress bar.
        retries: further attempts after a failure of the network, each from where the last one stopped.
        timeout: seconds to wait for the server.

    Raises:
        ValueError: `sha256` is not a SHA-256, the archive has another one, or what came is no archive.
        ImportError: gdown is not installed (the extra `download`).
        ConnectionError: the file could not be had; the message says how to do it by hand.
        OSError: `out` cannot be written to.
    """
    if sha256 is not None and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise ValueError(f"`sha256` must be 64 hex digits; got {sha256!r}.")
    folder = Path(os.path.abspath(os.path.expanduser(out)))
    archive, unchecked = folder / ARCHIVE_NAME, folder / _UNCHECKED
    if archive.is_file() and _is_archive(archive):
        return _checked(archive, sha256, was_there=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ValueError(f"`out` {folder} is a file; give a folder.") from error
    _fetch(unchecked, url, quiet=quiet, retries=retries, timeout=timeout)
    try:
        info = _checked(unchecked, sha256, was_there=False)
    except ValueError:
        unchecked.unlink()
        raise
    # gdown makes its file for the owner alone; this one is a file like any other.
    unchecked.chmod(0o666 & ~_umask())
    os.replace(unchecked, archive)
    return DownloadInfo(archive, info.sha256, info.num_bytes, was_there=False)


def _fetch(path: Path, url: str | None, *, quiet: bool, retries: int, timeout: float) -> None:
    try:
        import gdown
        from gdown.exceptions import DownloadError
        from requests.exceptions import RequestException
    except ImportError as error:
        raise ImportError(
            'Downloading needs gdown: pip install "nyt-h[download]". ' + by_hand(path.parent)
        ) from error
    try:
        # gdown's own resume and retries; ours are the checks and a name that only a whole file gets.
        gdown.download(
            url=url,
            id=DRIVE_ID if url is None else None,
            output=str(path),
            resume=True,
            quiet=quiet,
            use_cookies=False,
            retries=retries,
            timeout=timeout,
        )
    except (DownloadError, RequestException) as error:
        parts = sorted(part.name for part in path.parent.glob(f"{path.name}*.part") if part.stat().st_size)
        kept = ""
        if parts:
            kept = (
                f" What came so far is kept ({', '.join(parts)}): run the same again to go on, or delete it "
                "to start over."
            )
        reason = " ".join(str(error).split())
        raise ConnectionError(
            f"{url or DRIVE_PAGE} could not be downloaded: {reason.rstrip('.')}.{kept} {by_hand(path.parent)}"
        ) from error
    finally:
        for part in path.parent.glob(f"{path.name}*.part"):
            if not part.stat().st_size:
                part.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _is_archive(path: Path) -> bool:
    try:
        check_archive(path)
    except ValueError:
        return False
    return True


def _checked(path: Path, expected: str | None, *, was_there: bool) -> DownloadInfo:
    """The file's checksum; what is no archive, or another one than `expected`, is an error."""
    removed = "" if was_there else " It was removed."
    try:
        check_archive(path)
    except ValueError as error:
        raise ValueError(f"{error}{removed} {by_hand(path.parent)}") from error
    found = file_sha256(path)
    if expected is not None and found != expected.lower():
        raise ValueError(f"{path} has the SHA-256 {found}, not {expected.lower()}.{removed}")
    return DownloadInfo(path, found, path.stat().st_size, was_there)
