"""The command `score`: predictions on a track, in the files of NYT-H's authors, or labels against labels."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..ranking import DEFAULT_KS
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
from ..units import TRUTHS, truth_name
from ..unjudged.bounds import bounds_of_scored
from .flags import add_family_flags, add_format_flag, add_label_flags, add_track_flags
from .label_scores import is_prose, print_scores, run_label_score
from .prediction_files import read_judgments, read_predictions, read_references, read_relations

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
        '"scores": {relation: number} in each; with --gold the predicted labels',
    )
    add_label_flags(parser)
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
    given = [f"--{name}" for name in TRACK_FLAGS if getattr(arguments, name) is not None]
    if arguments.gold is not None:
        if given:
            raise ValueError(f"--gold scores labels and does not go with {', '.join(given)}; leave one out.")
        return run_label_score(arguments)
    if len(given) < len(TRACK_FLAGS):
        lacking = [f"--{name}" for name in TRACK_FLAGS if f"--{name}" not in given]
        raise ValueError(f"{', '.join(lacking)} must be given (or --gold, to score labels without a track).")
    scored = scored_track(
        track=arguments.track,
        references=read_references(arguments.test),
        predictions=read_predictions(arguments.pred),
        relations=read_relations(arguments.rel2id, negative_relation=arguments.negative_relation),
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
    shown = bounds if is_prose(arguments.format) else None  # a program that reads a cell wants one number
    tables = [averages_by_truth(scores, bounds=shown), measures_table(scores, prefixes, bounds=shown)]
    if arguments.per_class:
        tables += [
            classes_table(scores[f"{prefix}_per_class"], title=f"relation, {truth_name(prefix)}")
            for prefix in prefixes
        ]
    notes = _notes(scored, arguments)
    if bounds is not None:
        scores = {**scores, "magt_bounds": bounds}
        notes += [BOUNDS_NOTE, open_note(bounds)] if shown else []
    print_scores(tables, notes, scores, arguments)
    if arguments.plots:
        from .figure_files import write_track_figures

        for path in write_track_figures(Path(arguments.plots), scored):
            print(f"Figure: {path}", file=sys.stdout if is_prose(arguments.format) else sys.stderr)
    return 0


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
