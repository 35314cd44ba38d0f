"""Flags that several commands share: what a track is scored against, and what labels are."""

from __future__ import annotations

import argparse

from ..table import FORMATS
from ..units import TRACKS
from ..weighting import AVERAGES

Parser = argparse.ArgumentParser | argparse._ArgumentGroup


def add_track_flags(parser: Parser) -> None:
    """Add the files of a track and how its units are read; the short flags are the authors' evaluator's."""
    parser.add_argument("-k", "--track", choices=TRACKS, help="what is a unit: row or bag")
    parser.add_argument("-r", "--rel2id", metavar="FILE", help="rel2id.json of the data")
    parser.add_argument("-t", "--test", metavar="FILE", help="test.json of the data")
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


def add_label_flags(parser: Parser) -> None:
    """Add the gold labels of a comparison without a track, and how they are read."""
    parser.add_argument("-g", "--gold", metavar="FILE", help="the gold labels; not with --track")
    parser.add_argument(
        "--negative", metavar="LABEL", help="with --gold: the negative class, which gets no score of its own"
    )
    parser.add_argument("--gold_key", metavar="NAME", help="with --gold: the key or column of its labels")
    parser.add_argument(
        "--pred_key", metavar="NAME", help="with --gold: the key or column of the predictions"
    )
    parser.add_argument(
        "--groups",
        choices=("direction",),
        help="with --gold: score R(e1,e2) and R(e2,e1) as one relation that needs the right direction "
        "(SemEval-2010 Task 8's official score is then macro F1)",
    )


def add_family_flags(parser: Parser) -> None:
    """Add the averages and the measure that are computed."""
    parser.add_argument(
        "--averages",
        nargs="+",
        default=AVERAGES,
        metavar="NAME",
        help=f"{', '.join(AVERAGES)} (default: all), or exponents n^a",
    )
    parser.add_argument("--beta", type=float, default=1.0, help="F-beta instead of F1")


def add_format_flag(parser: Parser) -> None:
    """Add how tables are printed."""
    parser.add_argument(
        "--format",
        choices=(*FORMATS, "json"),
        default="markdown",
        help="how tables are printed (default: markdown); csv, latex and json are the tables alone",
    )
