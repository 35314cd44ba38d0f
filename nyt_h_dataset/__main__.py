"""The command ``python -m nyt_h_dataset``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hub_cards import add_push_options, check_repo_id, publish, run_command

from .bags import BAG_KEYS
from .card.benchmark import BY_HAND, EVAL_YAML, eval_yaml
from .card.export import ExportInfo, export_nyt_h
from .card.verification import verify_nyt_h
from .corpus_tools.annotation import Agreement, merge_answers, write_sheet
from .corpus_tools.building import SPLIT_CHOICES, build_corpus
from .corpus_tools.conversion import convert_corpus
from .corpus_tools.corpus import OPTIONAL_COLUMNS, REQUIRED_COLUMNS
from .corpus_tools.judging import UNITS, merge_judgments, write_pool_sheet, write_sample_sheet
from .corpus_tools.release_folder import write_text
from .corpus_tools.sampling import ALLOCATIONS, STRATA
from .download import download_nyt_h
from .mentions import POLICIES
from .sample.sample import SIZES, write_sample
from .schema import IRREGULAR_CHOICES, NA_CHOICES, NEGATIVE_RELATION, UNKNOWN_RELATION_CHOICES


def _column(text: str) -> tuple[str, str]:
    ours, equals, theirs = text.partition("=")
    if not (ours and equals and theirs):
        raise argparse.ArgumentTypeError(f"{text!r} is no pair; write OURS=THEIRS, for instance head=subj")
    return ours, theirs


def _print_rows(num_rows: Any, path: object) -> None:
    for name, count in num_rows.items():
        print(f"{name:20} {count:>8,} rows")
    print(f"Written to {path}")
    print(f'Load it: from nyt_h_dataset import load_nyt_h; load_nyt_h("{path}", "bag")')


def _convert(arguments: argparse.Namespace) -> int:
    info = convert_corpus(
        arguments.out,
        train=arguments.train,
        validation=arguments.validation,
        test=arguments.test,
        columns=dict(arguments.columns),
        negative_relation=arguments.negative_relation,
        validation_fraction=arguments.validation_fraction,
        seed=arguments.seed,
        name=arguments.name,
        licence=arguments.licence,
        citation=arguments.citation,
        overwrite=arguments.overwrite,
    )
    _print_rows(info.num_rows, info.path)
    return 0


def _build(arguments: argparse.Namespace) -> int:
    built = build_corpus(
        arguments.data_dir,
        arguments.out,
        min_train=arguments.min_train,
        require_yes=not arguments.without_yes,
        split_by=arguments.split_by,
        dev_fraction=arguments.dev_fraction,
        na_ratio=arguments.na_ratio,
        test_bags=arguments.test_bags,
        seed=arguments.seed,
        overwrite=arguments.overwrite,
        cache_dir=arguments.cache_dir,
        num_proc=arguments.num_proc,
    )
    counts = {
        "rows read": sum(built.rows_in.values()),
        "duplicates in train": built.duplicates_in_train,
        "duplicates in test": built.duplicates_in_test,
        "of these, with another answer": built.conflicting_answers,
        "rows of train that are in test": built.duplicates_of_test,
        "NA rows that repeat a sentence": built.na_repeats,
        "answers about dropped relations": built.answers_lost,
        "rows moved from train to test": built.moved_to_test,
    }
    for title, count in counts.items():
        print(f"{title:32} {count:>10,}")
    for name, relation in built.dropped_relations.items():
        rows = f"{relation.train_rows:,} rows in train, {relation.test_rows:,} in test"
        print(f"now NA: {name} ({relation.reason}; {rows})")
    if built.not_in_dev:
        print(f"in train, not in dev: {', '.join(built.not_in_dev)}")
    _print_rows(built.rows_out, built.path)
    return 0


def _sheet(arguments: argparse.Namespace) -> int:
    if arguments.pool:
        return _pool_sheet(arguments)
    if arguments.sample is not None:
        design, num_rows = write_sample_sheet(
            arguments.data_dir,
            arguments.out,
            num_drawn=arguments.sample,
            unit=arguments.unit,
            stratify=arguments.stratify,
            allocation=arguments.allocation,
            seed=arguments.seed,
        )
        for stratum in design["strata"]:
            print(f"{stratum['name'] or 'all':48} {stratum['drawn']:>6,} of {stratum['size']:>7,}")
        print(f"{num_rows:,} rows to answer with yes or no: {arguments.out}")
        print(f"The design, for the estimate: {Path(arguments.out).with_suffix('.design.json')}")
        return 0
    differing = tuple(arguments.differing) if arguments.differing else None
    num_rows = write_sheet(arguments.data_dir, arguments.out, differing=differing)
    print(f"{num_rows:,} rows to answer with yes or no: {arguments.out}")
    return 0


def _pool_sheet(arguments: argparse.Namespace) -> int:
    if arguments.budget is None:
        raise ValueError("--pool needs --budget N, how many pairs can be judged.")
    pool = write_pool_sheet(
        arguments.data_dir,
        arguments.out,
        predictions=arguments.pool,
        budget=arguments.budget,
        judgments=arguments.judgments,
    )
    print(f"{pool.num_open:,} open pairs, {pool.num_answers:,} answers for all of them.")
    for order in pool.orders:
        state = {None: "certain", True: "can be settled", False: "cannot be settled with these answers"}
        a, b = order.systems
        low, high = 100 * order.low, 100 * order.high
        print(f"{a} - {b}, {order.measure}: {low:+.1f} to {high:+.1f}; {state[order.can_be_settled]}")
    print(f"{len(pool.pairs):,} rows to answer with yes or no: {arguments.out}")
    return 0


def _merge(arguments: argparse.Namespace) -> int:
    if arguments.judgments:
        return _merge_judgments(arguments)
    if arguments.out is None:
        raise ValueError(
            "give --out DIR for a data set with the answers, or --judgments FILE for the answers."
        )
    if len(arguments.annotators) != 2:
        raise ValueError("a data set takes the sheets of two annotators; --judgments takes one or two.")
    judged = merge_answers(
        arguments.data_dir,
        arguments.out,
        annotators=tuple(arguments.annotators),
        adjudicator=arguments.adjudicator,
        overwrite=arguments.overwrite,
    )
    _print_agreement(judged.agreement, "rows")
    print(f"test: {judged.num_yes:,} yes, {judged.num_no:,} no")
    print(f"Written to {judged.path}")
    return 0


def _merge_judgments(arguments: argparse.Namespace) -> int:
    merged = merge_judgments(
        arguments.data_dir,
        arguments.judgments,
        annotators=arguments.annotators,
        adjudicator=arguments.adjudicator,
        earlier=arguments.earlier,
    )
    if merged.agreement is not None:
        _print_agreement(merged.agreement, "pairs")
    print(f"{merged.num_yes:,} yes, {merged.num_no:,} no, {merged.num_unanswered:,} without an answer")
    print(f"Written to {merged.path}")
    return 0


def _print_agreement(agreement: Agreement, what: str) -> None:
    kappa = "undefined (one answer throughout)" if agreement.kappa is None else f"{agreement.kappa:.4f}"
    share = f"{agreement.observed:.2%} of {agreement.num_items:,} {what}"
    print(f"annotators agree on {share}, Cohen's kappa {kappa}")


def _add_data_dir(command: argparse.ArgumentParser, about: str) -> None:
    command.add_argument("--data_dir", required=True, metavar="DIR", help=about)


def _add_out(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    command.add_argument("--out", required=required, metavar="DIR", help="folder to write; new or empty")
    command.add_argument(
        "--overwrite", action="store_true", help="replace a data set in this layout (and nothing else)"
    )


def add_corpus_commands(commands: Any) -> None:
    """Add the commands of this file to what `ArgumentParser.add_subparsers` returned."""
    convert = commands.add_parser(
        "convert", help="write a corpus of your own (JSON lines or Parquet) in the format of NYT-H"
    )
    for split, needed in (("train", True), ("validation", False), ("test", True)):
        convert.add_argument(
            f"--{split}",
            required=needed,
            nargs="+",
            metavar="FILE",
            help="JSON-lines or Parquet files, or folders of Parquet files"
            + ("" if needed else " (default: entity pairs of train)"),
        )
    convert.add_argument(
        "--columns",
        nargs="+",
        type=_column,
        default=[],
        metavar="OURS=THEIRS",
        help="what the corpus calls " + ", ".join((*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)),
    )
    convert.add_argument(
        "--negative_relation",
        default=NEGATIVE_RELATION,
        metavar="NAME",
        help="what the corpus calls 'no relation' (default: %(default)s)",
    )
    convert.add_argument(
        "--validation_fraction",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="share of the entity pairs for validation where no file is given (default: %(default)s)",
    )
    convert.add_argument("--name", help="what the corpus is called; its cards say so")
    convert.add_argument(
        "--licence", metavar="NAME", help="the licence of the corpus, such as cc-by-4.0; its cards say so"
    )
    convert.add_argument("--citation", metavar="TEXT", help="how to cite the corpus; its cards say so")
    convert.add_argument("--seed", type=int, default=0, help="which pairs these are (default: %(default)s)")
    _add_out(convert)
    convert.set_defaults(run=_convert)
    build = commands.add_parser(
        "build", help="make a data set of a distantly supervised corpus as NYT-H was made"
    )
    _add_data_dir(build, "the corpus, in the format of NYT-H (see convert)")
    build.add_argument(
        "--min_train",
        type=int,
        default=100,
        metavar="N",
        help="relations with fewer rows become NA (default: %(default)s)",
    )
    build.add_argument(
        "--without_yes", action="store_true", help="keep relations without a yes in test (not judged yet)"
    )
    build.add_argument(
        "--split_by",
        choices=SPLIT_CHOICES,
        default="pair",
        help="how dev is taken from train; keep leaves it as it is (default: %(default)s)",
    )
    build.add_argument(
        "--dev_fraction",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="share of the rows with a relation that go to dev (default: %(default)s)",
    )
    build.add_argument(
        "--na_ratio",
        type=float,
        default=1.0,
        metavar="R",
        help="NA rows in train per row with a relation (default: %(default)s)",
    )
    build.add_argument(
        "--test_bags",
        type=int,
        default=0,
        metavar="N",
        help="random pairs that move from train to test, to be judged (default: %(default)s)",
    )
    build.add_argument("--seed", type=int, default=0, help="draws dev and NA (default: %(default)s)")
    build.add_argument(
        "--cache_dir", metavar="DIR", help="where the corpus is read to (default: of datasets)"
    )
    build.add_argument("--num_proc", type=int, metavar="N", help="processes that read the corpus")
    _add_out(build)
    build.set_defaults(run=_build)
    sheet = commands.add_parser("sheet", help="write the test sentences as a sheet for an annotator")
    _add_data_dir(sheet, "the data set, in the format of NYT-H")
    sheet.add_argument("--out", required=True, metavar="FILE", help="sheet to write, .csv or .tsv")
    kind = sheet.add_mutually_exclusive_group()
    kind.add_argument(
        "--pool",
        nargs="+",
        metavar="PRED",
        help="prediction files: ask about the pairs that settle their order and shrink their intervals",
    )
    kind.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="ask about N drawn pairs, and write the design beside the sheet",
    )
    kind.add_argument(
        "--differing",
        nargs=2,
        metavar=("A", "B"),
        help="filled sheets of two annotators: ask only where they differ, for the adjudicator",
    )
    sheet.add_argument("--budget", type=int, metavar="N", help="with --pool: how many pairs can be judged")
    sheet.add_argument("--judgments", metavar="FILE", help="with --pool: the answers so far")
    sheet.add_argument(
        "--unit", choices=tuple(UNITS), default="sentence", help="with --sample: what is drawn"
    )
    sheet.add_argument(
        "--stratify", choices=STRATA, default="relation", help="with --sample (default: %(default)s)"
    )
    sheet.add_argument(
        "--allocation",
        choices=ALLOCATIONS,
        default="proportional",
        help="with --sample: proportional for micro and weighted averages, sqrt for macro",
    )
    sheet.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    sheet.set_defaults(run=_sheet)
    merge = commands.add_parser("merge", help="write the annotators' answers into the test set; kappa")
    _add_data_dir(merge, "the data set that the sheets were written from")
    merge.add_argument(
        "--annotators",
        nargs="+",
        required=True,
        metavar="SHEET",
        help="two filled sheets (one will do for a pool)",
    )
    merge.add_argument("--adjudicator", metavar="C", help="filled sheet of the rows on which they differ")
    merge.add_argument(
        "--judgments",
        metavar="FILE",
        help="write the answers of a pool or a sample to this file, no data set",
    )
    merge.add_argument("--earlier", metavar="FILE", help="with --judgments: answers to keep in front")
    _add_out(merge, required=False)
    merge.set_defaults(run=_merge)


def _staged(arguments: argparse.Namespace, out: str | os.PathLike[str], **options: Any) -> ExportInfo:
    info = export_nyt_h(
        arguments.data_dir,
        out,
        na=arguments.na,
        bag_key=arguments.bag_key,
        mention_policy=arguments.mention_policy,
        unknown_relation=arguments.unknown_relation,
        irregular=arguments.irregular,
        figures=not arguments.no_figures,
        overwrite=arguments.overwrite,
        cache_dir=arguments.cache_dir,
        num_proc=arguments.num_proc,
        **options,
    )
    for config, rows in info.num_rows.items():
        print(f"{config:10} {', '.join(f'{split} {count:,}' for split, count in rows.items())}")
    return info


def _export(arguments: argparse.Namespace) -> int:
    info = _staged(arguments, arguments.out)
    print(f"Written to {info.path}: README.md and {info.num_bytes / 1e6:.1f} MB of Parquet")
    print(f'Load it: from datasets import load_dataset; load_dataset("{info.path}", "bag")')
    return 0


def _push(arguments: argparse.Namespace) -> int:
    repo_id = check_repo_id(arguments.repo_id)
    with tempfile.TemporaryDirectory(prefix="nyt-h-") as folder:
        info = _staged(arguments, arguments.out or os.path.join(folder, "staged"), repo_id=repo_id)
        if arguments.benchmark:
            name = "NYT-H (synthetic sample)" if info.is_synthetic else "NYT-H"
            write_text(info.path / EVAL_YAML, eval_yaml(name=name))
        done = publish(
            info.path,
            repo_id=repo_id,
            repo_type="dataset",
            message="NYT-H: Parquet and card",
            public=arguments.public,
            dry_run=arguments.dry_run,
        )
    print(done)
    if arguments.benchmark:
        print("\n".join(BY_HAND))
    if not arguments.dry_run:
        print(f'Load it: from datasets import load_dataset; load_dataset("{repo_id}", "bag")')
    return 0


def add_data_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say which data are read."""
    command.add_argument(
        "--data_dir", required=True, metavar="DIR", help="the data of NYT-H, as for load_nyt_h"
    )
    command.add_argument(
        "--cache_dir", metavar="DIR", help="where the built data go (default: the cache of datasets)"
    )
    command.add_argument("--num_proc", type=int, metavar="N", help="processes that build the data")


def _add_export_options(command: argparse.ArgumentParser) -> None:
    add_data_options(command)
    command.add_argument(
        "--overwrite", action="store_true", help="replace an earlier export in --out (and nothing else)"
    )
    command.add_argument("--na", choices=tuple(NA_CHOICES), default="sampled", help="the NA rows in train")
    command.add_argument("--bag_key", choices=BAG_KEYS, default="pair", help="what makes a bag")
    command.add_argument(
        "--mention_policy", choices=POLICIES, default="first", help="which of several mentions to take"
    )
    command.add_argument(
        "--unknown_relation",
        choices=UNKNOWN_RELATION_CHOICES,
        default="error",
        help="what becomes of a relation that rel2id.json lacks",
    )
    command.add_argument(
        "--irregular",
        choices=IRREGULAR_CHOICES,
        default="error",
        help="what becomes of repeated instance ids and of types that are null",
    )
    command.add_argument("--no_figures", action="store_true", help="leave out the pictures (and matplotlib)")


def add_export_commands(commands: Any) -> None:
    """Add `export` and `push` to the commands of the parser."""
    export = commands.add_parser("export", help="write both configs as Parquet with a card, ready to share")
    export.add_argument(
        "--out", required=True, metavar="DIR", help="folder to write; new or empty, unless --overwrite"
    )
    _add_export_options(export)
    export.set_defaults(run=_export)
    push = commands.add_parser("push", help="export, and upload the folder to the Hub in one commit")
    add_push_options(push, "dataset repository")
    push.add_argument(
        "--benchmark",
        action="store_true",
        help="write eval.yaml, so that the Hub can list the results of models on these data",
    )
    push.add_argument("--out", metavar="DIR", help="keep the uploaded folder there (default: it is deleted)")
    _add_export_options(push)
    push.set_defaults(run=_push)


def _sample(arguments: argparse.Namespace) -> int:
    info = write_sample(arguments.out, seed=arguments.seed, size=arguments.size)
    for name, count in info.num_rows.items():
        print(f"{name:20} {count:>8,} rows")
    print(f"Synthetic corpus written to {info.path}")
    print(f'Load it: from nyt_h_dataset import load_nyt_h; load_nyt_h("{info.path}")')
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    result = verify_nyt_h(arguments.data_dir, cache_dir=arguments.cache_dir, num_proc=arguments.num_proc)
    print(result.to_markdown())
    if arguments.json:
        write_text(Path(arguments.json), json.dumps(result.to_json(), indent=2) + "\n")
    return 0 if result.is_published else 1


def _download(arguments: argparse.Namespace) -> int:
    info = download_nyt_h(arguments.out, sha256=arguments.sha256, url=arguments.url, quiet=arguments.quiet)
    print(f"{'There already' if info.was_there else 'Downloaded'}: {info.path} ({info.num_bytes:,} bytes)")
    print(f"SHA-256: {info.sha256}{'' if arguments.sha256 is None else ' (as expected)'}")
    print(f'Load it: from nyt_h_dataset import load_nyt_h; load_nyt_h("{info.path.parent}")')
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nyt-h-dataset", description="NYT-H: data for relation extraction.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    sample = commands.add_parser("sample", help="write a synthetic corpus in the format of NYT-H")
    sample.add_argument(
        "--out", required=True, metavar="DIR", help="folder to write; new, empty, or a sample to replace"
    )
    sample.add_argument(
        "--seed", type=int, default=0, help="the same seed gives the same bytes (default: %(default)s)"
    )
    sample.add_argument(
        "--size",
        choices=tuple(SIZES),
        default="small",
        help="number of rows; full has the sizes of NYT-H (default: %(default)s)",
    )
    sample.set_defaults(run=_sample)
    verify = commands.add_parser(
        "verify", help="compare a copy with the published NYT-H; exit status 1 when it is another"
    )
    add_data_options(verify)
    verify.add_argument("--json", metavar="FILE", help="write all numbers to this file, too")
    verify.set_defaults(run=_verify)
    download = commands.add_parser(
        "download", help="fetch the authors' archive; goes on where an interrupted download stopped"
    )
    download.add_argument("--out", required=True, metavar="DIR", help="folder for the archive")
    download.add_argument("--sha256", metavar="HEX", help="checksum that the archive must have")
    download.add_argument("--url", help="another address of the same file (default: the authors' file)")
    download.add_argument("--quiet", action="store_true", help="no progress bar")
    download.set_defaults(run=_download)
    add_export_commands(commands)
    add_corpus_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, what the command says of the data, or 2 when it could not run."""
    arguments = _parser().parse_args(argv)
    return run_command("nyt-h-dataset", lambda: arguments.run(arguments))


if __name__ == "__main__":
    sys.exit(main())
