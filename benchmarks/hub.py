"""Round trip: data set, metric and model pushed to a Hub on loopback, and loaded back by strangers.

    python -m benchmarks.hub

prints one line per repository and part: what was pushed, what was loaded back in a process in which the
packages of this project are blocked, and whether the fingerprints agree. Everything is made on the spot from
the synthetic sample; exit status 1 when something differs.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import load_file
from transformers import pipeline

from finetune.__main__ import main as finetune
from finetune.demo import build_encoder
from nyt_h_dataset import load_nyt_h, write_sample
from tests.hub_clients import LOAD_DATASET, LOAD_METRIC, LOAD_MODEL, ROOT, run_client, run_command
from tests.hub_server import HubServer
from weighted_f1_metric import f1_family, score_track

OWNER = "tester"
CONFIGS = ("sentence", "bag")
LABELS = {"predictions": ["a", "NA", "b"], "references": ["a", "b", "b"], "negative_label": "NA"}


def fingerprint(value: Any) -> str:
    """16 hex digits of a value's JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def rows_digest(rows: Any) -> str:
    text = "".join(json.dumps(row, sort_keys=True) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()


def weights_digest(path: Path) -> str:
    digest = hashlib.sha256()
    for name, weight in sorted(load_file(path).items()):
        digest.update(name.encode() + weight.tobytes())
    return digest.hexdigest()


def push(*words: str, environment: dict[str, str]) -> None:
    done = run_command(*words, environment=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


def dataset_lines(data: Path, cache: Path, *, environment: dict[str, str], folder: Path) -> list[list[str]]:
    repo_id = f"{OWNER}/nyt-h"
    where = ("--data_dir", str(data), "--cache_dir", str(cache))
    push("nyt_h_dataset", "push", *where, "--repo_id", repo_id, environment=environment)
    asked = {"repo_id": repo_id, "configs": CONFIGS}
    found = run_client(LOAD_DATASET, asked, environment=environment, folder=folder)
    lines = []
    for config in CONFIGS:
        for split, rows in load_nyt_h(data, config, cache_dir=cache).items():
            pushed = rows_digest(rows)
            for way in ("loaded", "streamed"):
                part = f"{config}/{split}, {way}"
                lines.append([repo_id, part, f"{len(rows)} rows", pushed, found[f"{config}/{split}/{way}"]])
    return lines


def metric_lines(data: Path, cache: Path, *, environment: dict[str, str], folder: Path) -> list[list[str]]:
    repo_id = f"{OWNER}/weighted_f1_metric"
    words = ("push-metric", "--folder", str(ROOT / "weighted_f1_metric"), "--repo_id", repo_id)
    push("hub_cards", *words, environment=environment)
    rows = load_nyt_h(data, "sentence", split="test", cache_dir=cache)
    relations, answers = rows.features["relation"], rows.features["bag_label"]
    references = [
        {
            "instance_id": row["instance_id"],
            "bag_id": row["bag_id"],
            "relation": relations.int2str(row["relation"]),
            "bag_label": answers.int2str(row["bag_label"]),
        }
        for row in rows
    ]
    positive = [name for name in relations.names if name != "NA"]
    predictions = [
        {"bag_id": name, "pred": positive[number % 3]}
        for number, name in enumerate(dict.fromkeys(row["bag_id"] for row in references))
    ]
    bags = {"predictions": predictions, "references": references, "relations": positive}
    asked = {"repo_id": repo_id, "computations": {"default": LABELS, "bag2bag": bags}}
    found = run_client(LOAD_METRIC, asked, environment=environment, folder=folder)
    here = {"default": f1_family(**LABELS), "bag2bag": score_track(track="bag2bag", **bags)}
    return [
        [repo_id, config, f"{len(scores)} values", fingerprint(scores), fingerprint(found[config])]
        for config, scores in here.items()
    ]


def model_lines(
    run: Path, data: Path, cache: Path, *, environment: dict[str, str], folder: Path
) -> list[list[str]]:
    repo_id = f"{OWNER}/relations"
    words = ("--run", str(run), "--repo_id", repo_id, "--dataset_repo_id", f"{OWNER}/nyt-h")
    push("finetune.push", *words, environment=environment)
    rows = load_nyt_h(data, "sentence", split="test", cache_dir=cache)
    records = [{name: row[name] for name in ("instance_id", "sentence", "head", "tail")} for row in rows]
    asked = {"repo_id": repo_id, "records": records}
    found = run_client(LOAD_MODEL, asked, environment=environment, folder=folder)
    seed = next(run.glob("seed-*"))
    # Predicted here in float32 as strangers do; predictions.jsonl may have been computed in bfloat16.
    torch.set_num_threads(1)
    here = pipeline("relation-classification", model=str(seed))(records)
    ours, theirs = (
        [[one["instance_id"], one["pred"]] for one in each] for each in (here, found["predictions"])
    )
    weights = weights_digest(seed / "model.safetensors")
    labels = json.loads((run / "results.json").read_text())["data"]["label_names"]
    return [
        [repo_id, "weights, Auto classes", "all tensors", weights, found["weights"]],
        [
            repo_id,
            "labels",
            f"{len(labels)} names",
            *map(fingerprint, (labels, list(found["labels"].values()))),
        ],
        [repo_id, "test, pipeline", f"{len(ours)} predictions", *map(fingerprint, (ours, theirs))],
    ]


def card_line(hub: HubServer, run: Path) -> list[str]:
    """The numbers that machines read in the pushed card against those of the run."""
    from huggingface_hub import ModelCard

    card = ModelCard(hub.files("models", f"{OWNER}/relations")["README.md"].decode())
    told = {result.metric_name: result.metric_value for result in card.data.eval_results}
    mean = json.loads((run / "results.json").read_text())["mean"]
    ours = {name: mean[name] for name in told}
    return [f"{OWNER}/relations", "card: model-index", f"{len(told)} scores", *map(fingerprint, (ours, told))]


def train(data: Path, run: Path, *, encoder: Path) -> None:
    """A short run of a small encoder on the sample."""
    write_sample(data, size="tiny")
    build_encoder(sentences=load_nyt_h(data, split="train")["sentence"][:], folder=encoder)
    places = {"data_dir": data, "model_name_or_path": encoder, "output_dir": run}
    flags = {**places, "num_train_epochs": 12, "learning_rate": 1e-3, "logging_strategy": "no"}
    if finetune([str(word) for name, value in flags.items() for word in (f"--{name}", value)]):
        raise RuntimeError("the run did not end well")


def main() -> int:
    """Print the table; 1 when a fingerprint differs."""
    with tempfile.TemporaryDirectory() as root, HubServer() as hub:
        home, data, cache, run = (Path(root) / name for name in ("home", "data", "cache", "run"))
        train(data, run, encoder=Path(root) / "encoder")
        environment, place = hub.environment(home), {"folder": Path(root)}
        lines = dataset_lines(data, cache, environment=environment, **place)
        lines += metric_lines(data, cache, environment=environment, **place)
        lines += model_lines(run, data, cache, environment=environment, **place)
        lines.append(card_line(hub, run))
    print("\n| repository | part | pushed | fingerprint | loaded back | equal |\n" + "| --- " * 6 + "|")
    for *told, pushed, back in lines:
        cells = [*told, pushed[:16], back[:16], "yes" if pushed == back else "NO"]
        print("| " + " | ".join(cells) + " |")
    return int(any(pushed != back for *_, pushed, back in lines))


if __name__ == "__main__":
    sys.exit(main())
