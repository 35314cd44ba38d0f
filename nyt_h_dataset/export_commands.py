"""The commands that write NYT-H as Parquet with a card: to a folder, or to the Hub by way of a folder."""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

from hub_cards import check_repo_id, listing, push_folder

from .bags import BAG_KEYS
from .card_text import FIGURES_FOLDER
from .export import ExportInfo, export_nyt_h
from .mentions import POLICIES
from .schema import CONFIGS, NA_CHOICES, UNKNOWN_RELATION_CHOICES

# What a push writes, and so what a later one may delete.
_REPLACED = (*(f"{config}/*.parquet" for config in CONFIGS), f"{FIGURES_FOLDER}/*.png")


def _staged(arguments: argparse.Namespace, out: str | os.PathLike[str], **options: Any) -> ExportInfo:
    info = export_nyt_h(
        arguments.data_dir,
        out,
        na=arguments.na,
        bag_key=arguments.bag_key,
        mention_policy=arguments.mention_policy,
        unknown_relation=arguments.unknown_relation,
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
        options: dict[str, Any] = {"repo_id": repo_id, "repo_type": "dataset", "public": arguments.public}
        if arguments.dry_run:
            print(listing(info.path, **options))
            return 0
        done = push_folder(info.path, message="NYT-H: Parquet and card", replaced=_REPLACED, **options)
    print(done.sentence())
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
    push.add_argument(
        "--repo_id", required=True, metavar="OWNER/NAME", help="the dataset repository; made when not there"
    )
    push.add_argument("--public", action="store_true", help="let everybody see the data (default: private)")
    push.add_argument(
        "--dry_run", action="store_true", help="upload nothing; print the list of files and the card"
    )
    push.add_argument("--out", metavar="DIR", help="keep the uploaded folder there (default: it is deleted)")
    _add_export_options(push)
    push.set_defaults(run=_push)
