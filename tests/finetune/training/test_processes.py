"""Several processes of a real launcher on loopback give what one process gives, and leave cleanly."""

import json
import os
import runpy
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from finetune.__main__ import main
from finetune.trainer_arguments import SEVERAL_PROCESSES_FROM, has_transformers
from finetune.training.train import predicted_logits
from tests.folders import ROOT
from weighted_f1_metric import read_predictions

pytestmark = pytest.mark.skipif(
    not has_transformers(SEVERAL_PROCESSES_FROM), reason="several processes are refused on this transformers"
)
Words = Callable[..., list[str]]
Results = Callable[[Path], dict]
SCRIPT = Path(__file__).with_name("traced_run.py")
traced = runpy.run_path(str(SCRIPT))["traced"]
TORCHRUN = ["torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc_per_node=2"]
TORCHRUN += ["--no-python"]
# With "--cpu" it would start one process only; without a GPU these two run on the processor.
ACCELERATE = ["accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--main_process_port=0"]
ACCELERATE += ["--no_python"]


@pytest.fixture(scope="module")
def launch(forked_python: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Launcher, and the words behind `python` in each of its processes -> how it ended."""

    def launch(launcher: Sequence[str], *command: object) -> subprocess.CompletedProcess:
        environment = os.environ | {"ACCELERATE_LOG_LEVEL": "error"}
        words = [str(forked_python), "-m", *launcher, str(forked_python), *map(str, command)]
        return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)

    return launch


@pytest.fixture(scope="module")
def whole_batches(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample with 64 training rows: 8 batches of 8, none short, so that losses agree over all steps."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    shutil.copytree(sample, folder)
    for name, size in (("train_nonna", 50), ("na_train", 14)):
        lines = (folder / f"{name}.json").read_text().splitlines(keepends=True)
        (folder / f"{name}.json").write_text("".join(lines[:size]))
    return folder


@pytest.fixture(scope="module")
def flags_of(whole_batches: Path, sample: Path, still_encoder: Path, words_for: Words) -> Callable:
    """Run, output folder, number of processes -> its flags; the global batch is the same."""
    traced_losses = ["--logging_strategy=steps", "--logging_steps=1", "--bf16=false"]
    traced_losses += [f"--model_name_or_path={still_encoder}"]
    weighted = ["--num_train_epochs=2", "--eval_strategy=no", "--loss_weighting=macro"]
    weighted += ["--label_smoothing_factor=0.1", "--save_steps=3"]
    bags = ["--track=bag2bag", "--bag_pooling=att", "--bag_size=3", "--tokens_per_chunk=256"]
    bags += ["--eval_strategy=steps", "--eval_steps=6", "--per_device_eval_batch_size=7"]
    bags += ["--evaluate_na=10", "--max_steps=12"]
    untrained = ["--max_steps=1", "--learning_rate=0", "--seeds", "3", "4", "--per_device_eval_batch_size=7"]
    short = ["--num_train_epochs=2", "--eval_strategy=no", "--learning_rate=1e-2", *traced_losses]
    runs = {
        "short": (sample, short, 218),
        "weighted": (whole_batches, [*weighted, *traced_losses], 8),
        "bags": (sample, [*bags, *traced_losses], 8),
        "untrained": (sample, untrained, 8),
    }

    def flags(run: str, out: Path, num_processes: int, *, accumulated: int = 1) -> list[str]:
        data, more, batch = runs[run]
        batch //= num_processes * accumulated
        more = [*more, f"--per_device_train_batch_size={batch}"]
        return words_for(data, out, *more, f"--gradient_accumulation_steps={accumulated}")

    return flags


@pytest.fixture(scope="module")
def by_two(flags_of: Callable, launch: Callable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes wrote: all runs, the first of which was killed in the middle of its second epoch.

    Starting processes takes longest, so two launches do it, one of each launcher.
    """
    folder = tmp_path_factory.mktemp("two")
    words = flags_of("weighted", folder / "weighted", 2, accumulated=2)
    (folder / "killed.json").write_text(json.dumps([[f"{folder / 'weighted.json'}:11", words]]))
    assert launch(TORCHRUN, SCRIPT, folder / "killed.json").returncode != 0
    assert not (folder / "weighted.json").exists()
    assert (folder / "weighted" / "seed-42" / "checkpoints" / "checkpoint-9").is_dir()
    runs = [[str(folder / "weighted.json"), words]]
    for name in ("bags", "untrained", "short"):
        runs.append([str(folder / f"{name}.json"), flags_of(name, folder / name, 2)])
    (folder / "runs.json").write_text(json.dumps(runs))
    done = launch(ACCELERATE, SCRIPT, folder / "runs.json")
    assert done.returncode == 0, done.stderr
    assert "16 steps of 8 rows over 2 processes" in done.stdout
    assert done.stdout.count("plan:") == done.stdout.count("written to") == 4
    assert done.stderr.count("mentions in train") <= 4
    return folder


def losses_of(trace: Path) -> np.ndarray:
    """(step, loss) of each step."""
    return np.array(json.loads(trace.read_text()))


def same_predictions(one: Path, two: Path, key: str) -> None:
    first, second = read_predictions(one), read_predictions(two)
    assert [record[key] for record in second] == [record[key] for record in first]
    scores = [
        np.array([list(record["scores"].values()) for record in records]) for records in (first, second)
    ]
    assert np.abs(scores[0] - scores[1]).max() < 1e-6
    assert [record["pred"] for record in second] == [record["pred"] for record in first]


def test_two_processes_have_the_loss_of_one_also_after_a_kill(
    by_two: Path, flags_of: Callable, tmp_path: Path
) -> None:
    """Also with accumulated gradients, weights and smoothing: the mean is over the global batch.

    The two were killed in the second epoch, and then had the batches that they would have had.
    """
    for name, accumulated in (("one", 1), ("accumulated", 4)):
        words = flags_of("weighted", tmp_path / name, 1, accumulated=accumulated)
        assert traced(str(tmp_path / f"{name}.json"), words) == 0
    one = losses_of(tmp_path / "one.json")
    assert one[:, 0].tolist() == list(range(1, 17))
    assert np.ptp(one[:, 1]) > 0.1, "a loss that changes"
    for other in (tmp_path / "accumulated.json", by_two / "weighted.json"):
        assert np.abs(losses_of(other) - one).max() < 1e-4, other


def test_no_row_is_seen_twice_where_the_last_step_has_too_few_for_all(
    by_two: Path, flags_of: Callable, tmp_path: Path
) -> None:
    """219 rows in steps of 218: the last step has one row, and the second of two processes none."""
    assert traced(str(tmp_path / "one.json"), flags_of("short", tmp_path / "one", 1)) == 0
    one, two = losses_of(tmp_path / "one.json"), losses_of(by_two / "short.json")
    assert one[:, 0].tolist() == [1, 2, 3, 4]
    assert np.abs(two - one).max() < 1e-4
    folders = (tmp_path / "one", by_two / "short")
    weights, others = (load_file(folder / "seed-42" / "model.safetensors") for folder in folders)
    assert max(float((others[name] - value).abs().max()) for name, value in weights.items()) < 1e-4


def test_two_processes_predict_the_same(
    by_two: Path, flags_of: Callable, tmp_path: Path, results_of: Results
) -> None:
    """40 and 90 rows in batches of 7: the last round is not full, and some rows come back twice."""
    assert main(flags_of("untrained", tmp_path / "one", 1)) == 0
    for seed in ("seed-3", "seed-4"):
        assert not (by_two / "untrained" / seed / "checkpoints").exists()
        files = (folder / seed / "predictions.jsonl" for folder in (tmp_path / "one", by_two / "untrained"))
        same_predictions(*files, "instance_id")
    assert results_of(by_two / "untrained")["mean"] == results_of(tmp_path / "one")["mean"]


def test_two_processes_train_and_score_bags_as_one_does(
    by_two: Path, flags_of: Callable, tmp_path: Path, results_of: Results
) -> None:
    """Bags of several rows, drawn from, and encoded in several chunks; the NA rows are predicted too."""
    assert traced(str(tmp_path / "one.json"), flags_of("bags", tmp_path / "one", 1)) == 0
    one, two = losses_of(tmp_path / "one.json"), losses_of(by_two / "bags.json")
    assert one.shape == (12, 2)
    assert np.abs(two - one).max() < 1e-4
    for name in ("predictions.jsonl", "na_predictions.jsonl"):
        files = (folder / "seed-42" / name for folder in (tmp_path / "one", by_two / "bags"))
        same_predictions(*files, "bag_id")
    results = [results_of(folder) for folder in (tmp_path / "one", by_two / "bags")]
    assert results[0]["mean"] == results[1]["mean"]
    assert results[0]["false_alarms"] == results[1]["false_alarms"]


def test_a_fault_is_said_once(launch: Callable, tmp_path: Path, sample: Path, words_for: Words) -> None:
    words = words_for(sample, tmp_path / "run", "--select_by", "nothing")
    done = launch(TORCHRUN, "-m", "finetune", *words)
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
