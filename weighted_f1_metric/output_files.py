"""Text and JSON -> files that are whole or not there: written beside their place, then moved to it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a UTF-8 text file; the folder is made when it is not there.

    Raises:
        OSError: the folder cannot be made or written.
    """
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Writes `content` as indented JSON.

    Raises:
        ValueError: NaN or an infinity in `content`, which JSON does not have.
        OSError: the folder cannot be made or written.
    """
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
