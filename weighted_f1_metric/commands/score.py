"""The command `score`: predictions on a track, in the files of NYT-H's authors, or labels against labels."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ranking import DEFAULT_KS
from ..systems.breakdown import SLICES
from ..systems.calibration import calibration, calibration_notes, calibration_table
from ..systems.false_alarms import false_alarms, false_alarms_note, false_alarms_table
from ..table import number, percent
from ..tables import (
    BOUNDS_NOTE,
    RANKING_NAMES,
    averages_by_truth,
    classes_table,
    measures_table,
    open_note,
    track_notes,
    twins_note,
)
from ..tracks import ScoredTrack, scored_track
from ..units import TRUTHS, truth_name, unit_id_key
from ..unjudged.bounds import bounds_of_scored
from ..validation import quoted
from .breakdown import read_breakdown
from .flags import add_family_flags, add_format_flag, add_label_flags, add_track_flags
from .foreign_files import (
    RULE_FLAGS,
    add_foreign_flags,
    fitted_records,
    is_foreign,
    read_any_records,
    report_lines,
    rules_of,
)
from .label_scores import is_prose, print_scores, run_label_score
from .prediction_files import checked_predictions, read_judgments, read_references, read_relations

_DESCRIPTION = """Score predictions on NYT-H against distant and human labels (--track, --rel2id, --test,
--pred: the files and the short flags of the authors' evaluator): every average of the weighted F1 family is
printed under every ground truth, beside the scores of copying the distant labels. Or score the labels of any
classification (--gold, --pred, --negative): text, CSV, TSV, JSON lines or a JSON array, also .gz or - for
standard input; rows are matched by id where both files have ids."""
TRACK_FLAGS = ("track", "rel2id", "test")


def add_score_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Return the parser of `score`, added to the sub-commands; its default `run` is `run_score`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "score", help="score predictions on a track", description=_DESCRIPTION
    )
    add_track_flags(parser)
    parser.add_argument(
        "-p",
        "--pred",
        required=True,
        metavar="FILE",
        help='JSON lines {"instance_id" or "bag_id": ..., "pred": relation}, and optionally '
        '"scores": {relation: number} in each, or a table with such columns; with --gold the labels',
    )
    add_label_flags(parser)
    add_foreign_flags(parser)
    add_family_flags(parser)
    parser.add_argument("--per_class", action="store_true", help="show every class too")
    add_format_flag(parser)
    parser.add_argument(
        "--judgments",
        metavar="FILE",
        help="answers about further pairs, from `nyt_h_dataset merge --judgments`",
    )
    parser.add_argument("--truths", nargs="+", choices=TRUTHS, help="default: those that the answers allow")
    parser.add_argument("--ks", nargs="+", type=int, default=list(DEFAULT_KS), metavar="K", help="K of P@K")
    parser.add_argument(
        "--breakdown",
        nargs="*",
        choices=tuple(SLICES),
        metavar="NAME",
        help="why: the gap between DSGT and MAGT, sentences to look at, and the scores of parts of the test "
        f"set: {', '.join(SLICES)}",
    )
    parser.add_argument("--train", metavar="FILE", help="training rows, for --breakdown seen")
    parser.add_argument("--json", metavar="FILE", help="write every number")
    parser.add_argument("--plots", metavar="DIR", help="write the figures")
    parser.set_defaults(run=run_score)
    return parser


def run_score(arguments: argparse.Namespace) -> int:
    """Print the scores that the parsed arguments ask for, and return the exit status 0.

    Raises:
        FileNotFoundError: A file that is not there.
        ValueError: Flags of labels and of tracks together, or too few; a broken file; what `score_track` or
            `f1_family` refuses.
    """
    of_tracks = (*TRACK_FLAGS, *RULE_FLAGS, "breakdown", "train")
    given = [f"--{name}" for name in of_tracks if getattr(arguments, name) is not None]
    if arguments.gold is not None:
        if given:
            raise ValueError(f"--gold scores labels and does not go with {', '.join(given)}; leave one out.")
        return run_label_score(arguments)
    lacking = [f"--{name}" for name in TRACK_FLAGS if f"--{name}" not in given]
    if lacking:
        raise ValueError(f"{', '.join(lacking)} must be given (or --gold, to score labels without a track).")
    references = read_references(arguments.test)
    relations = read_relations(arguments.rel2id, negative_relation=arguments.negative_relation)
    read = _read_system(arguments, references, relations)
    scored = scored_track(
        track=arguments.track,
        references=references,
        predictions=read.predictions,
        relations=relations,
        negative_relation=arguments.negative_relation,
        truths=tuple(arguments.truths) if arguments.truths else "auto",
        unk=arguments.unk,
        by=arguments.by,
        judgments=None if arguments.judgments is None else read_judgments(arguments.judgments),
        ks=arguments.ks,
        averages=arguments.averages,
        beta=arguments.beta,
        per_class=arguments.per_class,
    )
    scores, prefixes = scored.scores, list(scored.signatures)
    bounds = bounds_of_scored(scored)
    shown_to_people = is_prose(arguments.format)
    shown = bounds if shown_to_people else None  # a program that reads a cell wants one number
    tables = [averages_by_truth(scores, bounds=shown), measures_table(scores, prefixes, bounds=shown)]
    if arguments.per_class:
        tables += [
            classes_table(scores[f"{prefix}_per_class"], title=f"relation, {truth_name(prefix)}")
            for prefix in prefixes
        ]
    notes = [*_notes(scored, arguments), *read.notes]
    if read.false_alarms is not None:
        tables.append(false_alarms_table(read.false_alarms))
    scores = {**scores, **read.numbers}
    worth = {prefix: own for prefix in prefixes if (own := calibration(scored.statistics, prefix))}
    if worth:
        scores["calibration"] = {prefix: own.to_json() for prefix, own in worth.items()}
        tables += [calibration_table(worth)] if shown_to_people else []
        notes += calibration_notes(worth)
    if arguments.breakdown is not None:
        reasons = read_breakdown(scored, references, arguments)
        scores = {**scores, "breakdown": reasons.numbers}
        tables += reasons.tables
        notes += reasons.notes
    if bounds is not None:
        scores = {**scores, "magt_bounds": bounds}
        notes += [BOUNDS_NOTE, open_note(bounds)] if shown else []
    print_scores(tables, notes, scores, arguments)
    if arguments.plots:
        from .figure_files import write_track_figures

        for path in write_track_figures(Path(arguments.plots), scored):
            print(f"Figure: {path}", file=sys.stdout if is_prose(arguments.format) else sys.stderr)
    return 0


@dataclass(frozen=True)
class _System:
    """The predictions of a system, and what is said about how they were read."""

    predictions: Any
    numbers: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    false_alarms: dict[str, Any] | None = None


def _read_system(
    arguments: argparse.Namespace, references: list[dict[str, Any]], relations: list[str]
) -> _System:
    """The predictions in the authors' format, or those of any system with what was lost."""
    broken: list[str] | None = [] if arguments.missing == "negative" else None
    records = read_any_records(arguments.pred, broken=broken)
    if not is_foreign(arguments, records):
        return _System(checked_predictions(records))
    negative_rows = [] if arguments.na_rows is None else read_references(arguments.na_rows)
    id_key = unit_id_key(arguments.track)
    bag_of = {row[id_key]: row["bag_id"] for row in negative_rows}
    shared = bag_of.keys() & {row[id_key] for row in references}
    if shared:
        raise ValueError(f"--na_rows has units of --test: {quoted(sorted(shared, key=str))}.")
    fitted = fitted_records(
        records,
        rules_of(arguments),
        broken=broken or [],
        track=arguments.track,
        references=[*references, *negative_rows],
        relations=relations,
        negative_relation=arguments.negative_relation,
    )
    numbers, notes = fitted.report, report_lines(fitted.report)
    if not negative_rows:
        return _System(fitted.records, numbers, notes)
    alarms = false_alarms(
        [record for record in fitted.records if record[id_key] in bag_of],
        negative_relation=arguments.negative_relation,
        bags=list(bag_of.values()),
    )
    tested = [record for record in fitted.records if record[id_key] not in bag_of]
    return _System(tested, {**numbers, "false_alarms": alarms}, [*notes, false_alarms_note(alarms)], alarms)


def _notes(scored: ScoredTrack, arguments: argparse.Namespace) -> list[str]:
    """Signatures, numbers of units and predictions, ranking measures, and what to type about twins."""
    scores = scored.scores
    lines = [f"{truth_name(prefix)}: {line}" for prefix, line in scored.signatures.items()]
    lines += ["", *track_notes(scores), *_ranking_lines(scores, arguments.ks)]
    if scores.get("num_twins") and arguments.by == "rows":
        lines.append(f"{twins_note(scores)} To score each sentence once, type: --by sentences")
    return lines


def _ranking_lines(scores: dict[str, Any], ks: Sequence[int]) -> list[str]:
    """The best recall and the ranking measures of each truth."""
    lines = []
    for prefix in scores["signatures"]:
        parts = [
            f"best micro recall with one relation a unit {percent(scores[f'{prefix}_max_single_recall'])}%"
        ]
        if f"{prefix}_auc" in scores:
            parts.append(f"prevalence {number(scores[f'{prefix}_prevalence'])}")
            parts += [f"{name} {number(scores[f'{prefix}_{key}'])}" for key, name in RANKING_NAMES.items()]
            parts += [f"P@{k} {number(scores[f'{prefix}_precision_at_{k}'])}" for k in ks]
        lines.append(f"{truth_name(prefix)}: {', '.join(parts)}.")
    return lines
