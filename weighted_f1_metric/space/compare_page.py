"""Two sets of results files -> the page that compares them (no Gradio here)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..commands.compare import two_systems_tables, two_systems_verdict
from ..commands.run_files import read_systems
from ..significance.comparison import compare_runs
from ..significance.run_measures import Run
from .pages import Page, download_link, lines_html, table_html
from .uploads import UploadError, UploadLimits, checked_upload

LIMITS = UploadLimits(num_bytes=20_000_000, num_rows=1_000_000, num_values=1_000_000)
MAX_FILES = 100
MAX_BYTES = 64_000_000  # of all files of a system
MAX_NAME_LENGTH = 60


def compare_page(
    *, files_a: Sequence[str] | None, files_b: Sequence[str] | None, name_a: str = "", name_b: str = ""
) -> Page:
    """Return the page that compares two systems over their runs.

    Args:
        files_a, files_b: results of single runs as `score --json` writes them (or the downloads of the tab
            Score), or a results.json of the fine-tuning command, which holds all seeds.
        name_a, name_b: what the page calls them; "" for A and B.

    Raises:
        UploadError: no files, too many, too large, or no text; names that are too long or equal.
        TypeError, ValueError: as `read_systems` and `compare_runs`.
    """
    names = (_name(name_a) or "A", _name(name_b) or "B")
    if names[0] == names[1]:
        raise UploadError(f"Both systems are called {names[0]!r}; give them different names.")
    compared = compare_runs(runs_a=_runs(files_a, names[0]), runs_b=_runs(files_b, names[1]))
    tables = [
        table_html(table, name="comparison", caption=f"{names[0]} and {names[1]}, {table.header[0]}")
        for table in two_systems_tables(names, compared)
    ]
    verdict = lines_html(two_systems_verdict(names, compared))
    numbers = {measure: comparison.to_json() for measure, comparison in compared.items()}
    link = download_link(
        json.dumps({"a": names[0], "b": names[1], "measures": numbers}, indent=1, allow_nan=False),
        "comparison.json",
        "application/json",
    )
    return Page(f'<div class="nyt-page">{"".join(tables)}{verdict}<h2>Download</h2>{link}</div>')


def _name(text: str) -> str:
    name = " ".join(text.split())
    if len(name) > MAX_NAME_LENGTH:
        raise UploadError(f"A name has {len(name):,} characters, at most {MAX_NAME_LENGTH}.")
    return name


def _runs(files: Sequence[str] | None, name: str) -> list[Run]:
    if not files:
        raise UploadError(f"There are no results of {name}; upload a results file for each run.")
    if len(files) > MAX_FILES:
        raise UploadError(f"There are {len(files)} files of {name}, at most {MAX_FILES}.")
    paths = [checked_upload(file, f"results file of {name}", LIMITS) for file in files]
    if sum(Path(file).stat().st_size for file in paths) > MAX_BYTES:
        raise UploadError(f"The files of {name} have more than {MAX_BYTES:,} bytes together.")
    return [run for path in map(Path, paths) for runs in read_systems([path]).values() for run in runs]
