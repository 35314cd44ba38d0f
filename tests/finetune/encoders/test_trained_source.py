"""Training that goes on from a trained classifier, and what must agree."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig

from finetune import RelationClassifierConfig
from finetune.__main__ import main
from finetune.encoders.encoder_sources import check_labels

Words = Callable[..., list[str]]


def test_its_weights_are_the_start(two_seeds: Path, sample: Path, tmp_path: Path, words_for: Words) -> None:
    trained = two_seeds / "seed-9"
    still = ["--model_name_or_path", str(trained), "--learning_rate", "0", "--max_steps", "1"]
    assert main(words_for(sample, tmp_path / "run", *still, "--eval_strategy", "no")) == 0
    before, after = (
        load_file(place / "model.safetensors") for place in (trained, tmp_path / "run" / "seed-42")
    )
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert str(trained) not in (tmp_path / "run" / "seed-42" / "config.json").read_text()


def test_another_input_or_other_labels(
    two_seeds: Path, sample: Path, tmp_path: Path, words_for: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = ["--model_name_or_path", str(two_seeds / "seed-9")]
    assert main(words_for(sample, tmp_path / "a", *trained, "--input", "markers_punct")) == 2
    assert (
        "was trained with `--input markers`, and this run asks for markers_punct" in capsys.readouterr().err
    )
    for name, first in (("TRAIN_FILE.TXT", 1), ("TEST_FILE_FULL.TXT", 2)):
        text = f'{first}\t"A <e1>cord</e1> of the <e2>university</e2>."\nOther\n\n'
        (tmp_path / name).write_text(text)
    semeval = ["--data", "semeval2010", "--validation_fraction", "0"]
    assert main(words_for(tmp_path, tmp_path / "b", *trained, *semeval)) == 2
    said = capsys.readouterr().err
    names = json.loads((two_seeds / "seed-9" / "config.json").read_text())["id2label"].values()
    assert (
        f"labels differ from the 1 of the data: only the checkpoint has {', '.join(sorted(names)[:5])}"
        in said
    )
    assert f"and {len(names) - 5} more; only the data has Other. Give an encoder" in said
    assert not (tmp_path / "b").exists()


def test_order_and_negative_relation() -> None:
    config = RelationClassifierConfig(encoder=BertConfig(), id2label={0: "NA", 1: "a", 2: "b"})
    check_labels(config, name="m", label_names=["NA", "a", "b"], negative_relation="NA")
    with pytest.raises(ValueError, match=r"`model_name_or_path` 'm' .* they are the same in another order"):
        check_labels(config, name="m", label_names=["NA", "b", "a"], negative_relation="NA")
    with pytest.raises(
        ValueError, match="the negative relation is 'NA' in the checkpoint and 'a' in the data"
    ):
        check_labels(config, name="m", label_names=["NA", "a", "b"], negative_relation="a")
