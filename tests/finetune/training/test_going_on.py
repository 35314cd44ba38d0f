"""A run that was stopped ends with the numbers of one that was not; what is half written is never used."""

import errno
import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from finetune.__main__ import main
from finetune.trainer_arguments import GOES_ON_EXACTLY_FROM, has_transformers
from finetune.training import relation_trainer as checkpoints
from finetune.training import train
from finetune.training.relation_trainer import RelationTrainer
from tests.folders import ROOT

Words = Callable[..., list[str]]
Results = Callable[[Path], dict]

# Runs the command in a process that kills itself: in the forward pass after so many steps, or after half of
# the optimizer's state of a checkpoint is on the disk.
KILLED = """
import os, signal, sys, torch
from finetune.__main__ import main
from finetune.training.relation_trainer import RelationTrainer
where, step, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
compute_loss, save = RelationTrainer.compute_loss, torch.save
def loss(trainer, *given, **named):
    if where == "training" and (trainer.args.seed, trainer.state.global_step) == (seed, step):
        os.kill(os.getpid(), signal.SIGKILL)
    return compute_loss(trainer, *given, **named)
def half(value, path, *given, **named):
    save(value, path, *given, **named)
    if where == "saving" and f"seed-{seed}/checkpoints/checkpoint-{step}/optimizer" in str(path):
        os.truncate(path, os.path.getsize(path) // 2)
        os.kill(os.getpid(), signal.SIGKILL)
RelationTrainer.compute_loss, torch.save = loss, half
sys.exit(main(sys.argv[4:]))
"""


def killed(python: Path, words: list[str], *, where: str, step: int, seed: int) -> None:
    command = [str(python), "-c", KILLED, where, str(step), str(seed), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def without_times(results: dict) -> dict:
    results = json.loads(json.dumps(results))
    for entry in results["seeds"].values():
        assert entry["training"].pop("seconds") > 0
        assert entry["training"].pop("examples_per_second") > 0
    return results


def assert_same_run(out: Path, other: Path, results_of: Results) -> None:
    first, second = without_times(results_of(out)), without_times(results_of(other))
    assert first.pop("arguments").keys() == second.pop("arguments").keys()
    assert first == second
    folders = sorted(path.name for path in other.glob("seed-*"))
    assert sorted(path.name for path in out.glob("seed-*")) == folders
    for name in folders:
        files = sorted(path.name for path in (other / name).iterdir())
        assert sorted(path.name for path in (out / name).iterdir()) == files
        texts = [(folder / name / "predictions.jsonl").read_text() for folder in (out, other)]
        assert texts[0] == texts[1]
        weights = [load_file(folder / name / "model.safetensors") for folder in (out, other)]
        assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[1])


@pytest.mark.skipif(
    not has_transformers(GOES_ON_EXACTLY_FROM), reason="this transformers draws other random numbers then"
)
def test_killed_twice_it_ends_as_if_it_had_not_been(
    two_seeds: Path,
    forked_python: Path,
    sample: Path,
    tmp_path: Path,
    words_for: Words,
    results_of: Results,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    words = words_for(sample, out, "--seeds", "9", "148", "--save_steps", "5")
    killed(forked_python, words, where="training", step=32, seed=148)
    first = {path.name: path.stat().st_mtime_ns for path in (out / "seed-9").iterdir()}
    saved = out / "seed-148" / "checkpoints"
    good = checkpoints.last_good(saved)
    assert good is not None
    assert good.name == "checkpoint-30", "in the middle of an epoch of 7 steps"
    assert len(checkpoints.checkpoints(saved)) == 2, "the best and the last"
    assert not list(saved.rglob("training_args.bin"))
    killed(forked_python, words, where="saving", step=42, seed=148)
    assert (saved / "checkpoint-42" / "optimizer.pt").is_file()
    good = checkpoints.last_good(saved)
    assert good is not None
    assert good.name == "checkpoint-40", "the half-written one is not used"
    assert main(words) == 0
    assert "seed 9: finished before" in capsys.readouterr().out
    assert {path.name: path.stat().st_mtime_ns for path in (out / "seed-9").iterdir()} == first
    assert_same_run(out, two_seeds, results_of)


def test_a_finished_run_is_told_again(
    two_seeds: Path, sample: Path, words_for: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    written = {path: path.stat().st_mtime_ns for path in two_seeds.rglob("*")}
    assert main(words_for(sample, two_seeds, "--seeds", "9", "148", "--report_to", "none")) == 0
    assert "seed 148: finished before" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in two_seeds.rglob("*")} == written


def test_seeds_are_added_left_out_and_reordered(
    sample: Path,
    tmp_path: Path,
    words_for: Words,
    results_of: Results,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, short = tmp_path / "run", ["--max_steps", "2", "--eval_strategy", "no"]
    assert main(words_for(sample, out, *short, "--seeds", "1", "2")) == 0
    both = results_of(out)
    written = {path: path.stat().st_mtime_ns for path in out.glob("seed-*/*")}
    capsys.readouterr()
    assert main(words_for(sample, out, *short, "--seeds", "3", "2", "1")) == 0
    said = capsys.readouterr().out
    assert ("seed 1: finished before" in said, "seed 3: finished before" in said) == (True, False)
    more = results_of(out)
    assert (list(more["seeds"]), more["n"], more["arguments"]["seeds"]) == (["3", "2", "1"], 3, [3, 2, 1])
    assert {seed: more["seeds"][seed] for seed in ("1", "2")} == both["seeds"]
    assert "(3, 2, 1)" in (out / "README.md").read_text()
    assert main(words_for(sample, out, *short, "--seeds", "2")) == 0
    one = results_of(out)
    assert (list(one["seeds"]), one["n"]) == (["2"], 1)
    assert one["mean"] == {name: both["seeds"]["2"]["test"][name] for name in one["mean"]}
    assert main(words_for(sample, out, *short, "--seeds", "1", "2")) == 0
    again = results_of(out)
    assert (again["mean"], again["sd"], again["per_class"]) == (both["mean"], both["sd"], both["per_class"])
    assert {path: path.stat().st_mtime_ns for path in written} == written, "no finished seed was run again"


class Stopped(Exception):
    """Stands for a process that ends."""


def stop_before_scoring(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    with monkeypatch.context() as patched:

        def stopped(*given: object) -> None:
            raise Stopped

        patched.setattr(train, "predicted_logits", stopped)
        with pytest.raises(Stopped):
            main(words)


@pytest.mark.parametrize(
    "more",
    [
        ["--max_steps", "10", "--early_stopping_patience", "9"],
        ["--max_steps", "10", "--eval_strategy", "no"],
        ["--early_stopping_patience", "1", "--early_stopping_threshold", "0.9"],
        ["--eval_strategy", "steps", "--eval_steps", "3", "--max_steps", "9"],
    ],
)
def test_stopped_after_the_last_step_it_is_scored(
    more: list[str],
    sample: Path,
    tmp_path: Path,
    words_for: Words,
    results_of: Results,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, out = words_for(sample, tmp_path / "whole", *more), tmp_path / "run"
    assert main(whole) == 0
    words = words_for(sample, out, *more)
    stop_before_scoring(monkeypatch, words)
    steps: list[int] = []
    step = RelationTrainer.training_step
    monkeypatch.setattr(
        RelationTrainer, "training_step", lambda *given, **named: steps.append(1) or step(*given, **named)
    )
    moved = tmp_path / "moved"
    shutil.move(out, moved)
    assert main(words_for(sample, moved, *more)) == 0
    assert steps == []
    assert_same_run(moved, tmp_path / "whole", results_of)


def test_a_full_disk_leaves_the_last_good_checkpoint(
    sample: Path,
    tmp_path: Path,
    words_for: Words,
    results_of: Results,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = ["--num_train_epochs", "3"]
    assert main(words_for(sample, tmp_path / "whole", *more)) == 0
    words = words_for(sample, tmp_path / "run", *more)
    saved = tmp_path / "run" / "seed-42" / "checkpoints"
    save = torch.save

    def full(value: object, path: object, *given: object, **named: object) -> None:
        if "checkpoint-14" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        save(value, path, *given, **named)

    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setattr(torch, "save", full)
        assert main(words) == 2
    said = capsys.readouterr().err
    assert "error: the checkpoint of step 14 could not be written to" in said
    assert "No space left on device. What was there before is kept; make room, then give the same" in said
    assert [path.name for path in saved.iterdir()] == ["checkpoint-7"]

    def full_at_the_end(*given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(train, "write_predictions", full_at_the_end)
        assert main(words) == 2
    assert "error: what seed 42 gave could not be written to" in capsys.readouterr().err
    assert main(words) == 0
    assert_same_run(tmp_path / "run", tmp_path / "whole", results_of)


def test_early_stopping_stops(
    sample: Path, tmp_path: Path, words_for: Words, results_of: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--early_stopping_patience", "2", "--early_stopping_threshold", "0.9"]
    assert main(words_for(sample, tmp_path / "run", *more)) == 0
    # The first evaluation is the best, since nothing can be 0.9 better; two more follow, of 7 steps each.
    assert results_of(tmp_path / "run")["seeds"]["42"]["training"]["num_steps"] == 21
    capsys.readouterr()
    more = ["--early_stopping_patience", "2", "--eval_strategy", "no"]
    assert main(words_for(sample, tmp_path / "none", *more)) == 2
    assert "`--early_stopping_patience` needs evaluations on a validation split" in capsys.readouterr().err


def seal_of(folder: Path, best: int | None) -> None:
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"x" * 10)
    checkpoints.seal(folder, {"best_step": best})


def test_only_whole_checkpoints_count(tmp_path: Path) -> None:
    assert checkpoints.last_good(tmp_path / "nowhere") is None
    for step, best in ((7, 7), (14, 7), (21, 14)):
        seal_of(tmp_path / f"checkpoint-{step}", best)
    assert checkpoints.last_good(tmp_path) == tmp_path / "checkpoint-21"
    (tmp_path / "checkpoint-14" / "model.safetensors").write_bytes(b"x" * 9)
    assert checkpoints.last_good(tmp_path) == tmp_path / "checkpoint-7", "21 needs 14, which is cut short"
    (tmp_path / "checkpoint-7" / checkpoints.SEAL).write_text('{"files": ')
    assert checkpoints.last_good(tmp_path) is None
    seal_of(tmp_path / "checkpoint-100", None)
    (tmp_path / "checkpoint-x").mkdir()
    checkpoints.keep_only(tmp_path, {100})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-100", "checkpoint-x"]
