"""`python -m finetune.experiments`: a grid from start to finish, stopped and gone on with, refused."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from finetune import __main__ as command
from finetune.experiments import folder_lock
from finetune.experiments import runs as experiment_runs
from finetune.experiments.__main__ import main
from finetune.experiments.folder_lock import locked
from finetune.experiments.runs import PlannedRun, environments, num_threads, run_all
from tests.folders import ROOT

Results = Callable[[Path], dict]
PCNN, CNN = "runs/sent2sent/pcnn", "runs/bag2bag/cnn-att"


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    path.write_text("the 1 2 3\nof 4 5 6\n")
    return path


@pytest.fixture(scope="module")
def given(sample: Path, vectors: Path) -> dict:
    return {
        "title": "Two networks",
        "data": {"data": "nyt_h", "data_dir": str(sample)},
        "seeds": [3, 4],
        "arguments": {"max_steps": 2, "figures": False, "logging_strategy": "no", "bf16": False},
        "systems": [
            {"name": "PCNN", "encoder": "pcnn", "word_vectors": str(vectors)},
            {"name": "CNN + ATT", "encoder": "cnn", "bag_pooling": "att", "tracks": ["bag2bag"]},
        ],
    }


@pytest.fixture(scope="module", autouse=True)
def fast_python(forked_python: Path) -> Iterator[None]:
    """What starts the runs imports nothing again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", str(forked_python))
        yield


@pytest.fixture(scope="module")
def finished(
    given: dict, made_once: Callable, tmp_path_factory: pytest.TempPathFactory, fast_python: None
) -> Path:
    """The output folder of the experiment, made by two workers."""

    def run(folder: Path) -> None:
        folder.mkdir()
        words = words_for(given, folder / "experiment.yaml", folder / "out")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(experiment_runs, "num_threads", lambda: 2)
            assert main([*words, "--num_workers", "2"]) == 0

    out = tmp_path_factory.mktemp("experiment") / "out"  # each worker has its own, since commands write there
    shutil.copytree(made_once("experiment", run) / "out", out)
    return out


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "out")
    return tmp_path / "out"


def words_for(given: dict, file: Path, out: Path) -> list[str]:
    file.write_text(yaml.safe_dump(given))
    return [str(file), "--output_dir", str(out)]


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_what_the_command_makes(
    finished: Path, sample: Path, vectors: Path, tmp_path: Path, results_of: Results
) -> None:
    words = ["--data_dir", str(sample), "--encoder=pcnn", "--seeds", "3", "4", "--max_steps=2"]
    words += ["--word_vectors", str(vectors)]
    words += ["--figures=false", "--logging_strategy=no", "--bf16=false", f"--output_dir={tmp_path / 'run'}"]
    assert command.main(words) == 0
    ours, theirs = results_of(finished / PCNN), results_of(tmp_path / "run")
    assert ours["mean"] == theirs["mean"]
    assert ours["arguments"] == theirs["arguments"]
    assert {path.name for path in (finished / PCNN).iterdir()} == {
        path.name for path in (tmp_path / "run").iterdir()
    }
    log = (finished / f"{PCNN}.log").read_text()
    assert log.startswith(f"$ {sys.executable} -m finetune --data=nyt_h")
    assert "written to" in log


def test_given_again_nothing_is_run(
    given: dict, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, report = times(finished / "runs"), (finished / "README.md").read_text()
    assert report.startswith("# Two networks\n")
    assert "PCNN" in report
    assert "CNN + ATT" in report
    assert list((finished / "tables").glob("*.csv"))
    assert main(words_for(given, tmp_path / "e.yaml", finished)) == 0
    assert "2 runs (2 systems on sent2sent, bag2bag) with 2 seeds each; 2 were finished before\n" in (
        capsys.readouterr().out
    )
    assert times(finished / "runs") == before
    assert (finished / "README.md").read_text() == report


def test_a_seed_is_added_and_one_left_out(
    given: dict, copied: Path, tmp_path: Path, results_of: Results
) -> None:
    before = results_of(copied / PCNN)
    kept = times(copied / PCNN / "seed-4")
    changed = {**given, "seeds": [4, 6], "systems": given["systems"][:1]}
    shutil.rmtree(copied / "runs" / "bag2bag")
    assert main(words_for(changed, tmp_path / "e.yaml", copied)) == 0
    results = results_of(copied / PCNN)
    assert list(results["seeds"]) == ["4", "6"]
    assert results["seeds"]["4"] == before["seeds"]["4"]
    assert times(copied / PCNN / "seed-4") == kept
    assert "2 seeds (4, 6)" in (copied / "README.md").read_text()


def test_killed_and_gone_on_with(
    given: dict, finished: Path, copied: Path, tmp_path: Path, results_of: Results, capsys
) -> None:
    out = copied
    for path in (out / CNN, out / f"{CNN}.log"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    first = times(out / PCNN)
    words = words_for(given, tmp_path / "e.yaml", out)
    started = subprocess.Popen([sys.executable, "-m", "finetune.experiments.__main__", *words], cwd=ROOT)
    while not (out / f"{CNN}.log").exists():
        assert started.poll() is None
        time.sleep(0.02)
    os.kill(int((out / ".lock").read_text()), signal.SIGKILL)
    assert started.wait() != 0
    assert main(words) == 0, "the run that was going on has ended too, and let go of the folder"
    said = capsys.readouterr().out
    assert "; 1 was finished before" in said
    assert "[1/1] 'CNN + ATT' on bag2bag: " in said
    assert times(out / PCNN) == first
    for run in (PCNN, CNN):
        assert results_of(out / run)["mean"] == results_of(finished / run)["mean"]
        assert results_of(out / run)["sd"] == results_of(finished / run)["sd"]


def test_a_run_that_fails(
    given: dict, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others go on, also a system that was added; the report of the runs of before is gone."""
    shutil.rmtree(copied / PCNN)
    (copied / PCNN).mkdir()
    (copied / PCNN / "thesis.txt").write_text("mine")
    assert (copied / "README.md").is_file()
    systems = [*given["systems"], {"name": "Added", "encoder": "att_blstm"}]
    words = words_for({**given, "systems": systems}, tmp_path / "e.yaml", copied)
    assert main(words) == 2
    said = capsys.readouterr()
    assert "added to the experiment since: 'Added' on sent2sent\n" in said.out
    assert "[1/2] 'PCNN' on sent2sent: failed after " in said.out
    assert ", exit status 2\n" in said.out
    assert "holds files that no run of this command wrote (first: 'thesis.txt'" in said.out
    assert f"(all of it: {copied / PCNN}.log)" in said.out
    assert "[2/2] 'Added' on sent2sent: " in said.out
    assert (
        "error: 1 of 3 runs failed: 'PCNN' on sent2sent. There is no comparison, since it would" in said.err
    )
    assert (copied / "runs/sent2sent/added/results.json").is_file()
    assert not (copied / "README.md").exists()


def test_interrupted_it_stops_its_runs(
    given: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said, sleep = tmp_path / "said", time.sleep
    launcher = f"sh -c 'echo $$ > {said}; exec sleep 60'"

    def interrupted(seconds: float) -> None:
        while not (said.exists() and said.read_text().endswith("\n")):
            sleep(0.01)
        monkeypatch.setattr(time, "sleep", sleep)
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    words = words_for(given, tmp_path / "e.yaml", tmp_path / "out")
    assert main([*words, "--launcher", launcher]) == 130
    assert "stopped; the same command goes on" in capsys.readouterr().err
    with pytest.raises(ProcessLookupError):
        os.kill(int(said.read_text()), 0)


def test_a_launcher_with_two_processes(
    given: dict, tmp_path: Path, forked_python: Path, results_of: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    one = {**given, "seeds": [3], "systems": given["systems"][:1]}
    words = words_for(one, tmp_path / "e.yaml", tmp_path / "out")
    launcher = f"{forked_python} -m torch.distributed.run --standalone --local-addr=127.0.0.1"
    launcher += f" --nproc_per_node=2 --no-python {forked_python}"
    assert main([*words, "--launcher", launcher]) == 0
    assert "[1/1] 'PCNN' on sent2sent by 2 processes: " in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / PCNN / "run.json").read_text())["num_processes"] == 2
    assert results_of(tmp_path / "out" / PCNN)["n"] == 1
    shutil.copytree(tmp_path / "out" / PCNN, tmp_path / "out" / "runs/sent2sent/other")
    run = tmp_path / "out" / "runs/sent2sent/other/run.json"
    changed = json.loads(run.read_text())
    changed["num_processes"] = 1
    changed["arguments"]["learning_rate"] = 0.5
    run.write_text(json.dumps(changed))
    systems = [*one["systems"], {**one["systems"][0], "name": "Other", "learning_rate": 0.5}]
    assert main(words_for({**one, "systems": systems}, tmp_path / "e.yaml", tmp_path / "out")) == 2
    assert (
        "the runs were made by different numbers of processes ('Other' on sent2sent by 1, 'PCNN' on "
        "sent2sent by 2)" in capsys.readouterr().err
    )


def test_one_command_at_a_time(
    given: dict, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(folder_lock, "PATIENCE", 0.0)
    words = words_for(given, tmp_path / "e.yaml", finished)
    with (finished / ".lock").open("r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.truncate(0)
        other.write("4711")
        other.flush()
        assert main(words) == 2
    said = capsys.readouterr().err
    assert "another command (process 4711), or a run that it started, is at work in" in said
    assert main(words) == 0


def test_a_run_keeps_the_folder_locked(tmp_path: Path) -> None:
    """Also when the command that started it is gone, here when the first of two runs has ended."""
    runs = [PlannedRun("X", "sent2sent", tmp_path / f"runs/{time}", (time,), ()) for time in ("0", "60")]
    with locked(tmp_path) as lock:
        kept = os.dup(lock)

    def let_go(line: str) -> None:
        os.close(kept)
        with pytest.raises(ValueError, match="or a run that it started, is at work in"):  # noqa: SIM117
            with locked(tmp_path, patience=0):
                pass
        raise KeyboardInterrupt

    sleep = ["sh", "-c", 'for time; do :; done; sleep "$time"', "sh"]
    with pytest.raises(KeyboardInterrupt):
        run_all(runs, launcher=sleep, workers=[dict(os.environ)] * 2, lock=kept, say=let_go)
    with locked(tmp_path, patience=0):
        pass


def changes(given: dict) -> dict[str, tuple[dict, str]]:
    """What is changed -> the file then, and the error."""
    pcnn, cnn = given["systems"]
    return {
        "a flag": (
            {**given, "systems": [{**pcnn, "learning_rate": 0.01}, cnn]},
            "error: the experiment changed after a part of it has run: 'PCNN' on sent2sent: "
            "`--learning_rate`: 0.001 then, 0.01 now. Put it back, or give another `--output_dir`, or "
            "`--overwrite` to delete all runs in",
        ),
        "a flag of all": (
            {**given, "arguments": {**given["arguments"], "max_steps": 3}},
            "'PCNN' on sent2sent: `--max_steps`: 2 then, 3 now (2 runs differ in all)",
        ),
        "seeds": ({**given, "seeds": [5]}, "`--seeds`: [3, 4] then, [5] now"),
        "a system taken out": (
            {**given, "systems": [pcnn]},
            "1 run in OUT is not in the experiment now (first: runs/bag2bag/cnn-att): a system or track was "
            "taken out or renamed. Put it back, or give",
        ),
    }


@pytest.mark.parametrize("what", ["a flag", "a flag of all", "seeds", "a system taken out"])
def test_a_file_that_was_changed(
    what: str, given: dict, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = times(finished)
    given, message = changes(given)[what]
    assert main(words_for(given, tmp_path / "e.yaml", finished)) == 2
    assert message in capsys.readouterr().err.replace(str(finished), "OUT")
    assert times(finished).keys() == before.keys()
    assert times(finished / "runs") == {path: at for path, at in before.items() if "/runs/" in str(path)}


def test_other_data_than_those_of_the_runs(
    given: dict, finished: Path, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    shutil.copytree(sample, data)
    words = [*words_for(given, tmp_path / "e.yaml", finished), "--data_dir", str(data)]
    assert main(words) == 0, "the same data at another place"
    lines = (data / "train_nonna.json").read_text().splitlines(keepends=True)
    (data / "train_nonna.json").write_text("".join(lines[1:]))
    assert main(words) == 2
    assert "'PCNN' on sent2sent: the data: fingerprint " in capsys.readouterr().err


def test_other_word_vectors_than_those_of_the_runs(
    given: dict, finished: Path, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pcnn, cnn = given["systems"]
    moved = tmp_path / "vectors.txt"
    shutil.copy(vectors, moved)
    given = {**given, "systems": [{**pcnn, "word_vectors": str(moved)}, cnn]}
    words = words_for(given, tmp_path / "e.yaml", finished)
    assert main(words) == 0, "the same vectors at another place"
    moved.write_text(vectors.read_text().replace("3", "7"))
    assert main(words) == 2
    assert "'PCNN' on sent2sent: `--word_vectors`: 'vectors " in capsys.readouterr().err
    moved.unlink()
    assert main(words) == 2
    assert f"error: the file {moved} is not there" in capsys.readouterr().err


def test_all_systems_are_checked_before_the_first_is_run(
    given: dict, language_model_folder: Callable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bert = str(language_model_folder("bert"))
    for system, message in (
        (
            {"name": "PTR", "input": "prompt"},
            "label words are not one token of the encoder's vocabulary",
        ),
        ({"name": "X", "select_by": "f"}, "system 'X' on sent2sent: `select_by` 'f' is no measure"),
    ):
        systems = [*given["systems"], {**system, "model_name_or_path": bert}]
        words = words_for({**given, "systems": systems}, tmp_path / "e.yaml", tmp_path / "out")
        assert main(words) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


def test_files_of_others_are_not_touched(given: dict, tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    words = words_for(given, tmp_path / "e.yaml", out)
    assert main([*words, "--overwrite"]) == 2
    assert "holds files that no experiment wrote (first: 'thesis.txt', 1 in all)" in capsys.readouterr().err
    assert main([words[0], "--output_dir", str(out / "thesis.txt")]) == 2
    assert "is a file; give a folder" in capsys.readouterr().err
    assert (out / "thesis.txt").read_text() == "mine"


def test_a_track_that_is_no_more_leaves_no_tables(given: dict, copied: Path, tmp_path: Path) -> None:
    assert list((copied / "tables").glob("*bag2bag*"))
    shutil.rmtree(copied / CNN)
    one = {**given, "systems": given["systems"][:1]}
    assert main(words_for(one, tmp_path / "e.yaml", copied)) == 0
    assert list((copied / "tables").glob("*sent2sent*"))
    assert not list((copied / "tables").glob("*bag2bag*"))
    assert not list((copied / "figures").glob("*bag2bag*"))


def test_killed_while_it_wrote_the_first_file(given: dict, tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / ".experiment.yaml.part").write_text("title:")
    elsewhere = {**given, "data": {**given["data"], "data_dir": str(tmp_path / "nothing")}}
    assert main(words_for(elsewhere, tmp_path / "e.yaml", out)) == 2
    said = capsys.readouterr().err
    assert "holds files that no experiment wrote" not in said
    assert "nothing" in said


def test_overwrite_starts_anew(given: dict, copied: Path, tmp_path: Path) -> None:
    one = {**given, "seeds": [7], "systems": given["systems"][:1]}
    assert main([*words_for(one, tmp_path / "e.yaml", copied), "--overwrite"]) == 0
    assert [path.parent.name for path in copied.glob("runs/*/*/run.json")] == ["pcnn"]
    assert (copied / PCNN / "seed-7").is_dir()
    assert not (copied / PCNN / "seed-3").exists()
    assert "CNN + ATT" not in (copied / "README.md").read_text()


def test_workers_share_threads_and_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_runs, "num_threads", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = environments(3, launched=False, num_gpus=2)
    assert [own["OMP_NUM_THREADS"] for own in found] == ["2", "2", "2"]
    assert [own["CUDA_VISIBLE_DEVICES"] for own in found] == ["0", "1", "0"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = environments(2, launched=False, num_gpus=2)
    assert [own["OMP_NUM_THREADS"] for own in found] == ["1", "1"]
    assert [own["CUDA_VISIBLE_DEVICES"] for own in found] == ["4", "6"]
    assert "CUDA_VISIBLE_DEVICES" not in os.environ or len(environments(1, launched=True, num_gpus=2)) == 1


def test_there_is_a_thread() -> None:
    assert 1 <= num_threads() <= (os.cpu_count() or 1)
