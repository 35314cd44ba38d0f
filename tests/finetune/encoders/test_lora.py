"""Low-rank adapters: what is trained, what merging gives, and a run from the flags to the pipeline."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from finetune.__main__ import main
from finetune.arguments import ModelArguments
from finetune.encoders.encoder_sources import freeze
from finetune.encoders.lora import add_lora, merge_lora, num_trained
from finetune.report.results import read_seed
from tests.finetune.model.test_representations import build

pytest.importorskip("peft", reason="the extra `peft` is not installed")
Folder = Callable[[str], Path]
LORA = ModelArguments(model_name_or_path="x", lora_r=4, lora_alpha=8)


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta-v2", "electra"])
def test_only_adapters_new_tokens_and_the_head_are_trained(family_folder: Folder, family: str) -> None:
    model, batch = build(family_folder(family), "markers", "entity_start")
    names = {name: value.detach().clone() for name, value in model.state_dict().items()}
    add_lora(model, LORA)
    trained = {name for name, value in model.named_parameters() if value.requires_grad}
    parts = {"lora_A", "lora_B", "trainable_tokens_delta"}
    assert all(parts & set(name.split(".")) for name in trained if name.startswith("encoder."))
    assert {name for name in trained if name.startswith("classifier")}
    few, total = num_trained(model)
    assert 0 < few < total / 2
    free = [value for value in model.parameters() if value.requires_grad]
    for _ in range(2):  # at first one of the two factors is zero
        model.train()(**batch).loss.backward()
        torch.optim.SGD(free, lr=0.5).step()
    with torch.no_grad():
        adapted = model.eval()(**batch).logits
        merge_lora(model)
        merged = model(**batch).logits
    torch.testing.assert_close(merged, adapted, rtol=1e-4, atol=1e-5)
    after = model.state_dict()
    assert after.keys() == names.keys(), "a model like others"
    changed = {name for name in names if not torch.equal(after[name], names[name])}
    assert any("query" in name for name in changed)
    (words,) = (name for name in changed if "word_embeddings" in name)
    rows = (after[words] != names[words]).any(dim=1).nonzero().flatten().tolist()
    assert set(rows) <= set(model.config.marker_ids)
    assert rows


def test_merging_without_adapters_changes_nothing(family_folder: Folder) -> None:
    model, batch = build(family_folder("bert"))
    before = model(**batch).logits
    merge_lora(model)
    assert torch.equal(model(**batch).logits, before)


def test_frozen_layers_have_fixed_adapters(family_folder: Folder) -> None:
    model, _ = build(family_folder("bert"))
    add_lora(model, LORA)
    freeze(model, 1)
    assert not [n for n, value in model.named_parameters() if value.requires_grad and ".layer.0." in n]


def test_what_does_not_fit_is_said(family_folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = build(family_folder("bert"))
    with pytest.raises(ValueError, match="nothing_like_it"):
        add_lora(
            model,
            ModelArguments(model_name_or_path="x", lora_r=4, lora_target_modules=["nothing_like_it"]),
        )
    for wrong in ({"lora_r": 0}, {"lora_alpha": 3}, {"lora_r": 2, "lora_dropout": 1.0}):
        with pytest.raises(ValueError, match="lora"):
            ModelArguments(model_name_or_path="x", **wrong)
    with pytest.raises(ValueError, match="cnn"):
        ModelArguments(encoder="cnn", representation="sentence", input="plain", lora_r=4)


def test_a_run_goes_on_and_its_model_needs_no_peft(
    tmp_path: Path, sample: Path, words_for: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    flags = ("--lora_r", "2", "--num_train_epochs", "2", "--seeds", "9", "--figures", "false")
    assert main(words_for(sample, tmp_path / "whole", *flags)) == 0
    assert "trained are " in capsys.readouterr().out
    from finetune.training.relation_trainer import RelationTrainer

    compute = RelationTrainer.compute_loss

    def stops(trainer, *given, **named):
        if trainer.model.training and trainer.state.global_step == 10:
            raise KeyboardInterrupt
        return compute(trainer, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(RelationTrainer, "compute_loss", stops)
        assert main(words_for(sample, tmp_path / "stopped", *flags)) == 130
    assert main(words_for(sample, tmp_path / "stopped", *flags)) == 0
    whole, stopped = (read_seed(tmp_path / name / "seed-9") for name in ("whole", "stopped"))
    assert whole is not None
    assert stopped is not None
    assert stopped.scores == whole.scores
    assert stopped.training["mean_loss"] == pytest.approx(whole.training["mean_loss"], rel=1e-6)
    monkeypatch.setitem(sys.modules, "peft", None)
    from transformers import pipeline

    classify = pipeline("relation-classification", model=str(tmp_path / "whole" / "seed-9"))
    sentence = {"sentence": "Ann was born in Bonn.", "head": [0, 3], "tail": [16, 20]}
    assert sum(classify(sentence)["scores"].values()) == pytest.approx(1, abs=1e-4)
    assert main(words_for(sample, tmp_path / "without", *flags)) == 2
    assert 'nyt-h[peft]"' in capsys.readouterr().err
    assert not (tmp_path / "without").exists()
