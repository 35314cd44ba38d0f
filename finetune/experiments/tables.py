"""The tables of scores: [A]'s Tables 6 and 7, the averages of [B], label statistics; as Markdown and as CSV.

[A] Zhu et al. 2020 (COLING), [B] Harbecke et al. 2022 (NLP Power).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hub_cards import as_text, markdown_table
from weighted_f1_metric import AUC_NOTE, label_statistics, percent, statistics_table, truth_name, truth_pairs

from ..data.relation_rows import RelationData
from ..report.evaluation import units_of
from ..report.results import aggregate
from .run_results import TrackRuns

ECHO = "echo (copies the distant labels)"
Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Attributes:
        name: Its files, without the suffix.
        title: What it is.
        text: Markdown.
        rows: For CSV: column -> value, fractions unrounded; the same columns in every row.
    """

    name: str
    title: str
    text: str
    rows: Sequence[Row]


def csv_text(rows: Sequence[Row]) -> str:
    r"""Return the rows as CSV with a header; None is an empty field, floats are written so that they read
    back.

    >>> csv_text([{"system": "a,b", "mean": 0.1, "sd": None}])
    'system,mean,sd\n"a,b",0.1,\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def of_seeds(runs: TrackRuns) -> str:
    """Return what the numbers of a table are.

    Returns:
        Such as "mean ± sample standard deviation over n = 2 seeds (9, 148)".
    """
    seeds = ", ".join(map(str, runs.seeds))
    if len(runs.seeds) == 1:
        return f"one seed ({seeds}), so without a standard deviation"
    return f"mean ± sample standard deviation over n = {len(runs.seeds)} seeds ({seeds})"


def truth_title(truth: str) -> str:
    """Return the heading of a truth's table, with whose convention it is.

    >>> truth_title("magt_ds_scope")
    "MAGT (DS scope): human labels, [A]'s convention"
    """
    if not truth:
        return "The labels of the data"
    meaning = {
        "dsgt": "distant labels",
        "magt_ds_scope": "human labels, [A]'s convention",
        "magt": "human labels, ours: every prediction counts",
    }
    return f"{truth_name(truth)}: {meaning[truth]}"


def table_6(runs: TrackRuns) -> Table:
    """Return [A]'s Table 6: precision, recall and F1 as macro averages over all relations, AUC and
    prevalence.
    """
    columns = {
        "P": "macro_all_precision",
        "R": "macro_all_recall",
        "F1": "macro_all_f1",
        "AUC": "auc",
        "AUC ([A])": "auc_over_units",
        "prevalence": "prevalence",
    }
    note = (
        f"In percent, {of_seeds(runs)}. P, R and F1 are macro averages over all relations, as in [A]. "
        "Recall counts (unit, relation) pairs in AUC, and units with a gold relation in AUC ([A]), which "
        f"passes 100 where units have several. {AUC_NOTE} Read an AUC beside its prevalence, the precision "
        "of a random ranking: AUCs of different truths are not comparable without it."
    )
    text, rows = _by_truth(runs, {truth: _keys(truth, columns) for truth in runs.truths}, echo=True)
    return Table(f"table_6_{runs.track}", "[A] Table 6: scores by ground truth", f"{note}\n\n{text}", rows)


def table_7(runs: TrackRuns) -> Table | None:
    """Return [A]'s Table 7: precision among the first K candidates; None where no system has scores."""
    cutoffs = _cutoffs(runs)
    if not cutoffs:
        return None
    columns = {f"P@{k}": f"precision_at_{k}" for k in cutoffs} | {"prevalence": "prevalence"}
    note = (
        f"In percent, {of_seeds(runs)}. A dash: there are fewer candidates than K. [A]'s candidates under "
        "MAGT are those of the DS scope; prevalence is the precision of a random ranking."
    )
    text, rows = _by_truth(runs, {truth: _keys(truth, columns) for truth in runs.truths})
    return Table(f"table_7_{runs.track}", "[A] Table 7: precision at K", f"{note}\n\n{text}", rows)


def averages_table(runs: TrackRuns) -> Table:
    """Return the F1 averages of [B] by truth, the numbers behind its Tables 3 and 4."""
    note = f"F1 in percent, {of_seeds(runs)}. `macro` is over the classes that have support under the truth."
    columns = {truth: runs.f1_keys(truth) for truth in runs.truths}
    text, rows = _by_truth(runs, columns, echo=runs.by_track)
    return Table(f"averages_{runs.track}", "F1 by average", f"{note}\n\n{text}", rows)


def gaps_table(runs: TrackRuns) -> Table | None:
    """Return DSGT - MAGT of every F1, by system: mean and sd of the seeds' own gaps; None without both
    truths.
    """
    conventions = [truth for truth in runs.truths if truth != "dsgt"]
    if "dsgt" not in runs.truths or not conventions:
        return None
    parts, rows = [], []
    for convention in conventions:
        keys = runs.f1_keys("dsgt")
        others = runs.f1_keys(convention)
        cells = []
        scored: list[tuple[str | None, Sequence[Mapping[str, Any]]]] = [
            (name, runs.seed_scores(name)) for name in runs.systems
        ]
        if runs.echo is not None:
            scored.append((None, [runs.echo]))
        for system, scores in scored:
            gaps = [{name: own[keys[name]] - own[others[name]] for name in keys} for own in scores]
            both = aggregate(gaps)
            cells.append(
                [
                    f"*{ECHO}*" if system is None else as_text(system),
                    *(percent(both["mean"][name], both["sd"][name]) for name in keys),
                ]
            )
            rows += [
                {
                    "track": runs.track,
                    "system": ECHO if system is None else system,
                    "truth": convention,
                    "measure": name,
                    "n": len(gaps),
                    "mean": both["mean"][name],
                    "sd": both["sd"][name],
                }
                for name in keys
            ]
        parts.append(f"**DSGT - {truth_name(convention)}**\n\n" + markdown_table(["system", *keys], cells))
    note = (
        f"Points of F1, {of_seeds(runs)}; a positive gap says that the distant labels flatter the system. "
        "The echo shows what the labels alone make of the gap."
    )
    return Table(f"gaps_{runs.track}", "How far DSGT and MAGT lie apart", "\n\n".join([note, *parts]), rows)


def label_table(tracks: Sequence[TrackRuns], data: RelationData) -> Table:
    """Return [B]'s Table 1 for the labels of the test split, by unit and truth."""
    statistics: dict[str, dict[str, Any]] = {}
    for runs in tracks:
        for name, labels in _labels(runs, data):
            if labels and name not in statistics:
                negative = data.negative_relation if data.negative_relation in labels else None
                statistics[name] = label_statistics(labels=labels, negative_label=negative)
    rows = [{"data": name, **own} for name, own in statistics.items()]
    return Table(
        "label_statistics", "[B] Table 1: labels of the test split", statistics_table(statistics), rows
    )


def _labels(runs: TrackRuns, data: RelationData) -> Iterator[tuple[str, list[str]]]:
    """Name -> the labels of each truth; on a track of (unit, relation) pairs, NA for units without one."""
    if not runs.by_track:
        yield "test", data.relations_of("test")
        return
    unit = "bags" if runs.track == "bag2bag" else "sentences"
    units = units_of(data, "test", track=runs.track)
    without = int((~units.distant.any(axis=1)).sum())
    for truth, what in (("dsgt", "distant labels"), ("magt", "confirmed by people")):
        if truth in runs.truths:
            gold = truth_pairs(truth, units)[0].nonzero()[1].tolist()
            labels = [units.relations[relation] for relation in gold]
            yield f"{unit}, {what}", labels + [data.negative_relation] * without


def _keys(truth: str, columns: Mapping[str, str]) -> dict[str, str]:
    return {title: f"{truth}_{name}" for title, name in columns.items()}


def _cutoffs(runs: TrackRuns) -> list[int]:
    start = f"{runs.truths[0]}_precision_at_"
    keys = {key for run in runs.systems.values() for key in run.results["mean"] if key.startswith(start)}
    return sorted(int(key.removeprefix(start)) for key in keys)


def _by_truth(
    runs: TrackRuns, columns: Mapping[str, Mapping[str, str]], *, echo: bool = False
) -> tuple[str, list[Row]]:
    """Markdown and CSV rows of a table with a part for each truth: truth -> title -> key of each column."""
    parts, rows = [], []
    for truth, titles in columns.items():
        cells = []
        for system, run in runs.systems.items():
            mean, sd = run.results["mean"], run.results["sd"]
            cells.append(
                [
                    as_text(system),
                    *(
                        percent(mean.get(key), None if title == "prevalence" else sd.get(key))
                        for title, key in titles.items()
                    ),
                ]
            )
            rows += _csv_rows(runs, system, truth, titles)
        if echo and runs.echo is not None:
            cells.append([f"*{ECHO}*", *(percent(runs.echo.get(key)) for key in titles.values())])
            rows += _csv_rows(runs, None, truth, titles)
        heading = f"**{truth_title(truth)}**\n\n" if truth else ""
        parts.append(heading + markdown_table(["system", *titles], cells))
    return "\n\n".join(parts), rows


def _csv_rows(runs: TrackRuns, system: str | None, truth: str, titles: Mapping[str, str]) -> list[Row]:
    """Return a row for each measure of a system under a truth; None is the echo, which has no seeds."""
    seeds = [None] * len(runs.seeds) if system is None else runs.seed_scores(system)
    found = []
    for measure, key in titles.items():
        if system is None:
            numbers = {"n": None, "mean": (runs.echo or {}).get(key), "sd": None}
        else:
            results = runs.systems[system].results
            numbers = {"n": results["n"], "mean": results["mean"].get(key), "sd": results["sd"].get(key)}
        values = {
            f"seed {seed}": None if own is None else own.get(key)
            for seed, own in zip(runs.seeds, seeds, strict=True)
        }
        row = {"track": runs.track, "system": ECHO if system is None else system, "truth": truth}
        found.append({**row, "measure": measure, "key": key, **numbers, **values})
    return found
