"""The command `score`: a prediction file against a test file, as the NYT-H authors' evaluator takes them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..ranking import DEFAULT_KS
from ..table import number, percent
from ..tables import RANKING_NAMES, track_notes, track_table, twins_note
from ..tracks import scored_track
from ..units import TRACKS, TRUTHS, truth_name
from .files import write_json
from .prediction_files import read_predictions, read_references, read_relations

_DESCRIPTION = """Score predictions on NYT-H against distant and human labels. The files and the short flags
are those of the authors' evaluator; every average of the weighted F1 family is printed under every ground
truth, beside the scores of copying the distant labels."""


def add_score_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of `score`, added to the sub-commands; its default `run` is `run_score`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "score", help="score predictions on a track", description=_DESCRIPTION
    )
    parser.add_argument("-k", "--track", required=True, choices=TRACKS, help="what is a unit: row or bag")
    parser.add_argument("-r", "--rel2id", required=True, metavar="FILE", help="rel2id.json of the data")
    parser.add_argument("-t", "--test", required=True, metavar="FILE", help="test.json of the data")
    parser.add_argument(
        "-p",
        "--pred",
        required=True,
        metavar="FILE",
        help='JSON lines {"instance_id" or "bag_id": ..., "pred": relation}, and optionally '
        '"scores": {relation: number} in each',
    )
    parser.add_argument("--negative_relation", default="NA", metavar="NAME", help="default: NA")
    parser.add_argument(
        "--by",
        default="rows",
        choices=("rows", "sentences"),
        help="sentences: join rows of the same sentence",
    )
    parser.add_argument(
        "--unk",
        default="error",
        choices=("error", "exclude"),
        help="exclude: leave unjudged pairs out of MAGT",
    )
    parser.add_argument("--truths", nargs="+", choices=TRUTHS, help="default: those that the answers allow")
    parser.add_argument("--ks", nargs="+", type=int, default=list(DEFAULT_KS), metavar="K", help="K of P@K")
    parser.add_argument("--json", metavar="FILE", help="write every number")
    parser.add_argument("--plots", metavar="DIR", help="write the figures")
    parser.set_defaults(run=run_score)
    return parser


def run_score(arguments: argparse.Namespace) -> int:
    """Prints the scores that the parsed arguments ask for; the exit status 0.

    Raises:
        FileNotFoundError: a file that is not there.
        ValueError: a broken file, or what `score_track` refuses.
    """
    scored = scored_track(
        track=arguments.track,
        references=read_references(arguments.test),
        predictions=read_predictions(arguments.pred),
        relations=read_relations(arguments.rel2id, negative_relation=arguments.negative_relation),
        negative_relation=arguments.negative_relation,
        truths=tuple(arguments.truths) if arguments.truths else "auto",
        unk=arguments.unk,
        by=arguments.by,
        ks=arguments.ks,
    )
    scores = scored.scores
    print(track_table(scores))
    print()
    for prefix, line in scored.signatures.items():
        print(f"{truth_name(prefix)}: {line}")
    print()
    for line in [*track_notes(scores), *_ranking_lines(scores, arguments.ks)]:
        print(line)
    if scores.get("num_twins") and arguments.by == "rows":
        print(f"{twins_note(scores)} To score each sentence once, type: --by sentences")
    if arguments.json:
        write_json(arguments.json, scores)
        print(f"Every number: {arguments.json}")
    if arguments.plots:
        from ..figures.track_figures import write_track_figures

        for path in write_track_figures(Path(arguments.plots), scored):
            print(f"Figure: {path}")
    return 0


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
