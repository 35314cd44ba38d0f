"""An encoder as DeBERTa-v3 is published: a SentencePiece model, no tokenizer.json."""

import io
import json
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, DebertaV2Config, DebertaV2Model

from finetune.encoders.encoder_sources import load_tokenizer
from tests.finetune.conftest import SENTENCES
from tests.finetune.model.test_representations import build

sentencepiece = pytest.importorskip("sentencepiece", reason="the extra `finetune` brings it")
PLACES = {"pad": 0, "bos": 1, "eos": 2, "unk": 3}
PIECES = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, model = tmp_path_factory.mktemp("spm"), io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 5),
        model_writer=model,
        vocab_size=150,
        hard_vocab_limit=False,
        required_chars="@#*^",
        num_threads=1,
        minloglevel=2,
        **{f"{name}_id": number for name, number in PLACES.items()},
        **{f"{name}_piece": piece for name, piece in PIECES.items()},
    )
    (out / "spm.model").write_bytes(model.getvalue())
    (out / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False, "vocab_type": "spm"}))
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
    DebertaV2Model(
        DebertaV2Config(vocab_size=160, max_position_embeddings=64, type_vocab_size=0, **sizes, **relative)
    ).save_pretrained(out)
    return out


@pytest.mark.parametrize("name", ["markers", "markers_punct"])
def test_it_marks_entities_and_is_saved_with_a_tokenizer_that_needs_no_library(
    folder: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = build(folder, name)
    assert (batch["entity_starts"][:2] > 0).all(), "of the two rows that have both entities"
    model.save_pretrained(tmp_path)
    load_tokenizer(str(folder)).save_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    tokenizer = load_tokenizer(str(tmp_path))
    text = "Barack Obama was born in Honolulu."
    pieces = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    assert pieces[0] == pieces[-1] == (0, 0)
    assert text[pieces[-2][0] : pieces[-2][1]] == "."
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        torch.testing.assert_close(again(**batch).logits, model(**batch).logits)


def test_without_the_library_its_name_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ValueError, match="sentencepiece protobuf"):
        load_tokenizer(str(folder))
