"""200 training steps on the sample with a fixed seed repeat the losses that were recorded.

What changes the batches, the windows, the initial weights, dropout, the loss, the optimizer or its schedule
shows here. The recorded values were made on one machine (the file says which); another processor adds in
another order, hence the tolerance. To record anew, after a change that is meant to change them:

    NYT_H_RECORD=1 python -m pytest tests/finetune/training/test_trajectory.py
"""

import json
import os
import platform
import runpy
from pathlib import Path

import pytest
import torch

from finetune.demo import build_encoder
from nyt_h_dataset import load_nyt_h

GOLDEN = Path(__file__).with_name("training_trajectory.json")
STEPS, EVERY = 200, 10
FLAGS = {
    "seed": 9,
    "max_steps": STEPS,
    "logging_steps": EVERY,
    "per_device_train_batch_size": 8,
    "learning_rate": 2e-4,
    "eval_strategy": "no",
    "bf16": "false",
    "disable_tqdm": "true",
}


def trajectory(sample: Path, folder: Path) -> list[float]:
    """The mean loss of each 10 steps, by the command, in float32, on one thread, with dropout."""
    build_encoder(sentences=load_nyt_h(sample, split="train")["sentence"][:], folder=folder / "encoder")
    flags = {"data_dir": sample, "model_name_or_path": folder / "encoder", "output_dir": folder / "run"}
    words = [f"--{name}={value}" for name, value in (flags | FLAGS).items()]
    traced = runpy.run_path(str(Path(__file__).with_name("traced_run.py")))["traced"]
    assert torch.get_num_threads() == 1
    assert traced(str(folder / "trace.json"), words) == 0
    trace = json.loads((folder / "trace.json").read_text())
    assert [step for step, _ in trace] == list(range(EVERY, STEPS + 1, EVERY))
    return [loss for _, loss in trace]


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="dropout draws other numbers without MKL")
def test_the_recorded_losses_repeat(sample: Path, tmp_path: Path) -> None:
    losses = trajectory(sample, tmp_path)
    if os.environ.get("NYT_H_RECORD"):
        made = {
            "what": f"mean training loss of each {EVERY} of {STEPS} steps, made by this project itself",
            "how": "NYT_H_RECORD=1 python -m pytest tests/finetune/training/test_trajectory.py",
            "data": "write_sample(size='tiny'); encoder: finetune.demo.build_encoder on its sentences",
            "flags": FLAGS,
            "where": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, torch "
            f"{torch.__version__}, one thread",
            "relative_tolerance": 1e-3,
            "losses": losses,
        }
        GOLDEN.write_text(json.dumps(made, indent=2) + "\n")
    golden = json.loads(GOLDEN.read_text())
    assert golden["flags"] == FLAGS
    assert losses == pytest.approx(golden["losses"], rel=golden["relative_tolerance"])
    assert losses[-1] < 0.8 * losses[0], "it learns"
