"""The most memory that this process has held."""

from __future__ import annotations

from pathlib import Path


def peak_mebibytes() -> float:
    """Mebibytes of this program alone; `ru_maxrss` also counts the parent's memory from before the exec."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) / 1024
    raise OSError("/proc/self/status has no line VmHWM; this needs Linux.")
