"""The leaderboard and the metric -> a folder that runs as a Space on its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from hub_cards import folder_files, pinned_version, space_metadata

ROOT = Path(__file__).resolve().parent
METRIC = "weighted_f1_metric"
# Of no use in the Space: what stages it.
_LEFT_OUT = ("__main__.py", "staging.py", "space_card.md", "requirements.txt")


def stage_leaderboard(out: Path) -> None:
    """Write the Space to `out`, an empty folder: the two packages, what they need, and a card."""
    for package in (ROOT, ROOT.parent / METRIC):
        for path in folder_files(package):
            if package != ROOT or path not in _LEFT_OUT:
                target = out / package.name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(package / path, target)
    shutil.copyfile(ROOT / "requirements.txt", out / "requirements.txt")
    metadata = space_metadata(
        title="Leaderboard of relation classification",
        sdk_version=pinned_version(ROOT / "requirements.txt", "gradio"),
        app_file="leaderboard/app.py",
        tags=["leaderboard"],
        description="Models by measures, scored from predictions",
        login=True,
    )
    header = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)
    card = (ROOT / "space_card.md").read_text(encoding="utf-8")
    (out / "README.md").write_text(f"---\n{header}---\n\n{card}", encoding="utf-8")
