"""Which way an encoder reads, and which representation has then seen the whole sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, T5EncoderModel

from finetune.arguments import ModelArguments
from finetune.encoders.encoder_sources import (
    check_reading,
    freeze,
    load_encoder,
    max_sequence_length,
    pretrained_source,
    sees_what_follows,
)
from tests.finetune.model.test_representations import build

ONE_WAY = ("gpt2", "llama")
BOTH_WAYS = ("bert", "roberta", "electra", "deberta", "deberta-v2", "modernbert", "bart", "t5", "xlnet")
Folder = Callable[[str], Path]


@pytest.mark.parametrize("family", [*ONE_WAY, *BOTH_WAYS])
def test_which_way_an_encoder_reads(family_folder: Folder, family: str) -> None:
    assert sees_what_follows(load_encoder(str(family_folder(family)))) == (family in BOTH_WAYS)


@pytest.mark.parametrize("family", ONE_WAY)
@pytest.mark.parametrize("representation", ["cls", "entity_start", "mention_pooling"])
def test_one_way_encoders_need_the_last_token(
    family_folder: Folder, family: str, representation: str
) -> None:
    name = str(family_folder(family))
    with pytest.raises(ValueError, match="last_token"):
        pretrained_source(ModelArguments(model_name_or_path=name, representation=representation))
    assert pretrained_source(ModelArguments(model_name_or_path=name, representation="last_token")).build


@pytest.mark.parametrize("family", [*ONE_WAY, "bert", "t5", "bart", "xlnet"])
@pytest.mark.parametrize("shown", ["markers", "typed_markers_punct"])
def test_the_last_token_knows_every_word_and_padding_changes_nothing(
    family_folder: Folder, family: str, shown: str
) -> None:
    model, batch = build(family_folder(family), shown, "last_token")
    scores = model(**batch).logits
    lengths = batch["attention_mask"].sum(dim=1)
    alone = {name: value[1:2, : lengths[1]] if name in ("input_ids", "attention_mask") else value[1:2]
             for name, value in batch.items()}  # fmt: skip
    own = model(**alone).logits
    torch.testing.assert_close(own, scores[1:2], rtol=1e-4, atol=1e-5)
    for position in (0, int(lengths[1]) - 1):
        ids = alone["input_ids"].clone()
        ids[0, position] = (ids[0, position] + 1) % 50
        assert not torch.equal(model(**{**alone, "input_ids": ids}).logits, own)


@pytest.mark.parametrize("family", [*ONE_WAY, "t5", "bart", "xlnet"])
def test_saved_and_loaded(family_folder: Folder, family: str, tmp_path: Path) -> None:
    way = "last_token" if family in ONE_WAY else "entity_start"
    model, batch = build(family_folder(family), "markers", way)
    assert not any("decoder." in name for name, _ in model.named_parameters())
    model.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert torch.equal(again.eval()(**batch).logits, model(**batch).logits)


def test_an_encoder_half_that_was_saved_alone_loads(family_folder: Folder, tmp_path: Path) -> None:
    whole = load_encoder(str(family_folder("t5")))
    assert isinstance(whole, T5EncoderModel)
    whole.save_pretrained(tmp_path)
    again = load_encoder(str(tmp_path))
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), again.parameters(), strict=True))


def test_the_length_of_rows_where_the_encoder_has_no_limit(family_folder: Folder) -> None:
    source = pretrained_source(ModelArguments(model_name_or_path=str(family_folder("xlnet"))))
    assert source.max_length == source.tokenizer.model_max_length == 64
    with pytest.raises(ValueError, match="65"):
        max_sequence_length(
            tokenizer=source.tokenizer, config=load_encoder(str(family_folder("xlnet"))).config, requested=65
        )


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta-v2", "gpt2", "llama", "t5", "bart", "xlnet"])
def test_frozen_layers_keep_their_weights(family_folder: Folder, family: str) -> None:
    model, batch = build(
        family_folder(family), "markers", "last_token" if family in ONE_WAY else "entity_start"
    )
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    freeze(model, 1)
    free = [value for value in model.parameters() if value.requires_grad]
    torch.optim.SGD(free, lr=0.1).zero_grad()
    model.train()(**batch).loss.backward()
    torch.optim.SGD(free, lr=0.1).step()
    changed = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    assert {name for name in changed if name.startswith("classifier")}
    # The relative positions of DeBERTa-v3 belong to all layers together.
    fixed = {name for name in before if ("embed" in name and "rel_embed" not in name) or ".0." in name}
    assert fixed
    assert not fixed & changed
    with pytest.raises(ValueError, match="2"):
        freeze(model, 2)


def test_the_dropout_before_the_scores(family_folder: Folder) -> None:
    model, _ = build(family_folder("bert"))
    assert model.dropout.p == 0.1
    config = model.config.to_dict() | {"classifier_dropout": 0.0}
    assert type(model)(type(model.config)(**config)).dropout.p == 0.0
    assert check_reading(model.encoder, representation="entity_start", name="x") is None
