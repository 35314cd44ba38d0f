"""Where the repository is, and the real data beside it; tests that read it are skipped where it is absent."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
