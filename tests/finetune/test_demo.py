"""The demo: one command, offline, and the same encoder each time."""

from pathlib import Path

import pytest
from transformers import AutoModelForMaskedLM, AutoTokenizer

from finetune import demo
from finetune.__main__ import main
from finetune.encoders.label_words import label_word_ids, read_label_words
from finetune.model.prompt import check_language_model


def test_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "TRAINING", {"max_steps": "2", "disable_tqdm": "true", "figures": "false"})
    out = tmp_path / "demo"
    assert main(["demo", "--output_dir", str(out)]) == 0
    said = capsys.readouterr().out
    columns = ["DSGT", "MAGT", "MAGT (DS scope)", "DSGT of echo", "MAGT of echo", "MAGT (DS scope) of echo"]
    header = " | ".join(["| F1 in percent", *columns])
    assert header in said
    table = said[said.index(header) :].split("\n\n")[0].splitlines()
    assert [line.split("|")[1].strip() for line in table[2:]] == [
        "micro",
        "weighted",
        "dodrans",
        "entropy",
        "macro",
        "macro, all relations",
    ]
    assert str(out / "run") in said
    assert "python -m finetune --data nyt_h" in said
    assert "The data are synthetic" in said
    assert sorted(path.name for path in out.iterdir()) == ["encoder", "run", "sample"]
    assert (out / "run" / "results.json").is_file()
    assert (out / "sample" / "SYNTHETIC.md").is_file()
    assert main(["demo", "--output_dir", str(out)]) == 2
    assert "is there already; give another --output_dir, or --overwrite" in capsys.readouterr().err
    assert main(["demo", "--output_dir", str(out), "--overwrite"]) == 0


def test_a_folder_with_something_else_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "thesis.txt").write_text("mine")
    assert main(["demo", "--output_dir", str(tmp_path), "--overwrite"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert (tmp_path / "sample" / "thesis.txt").read_text() == "mine"


def test_the_encoder_is_the_same_each_time(tmp_path: Path) -> None:
    sentences = [
        f"Person{i % 7} was born in City{i % 11} , {word} ." for i, word in enumerate(["red", "blue"] * 40)
    ]
    for name in ("a", "b"):
        demo.build_encoder(sentences=sentences if name == "a" else sentences[::-1], folder=tmp_path / name)
    for name in ("tokenizer.json", "model.safetensors", "config.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "a")
    ids = tokenizer("Person3 was born .")["input_ids"]
    assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
    assert tokenizer.unk_token_id not in ids
    words = read_label_words(None, label_names=["NA", "/business/company/founders"], data="nyt_h")
    assert len(label_word_ids(tokenizer, words)[0]) == 5
    assert check_language_model(AutoModelForMaskedLM.from_pretrained(tmp_path / "a")) is None
