"""The classifier on bags: the pooling of its own row logits, losses, saving, memory flags."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from finetune import RelationClassifier
from finetune.encoders.encoder_sources import (
    add_entity_tokens,
    build_classifier,
    load_encoder,
    load_tokenizer,
)
from finetune.model.bag_pooling import POOLINGS, prediction_scores, score_activation, training_logits
from finetune.model.batching import RowBatches
from finetune.model.encoding import RowEncoder
from finetune.model.entity_inputs import EntityInput

LABELS = ("born_in", "NA", "made_in", "part_of")
NEGATIVE = 1
SIZES = torch.tensor([1, 5, 2, 3])
SENTENCE = "Barack Obama was born in Honolulu, not in New York City or New Jersey."


def build(folder: Path, **options) -> RelationClassifier:
    tokenizer = load_tokenizer(str(folder))
    add_entity_tokens(tokenizer, EntityInput())
    torch.manual_seed(0)
    return build_classifier(
        encoder=load_encoder(str(folder), tokenizer=tokenizer),
        tokenizer=tokenizer,
        entity_input=EntityInput(),
        label_names=LABELS,
        negative_relation="NA",
        max_row_tokens=64,
        **options,
    )


@pytest.fixture(scope="module")
def batch(bert_folder: Path) -> dict[str, torch.Tensor]:
    """Eleven rows in four bags; two rows of the second bag and the whole third are not usable."""
    tokenizer = load_tokenizer(str(bert_folder))
    add_entity_tokens(tokenizer, EntityInput())
    words = [(0, 12, 25, 33), (25, 33, 0, 12), (0, 6, 42, 55), (59, 69, 0, 12), (42, 50, 59, 62)]
    spans = np.array([words[i % 5] for i in range(11)])
    spans[[2, 4, 6, 7], :2] = -1
    rows = RowEncoder(tokenizer, entity_input=EntityInput(), max_length=64).encode(
        sentences=[SENTENCE] * 11, spans=spans, row_names=[str(i) for i in range(11)]
    )
    batches = RowBatches(rows=rows, labels=np.zeros(11), row_ids=np.arange(11), pad_id=0)
    whole = batches.__getitems__(list(range(11)))
    return {name: whole[name] for name in ("input_ids", "attention_mask", "entity_starts", "entity_spans")}


def label_ids(multi_label: bool) -> torch.Tensor:
    if not multi_label:
        return torch.tensor([0, 2, 3, 1])
    return torch.tensor([[1, -100, 0, 0], [0, -100, 1, 1], [0, -100, 0, 1], [0, -100, 0, 0]]).float()


@pytest.mark.parametrize("multi_label", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_outputs_are_the_pooled_row_logits(pooling: str, multi_label: bool, bert_folder: Path, batch) -> None:
    model = build(bert_folder, bag_pooling=pooling, multi_label=multi_label, tokens_per_chunk=64).eval()
    labels = label_ids(multi_label)
    usable = (batch["entity_starts"] >= 0).all(dim=1)
    with torch.no_grad():
        output = model(**batch, bag_sizes=SIZES, labels=labels)
        rows = model.score_rows(*batch.values())
    given = {"pooling": pooling, "row_logits": rows, "usable": usable, "bag_sizes": SIZES}
    given |= {"negative_id": NEGATIVE, "multi_label": multi_label}
    torch.testing.assert_close(output.logits, prediction_scores(**given))
    scores = output.logits
    activation = model.config.score_activation
    assert activation == score_activation(bag_pooling=pooling, multi_label=multi_label)
    if activation == "softmax":
        scores = scores.softmax(dim=1)
    elif activation == "sigmoid":
        scores = scores.sigmoid()
    assert scores[2].tolist() == [0.0, 1.0, 0.0, 0.0], "no row of the third bag is usable"
    if not multi_label:
        normed = scores / scores.sum(dim=1, keepdim=True)
        expected = -normed[torch.arange(4), labels].log()[[0, 1, 3]].mean()
    else:
        each = nn.functional.binary_cross_entropy(scores, labels.clamp(min=0), reduction="none")
        expected = each[:, [0, 2, 3]].sum(dim=1)[[0, 1, 3]].mean()
    torch.testing.assert_close(output.loss, expected)


@pytest.mark.parametrize("multi_label", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_loss_of_training(pooling: str, multi_label: bool, bert_folder: Path, batch) -> None:
    """Without dropout the chunks, and the search for the rows that decide, change nothing."""
    model = build(bert_folder, bag_pooling=pooling, multi_label=multi_label, tokens_per_chunk=64).eval()
    labels = label_ids(multi_label)
    usable = (batch["entity_starts"] >= 0).all(dim=1)
    logits = training_logits(
        pooling=pooling,
        row_logits=model.score_rows(*batch.values()),
        usable=usable,
        bag_sizes=SIZES,
        labels=labels,
        negative_id=NEGATIVE,
        multi_label=multi_label,
    )[[0, 1, 3]]
    if multi_label:
        columns = [0, 2, 3]
        each = nn.functional.binary_cross_entropy_with_logits(
            logits[:, columns], labels[[0, 1, 3]][:, columns], reduction="none"
        )
        expected = each.sum(dim=1).mean()
    else:
        expected = nn.functional.cross_entropy(logits, labels[[0, 1, 3]])
    gradients = torch.autograd.grad(expected, list(model.parameters()), allow_unused=True)
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    model.gradient_checkpointing_enable()
    output = model(**batch, bag_sizes=SIZES, labels=labels)
    torch.testing.assert_close(output.loss, expected)
    output.loss.backward()
    for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
        if gradient is not None and gradient.any():
            torch.testing.assert_close(parameter.grad, gradient, msg=name, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_scores_of_bags_stay_in_float32_under_autocast(pooling: str, bert_folder: Path, batch) -> None:
    model = build(bert_folder, bag_pooling=pooling).eval()
    for labels in (None, label_ids(False)):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            if labels is not None:
                model.train()
                model.dropout.p = 0.0
            logits = model(**batch, bag_sizes=SIZES, labels=labels).logits[[0, 1, 3]]
        assert logits.dtype == torch.float32
        assert (logits != logits.bfloat16().float()).any(dim=1).all()


def test_single_sentences_are_bags_of_one_in_prediction(bert_folder: Path, batch) -> None:
    for pooling in POOLINGS:
        model = build(bert_folder, bag_pooling=pooling).eval()
        with torch.no_grad():
            ones = model(**batch, bag_sizes=torch.ones(11, dtype=torch.int64)).logits
            torch.testing.assert_close(model(**batch).logits, ones)


def test_a_model_trained_on_sentences_has_the_loss_of_sentences(bert_folder: Path, batch) -> None:
    labels = torch.arange(11) % 4
    losses = []
    for pooling in (None, *POOLINGS):
        model = build(bert_folder, bag_pooling=pooling).train()
        torch.manual_seed(3)
        losses.append(model(**batch, labels=labels).loss.item())
    assert len(set(losses)) == 1


def test_saved_and_loaded(bert_folder: Path, batch, tmp_path: Path) -> None:
    model = build(bert_folder, bag_pooling="att", tokens_per_chunk=100).eval()
    model.config.threshold = 0.25
    model.save_pretrained(tmp_path)
    loaded = RelationClassifier.from_pretrained(tmp_path).eval()
    config = loaded.config
    assert (config.bag_pooling, config.multi_label, config.threshold) == ("att", False, 0.25)
    assert (config.tokens_per_chunk, config.score_activation) == (100, "identity")
    with torch.no_grad():
        assert torch.equal(loaded(**batch, bag_sizes=SIZES).logits, model(**batch, bag_sizes=SIZES).logits)


def test_an_unknown_pooling_is_refused(bert_folder: Path) -> None:
    with pytest.raises(
        ValueError, match="`bag_pooling` must be one of 'one', 'att', 'avg', 'max'; got 'sum'"
    ):
        build(bert_folder, bag_pooling="sum")
