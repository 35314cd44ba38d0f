"""What was logged while training stays, is said and drawn; backends that are not there are refused."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from finetune.__main__ import main
from finetune.command_line import parse_arguments
from finetune.report.figures import plot_history
from finetune.report.results import read_seed
from finetune.training.relation_trainer import RelationTrainer
from finetune.training.train import report_callbacks, seed_arguments

Words = Callable[..., list[str]]


def test_the_history_of_a_run_stays(two_seeds: Path) -> None:
    for seed in (9, 148):
        folder = two_seeds / f"seed-{seed}"
        history = json.loads((folder / "history.json").read_text())
        losses = [entry for entry in history if "loss" in entry]
        scores = [entry for entry in history if "eval_loss" in entry]
        assert [entry["epoch"] for entry in losses] == [entry["epoch"] for entry in scores]
        assert all(entry["loss"] > 0 and entry["step"] > 0 for entry in losses)
        assert not any("runtime" in name or "per_second" in name for entry in history for name in entry)
        result = read_seed(folder)
        assert result is not None
        assert list(result.history) == history
    results = json.loads((two_seeds / "results.json").read_text())
    assert ("training_history.png" in results["figures"]) == bool(results["figures"])
    assert "logging_strategy" not in results["arguments"], "not given"


def test_a_line_a_seed_and_what_it_shows() -> None:
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    entries = [{"step": 2, "loss": 0.5}, {"step": 2, "eval_macro_f1": 0.25}, {"step": 4, "loss": 0.125}]
    figure = plot_history({"seed 1": entries, "seed 2": entries[:1]}, measure="macro_f1")
    loss, score = figure.axes
    assert [line.get_xydata().tolist() for line in loss.lines] == [[[2, 0.5], [4, 0.125]], [[2, 0.5]]]
    assert [line.get_xydata().tolist() for line in score.lines] == [[[2, 0.25]], []]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--report_to", "tensorboard"], "TensorBoard"),
        (["--report_to", "wandb"], "wandb"),
        (["--optim", "adamw_bnb_8bit"], "bitsandbytes"),
        (["--use_liger_kernel"], "liger"),
    ],
)
def test_what_is_not_installed_is_said_before_anything_is_claimed(
    flags: list[str], named: str, tmp_path: Path, sample: Path, words_for: Words, capsys, monkeypatch
) -> None:
    for name in ("tensorboard", "tensorboardX", "wandb", "bitsandbytes", "liger_kernel"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(words_for(sample, tmp_path / "run", *flags)) == 2
    said = capsys.readouterr().err
    assert named in said
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_each_seed_reports_under_a_name_and_a_place_of_its_own(tmp_path: Path, monkeypatch) -> None:
    written = ModuleType("torch.utils.tensorboard")
    written.SummaryWriter = lambda place: place  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", written)
    monkeypatch.setattr("transformers.integrations.TensorBoardCallback", lambda writer: writer, raising=False)
    given = parse_arguments(["--output_dir", str(tmp_path), "--report_to", "tensorboard"]).training
    folder = tmp_path / "mine" / "seed-3"
    assert report_callbacks(given, folder) == [str(folder / "tensorboard")]
    arguments = seed_arguments(given, seed=3, folder=folder, select_by=None)
    assert arguments.report_to == []
    assert arguments.run_name == "mine-seed-3"


def test_only_the_attempt_that_trained_is_counted(
    tmp_path: Path, sample: Path, words_for: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--auto_find_batch_size` starts again with fewer rows a step where memory did not suffice."""
    compute, calls = RelationTrainer.compute_loss, []

    def without_memory(*given, **named):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("CUDA out of memory.")
        return compute(*given, **named)

    monkeypatch.setattr(RelationTrainer, "compute_loss", without_memory)
    flags = ("--auto_find_batch_size", "--num_train_epochs", "1", "--figures", "false", "--seeds", "9")
    assert main(words_for(sample, tmp_path / "run", *flags)) == 0
    result = read_seed(tmp_path / "run" / "seed-9")
    assert result is not None
    (logged,) = (entry for entry in result.history if "loss" in entry)
    assert logged["step"] == result.training["num_steps"]
    assert result.training["mean_loss"] == pytest.approx(logged["loss"], abs=1e-3)
