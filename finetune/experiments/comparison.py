"""Several finished runs compared: the tables and pictures of the two papers, and a report of what changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hub_cards import as_code, as_text
from weighted_f1_metric import truth_name, write_text

from ..data.relation_rows import RelationData
from ..report.model_card import pictures_text
from ..report.report_tables import counted
from ..report.results import PAGE
from .figures import draw_comparison
from .rank_sets import draw_rank_sets, rank_sets, rank_sets_table
from .ranking_report import between_averages, between_truths, ranks_table
from .run_results import SystemRun, TrackRuns, runs_by_track
from .significance import method, pair_tests, pairs_table
from .tables import Table, averages_table, csv_text, gaps_table, label_table, table_6, table_7

TABLES = "tables"
PAPERS = (
    "[A] Zhu et al. 2020, Towards Accurate and Consistent Evaluation: A Dataset for Distantly-Supervised "
    "Relation Extraction (COLING). [B] Harbecke et al. 2022, Why only Micro-F1? Class Weighting of Measures "
    "for Relation Classification (NLP Power)."
)
TRUTHS_TEXT = (
    "DSGT scores against the distant labels, MAGT against people. MAGT (DS scope) is the convention of [A]'s "
    "released evaluator: a prediction counts on units that have the relation as distant label only. MAGT "
    "without more is ours: every prediction counts, and one that nobody judged is wrong."
)


def write_comparison(*, title: str, runs: Sequence[SystemRun], data: RelationData, folder: Path) -> str:
    """Write the tables, pictures and the report of these runs under `folder`, return the report's Markdown.

    Args:
        title: Of the report.
        runs: The finished runs, in the order of the tables; [B]'s tables compare with the first system. A
            system may lack a track; the report says so.
        data: What the runs were scored on, with the test split.
        folder: README.md, tables/*.md, tables/*.csv and figures/*.png are written here; the same runs give
            the same files.

    Raises:
        ValueError: No runs; a system twice on a track; runs of a track with different seeds, data or
            signatures, or of other data than `data`; see `runs_by_track`.
    """
    tracks = runs_by_track(runs, data)
    (folder / TABLES).mkdir(parents=True, exist_ok=True)
    found: list[str] = []
    sections: list[str] = []
    for own in tracks:
        texts, answers = _track_sections(own, data, folder)
        sections += texts
        found.append("\n".join([*([f"**{own.track}**", ""] if own.by_track else []), *answers]))
    labels = label_table(tracks, data)
    _write_table(folder, labels, {})
    parts = [
        f"# {as_text(title)}",
        _introduction(tracks, runs),
        "## What changes, and what does not",
        *found,
        *sections,
        f"## {labels.title}",
        labels.text,
        f"## Papers\n\n{PAPERS}",
    ]
    report = "\n\n".join(parts) + "\n"
    write_text(folder / PAGE, report)
    return report


def _introduction(tracks: Sequence[TrackRuns], runs: Sequence[SystemRun]) -> str:
    names = dict.fromkeys(run.system for run in runs)
    first = runs[0].results["data"]
    parts = [
        f"{counted(len(names), 'system')}: {', '.join(map(as_text, names))}. Test split of "
        f"{as_text(first['name'])}, fingerprint {as_code(first['fingerprint'])}. The tables are in "
        f"{as_code(TABLES + '/')} as Markdown and, with unrounded fractions and the values of "
        "every seed, as CSV."
    ]
    if any(own.by_track for own in tracks):
        parts.append(TRUTHS_TEXT)
    return "\n\n".join(parts)


def _track_sections(own: TrackRuns, data: RelationData, folder: Path) -> tuple[list[str], list[str]]:
    """Return the sections of one track, and its findings as a list; its tables are written."""
    tests = pair_tests(own, data)
    found: list[str] = []
    tables: list[Table | None] = []
    if own.by_track:
        tables += [table_6(own), table_7(own)]
    ranks = rank_sets(own, data)
    tables += [
        averages_table(own),
        pairs_table(own, tests),
        rank_sets_table(own, ranks),
        ranks_table(own, tests),
    ]
    for answer in (between_truths(own, tests), between_averages(own, tests)):
        if answer is not None:
            tables.append(answer[0])
            found += [f"- {sentence}" for sentence in answer[1]]
    tables.append(gaps_table(own))
    pictures = draw_comparison(folder, own, data)
    if not tests:
        found.append("- One system only, so there is nothing to rank.")
    sections = [f"## {own.track if own.by_track else 'Scores'}"]
    if own.missing:
        sections.append(f"Without a run on this track: {', '.join(map(as_text, own.missing))}.")
    if tests:
        sections.append(method(own))
    for table in tables:
        if table is not None:
            sections += [f"### {table.title}", _write_table(folder, table, own.signatures)]
    shown = [f"{pictures_text([path])}\n\n{caption}" for path, caption in pictures.captions.items()]
    if pictures.points:
        shown.append(f"The points of every seed: {', '.join(map(as_code, pictures.points))}.")
    shown += map(as_text, pictures.notes)
    drawn = draw_rank_sets(folder, own, ranks)
    if drawn:
        sections += ["### Rank sets, and P(a > b); as PDF beside", pictures_text(drawn)]
    if shown:
        sections += ["### [A] Figures 3 and 4", *shown]
    return sections, found


def _write_table(folder: Path, table: Table, signatures: Mapping[str, str]) -> str:
    """Write a table as Markdown and CSV; return its text with the signatures beneath."""
    text = table.text
    if signatures:
        lines = [
            f"- {truth_name(prefix)}: {as_code(line, in_table=False)}" for prefix, line in signatures.items()
        ]
        text += "\n\n<details><summary>Signatures</summary>\n\n" + "\n".join(lines) + "\n\n</details>"
    write_text(folder / TABLES / f"{table.name}.md", f"# {table.title}\n\n{text}\n")
    write_text(folder / TABLES / f"{table.name}.csv", csv_text(table.rows))
    return text
