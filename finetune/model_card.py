"""The card of a run: what results.json holds, for people and for the Hub (pure: values in, text out)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from hub_cards import ModelScore, eval_results_yaml, model_card, model_index
from nyt_h_dataset import CITATION as NYT_H_CITATION

from .card_sections import (
    DATA_NAMES,
    classes_text,
    data_text,
    description_text,
    hub_name,
    limits_text,
    pictures_text,
    results_text,
    training_text,
    usage_text,
)
from .figures import FIGURES
from .report_tables import report_sections

PLACEHOLDER = "PATH_OR_REPO_ID"
_TASK = "Relation classification"
_CITATION = """\
@inproceedings{baldini-soares-etal-2019-matching,
    title = "Matching the Blanks: Distributional Similarity for Relation Learning",
    author = "Baldini Soares, Livio and FitzGerald, Nicholas and Ling, Jeffrey and Kwiatkowski, Tom",
    booktitle = "Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics",
    year = "2019",
}
@inproceedings{harbecke-etal-2022-micro,
    title = "Why only Micro-F1? Class Weighting of Measures for Relation Classification",
    author = "Harbecke, David and Chen, Yuxuan and Hennig, Leonhard and Alt, Christoph",
    booktitle = "Proceedings of NLP Power! The First Workshop on Efficient Benchmarking in NLP",
    year = "2022",
}
"""


def run_card(
    results: Mapping[str, Any],
    *,
    repo_id: str = PLACEHOLDER,
    seed: str | None = None,
    dataset_id: str | None = None,
    figures: Sequence[str] = (),
) -> str:
    """Return the README of a run, or with `repo_id` and `seed` that of a model repository.

    Args:
        results: The content of results.json.
        repo_id: owner/name of the repository.
        seed: Whose weights the repository holds; None: those of every seed are in `seed-<n>/`.
        dataset_id: owner/name of the data on the Hub; default: the `dataset_name` of the run.
        figures: Paths of the pictures, in the order in which they are shown.
    """
    encoder = encoder_name(results)
    data = DATA_NAMES.get(results["data"]["name"], results["data"]["name"])
    title = f"{encoder} on {data}, {results['track']}" if results["echo"] else f"{encoder} on {data}"
    dataset = dataset_id or hub_dataset(results)
    sections = [
        ("Results", results_text(results, seed)),
        *report_sections(results),
        ("Relations", classes_text(results)),
        *([("Pictures", pictures_text(figures))] if figures else []),
        ("Data", data_text(results, dataset)),
        ("Training", training_text(results)),
        ("Limits", limits_text(results)),
    ]
    base = hub_name(results["arguments"]["model_name_or_path"] or "")
    metadata = {
        "language": ["en"],
        "library_name": "transformers",
        "pipeline_tag": "text-classification",
        "tags": ["relation-classification", "relation-extraction"],
        **({"base_model": base} if base else {}),
        **({"datasets": [dataset]} if dataset else {}),
        "metrics": ["f1"],
        "model-index": model_index(
            model_name=repo_id.split("/")[-1] if repo_id != PLACEHOLDER else encoder,
            task=_TASK,
            dataset={
                "type": dataset or results["data"]["name"],
                "name": data,
                "config": results["track"],
                "split": "test",
                "revision": results["arguments"].get("dataset_revision"),
                "args": {"fingerprint": results["data"]["fingerprint"]},
            },
            scores=model_scores(results),
        ),
    }
    cited = NYT_H_CITATION if results["echo"] else ""
    return model_card(
        metadata=metadata,
        values={
            "title": title,
            "description": description_text(results, encoder, data, seed),
            "usage": usage_text(results, repo_id),
            "sections": [{"title": title, "body": body} for title, body in sections],
            "citation": (cited + _CITATION).strip(),
        },
    )


def figure_paths(run: Path) -> list[str]:
    """The pictures of a run, as its card names them."""
    return sorted(path.relative_to(run).as_posix() for path in (run / FIGURES).glob("*.png"))


def run_eval_results(results: Mapping[str, Any], *, dataset_id: str) -> str:
    """Return the text for `.eval_results/`; `dataset_id` is owner/name of the data on the Hub."""
    return eval_results_yaml(
        dataset_id=dataset_id,
        config=results["track"],
        scores=model_scores(results),
        revision=results["arguments"].get("dataset_revision"),
    )


def model_scores(results: Mapping[str, Any]) -> list[ModelScore]:
    """Every F1 of the results with the signature of its prefix, in their order."""
    mean, sd, signatures = results["mean"], results["sd"], results["signature"]
    prefixes = sorted(signatures, key=len, reverse=True)  # magt_ds_scope before magt
    scores = []
    for name in (name for name in mean if name.endswith("_f1") and not name.endswith("_max_f1")):
        prefix = next((prefix for prefix in prefixes if name.startswith(f"{prefix}_")), None)
        scores.append(
            ModelScore(
                name=name,
                value=mean[name],
                sd=sd[name],
                n=results["n"],
                signature=signatures[prefix or "f1_family"],
            )
        )
    return scores


def encoder_name(results: Mapping[str, Any]) -> str:
    """The encoder's name; of a folder its last part; of one that was not pretrained its kind.

    >>> encoder_name({"arguments": {"model_name_or_path": "/models/minilm"}})
    'minilm'
    """
    name = str(results["arguments"]["model_name_or_path"] or results["arguments"]["encoder"])
    return hub_name(name) or PurePath(name).name


def hub_dataset(results: Mapping[str, Any]) -> str | None:
    """The dataset of the Hub that the run read, if it read one."""
    name = results["arguments"].get("dataset_name")
    return hub_name(name) if name and results["data"]["name"] == "hub" else None
