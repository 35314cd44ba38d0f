"""Clients of the loopback Hub in processes of their own, with the packages of this project blocked."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.folders import ROOT

# In front of a program that must do without our packages.
BLOCK = """
import json, sys
for name in ("nyt_h_dataset", "hub_cards", "weighted_f1_metric", "finetune", "leaderboard"):
    sys.modules[name] = None
"""
GIVEN = """
import hashlib
given = json.loads(sys.argv[1])
"""

# Repository -> "config/split" -> SHA-256 of the rows, loaded and streamed.
LOAD_DATASET = """
import datasets

def digest(rows):
    text = "".join(sorted(json.dumps(row, sort_keys=True) for row in rows))  # the export mixes NA rows in
    return hashlib.sha256(text.encode()).hexdigest()

answer = {}
for config in given["configs"]:
    for streaming in (False, True):
        data = datasets.load_dataset(given["repo_id"], config, streaming=streaming)
        for split in data:
            answer[f"{config}/{split}/{'streamed' if streaming else 'loaded'}"] = digest(data[split])
"""

# Repository, and config -> arguments of `compute` -> config -> result.
LOAD_METRIC = """
import evaluate

answer = {}
for config, arguments in given["computations"].items():
    metric = evaluate.load(given["repo_id"], config, keep_in_memory=True)
    answer[config] = metric.compute(**arguments)
"""

# Repository and records -> predictions of the pipeline, and SHA-256 of the weights that the Auto class loads.
LOAD_MODEL = """
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer, pipeline

torch.set_num_threads(1)
classify = pipeline("relation-classification", model=given["repo_id"], trust_remote_code=True)
trusted = {"trust_remote_code": True}
model = AutoModelForSequenceClassification.from_pretrained(given["repo_id"], **trusted)
digest = hashlib.sha256()
for name, weight in sorted(model.state_dict().items()):
    digest.update(name.encode() + weight.numpy().tobytes())
answer = {
    "predictions": classify(given["records"]),
    "weights": digest.hexdigest(),
    "labels": AutoConfig.from_pretrained(given["repo_id"], **trusted).id2label,
    "num_tokens": len(AutoTokenizer.from_pretrained(given["repo_id"])),
}
"""

# The code of a card, all blocks in one namespace: what came before, and the lines that the code prints.
RUN_BLOCKS = """
import contextlib, io

printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    exec("\\n".join(given["blocks"]), {})
answer = [answer, printed.getvalue().splitlines()]
"""


def run_client(
    code: str, given: Any, *, environment: Mapping[str, str], folder: Path, python: str = sys.executable
) -> Any:
    """What `code` leaves in `answer`, run in `folder` with `given`; a failing client shows its errors."""
    whole = f"{BLOCK}{GIVEN}{code}\nprint(json.dumps(answer))"
    command = [python, "-I", "-c", whole, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(environment), cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_command(
    *words: str, environment: Mapping[str, str], python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    """One of our own commands (`python -m ...`) against the Hub, from the root of the project."""
    command = [python, "-m", *words]
    return subprocess.run(command, capture_output=True, text=True, env=dict(environment), cwd=ROOT)
