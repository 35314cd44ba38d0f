"""What a run may do to an output folder, and the faults that show before any training."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from finetune.__main__ import main
from finetune.training import train

Words = Callable[..., list[str]]
Results = Callable[[Path], dict]


def test_another_run_is_not_touched(
    two_seeds: Path, sample: Path, capsys: pytest.CaptureFixture[str], words_for: Words
) -> None:
    before = {path: path.stat().st_mtime_ns for path in two_seeds.rglob("*")}
    assert main(words_for(sample, two_seeds)) == 2
    said = capsys.readouterr().err
    assert "holds a finished run that differs: `--seeds`: [9, 148] then, None now. Give what" in said
    assert {path: path.stat().st_mtime_ns for path in two_seeds.rglob("*")} == before


def test_overwrite_leaves_nothing_of_the_other_run(
    two_seeds: Path, sample: Path, tmp_path: Path, words_for: Words, results_of: Results
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(two_seeds, out)
    assert main(words_for(sample, out, "--seed", "7", "--overwrite", "--max_steps", "1")) == 0
    assert sorted(path.name for path in out.glob("seed-*")) == ["seed-7"]
    assert list(results_of(out)["seeds"]) == ["7"]


def test_files_of_others_are_not_touched(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words_for: Words
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert main(words_for(sample, tmp_path, "--overwrite")) == 2
    assert "holds files that no run of this command wrote (first: 'thesis.txt'" in capsys.readouterr().err
    assert main(words_for(sample, tmp_path / "thesis.txt")) == 2
    assert "is a file; give a folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_interrupted_run_leaves_no_results(
    sample: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words_for: Words,
) -> None:
    out, write = tmp_path / "run", train.write_predictions

    def stopped(path: Path, records: list) -> None:
        if "seed-2" in str(path):
            raise KeyboardInterrupt
        write(path, records)

    monkeypatch.setattr(train, "write_predictions", stopped)
    words = words_for(sample, out, "--max_steps", "1")
    assert main([*words, "--seeds", "1", "2"]) == 130
    assert f"stopped; the same command goes on with what {out} holds." in capsys.readouterr().err
    assert (out / "seed-1" / "metrics.json").is_file()
    assert not (out / "results.json").exists()
    assert not list(out.rglob("*.part"))
    assert main([*words, "--seed", "3"]) == 2
    said = capsys.readouterr().err
    assert "an unfinished run that differs: `--seed`: the default then, 3 now; `--seeds`: [1, 2] then" in said


def test_a_run_of_something_else_does_not_go_on(
    two_seeds: Path, sample: Path, tmp_path: Path, words_for: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    out, data = tmp_path / "copy", tmp_path / "data"
    shutil.copytree(two_seeds, out)
    shutil.copytree(sample, data)
    seeds = ["--seeds", "9", "148"]

    def refused(*more: str, data: Path = sample) -> str:
        assert main(words_for(data, out, *seeds, *more)) == 2
        return capsys.readouterr().err

    assert "`--learning_rate`: 0.003 then, 0.001 now" in refused("--learning_rate", "1e-3")
    assert "`--max_length`: None then, 40 now; `--weight_decay`: the default then, 0.1 now. Give" in refused(
        "--max_length", "40", "--weight_decay", "0.1"
    )
    (data / "test.json").write_text("".join((data / "test.json").read_text().splitlines(True)[:-1]))
    assert "run that differs: the data: fingerprint" in refused(data=data)
    run = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**run, "num_processes": 2}))
    assert "run that differs: the number of processes: 2 then, 1 now." in refused()
    (out / "run.json").write_text("{")
    assert "run.json is not what a run of this command wrote; `--overwrite` deletes it" in refused()
    (out / "run.json").write_text(json.dumps(run))
    (out / "seed-9" / "training.json").write_text("{}")
    assert "seed-9: training.json, metrics.json or history.json is not" in refused()
    shutil.rmtree(out / "seed-9")
    (out / "seed-9").write_text("")
    assert "seed-9 is a file, where the folder of seed 9 belongs; delete it" in refused()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--select_by", "magt_auc"], "`select_by` 'magt_auc' is no measure of the validation split"),
        (
            ["--select_by", "x", "--eval_strategy", "no"],
            "`--select_by` needs a validation split, and `--eval",
        ),
        (["--max_length", "65"], "`max_length` is 65, but this encoder reads at most 64"),
        (["--max_length", "5"], "`max_length` must be at least 8"),
        (
            ["--model_name_or_path", "./no_encoder"],
            "'./no_encoder' (no folder of that name is here): the enc",
        ),
    ],
)
def test_faults_show_before_training(
    flags: list[str],
    message: str,
    sample: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words_for: Words,
) -> None:
    assert main(words_for(sample, tmp_path / "run", *flags)) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_no_row_to_train_on(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words_for: Words
) -> None:
    data = tmp_path / "data"
    shutil.copytree(sample, data)
    for name in ("train_nonna.json", "na_train.json"):
        lines = [json.loads(line) for line in (data / name).read_text().splitlines()]
        for line in lines:
            line["sentence"] = "Nobody is here ."
        (data / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(words_for(data, tmp_path / "run")) == 2
    assert (
        "none of the 220 training rows can be used: 220 without both entities found"
        in capsys.readouterr().err
    )
