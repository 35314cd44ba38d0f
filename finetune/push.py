"""`python -m finetune.push`: a finished run's model, results and card, to the Hub in one commit."""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hub_cards import (
    OWNERS_METADATA,
    add_push_options,
    check_repo_id,
    folder_files,
    licence_of,
    publish,
    run_command,
)
from weighted_f1_metric import write_text

from .report.model_card import (
    Licence,
    combined_licence,
    data_licence,
    data_name,
    figure_paths,
    hub_dataset,
    hub_name,
    run_card,
    run_eval_results,
    task_scores,
    without_places,
)
from .report.results import PAGE, RESULTS, read_results, to_json

EVAL_RESULTS = ".eval_results"
# What a seed's folder holds by the run; whatever else lies there is not ours to publish.
SEED_FILES = (
    *("*.py", "config.json", "metrics.json", "training.json", "history.json", "*predictions.jsonl"),
    *("*.safetensors", "*.safetensors.index.json", "tokenizer*.json", "special_tokens_map.json"),
    *("added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "*.model"),
)


def push_run(
    run: Path,
    *,
    repo_id: str,
    results: Mapping[str, Any] | None = None,
    seed: int | None = None,
    dataset_id: str | None = None,
    public: bool = False,
    dry_run: bool = False,
    licence: str | None = None,
) -> str:
    """Push a run and return what was done, for people; with `dry_run` the list of files and the card.

    Args:
        run: The output folder of a finished run.
        repo_id: owner/name of the model repository; made when it is not there.
        results: What the run returned; None reads the folder's results.json.
        seed: Whose weights are pushed; default: `best_seed`.
        dataset_id: owner/name of the data on the Hub.
        public: Whether everybody may see it.
        dry_run: Upload nothing.
        licence: The licence of the model, as the Hub calls it; default: what `inherited_licence` finds.

    Raises:
        FileNotFoundError, ValueError: As `stage_run` and `hub_cards.push_folder`.
        hub_cards.HubError: The Hub cannot be reached, refuses, or keeps failing.
    """
    check_repo_id(repo_id)
    with tempfile.TemporaryDirectory(prefix="model-") as folder:
        staged = Path(folder)
        results = read_results(run) if results is None else results
        held = Licence({"license": licence}) if licence else inherited_licence(results, dataset_id)
        stage_run(
            run, staged, results=results, repo_id=repo_id, seed=seed, dataset_id=dataset_id, licence=held
        )
        done = publish(
            staged,
            repo_id=repo_id,
            repo_type="model",
            message="Model, results and card",
            public=public,
            dry_run=dry_run,
            keep_metadata=() if licence else OWNERS_METADATA,
        )
    return done if held.metadata else f"{done}\n{held.text}"


def inherited_licence(results: Mapping[str, Any], dataset_id: str | None = None) -> Licence:
    """Return the licence that the data and the encoder of a run agree on, as far as they name one."""
    named: dict[str, dict[str, str]] = {}
    dataset = dataset_id or hub_dataset(results)
    if dataset is not None and (found := licence_of(dataset, repo_type="dataset")):
        named[f"the data {dataset}"] = {"license": found}
    elif results["data"]["name"] == "nyt_h" and (licence := data_licence(results["data"])):
        named[f"the data {data_name(results['data'])}"] = licence
    base = hub_name(results["arguments"]["model_name_or_path"] or "")
    if base is not None and (found := licence_of(base, repo_type="model")):
        named[f"the encoder {base}"] = {"license": found}
    return combined_licence(named)


def stage_run(
    run: Path,
    out: Path,
    *,
    results: Mapping[str, Any],
    repo_id: str,
    seed: int | None = None,
    dataset_id: str | None = None,
    licence: Licence | None = None,
) -> None:
    """Write to `out` what the repository holds: one seed's files, results.json, pictures, card.

    With a dataset on the Hub (`dataset_id`, or the one that the run read) also `.eval_results/`, where the
    run has scores for its tasks. Paths of this machine are cut to their last part.

    Raises:
        FileNotFoundError: A seed's model, or a figure, is not there.
        ValueError: There is no such seed.
    """
    chosen = best_seed(results) if seed is None else str(seed)
    if chosen not in results["seeds"]:
        seeds = ", ".join(results["seeds"])
        raise ValueError(f"`seed` must be one of {seeds}, the seeds of {run}; got {chosen}.")
    model = run / f"seed-{chosen}"
    if not (model / "config.json").is_file():
        raise FileNotFoundError(f"{model} holds no model (config.json is not there); run that seed again.")
    for name in folder_files(model):
        if "/" not in name and any(fnmatch.fnmatch(name, pattern) for pattern in SEED_FILES):
            shutil.copyfile(model / name, out / name)
    for name in figure_paths(results):
        (out / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(run / name, out / name)
    shown = {**results, "arguments": without_places(results["arguments"])}
    write_text(out / RESULTS, to_json(shown))
    dataset = dataset_id or hub_dataset(results)
    tasks = {} if dataset is None else task_scores(results)
    if dataset is not None and tasks:
        (out / EVAL_RESULTS).mkdir()
        text = run_eval_results(
            results, dataset_id=dataset, repo_id=repo_id, seed=chosen, date=finished_on(run)
        )
        write_text(out / EVAL_RESULTS / f"{dataset.split('/')[-1]}.yaml", text)
    card = run_card(results, repo_id=repo_id, seed=chosen, dataset_id=dataset_id, licence=licence)
    write_text(out / PAGE, card)


def finished_on(run: Path) -> str:
    """Return the day on which the results were written, ISO 8601 (UTC)."""
    written = (run / RESULTS).stat().st_mtime
    return datetime.datetime.fromtimestamp(written, datetime.timezone.utc).date().isoformat()


def best_seed(results: Mapping[str, Any]) -> str:
    """Return the seed that is best on validation by the measure that selected its epoch, else the first one.

    >>> best_seed({"selected_by": "f1", "seeds": {"1": {"validation": {"f1": 0.1}},
    ...                                           "2": {"validation": {"f1": 0.2}}}})
    '2'
    """
    measure, seeds = results["selected_by"], results["seeds"]
    if measure is None:
        return next(iter(seeds))
    return max(seeds, key=lambda seed: seeds[seed]["validation"][measure])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m finetune.push", description="Push a run to the Hub.")
    parser.add_argument("--run", required=True, type=Path, metavar="DIR", help="the output folder of the run")
    add_push_options(parser, "model repository")
    parser.add_argument("--seed", type=int, help="whose weights (default: the best seed on validation)")
    parser.add_argument(
        "--dataset_repo_id",
        metavar="OWNER/NAME",
        help="the data on the Hub, for the card and .eval_results (default: the --dataset_name of the run)",
    )
    parser.add_argument(
        "--license",
        metavar="ID",
        help="the licence of the model, as the Hub calls it (default: that of data and encoder)",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 when it could not run."""
    given = _parser().parse_args(argv)

    def push() -> None:
        dataset_id = None if given.dataset_repo_id is None else check_repo_id(given.dataset_repo_id)
        print(
            push_run(
                given.run,
                repo_id=given.repo_id,
                seed=given.seed,
                dataset_id=dataset_id,
                public=given.public,
                dry_run=given.dry_run,
                licence=given.license,
            )
        )

    return run_command("finetune.push", push)


if __name__ == "__main__":
    sys.exit(main())
