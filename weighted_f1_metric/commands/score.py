"""The command `score`: predictions on a track, in the files of NYT-H's authors, or labels against labels."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..figures.track_figures import captioned_figures
from ..ranking import DEFAULT_KS
from ..systems.breakdown import SLICES
from ..systems.false_alarms import false_alarms, false_alarms_note, false_alarms_table
from ..tracks import ScoredTrack, scored_track
from ..units import TRUTHS, unit_id_key
from ..validation import quoted
from .files import write_text
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
from .track_sections import Section, breakdown_section, calibration_section, scores_section

_DESCRIPTION = """Score predictions on NYT-H against distant and human labels (--track, --rel2id, --test,
--pred: the files and the short flags of the authors' evaluator): every average of the weighted F1 family is
printed under every ground truth, beside the scores of copying the distant labels. Or score the labels of any
classification (--gold, --pred, --negative): text, CSV, TSV, JSON lines or a JSON array, also .gz or - for
standard input; rows are matched by id where both files have ids."""
TRACK_FLAGS = ("track", "rel2id", "test")
_READING = "How the predictions were read"


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
    parser.add_argument(
        "--html", metavar="FILE", help="write one page with all of it, which needs no server and no network"
    )
    parser.set_defaults(run=run_score)
    return parser


def run_score(arguments: argparse.Namespace) -> int:
    """Print the scores that the parsed arguments ask for, and return the exit status 0.

    Raises:
        FileNotFoundError: A file that is not there.
        ValueError: Flags of labels and of tracks together, or too few; a broken file; what `score_track` or
            `f1_family` refuses.
    """
    of_tracks = (*TRACK_FLAGS, *RULE_FLAGS, "train", "html")
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
    _show(scored, _sections(scored, read.section, references, arguments), arguments)
    return 0


def _sections(
    scored: ScoredTrack, read: Section | None, references: list[dict[str, Any]], arguments: argparse.Namespace
) -> list[Section]:
    """What is said of the system, as far as it is asked for and there is something to say."""
    for_people = is_prose(arguments.format) or arguments.html is not None
    sections = [scores_section(scored, ks=arguments.ks, for_people=for_people), read]
    sections.append(calibration_section(scored, for_people=for_people))
    if arguments.breakdown is not None:
        train = None if arguments.train is None else read_references(arguments.train)
        sections.append(breakdown_section(scored, arguments.breakdown, references=references, train=train))
    return [section for section in sections if section is not None]


def _show(scored: ScoredTrack, sections: list[Section], arguments: argparse.Namespace) -> None:
    """Print the sections, and write the files that the arguments name."""
    tables = [table for section in sections for _, table in section.tables]
    lines = [line for section in sections for line in section.lines]
    for why, sentences in (group for section in sections for group in section.examples):
        lines += [why, *(f"    {sentence}" for sentence in sentences)]
    numbers = {name: value for section in sections for name, value in section.numbers.items()}
    print_scores(tables, lines, numbers, arguments)
    said_to = sys.stdout if is_prose(arguments.format) else sys.stderr
    if arguments.plots:
        from .figure_files import write_track_figures

        for path in write_track_figures(Path(arguments.plots), scored):
            print(f"Figure: {path}", file=said_to)
    if arguments.html:
        from .html_report import report_page

        title = f"{Path(arguments.pred).name} on {arguments.track}"
        write_text(arguments.html, report_page(title, sections, captioned_figures(scored)))
        print(f"Page: {arguments.html}", file=said_to)


@dataclass(frozen=True)
class _System:
    """The predictions of a system, and what is said about how they were read, if anything."""

    predictions: Any
    section: Section | None = None


def _read_system(
    arguments: argparse.Namespace, references: list[dict[str, Any]], relations: list[str]
) -> _System:
    """The predictions in the authors' format, or those of any system with what was lost."""
    broken: list[str] | None = [] if arguments.missing == "negative" else None
    records = read_any_records(arguments.pred, broken=broken)
    rules = rules_of(arguments)
    if not is_foreign(rules, records) and arguments.na_rows is None:
        return _System(checked_predictions(records))
    negative_rows = [] if arguments.na_rows is None else read_references(arguments.na_rows)
    id_key = unit_id_key(arguments.track)
    bag_of = {row[id_key]: row["bag_id"] for row in negative_rows}
    shared = bag_of.keys() & {row[id_key] for row in references}
    if shared:
        raise ValueError(f"--na_rows has units of --test: {quoted(sorted(shared, key=str))}.")
    fitted = fitted_records(
        records,
        rules,
        broken=broken or [],
        track=arguments.track,
        references=[*references, *negative_rows],
        relations=relations,
        negative_relation=arguments.negative_relation,
    )
    lines = report_lines(fitted.report)
    if not negative_rows:
        return _System(fitted.records, Section(_READING, lines=lines, numbers=fitted.report))
    alarms = false_alarms(
        [record for record in fitted.records if record[id_key] in bag_of],
        negative_relation=arguments.negative_relation,
        bags=list(bag_of.values()),
    )
    tested = [record for record in fitted.records if record[id_key] not in bag_of]
    section = Section(
        _READING,
        [("False alarms", false_alarms_table(alarms))],
        [*lines, false_alarms_note(alarms)],
        numbers={**fitted.report, "false_alarms": alarms},
    )
    return _System(tested, section)
