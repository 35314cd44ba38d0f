"""What an experiment file may say, and each fault of one, before anything is read or run."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from finetune.experiments.__main__ import main
from finetune.experiments.experiment_file import read_experiment
from tests.folders import ROOT

GIVEN = {
    "title": "Two networks",
    "data": {"data": "nyt_h", "data_dir": "nowhere"},
    "tracks": ["bag2bag", "sent2sent"],
    "seeds": [9, 148],
    "arguments": {"max_steps": 5, "learning_rate": "1e-4"},
    "systems": [
        {"name": "PCNN", "encoder": "pcnn", "tracks": ["sent2sent"], "learning_rate": 0.1},
        {"name": "CNN + ATT", "encoder": "cnn", "bag_pooling": "att", "tracks": ["bag2bag"]},
    ],
}


def changed(**values: object) -> dict:
    return {key: value for key, value in {**GIVEN, **values}.items() if value is not None}


def system(**values: object) -> dict:
    return changed(systems=[{"name": "X", "encoder": "cnn", "tracks": ["sent2sent"], **values}])


@pytest.fixture
def write(tmp_path: Path):
    def written(given: object) -> Path:
        path = tmp_path / "experiment.yaml"
        path.write_text(given if isinstance(given, str) else yaml.safe_dump(given, sort_keys=False))
        return path

    return written


def test_a_file_becomes_commands(write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        str(write(GIVEN)),
        "--output_dir",
        str(tmp_path / "out"),
        "--dry_run",
        "--data_dir",
        "else where",
    ]
    assert main(words) == 0
    start = [sys.executable, "-m", "finetune", "--data=nyt_h", "--data_dir=else where"]
    seeds = ["--seeds", "9", "148"]
    own = ["--track=sent2sent", "--max_steps=5", "--learning_rate=0.1", "--encoder=pcnn", *seeds]
    shared = ["--max_steps=5", "--learning_rate=1e-4", "--encoder=cnn", "--bag_pooling=att", *seeds]
    assert [shlex.split(line) for line in capsys.readouterr().out.splitlines()] == [
        [*start, *own, f"--output_dir={tmp_path}/out/runs/sent2sent/pcnn"],
        [*start, "--track=bag2bag", *shared, f"--output_dir={tmp_path}/out/runs/bag2bag/cnn-att"],
    ]
    assert not (tmp_path / "out").exists()
    assert main([*words, "--launcher", f"{sys.executable} -X 'a b'"]) == 0
    assert shlex.split(capsys.readouterr().out.splitlines()[0])[:4] == [sys.executable, "-X", "a b", "-m"]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("nyt_h_paper_a", 17),
        ("nyt_h_paper_b", 9),
        ("semeval2010_paper_b", 2),
        ("small", 12),
        ("tacred_paper_b", 3),
    ],
)
def test_the_ready_files(name: str, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "experiments" / f"{name}.yaml"
    assert main([str(path), "--output_dir", str(tmp_path / "out"), "--dry_run"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == number
    assert len(read_experiment(path).seeds) == (3 if name == "small" else 5)


def test_every_ready_file_is_tested() -> None:
    assert len(list((ROOT / "experiments").iterdir())) == 5


def test_the_encoder_is_that_of_the_systems_that_name_none(write) -> None:
    systems = [
        {"name": "own", "model_name_or_path": "mine"},
        {"name": "open"},
        {"name": "words", "encoder": "cnn"},
    ]
    path = write(changed(systems=systems, model_name_or_path="ours"))
    for flag, shared in ((None, "ours"), ("theirs", "theirs")):
        found = read_experiment(path, model_name_or_path=flag).systems
        assert [item.flags.get("model_name_or_path") for item in found] == ["mine", shared, None]


def test_a_name_is_one_line(write) -> None:
    experiment = read_experiment(write(system(name=" CNN\n +  ATT ")))
    assert [one.name for one in experiment.systems] == ["CNN + ATT"]


def test_the_resolved_experiment_is_a_file_of_the_same(write) -> None:
    path = write(changed(model_name_or_path="ours", systems=[{"name": "a"}, {"name": "b", "encoder": "cnn"}]))
    experiment = read_experiment(path, data_dir="there")
    resolved = write(experiment.as_file())
    assert "arguments" not in resolved.read_text()
    assert read_experiment(resolved) == experiment


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("- a\n", r"experiment.yaml must be a mapping from names to values; got list"),
        ("title: [\n", "experiment.yaml: not YAML: "),
        ("title: a\ntitle: b\n", "not YAML: the key 'title' is there twice"),
        (changed(sistems=[]), "the key 'sistems' is not known; did you mean `systems`?"),
        (changed(title=None), "`title` is missing; an experiment has `title`, `data`"),
        (changed(title=7), "`title` must be a text; got 7"),
        (changed(seeds=[1, 1]), "`seeds` must be distinct: 1 is given more than once"),
        (changed(seeds="9"), "`seeds` must be a list of integers; got '9'"),
        (changed(tracks=["bag2bags"]), "the track 'bag2bags' is none of `sent2sent`, `bag2sent`, `bag2bag`"),
        (changed(tracks=[]), "`tracks` must be a list of `sent2sent`"),
        (changed(tracks=["bag2bag", "bag2bag"]), "`tracks` names a track twice"),
        (changed(data={"data": "nyt_h", "encoder": "cnn"}), "data: the key 'encoder' is not known"),
        (changed(data={"data": "nyt_h"}), "experiment.yaml: data: `--data_dir` is needed"),
        (changed(data={"data": "nyth"}), "experiment.yaml: data: argument --data: invalid choice: 'nyth'"),
        (
            changed(data={"data": "nyt_h", "data_dir": "d", "evaluate_na": 9}),
            "data: `evaluate_na` takes other rows on bag2bag, whole bags, than on the other tracks",
        ),
        ("title: " + "[" * 5000, "experiment.yaml: lists or mappings within each other are nested too"),
        (changed() | {1: 2}, "experiment.yaml: the key 1 is not a text; put it in quotes if it is a name"),
        (changed(model_name_or_path=5), "experiment.yaml: `model_name_or_path` must be a text; got 5"),
        (
            changed(arguments={"--learning_rate": 0.1, "learning_rate": 0.2}),
            "arguments: `learning_rate` is there twice, with dashes and without; delete one",
        ),
        (system(name="x" * 101), "a name has at most 100 characters, none of them a control character"),
        (
            system(name="a\x1bb"),
            r"system 'a\\x1bb': a name has at most 100 characters, none of them a control",
        ),
        (changed(systems=[]), "`systems` must be a list of at least one system"),
        (changed(systems=["CNN"]), "system 1 must be a mapping from names to values; got str"),
        (changed(systems=[{"encoder": "cnn"}]), "system 1 must have a `name`, a text; got None"),
        (system(name="++"), "the name has no letter or digit"),
        (system(learning_rat=1), "system 'X': `learning_rat` is no flag of .*; did you mean `learning_rate`"),
        (system(output_dir="o"), "`output_dir` is not a flag of a system: it is a flag of the experiment's"),
        (system(seeds=[1]), "`seeds` is not a flag of a system: the seeds are listed once"),
        (system(data_dir="d"), "`data_dir` is not a flag of a system: it belongs under `data`"),
        (changed(arguments={"track": "bag2bag"}), "arguments: `track` is not a flag of a system"),
        (system(word_vectors=None), "system 'X': `word_vectors` must be a text, a number, .*; got None"),
        (system(encoder="rnn"), "system 'X' on sent2sent: argument --encoder: invalid choice: 'rnn'"),
        (system(bag_pooling="att"), "system 'X' on sent2sent: `--bag_pooling` belongs to the bag tracks"),
        (system(tracks=["bag2bag"]), "system 'X' on bag2bag: `--track bag2bag` needs `--bag_pooling`"),
        (system(learning_rate=-1), "system 'X' on sent2sent: `--learning_rate` must be a number from 0 on"),
        (system(hub_token="t"), "`hub_token` is no flag of `python -m finetune`"),
        (system(encoder="pretrained"), "system 'X' on sent2sent: no encoder: give `model_name_or_path`"),
        (
            system(eval_strategy=False),
            r"false is not a valid .*\(YAML reads a bare yes, no, on or off as true or false; put it in",
        ),
        (
            changed(systems=[{"name": "A-b", "encoder": "cnn"}, {"name": "A B", "encoder": "pcnn"}]),
            "the systems 'A-b' and 'A B' would share the folder a-b; give one of them another name",
        ),
        (
            changed(systems=[{"name": "A", "encoder": "cnn"}, {"name": "A", "encoder": "pcnn"}]),
            "system 'A' is listed twice; give one of them another name, or delete it",
        ),
        (
            changed(
                tracks=["sent2sent"],
                systems=[{"name": "A", "encoder": "cnn"}, {"name": "B", "encoder": "cnn", "max_length": 150}],
            ),
            "the systems 'A' and 'B' have the same flags on sent2sent; delete one of them",
        ),
    ],
)
def test_a_file_that_cannot_be_used(
    given: object, message: str, write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(write(given)), "--output_dir", str(tmp_path / "out"), "--dry_run"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert re.search(message, said.err), said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.yaml", "--output_dir", "o"], "the experiment file nothing.yaml is not there"),
        (["nothing.yaml"], "the following arguments are required: --output_dir; see `python -m finetune.exp"),
        (["a.yaml", "--output_dir", "o", "--num_workers", "0"], "`--num_workers` must be a positive integer"),
        (["a.yaml", "--output_dir", "o", "--num_workers", "x"], "argument --num_workers: invalid int value"),
    ],
)
def test_words_that_cannot_be_used(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_launchers_that_cannot_be_used(write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(write(GIVEN)), "--output_dir", str(tmp_path / "out"), "--dry_run", "--launcher"]
    assert main([*words, "no-such-program -x"]) == 2
    assert "`--launcher`: the program 'no-such-program' is not found" in capsys.readouterr().err
    assert main([*words, "it's"]) == 2
    assert capsys.readouterr().err == """error: `--launcher` "it's": No closing quotation.\n"""
    assert main([*words, "accelerate launch", "--num_workers", "2"]) == 2
    assert "`--launcher` and `--num_workers` exclude each other" in capsys.readouterr().err
