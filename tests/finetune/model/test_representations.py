"""Every representation on every family of encoders: what is pooled, what is learned, what is saved."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, BertConfig, BertModel, ModernBertConfig

from finetune.__main__ import main
from finetune.data.readers import read_nyt_h
from finetune.encoders.encoder_sources import (
    add_entity_tokens,
    build_classifier,
    load_encoder,
    load_tokenizer,
)
from finetune.model.entity_inputs import DEFINED, TYPED, entity_input
from finetune.model.modeling import RelationClassifier, RelationClassifierConfig, dropout_of, segment_ids
from tests.finetune.model.classifiers import Batch, batch_of

SENTENCES = [
    "New York City is in New York.",
    "Barack Obama was born in Honolulu.",
    "A child of the university",
]
SPANS = np.array([[0, 8, 0, 13], [25, 33, 0, 12], [2, 7, -1, -1]])
TYPES = [("city", "city"), ("city", "person"), ("person", "person")]
COMBINATIONS = [(name, one) for name, several in DEFINED.items() for one in several]
FAMILIES = ("bert", "roberta", "electra", "deberta", "deberta-v2", "modernbert")
Folder = Callable[[str], Path]


def build(
    folder: Path, name: str = "markers", representation: str = "entity_start", head: str = "linear"
) -> tuple[RelationClassifier, Batch]:
    """A new classifier in evaluation mode, and the three sentences as its batch."""
    tokenizer = load_tokenizer(str(folder))
    shown = entity_input(name, types=TYPES if name in TYPED else None)
    add_entity_tokens(tokenizer, shown)
    torch.manual_seed(0)
    model = build_classifier(
        encoder=load_encoder(str(folder), tokenizer=tokenizer),
        tokenizer=tokenizer,
        entity_input=shown,
        label_names=["born_in", "NA", "part_of"],
        negative_relation="NA",
        representation=representation,
        classifier_head=head,
    )
    given = {"sentences": SENTENCES, "spans": SPANS, "labels": [2, 0, 0], "types": TYPES}
    batch = batch_of(tokenizer, **given, entity_input=shown)
    return model.eval(), batch


@pytest.mark.parametrize("family", FAMILIES)
def test_it_computes_under_autocast(family_folder: Folder, family: str) -> None:
    """The first DeBERTa raises in bfloat16, so it computes in float32."""
    model, batch = build(family_folder(family))
    exact = model(**batch).logits
    with torch.autocast("cpu", torch.bfloat16):
        output = model(**batch)
    output.loss.backward()
    assert (output.logits - exact).abs().max() < 0.1


@pytest.mark.parametrize(("name", "representation"), COMBINATIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_it_trains_saves_and_does_not_see_padding(
    family_folder: Folder, tmp_path: Path, family: str, name: str, representation: str
) -> None:
    model, batch = build(family_folder(family), name, representation)
    output = model(**batch)
    output.loss.backward()
    for part, value in model.named_parameters():
        if value.grad is not None:
            assert torch.isfinite(value.grad).all(), part
    assert model.classifier.weight.grad.abs().sum() > 0
    assert model.get_input_embeddings().weight.grad.abs().sum() > 0
    assert output.logits[2].softmax(0).tolist() == [0.0, 1.0, 0.0]
    width = int(batch["attention_mask"][1].sum())
    alone = {part: value[1:2, :width] for part, value in batch.items() if value.ndim == 2}
    with torch.no_grad():
        torch.testing.assert_close(output.logits[1:2], model(**alone).logits, rtol=1e-4, atol=1e-5)
        model.save_pretrained(tmp_path)
        loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
        assert torch.equal(loaded(**batch).logits, output.logits)


def states_of(model: RelationClassifier, batch: Batch) -> np.ndarray:
    words = {part: batch[part] for part in ("input_ids", "attention_mask")}
    return model.encoder(**words).last_hidden_state.detach().numpy()


class TestWhatIsPooled:
    def test_cls(self, bert_folder: Path) -> None:
        model, batch = build(bert_folder, "plain", "cls")
        pooled = states_of(model, batch)[:, 0]
        expected = model.classifier(torch.from_numpy(pooled))
        torch.testing.assert_close(model(**batch).logits[:2], expected[:2])

    def test_mentions_without_the_markers_of_the_other(self, bert_folder: Path) -> None:
        """[E2][E1]New York[/E1] City[/E2]: the tail's maximum is over new, york, city alone."""
        model, batch = build(bert_folder, "markers", "mention_pooling")
        assert batch["entity_spans"][0].tolist() == [3, 5, 3, 7]
        states = states_of(model, batch)[0]
        pooled = np.concatenate([states[[3, 4]].max(axis=0), states[[3, 4, 6]].max(axis=0)])
        expected = model.classifier(torch.from_numpy(pooled))
        torch.testing.assert_close(model(**batch).logits[0], expected)
        with_marker = np.concatenate([states[[3, 4]].max(axis=0), states[3:7].max(axis=0)])
        assert not np.array_equal(pooled, with_marker), "the marker would change it"

    def test_mentions_of_a_plain_sentence(self, bert_folder: Path) -> None:
        model, batch = build(bert_folder, "plain", "mention_pooling")
        states = states_of(model, batch)
        for row, (head, tail) in enumerate([([1, 2], [1, 2, 3]), ([6], [1, 2])]):
            pooled = np.concatenate([states[row][head].max(axis=0), states[row][tail].max(axis=0)])
            expected = model.classifier(torch.from_numpy(pooled))
            torch.testing.assert_close(model(**batch).logits[row], expected)

    def test_starts_of_masks(self, bert_folder: Path) -> None:
        model, batch = build(bert_folder, "entity_mask", "entity_start")
        states = states_of(model, batch)
        pooled = np.concatenate([states[0, 2], states[0, 1]])  # the tail is the outer one and stands first
        expected = model.classifier(torch.from_numpy(pooled))
        torch.testing.assert_close(model(**batch).logits[0], expected)


class TestPositions:
    def test_segments_of_every_arrangement(self) -> None:
        spans = [[0, 2, 4, 5], [4, 5, 0, 2], [0, 2, 0, 3], [0, 3, 1, 2], [0, 2, 1, 3], [0, 2, 0, 2], [-1] * 4]
        assert segment_ids(torch.tensor(spans), 6).tolist() == [
            [1, 1, 0, 0, 2, 0],
            [2, 2, 0, 0, 1, 0],
            [1, 1, 2, 0, 0, 0],
            [1, 2, 1, 0, 0, 0],
            [1, 2, 2, 0, 0, 0],
            [2, 2, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0],
        ]

    def test_a_new_table_is_added_to_the_words(self, bert_folder: Path) -> None:
        """The same as a BERT whose own table has these rows on top of its row for the first sentence."""
        model, batch = build(bert_folder, "positions", "mention_pooling")
        assert model.segments.weight[0].tolist() == [0.0] * 32
        assert model.segments.weight[1:].abs().sum() > 0
        table = model.encoder.embeddings.token_type_embeddings.weight[0] + model.segments.weight
        reference = BertModel(
            BertConfig(**{**model.config.encoder.to_dict(), "type_vocab_size": 3}), add_pooling_layer=False
        )
        weights = model.encoder.state_dict() | {"embeddings.token_type_embeddings.weight": table}
        reference.load_state_dict(weights)
        segments = segment_ids(batch["entity_spans"], batch["input_ids"].shape[1])
        states = reference.eval()(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], token_type_ids=segments
        ).last_hidden_state.detach()
        pooled = torch.cat([states[1, 6], states[1, 1:3].amax(dim=0)])
        torch.testing.assert_close(model(**batch).logits[1], model.classifier(pooled), rtol=1e-4, atol=1e-5)

    def test_a_table_of_three_rows_is_used(self, bert_folder: Path, tmp_path: Path) -> None:
        tokenizer = load_tokenizer(str(bert_folder))
        shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
        config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, type_vocab_size=3, **shape)
        BertModel(config).save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        model, batch = build(tmp_path, "positions", "mention_pooling")
        assert model.segments is None
        model(**batch).loss.backward()
        gradient = model.encoder.embeddings.token_type_embeddings.weight.grad
        assert (gradient.abs().sum(dim=1) > 0).tolist() == [True, True, True]


class TestHeads:
    def test_mlp_is_that_of_zhou_and_chen(self, bert_folder: Path, tmp_path: Path) -> None:
        model, batch = build(bert_folder, head="mlp")
        kinds = [type(layer).__name__ for layer in model.classifier]
        assert kinds == ["Linear", "ReLU", "Dropout", "Linear"]
        assert [tuple(model.classifier[i].weight.shape) for i in (0, 3)] == [(32, 64), (3, 32)]
        assert model.dropout.p == 0.0
        assert model.classifier[2].p == 0.1
        states, starts = states_of(model, batch), batch["entity_starts"]
        first, last = (
            (model.classifier[i].weight.detach().numpy(), model.classifier[i].bias.detach().numpy())
            for i in (0, 3)
        )
        pooled = np.concatenate([states[1, starts[1, 0]], states[1, starts[1, 1]]])
        hidden = np.maximum(first[0] @ pooled + first[1], 0)
        np.testing.assert_allclose(
            model(**batch).logits[1].detach(), last[0] @ hidden + last[1], rtol=1e-4, atol=1e-6
        )
        model.save_pretrained(tmp_path)
        assert torch.equal(
            RelationClassifier.from_pretrained(tmp_path)(**batch).logits, model(**batch).logits
        )

    def test_an_unknown_one(self, bert_folder: Path) -> None:
        with pytest.raises(
            ValueError, match=r"`classifier_head` must be one of linear, mlp, crcnn, .*; got 'cnn'"
        ):
            build(bert_folder, head="cnn")

    def test_dropout_has_the_name_the_architecture_gives_it(self) -> None:
        assert dropout_of(BertConfig(hidden_dropout_prob=0.3)) == 0.3
        assert dropout_of(BertConfig(hidden_dropout_prob=0.3, classifier_dropout=0.2)) == 0.2
        assert dropout_of(ModernBertConfig(classifier_dropout=0.0)) == 0.0
        assert dropout_of(object()) == 0.1


def test_a_config_with_a_combination_of_no_paper() -> None:
    with pytest.raises(ValueError, match="'entity_start' does not go with the input 'plain'"):
        RelationClassifierConfig(encoder=BertConfig(), input_format="plain")


class TestRuns:
    def test_types_of_the_training_rows_are_saved(
        self, sample: Path, tmp_path: Path, words_for: Callable[..., list[str]], results_of: Callable
    ) -> None:
        more = ["--input", "typed_markers", "--classifier_head", "mlp", "--max_steps", "2"]
        assert main(words_for(sample, tmp_path / "run", *more)) == 0
        config = json.loads((tmp_path / "run" / "seed-42" / "config.json").read_text())
        train = read_nyt_h(str(sample)).splits["train"].short_types
        assert config["entity_types"] == [sorted({pair[side] for pair in train}) for side in (0, 1)]
        assert config["classifier_head"] == "mlp"
        assert results_of(tmp_path / "run")["data"]["splits"]["train"]["num_unseen_types"] == 0

    def test_data_without_types_and_an_encoder_without_a_first_token(
        self,
        tmp_path: Path,
        roberta_folder: Path,
        words_for: Callable[..., list[str]],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        for name, first in (("TRAIN_FILE.TXT", 1), ("TEST_FILE_FULL.TXT", 2)):
            text = f'{first}\t"A <e1>cord</e1> of the <e2>university</e2>."\nOther\n\n'
            (tmp_path / name).write_text(text)
        semeval = ["--data", "semeval2010", "--validation_fraction", "0"]
        assert main(words_for(tmp_path, tmp_path / "a", *semeval, "--input", "entity_mask")) == 2
        assert "semeval2010 has none; inputs that work: plain" in capsys.readouterr().err
        bare = tmp_path / "bare"
        shutil.copytree(roberta_folder, bare)
        tokenizer = json.loads((bare / "tokenizer.json").read_text())
        tokenizer["post_processor"] = None
        (bare / "tokenizer.json").write_text(json.dumps(tokenizer))
        cls = ["--model_name_or_path", str(bare), "--representation", "cls"]
        assert main(words_for(tmp_path, tmp_path / "b", *semeval, *cls)) == 2
        assert "this encoder's tokenizer puts none there" in capsys.readouterr().err
