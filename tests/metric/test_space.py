"""`evaluate.load` of a Space: the folder is pushed to a loopback Hub and loaded by a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import weighted_f1_metric
from weighted_f1_metric import f1_family

FOLDER = Path(weighted_f1_metric.__file__).parent

PUSH = """
import sys
from huggingface_hub import HfApi
api = HfApi()
api.create_repo("tester/weighted_f1_metric", repo_type="space", space_sdk="gradio")
api.upload_folder(repo_id="tester/weighted_f1_metric", repo_type="space", folder_path=sys.argv[1],
                  ignore_patterns=["__pycache__/*"])
"""

# Ours is blocked: what runs is what came from the Space.
LOAD = """
import json, sys
sys.modules["weighted_f1_metric"] = None
import evaluate
data = json.loads(sys.argv[1])
metric = evaluate.load("tester/weighted_f1_metric", keep_in_memory=True)
track = evaluate.load("tester/weighted_f1_metric", "sent2sent", keep_in_memory=True)
print(json.dumps([metric.compute(**data["family"]), track.compute(**data["track"])["magt_micro_f1"]]))
"""


def run(code, argument, environment, folder):
    command = [sys.executable, "-c", code, argument]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_space_gives_the_same_numbers(hub, tmp_path):
    environment = hub.environment(tmp_path / "home")
    family = {"predictions": ["a", "NA", "b"], "references": ["a", "b", "b"], "negative_label": "NA"}
    rows = [
        {"instance_id": name, "bag_id": name, "relation": "a", "bag_label": answer}
        for name, answer in (("i0", "yes"), ("i1", "no"))
    ]
    predictions = [{"instance_id": row["instance_id"], "pred": "a"} for row in rows]
    track = {"predictions": predictions, "references": rows, "relations": ["a"]}
    run(PUSH, str(FOLDER), environment, tmp_path)
    shown = run(LOAD, json.dumps({"family": family, "track": track}), environment, tmp_path)
    scores, magt = json.loads(shown.splitlines()[-1])
    assert scores == f1_family(**family)
    assert magt == pytest.approx(2 / 3)  # precision 1/2, recall 1
