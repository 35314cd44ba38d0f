"""The command `estimate`: MAGT of a whole test set of which a drawn sample was judged."""

from __future__ import annotations

import argparse
from typing import Any

from ..table import Table, number, percent
from ..tables import interval
from ..units import TRACKS
from ..unjudged.estimation import HUMAN, MagtEstimate, estimate_magt
from .files import read_json, write_json
from .prediction_files import read_judgments, read_predictions, read_references, read_relations

_DESCRIPTION = """Estimate MAGT of a test set of which people judged a drawn sample (nyt_h_dataset sheet
--sample), with a 95 % interval, and how many judged pairs the sample alone would need for the same error."""


def add_estimate_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Return the parser of `estimate`, added to the sub-commands; its default `run` is `run_estimate`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "estimate", help="MAGT from a judged sample", description=_DESCRIPTION
    )
    parser.add_argument("-k", "--track", required=True, choices=TRACKS, help="what is a unit: row or bag")
    parser.add_argument("-r", "--rel2id", required=True, metavar="FILE", help="rel2id.json of the data")
    parser.add_argument("-t", "--test", required=True, metavar="FILE", help="test.json of the data")
    parser.add_argument("-p", "--pred", required=True, metavar="FILE", help="predictions, as for score")
    parser.add_argument("--design", metavar="FILE", help="the design file beside the sheet of the sample")
    parser.add_argument("--judgments", metavar="FILE", help="the answers, unless they are in test.json")
    parser.add_argument(
        "--human", choices=HUMAN, default="verdict", help="yes/no on DS relations, or whole relabelling"
    )
    parser.add_argument("--negative_relation", default="NA", metavar="NAME", help="default: NA")
    parser.add_argument(
        "--half_width",
        type=float,
        default=0.02,
        metavar="W",
        help="tell how many judged pairs make the interval plus or minus W (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write every number")
    parser.set_defaults(run=run_estimate)
    return parser


def run_estimate(arguments: argparse.Namespace) -> int:
    """Print the estimate that the parsed arguments ask for, and return the exit status 0.

    Raises:
        FileNotFoundError: A file that is not there.
        ValueError: A broken file, or what `estimate_magt` refuses.
    """
    design = arguments.design
    found = estimate_magt(
        track=arguments.track,
        references=read_references(arguments.test),
        predictions=read_predictions(arguments.pred),
        relations=read_relations(arguments.rel2id, negative_relation=arguments.negative_relation),
        negative_relation=arguments.negative_relation,
        judgments=None if arguments.judgments is None else read_judgments(arguments.judgments),
        design=None if design is None else read_json(design, hint="It stands beside the sheet."),
        human=arguments.human,
        seed=arguments.seed,
    )
    plan = found.rows_for(arguments.half_width)
    print(estimate_table(found, plan, arguments.half_width).markdown())
    if arguments.json:
        write_json(arguments.json, found.to_json() | {"half_width": arguments.half_width, "rows_for": plan})
        print(f"Every number: {arguments.json}")
    return 0


def estimate_table(found: MagtEstimate, plan: dict[str, int], half_width: float) -> Table:
    """Return the F1 scores with intervals, beside the sample alone and what the labels are worth."""
    points = f"{100 * half_width:g}"
    header = ["F1 in percent", "estimate (95 %)", "sample alone", "worth", f"pairs for ± {points}"]
    rows = [
        [
            name.removesuffix("_f1").replace("_", " "),
            f"{percent(one.value, digits=1)} {interval((one.low, one.high))}",
            percent(one.alone, 1.96 * one.alone_se, digits=1),
            number(one.worth, ",.0f"),
            f"{plan[name]:,}",
        ]
        for name, one in found.measures.items()
        if name.endswith("_f1")
    ]
    notes = [f"{found.num_judged:,} of {found.num_population:,} pairs are judged."]
    notes += [f"Not estimable: {average} ({reason})." for average, reason in found.not_estimable.items()]
    return Table(header, rows, notes)
