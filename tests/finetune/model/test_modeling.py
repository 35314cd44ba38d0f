"""The classifier: built on BERT and RoBERTa, saved, loaded by the Auto classes in a fresh process."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig

from finetune import RelationClassifier, RelationClassifierConfig
from finetune.encoders.encoder_sources import (
    add_entity_tokens,
    build_classifier,
    load_config,
    load_encoder,
    load_tokenizer,
    max_sequence_length,
)
from finetune.model.batching import RowBatches
from finetune.model.encoding import RowEncoder
from finetune.model.entity_inputs import EntityInput
from finetune.model.markers import MarkerTokens
from finetune.model.modeling import bare_encoder
from tests.finetune.model import classifiers
from tests.finetune.model.classifiers import Batch, check_in_a_fresh_process

MARKERS = MarkerTokens()
LABELS = ["born_in", "NA", "made_in"]
SENTENCES = ["Barack Obama was born in Honolulu.", "Crème brûlée is made in Zürich, not in New York City."]
SPANS = np.array([[0, 12, 25, 33], [0, 12, 24, 30]])


def build(folder: Path, seed: int = 0) -> tuple[RelationClassifier, object]:
    tokenizer = load_tokenizer(str(folder))
    add_entity_tokens(tokenizer, EntityInput())
    torch.manual_seed(seed)
    model = build_classifier(
        encoder=load_encoder(str(folder), tokenizer=tokenizer),
        tokenizer=tokenizer,
        entity_input=EntityInput(),
        label_names=LABELS,
        negative_relation="NA",
        max_row_tokens=max_sequence_length(
            tokenizer=tokenizer, config=load_config(str(folder)), requested=None
        ),
    )
    return model.eval(), tokenizer


def batch_of(tokenizer, *, found: bool = True) -> Batch:
    spans = SPANS if found else np.vstack([SPANS[:1], [[-1, -1, 0, 3]]])
    given = {"sentences": SENTENCES, "spans": spans, "labels": [0, 2], "entity_input": EntityInput()}
    return classifiers.batch_of(tokenizer, **given)


def test_a_fresh_process_loads_what_was_saved(
    bert_folder: Path, roberta_folder: Path, forked_python: Path, tmp_path: Path
) -> None:
    built = {encoder.name: build(encoder) for encoder in (bert_folder, roberta_folder)}
    made = {name: (model, tokenizer, batch_of(tokenizer)) for name, (model, tokenizer) in built.items()}
    check_in_a_fresh_process(forked_python, tmp_path, made)
    for encoder in (bert_folder, roberta_folder):
        tokenizer = built[encoder.name][1]
        config = json.loads((tmp_path / encoder.name / "config.json").read_text())
        assert config["negative_relation"] == "NA"
        assert config["marker_ids"] == tokenizer.convert_tokens_to_ids(list(MARKERS.tokens))
        assert set(config["marker_ids"][:2]) <= set(tokenizer("in [E1] it[/E1]")["input_ids"])
        assert config["id2label"] == {"0": "born_in", "1": "NA", "2": "made_in"}
        assert str(encoder) not in json.dumps(config), "a saved model does not tell where it was made"


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_markers_get_ids_and_rows_of_their_own(kind: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(f"{kind}_folder")
    model, tokenizer = build(folder)
    ids = tokenizer.convert_tokens_to_ids(list(MARKERS.tokens))
    assert len(set(ids)) == 4
    assert tokenizer.unk_token_id not in ids
    embeddings = model.get_input_embeddings().weight
    assert len(embeddings) == len(tokenizer) == model.config.encoder.vocab_size
    assert len({tuple(row) for row in embeddings[ids].tolist()}) == 4
    for name, value in load_file(folder / "model.safetensors").items():
        if "pooler" not in name:
            ours = dict(model.encoder.named_parameters())[name.removeprefix(f"{kind}.")]
            assert torch.equal(ours[: len(value)], value), name


def test_new_weights_follow_from_the_seed(bert_folder: Path) -> None:
    first, again, other = (build(bert_folder, seed)[0].state_dict() for seed in (5, 5, 6))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["classifier.weight"], other["classifier.weight"])
    rows = "encoder.embeddings.word_embeddings.weight"
    assert not torch.equal(first[rows], other[rows])


def test_only_the_states_at_the_start_markers_count(bert_folder: Path) -> None:
    model, tokenizer = build(bert_folder)
    batch = batch_of(tokenizer)
    with torch.no_grad():
        states = model.encoder(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).last_hidden_state
        starts = batch["entity_starts"]
        pooled = torch.stack(
            [torch.cat([states[i, starts[i, 0]], states[i, starts[i, 1]]]) for i in range(2)]
        )
        torch.testing.assert_close(model(**batch).logits, model.classifier(pooled))


def test_a_row_without_entities_is_surely_negative_and_costs_nothing(
    bert_folder: Path,
) -> None:
    model, tokenizer = build(bert_folder)
    batch = batch_of(tokenizer, found=False)
    with torch.no_grad():
        output = model(**batch)
        alone = model(**{name: value[:1] for name, value in batch.items()})
        nothing = model(**{name: value[1:] for name, value in batch.items()})
    assert output.logits.softmax(dim=1)[1].tolist() == [0.0, 1.0, 0.0]
    torch.testing.assert_close(output.loss, alone.loss)
    assert nothing.loss.item() == 0.0


def test_the_negative_relation_of_many_labels_survives_saving(bert_folder: Path, tmp_path: Path) -> None:
    """Also when the config file lists the ids as texts, "10" before "2", as some tools write them."""
    names = [f"relation_{i}" for i in range(14)] + ["NA"]
    config = RelationClassifierConfig(encoder=load_config(str(bert_folder)), id2label=dict(enumerate(names)))
    RelationClassifier(config).save_pretrained(tmp_path)
    written = json.loads((tmp_path / "config.json").read_text())
    written["id2label"] = dict(sorted(written["id2label"].items()))
    (tmp_path / "config.json").write_text(json.dumps(written))
    loaded = RelationClassifier.from_pretrained(tmp_path).eval()
    nothing = {"entity_starts": torch.full((1, 2), -1), "entity_spans": torch.full((1, 4), -1)}
    ids = torch.tensor([[2, 3]])
    logits = loaded(input_ids=ids, attention_mask=torch.ones_like(ids), **nothing).logits
    assert logits.argmax().item() == 14
    assert [loaded.config.id2label[i] for i in range(15)] == names


def test_padding_and_company_do_not_change_the_scores(roberta_folder: Path) -> None:
    model, tokenizer = build(roberta_folder)
    batch = batch_of(tokenizer)
    with torch.no_grad():
        together = model(**batch).logits
        width = int(batch["attention_mask"][0].sum())
        alone = model(
            input_ids=batch["input_ids"][:1, :width],
            attention_mask=batch["attention_mask"][:1, :width],
            entity_starts=batch["entity_starts"][:1],
            entity_spans=batch["entity_spans"][:1],
        ).logits
    torch.testing.assert_close(together[:1], alone, rtol=1e-4, atol=1e-5)


def test_attention_is_the_fast_one_built_or_loaded(bert_folder: Path, tmp_path: Path) -> None:
    model, _ = build(bert_folder)
    model.save_pretrained(tmp_path)
    for one in (model, RelationClassifier.from_pretrained(tmp_path)):
        assert one.encoder.config._attn_implementation == "sdpa"


def test_scores_stay_in_float32_under_autocast(bert_folder: Path) -> None:
    model, tokenizer = build(bert_folder)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert model(**batch_of(tokenizer)).logits.dtype == torch.float32


def test_config_checks() -> None:
    with pytest.raises(ValueError, match="`encoder` must be the config"):
        RelationClassifierConfig()
    with pytest.raises(ValueError, match="`negative_relation` is 'Other', none of the 2 labels: NA, a"):
        RelationClassifierConfig(encoder=BertConfig(), id2label={0: "NA", 1: "a"}, negative_relation="Other")


def test_no_pooling_layer_is_carried_along(bert_folder: Path) -> None:
    assert load_encoder(str(bert_folder)).pooler is None
    assert bare_encoder(load_config(str(bert_folder))).pooler is None


def test_length_limits(bert_folder: Path, roberta_folder: Path) -> None:
    for folder in (bert_folder, roberta_folder):
        tokenizer, config = load_tokenizer(str(folder)), load_config(str(folder))
        assert max_sequence_length(tokenizer=tokenizer, config=config, requested=None) == 64
        assert max_sequence_length(tokenizer=tokenizer, config=config, requested=32) == 32
        with pytest.raises(ValueError, match="`max_length` is 65, but this encoder reads at most 64 tokens"):
            max_sequence_length(tokenizer=tokenizer, config=config, requested=65)


def test_a_full_length_row_runs_on_roberta(roberta_folder: Path) -> None:
    model, tokenizer = build(roberta_folder)
    rows = RowEncoder(tokenizer, entity_input=EntityInput(), max_length=64).encode(
        sentences=["the cradle " * 80], spans=np.array([[0, 3, 4, 10]]), row_names=["a"]
    )
    assert rows.lengths.tolist() == [64]
    batches = RowBatches(
        rows=rows, labels=np.array([0]), row_ids=np.array([0]), pad_id=tokenizer.pad_token_id
    )
    batch = batches[0]
    del batch["row_ids"]
    assert torch.isfinite(model(**batch).loss)


class TestEncoderFolders:
    def test_that_are_not_there(self) -> None:
        with pytest.raises(
            ValueError, match=r"'no/such/folder/here' \(no folder of that name is here\): .* config did"
        ):
            load_config("no/such/folder/here")

    def test_without_weights(self, bert_folder: Path, tmp_path: Path) -> None:
        load_config(str(bert_folder)).save_pretrained(tmp_path)
        with pytest.raises(ValueError, match="the encoder's weights did not load"):
            load_encoder(str(tmp_path))

    def test_with_weights_that_lack_a_part(self, bert_folder: Path, tmp_path: Path) -> None:
        encoder = load_encoder(str(bert_folder))
        kept = {name: value for name, value in encoder.state_dict().items() if "encoder.layer" not in name}
        encoder.save_pretrained(tmp_path, state_dict=kept)
        with pytest.raises(ValueError, match="the file lacks 16 of the encoder's weights"):
            load_encoder(str(tmp_path))

    def test_without_a_tokenizer(self, bert_folder: Path, tmp_path: Path) -> None:
        load_encoder(str(bert_folder)).save_pretrained(tmp_path)
        with pytest.raises(ValueError, match=r"tokenizer (has no words|did not load)"):
            load_tokenizer(str(tmp_path))

    def test_without_a_fast_tokenizer(self) -> None:
        class Slow:
            is_fast = False

        with pytest.raises(ValueError, match="the tokenizer Slow is not a fast one"):
            add_entity_tokens(Slow(), EntityInput())

    def test_markers_that_stay_unknown(self, bert_tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(bert_tokenizer), "add_tokens", lambda *_, **__: 0)
        with pytest.raises(ValueError, match="must be distinct and none may be that of the unknown token"):
            add_entity_tokens(bert_tokenizer, EntityInput())
