"""Plain values -> a JSON file that is whole or not there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["write_json"]


def write_json(path: str | Path, content: Any) -> None:
    """Write `content` as indented JSON: beside the target first, then renamed, so no half file is ever seen.

    Raises:
        ValueError: NaN or an infinity in `content`, which JSON does not have.
        OSError: The folder does not exist or cannot be written.
    """
    target = Path(path)
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    part = target.with_name(f".{target.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, target)
