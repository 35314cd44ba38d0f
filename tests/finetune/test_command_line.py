"""Flags, settings files, help, and the answer to what cannot be used: exit status 2 and one line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from finetune.__main__ import main
from finetune.arguments import check_seeds
from finetune.command_line import parse_arguments
from finetune.trainer_arguments import REFUSED, computes_bf16
from finetune.training.processes import print_error
from finetune.training.train import seed_arguments


def error_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    return said.err


def test_flags_and_settings_files_say_the_same(tmp_path: Path) -> None:
    words = [
        "--data",
        "semeval2010",
        "--data_dir",
        "d",
        "--output_dir",
        "o",
        "--seeds",
        "9",
        "148",
        "--learning_rate",
        "1e-4",
        "--bf16",
        "false",
    ]
    settings = {
        "data": "semeval2010",
        "data_dir": "d",
        "output_dir": "o",
        "seeds": [9, 148],
        "learning_rate": 1e-4,
        "bf16": False,
    }
    (tmp_path / "s.json").write_text(json.dumps(settings))
    (tmp_path / "s.yaml").write_text(json.dumps(settings))
    by_flags = parse_arguments(words)
    for name in ("s.json", "s.yaml"):
        by_file = parse_arguments([str(tmp_path / name)])
        assert (by_file.data, by_file.model, by_file.run) == (by_flags.data, by_flags.model, by_flags.run)
        training = by_file.training
        assert (training.learning_rate, training.bf16, training.seed_given) == (1e-4, False, False)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("learning_rate: 3e-5", "learning_rate", 3e-5),
        ("learning_rate: 1E-4", "learning_rate", 1e-4),
        ("weight_decay: .5e-1", "weight_decay", 0.05),
        ("max_steps: 1e3", "max_steps", 1000),
        ("per_device_train_batch_size: 1.6e1", "per_device_train_batch_size", 16),
    ],
)
def test_numbers_as_people_write_them_are_numbers(text: str, name: str, value: float, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(f"output_dir: o\n{text}\n", encoding="utf-8-sig")
    found = getattr(parse_arguments([str(tmp_path / "s.yaml")]).training, name)
    assert (found, type(found)) == (value, type(value))


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"output_dir": "o", "seeds": [3]}', encoding="utf-8-sig")
    assert parse_arguments([str(tmp_path / "s.json")]).run.seeds == [3]


def test_whole_numbers_as_flags() -> None:
    settings = parse_arguments(["--output_dir=o", "--max_steps=1e3", "--seeds", "1e2", "7"])
    assert (settings.training.max_steps, settings.run.seeds) == (1000, [100, 7])
    with pytest.raises(ValueError, match=r"1\.5"):
        parse_arguments(["--output_dir=o", "--max_steps=1.5"])


def test_our_own_numbers_too(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("output_dir: o\nvalidation_fraction: 5e-2\ntokens_per_chunk: 4e3\n")
    settings = parse_arguments([str(tmp_path / "s.yaml")])
    assert (settings.data.validation_fraction, settings.model.tokens_per_chunk) == (0.05, 4000)


def test_flags_after_a_file_win(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("output_dir: o\nseeds: [3, 4]\nencoder: pcnn\nmax_length: 99\n")
    words = [str(tmp_path / "s.yaml"), "--overwrite", "--seeds", "1", "2", "--encoder", "crcnn"]
    settings = parse_arguments(words)
    assert (settings.run.seeds, settings.run.overwrite, settings.training.output_dir) == ([1, 2], True, "o")
    assert (settings.model.encoder, settings.model.classifier_head) == ("crcnn", "crcnn"), "the preset's"
    assert (settings.model.max_length, settings.training.learning_rate) == (99, 1e-3)


def test_bf16_is_decided_where_nobody_did(monkeypatch: pytest.MonkeyPatch) -> None:
    for native in (True, False):
        monkeypatch.setattr("torch.cpu.get_capabilities", lambda native=native: {"amx_bf16": native})
        assert computes_bf16(use_cpu=True) is native
        arguments = parse_arguments(["--output_dir", "o", "--use_cpu"]).training
        assert (arguments.bf16, arguments.bf16_decided_here) == (native, True)
        for words, given in ((["--bf16"], True), (["--bf16", "false"], False)):
            arguments = parse_arguments(["--output_dir", "o", "--use_cpu", *words]).training
            assert (arguments.bf16, arguments.bf16_decided_here) == (given, False)


def test_sharding_goes_through_to_the_trainer(tmp_path: Path) -> None:
    words = ["--output_dir", "o", "--use_cpu", "--fsdp", "--fsdp_config", '{"cpu_offload": true}']
    given = parse_arguments(words).training
    arguments = seed_arguments(given, seed=3, folder=tmp_path, select_by=None)
    assert arguments.fsdp is True
    assert arguments.fsdp_config["cpu_offload"] is True
    assert arguments.fsdp_plugin_args == given.fsdp_plugin_args


def test_help_without_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "--model_name_or_path" in said
    assert "python -m finetune demo" in said
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == said


def test_help_with_the_trainer_names_no_refused_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help_trainer"]) == 0
    said = capsys.readouterr().out
    assert "--gradient_accumulation_steps" in said
    assert not [name for name in REFUSED if f"--{name} " in said]


def test_help_does_not_need_torch() -> None:
    code = "import sys; from finetune.__main__ import main; main([]); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_demo_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--help"])
    assert stopped.value.code == 0
    assert "--overwrite" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data_dir", "d"], "`--output_dir` is needed"),
        (["--output_dir", "o"], "`--data_dir` is needed"),
        (["--output_dir", "o", "--data_dir", "d"], "`--model_name_or_path` is needed"),
        (["--output_dir", "o", "--seeds", "1", "--seed", "1"], "`--seed` and `--seeds` exclude each other"),
        (
            ["--output_dir", "o", "--seeds", "7", "8", "7"],
            "`seeds` must be distinct: 7 is given more than once",
        ),
        (["--output_dir", "o", "--seeds", "-1"], "`seeds` must be integers from 0"),
        (["--output_dir", "o", "--seeds", "x"], "argument --seeds: invalid int value: 'x'"),
        (["--output_dir", "o", "--data", "tac"], "argument --data: invalid choice: 'tac'"),
        (["--output_dir", "o", "--track", "bag"], "argument --track: invalid choice"),
        (["--output_dir", "o", "--learning-reate", "1"], "--learning-reate"),
        (["--output_dir", "o", "--push_to_hub"], "`--push_to_hub` and `--hub_model_id OWNER/NAME` go toget"),
        (
            ["--output_dir", "o", "--hub_model_id", "a/b"],
            "`--push_to_hub` and `--hub_model_id OWNER/NAME` go",
        ),
        (["--output_dir", "o", "--push_to_hub", "--hub_model_id", "b"], "`repo_id` must be OWNER/NAME"),
        (["--output_dir", "o", "--hub_token", "x"], "`hf auth login`, or set HF_TOKEN"),
        (["--output_dir", "o", "--resume_from_checkpoint", "x"], "the same command goes on where the run"),
        (["--output_dir", "o", "--save_steps", "0"], "`--save_steps` must be a positive integer; got 0"),
        (
            ["--output_dir", "o", "--per_device_train_batch_size", "0"],
            "`--per_device_train_batch_size` must be a positive integer; got 0",
        ),
        (
            ["--output_dir", "o", "--per_device_eval_batch_size", "0"],
            "`--per_device_eval_batch_size` must be a positive integer; got 0",
        ),
        (
            ["--output_dir", "o", "--gradient_accumulation_steps", "0"],
            "`--gradient_accumulation_steps` must be a positive integer; got 0",
        ),
        (["--output_dir", "o", "--num_train_epochs", "0"], "`--num_train_epochs` must be positive; got 0.0"),
        (
            ["--output_dir", "o", "--learning_rate", "nan"],
            "`--learning_rate` must be a number from",
        ),
        (
            ["--output_dir", "o", "--use_cpu", "--fp16"],
            "`--fp16` needs a GPU, and none is there; leave",
        ),
        (["--output_dir", "o", "--use_cpu", "--tf32", "true"], "`--tf32` needs a GPU, and none is there"),
        (["--output_dir", "o", "--use_cpu", "--ddp_backend", "nccl"], "`--ddp_backend nccl` needs a GPU"),
        (["--output_dir", "o", "--fp16", "--bf16"], "`--fp16` needs a GPU"),
        (["--output_dir", "o", "--deepspeed", "zero.json"], "eepspeed"),
        (
            ["--output_dir", "o", "--loss_weighting", "micro"],
            "--loss-weighting: invalid choice",
        ),
        (["--output_dir", "o", "--early_stopping_patience", "0"], "must be a positive integer; got 0"),
        (["--output_dir", "o", "--early_stopping_threshold", "0.1"], "needs `early_stopping_patience`"),
        (
            ["--output_dir", "o", "--early_stopping_patience", "1", "--early_stopping_threshold", "-1"],
            "must be a number from 0 on; got -1.0",
        ),
        (["--output_dir", "o", "--train_sampling_strategy", "random"], "rows are always grouped by length"),
        (["--output_dir", "o", "--input", "plain"], "'entity_start' does not go with the input 'plain'"),
        (["nowhere.json"], "the settings file nowhere.json is not there"),
    ],
)
def test_what_cannot_be_used(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in error_of(words, capsys)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("s.json", '{"data": ', "line 1: not JSON"),
        ("s.yaml", "a: [", "not YAML"),
        ("s.json", "[]", "must hold one mapping from flag names to values; got list"),
        (
            "s.json",
            '{"output_dir": "o", "data": "tac"}',
            "`data` must be one of 'nyt_h', 'semeval2010', 'tacred', 'opennre', 'hub'; got 'tac'",
        ),
        (
            "s.json",
            '{"output_dir": "o", "max_length": "128"}',
            "`max_length` must be int or NoneType; got '128'",
        ),
        ("s.json", '{"output_dir": "o", "seeds": 9}', "`seeds` must be list or NoneType; got 9"),
        (
            "s.json",
            '{"output_dir": "o", "seeds": [1.5]}',
            "`seeds` must be integers from 0 to 2**32 - 1; got 1.5",
        ),
        ("s.json", '{"output_dir": "o", "colour": 1}', "colour"),
        ("s.yaml", "output_dir: o\nlearning_rate: fast", "`--learning_rate` must be a number; got 'fast'"),
        ("s.yaml", "output_dir: o\nmax_steps: 1.5", "`--max_steps` must be a number; got 1.5"),
        ("s.yaml", "output_dir: o\nbf16: maybe", "`--bf16` must be true or false; got 'maybe'"),
        ("s.yaml", "output_dir: o\nbf16: true\nbf16: false", "'bf16'"),
        ("s.yaml", "output_dir: o\nlearning_rat: 1", "`learning_rate`"),
    ],
)
def test_settings_files_that_cannot_be_used(
    name: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert message in error_of([str(tmp_path / name)], capsys)


def test_no_seeds_is_an_error() -> None:
    with pytest.raises(ValueError, match="`seeds` must name at least one seed"):
        check_seeds([])


def test_a_fault_of_another_process_is_said_after_the_first_had_its_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("finetune.training.processes.time.sleep", waited.append)
    monkeypatch.setenv("LOCAL_RANK", "0")
    print_error("first")
    assert (capsys.readouterr().err, waited) == ("error: first\n", [])
    monkeypatch.setenv("LOCAL_RANK", "1")
    print_error("second")
    assert (capsys.readouterr().err, waited) == ("error: second\n", [30.0])
