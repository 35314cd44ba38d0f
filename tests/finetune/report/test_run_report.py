"""What a run says: the plan, its warnings, the table, and nothing raw between them."""

import dataclasses
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from finetune.__main__ import main
from finetune.command_line import parse_arguments
from finetune.report.results import SeedResult, read_seed
from finetune.training.messages import data_warnings, score_warnings
from finetune.training.preparation import Prepared, prepare
from tests.folders import ROOT
from weighted_f1_metric.__main__ import main as weighted_f1

Words = Callable[..., list[str]]


def test_the_screen_of_a_run(forked_python: Path, sample: Path, tmp_path: Path, words_for: Words) -> None:
    """In a process of its own, where the Trainer and the bars write to real streams."""
    words = [
        word for word in words_for(sample, tmp_path / "run", "--num_train_epochs=2") if "=no" not in word
    ]
    words = [word for word in words if "tqdm" not in word]
    done = subprocess.run(
        [str(forked_python), "-m", "finetune", *words, "--logging_steps=3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("plan: train 220, validation 40, test 90 rows; 14 steps of 32 rows (about ")
    said = [line.split(": ")[:2] for line in lines if line.startswith("step")]
    assert [step for step, what in said if what.startswith("validation")] == [
        "step 7 of 14 (epoch 1.00)",
        "step 14 of 14 (epoch 2.00)",
    ]
    losses = [step.split(" (")[0] for step, what in said if what.startswith("training loss")]
    assert losses == [f"step {step} of 14" for step in (3, 6, 9, 12)]
    assert "| macro, all relations |" in done.stdout
    assert lines[-1] == f"written to {tmp_path / 'run'}: results.json, README.md, seed-*/"
    for raw in ("{'", "it/s", "train_runtime", "Loading weights", "UserWarning"):
        assert raw not in done.stdout + done.stderr, done.stderr


@pytest.fixture(scope="module")
def prepared(sample: Path, words_for: Words, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(parse_arguments(words_for(sample, tmp_path_factory.mktemp("none") / "run")))


def relabelled(prepared: Prepared, **labels: list[int]) -> Prepared:
    splits = dict(prepared.data.splits)
    for split, values in labels.items():
        if split == "train":
            prepared.batches["train"].labels[:] = np.resize(values, len(prepared.batches["train"]))
        else:
            rows = splits[split]
            splits[split] = dataclasses.replace(rows, labels=np.resize(values, len(rows)))
    return dataclasses.replace(prepared, data=dataclasses.replace(prepared.data, splits=splits))


def test_relations_that_the_splits_do_not_share(prepared: Prepared) -> None:
    names = prepared.data.label_names
    negative = names.index("NA")
    one, two, three, four, five = (label for label in range(6) if label != negative)
    same = relabelled(prepared, train=[negative, one, two], validation=[one, two], test=[one])
    assert data_warnings(same) == []
    other = relabelled(prepared, train=[one], validation=[two], test=[one, one, two, three, four, five])
    assert data_warnings(other) == [
        f"warning: validation has 40 rows of relation {names[two]!r}; train has none.",
        f"warning: validation has no row of relation {names[one]!r} of train.",
        f"warning: test has 60 rows of relations {names[two]!r}, {names[three]!r}, {names[four]!r} and 1 "
        "more; train has none.",
    ]


def test_scores_that_are_the_accuracy(two_seeds: Path, prepared: Prepared) -> None:
    result = read_seed(two_seeds / "seed-9")
    assert isinstance(result, SeedResult)
    assert score_warnings(result, prepared.data) == []
    same = dict.fromkeys(("dsgt_micro_precision", "dsgt_micro_recall", "dsgt_micro_f1"), 0.875)
    accuracy = dataclasses.replace(result, scores={"test": result.scores["test"] | same})
    [line] = score_warnings(accuracy, prepared.data)
    assert line.startswith("warning: seed 9 has the same dsgt_micro_precision, recall and f1 on test (87.50)")
    failed = dataclasses.replace(accuracy, only_negative=True)
    assert score_warnings(failed, prepared.data) == ["warning: seed 9 predicts NA for every test row."]


def test_two_output_folders_are_compared(
    two_seeds: Path, sample: Path, tmp_path: Path, words_for: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    assert main(words_for(sample, other, "--seeds", "9", "148", "--max_steps", "1")) == 0
    capsys.readouterr()
    out = tmp_path / "compared.json"
    assert weighted_f1(["compare", str(two_seeds), str(other), "--json", str(out)]) == 0
    said = capsys.readouterr().out
    results = [json.loads((folder / "results.json").read_text()) for folder in (two_seeds, other)]
    assert "dsgt" in said.lower()
    written = out.read_text()
    for result in results:
        assert repr(result["mean"]["dsgt_micro_f1"]) in written
