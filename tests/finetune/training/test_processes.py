"""Several processes of a real launcher on loopback give what one process gives, and leave cleanly."""

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from finetune.__main__ import main
from finetune.training.train import predicted_logits
from tests.folders import ROOT
from weighted_f1_metric import read_predictions

Words = Callable[..., list[str]]
Results = Callable[[Path], dict]
SCRIPT = Path(__file__).with_name("traced_run.py")
traced = runpy.run_path(str(SCRIPT))["traced"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
# With "--cpu" it would start one process only; without a GPU these two run on the processor.
ACCELERATE = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2"]
ACCELERATE += ["--main_process_port=0"]


def launch(command: Sequence[object]) -> subprocess.CompletedProcess:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_LOG_LEVEL": "error"}
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_two_processes_have_the_loss_of_one_also_after_a_kill(
    sample: Path, still_encoder: Path, tmp_path: Path, words_for: Words
) -> None:
    """Also with accumulated gradients, weights and smoothing: the mean is over the global batch."""
    more = ["--num_train_epochs=2", "--logging_strategy=steps", "--logging_steps=1", "--eval_strategy=no"]
    more += [f"--model_name_or_path={still_encoder}", "--loss_weighting=macro"]
    more += ["--label_smoothing_factor=0.1", "--bf16=false"]
    losses = {}
    for name, batch in (
        ("one", ["--per_device_train_batch_size=8"]),
        ("accumulated", ["--per_device_train_batch_size=2", "--gradient_accumulation_steps=4"]),
    ):
        words = words_for(sample, tmp_path / name, *more, *batch)
        assert traced(str(tmp_path / f"{name}.json"), words) == 0
        losses[name] = json.loads((tmp_path / f"{name}.json").read_text())
    batch = ["--per_device_train_batch_size=2", "--gradient_accumulation_steps=2"]
    words = words_for(sample, tmp_path / "two", *more, *batch)
    done = launch([*TORCHRUN, "--nproc_per_node=2", SCRIPT, tmp_path / "two.json", *words])
    assert done.returncode == 0, done.stderr
    assert "56 steps of 8 rows over 2 processes" in done.stdout
    assert done.stdout.count("plan:") == done.stdout.count("written to") == 1
    losses["two"] = json.loads((tmp_path / "two.json").read_text())
    assert [step for step, _ in losses["one"]] == list(range(1, 57))
    steps = {name: np.array(values) for name, values in losses.items()}
    for name in ("accumulated", "two"):
        assert np.abs(steps[name] - steps["one"]).max() < 1e-3, f"{name}: also in the epoch's short batch"
    assert np.ptp(steps["one"][:, 1]) > 0.1, "a loss that changes"
    words = [*words_for(sample, tmp_path / "again", *more, *batch), "--save_steps=3"]
    script = [*TORCHRUN, "--nproc_per_node=2", SCRIPT]
    assert launch([*script, f"{tmp_path / 'again.json'}:40", *words]).returncode != 0
    assert not (tmp_path / "again.json").exists()
    done = launch([*script, tmp_path / "again.json", *words])
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "again.json").read_text())
    assert again == losses["two"], "in the second epoch the batches that it would have had"


def test_a_process_without_a_row_in_the_last_step(
    sample: Path, still_encoder: Path, tmp_path: Path, words_for: Words
) -> None:
    """219 rows in steps of 218: of the last step one process has its only row, and the other one none."""
    more = [f"--model_name_or_path={still_encoder}", "--num_train_epochs=2", "--eval_strategy=no"]
    more += ["--bf16=false", "--learning_rate=1e-2"]
    assert main(words_for(sample, tmp_path / "one", *more, "--per_device_train_batch_size=218")) == 0
    words = words_for(sample, tmp_path / "two", *more, "--per_device_train_batch_size=109")
    done = launch([*TORCHRUN, "--nproc_per_node=2", "-m", "finetune", *words])
    assert done.returncode == 0, done.stderr
    one, two = (load_file(tmp_path / name / "seed-42" / "model.safetensors") for name in ("one", "two"))
    assert max(float((two[name] - value).abs().max()) for name, value in one.items()) < 1e-4


def test_two_processes_predict_the_same(
    sample: Path, tmp_path: Path, words_for: Words, results_of: Results
) -> None:
    """40 and 90 rows in batches of 7: the last round is not full, and some rows come back twice."""
    more = ["--max_steps=1", "--learning_rate=0", "--seeds", "3", "4", "--per_device_eval_batch_size=7"]
    assert main(words_for(sample, tmp_path / "one", *more)) == 0
    words = words_for(sample, tmp_path / "two", *more)
    done = launch([*ACCELERATE, "-m", "finetune", *words])
    assert done.returncode == 0, done.stderr
    assert "over 2 processes" in done.stdout
    assert done.stderr.count("mentions in train") <= 1
    for seed in ("seed-3", "seed-4"):
        assert not (tmp_path / "two" / seed / "checkpoints").exists()
        one, two = (read_predictions(tmp_path / name / seed / "predictions.jsonl") for name in ("one", "two"))
        assert [record["instance_id"] for record in two] == [record["instance_id"] for record in one]
        scores = [np.array([list(record["scores"].values()) for record in records]) for records in (one, two)]
        assert np.abs(scores[0] - scores[1]).max() < 1e-6
        assert [record["pred"] for record in two] == [record["pred"] for record in one]
    assert results_of(tmp_path / "two")["mean"] == results_of(tmp_path / "one")["mean"]


def test_two_processes_train_and_score_bags_as_one_does(
    sample: Path, still_encoder: Path, tmp_path: Path, words_for: Words, results_of: Results
) -> None:
    """Bags of several rows, drawn from, and encoded in several chunks; the NA rows are predicted too."""
    more = ["--track=bag2bag", "--bag_pooling=att", "--bag_size=3", "--tokens_per_chunk=256"]
    more += [f"--model_name_or_path={still_encoder}", "--logging_strategy=steps", "--logging_steps=1"]
    more += ["--bf16=false", "--eval_strategy=steps", "--eval_steps=6", "--per_device_eval_batch_size=7"]
    more += ["--evaluate_na=10", "--max_steps=12"]
    words = words_for(sample, tmp_path / "one", *more, "--per_device_train_batch_size=8")
    assert traced(str(tmp_path / "one.json"), words) == 0
    words = words_for(sample, tmp_path / "two", *more, "--per_device_train_batch_size=4")
    done = launch([*TORCHRUN, "--nproc_per_node=2", SCRIPT, tmp_path / "two.json", *words])
    assert done.returncode == 0, done.stderr
    losses = [np.array(json.loads((tmp_path / f"{name}.json").read_text())) for name in ("one", "two")]
    assert losses[0].shape == (12, 2)
    assert np.abs(losses[1] - losses[0]).max() < 1e-4
    for name in ("predictions.jsonl", "na_predictions.jsonl"):
        one, two = (read_predictions(tmp_path / run / "seed-42" / name) for run in ("one", "two"))
        assert [record["bag_id"] for record in two] == [record["bag_id"] for record in one]
        scores = [np.array([list(record["scores"].values()) for record in records]) for records in (one, two)]
        assert np.abs(scores[0] - scores[1]).max() < 1e-6
    results = [results_of(tmp_path / run) for run in ("one", "two")]
    assert results[0]["mean"] == results[1]["mean"]
    assert results[0]["false_alarms"] == results[1]["false_alarms"]


def test_a_fault_is_said_once(tmp_path: Path, sample: Path, words_for: Words) -> None:
    words = words_for(sample, tmp_path / "run", "--select_by", "nothing")
    done = launch([*TORCHRUN, "--nproc_per_node=2", "-m", "finetune", *words])
    assert done.returncode != 0
    assert done.stderr.count("error: `select_by` 'nothing' is no measure of the validation split") == 1
    assert "finetune/__main__.py" not in done.stderr, "no traceback of ours"
    assert not (tmp_path / "run").exists()


class Gathered:
    """Stands for a trainer whose processes give back rows with these ids."""

    def __init__(self, row_ids: list[int]) -> None:
        self.row_ids = np.array(row_ids)

    def predict(self, batches: object) -> "Gathered":
        self.predictions = 10.0 * self.row_ids[:, None]
        self.label_ids = (np.zeros(len(self.row_ids)), self.row_ids)
        return self


class Rows:
    row_ids = np.array([4, 5, 6])

    def __len__(self) -> int:
        return 3


def test_rows_that_come_back_are_counted() -> None:
    assert predicted_logits(Gathered([6, 4, 5, 6, 6]), Rows()).tolist() == [[40], [50], [60]]
    with pytest.raises(
        RuntimeError, match=r"gave back 2 different rows for 3; 1 are missing \(first: \[5\]\)"
    ):
        predicted_logits(Gathered([6, 4, 4]), Rows())
