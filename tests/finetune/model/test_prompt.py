"""Relations as words at masks: what the encoder reads, the scores, the loss, saved models, bags."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
)

from finetune.encoders.encoder_sources import build_classifier, load_encoder, load_tokenizer
from finetune.encoders.label_words import label_word_ids
from finetune.model.bag_pooling import POOLINGS, training_logits
from finetune.model.batching import RowBatches
from finetune.model.encoding import RowEncoder, RowStatus
from finetune.model.entity_inputs import EntityInput
from finetune.model.modeling import unit_losses
from finetune.model.prompt import SlotWords
from tests.finetune.model import classifiers
from tests.finetune.model.classifiers import Batch, check_in_a_fresh_process

PROMPT = EntityInput("prompt")
SENTENCES = ["Barack Obama was born in Honolulu.", "Crème brûlée is made in Zürich, not in New York City."]
SPANS = np.array([[0, 12, 25, 33], [0, 12, 24, 30]])
WORDS = {
    "born_in": ("university", "was", "born", "in", "York"),
    "NA": ("a", "is", "not", "of", "a"),
    "made_in": ("university", "is", "made", "in", "City"),
}


@pytest.fixture(params=["bert", "roberta"])
def language_model(request: pytest.FixtureRequest, language_model_folder: Callable[[str], Path]) -> Path:
    return language_model_folder(request.param)


@pytest.fixture
def bert(language_model_folder: Callable[[str], Path]) -> Path:
    return language_model_folder("bert")


def build(folder: Path, **options):
    tokenizer = load_tokenizer(str(folder))
    torch.manual_seed(3)
    model = build_classifier(
        encoder=load_encoder(str(folder), tokenizer=tokenizer, language_model=True),
        tokenizer=tokenizer,
        entity_input=PROMPT,
        label_names=list(WORDS),
        negative_relation="NA",
        representation="masks",
        classifier_head="label_words",
        label_word_ids=label_word_ids(tokenizer, WORDS),
        max_row_tokens=64,
        **options,
    )
    return model.eval(), tokenizer


def encoded(tokenizer, *, max_length=64, sentences=SENTENCES, spans=SPANS):
    return RowEncoder(tokenizer, entity_input=PROMPT, max_length=max_length).encode(
        sentences=sentences, spans=spans, row_names=[str(i) for i in range(len(sentences))]
    )


def batch_of(tokenizer, *, spans=SPANS) -> Batch:
    given = {"sentences": SENTENCES, "spans": spans, "labels": [0, 2], "entity_input": PROMPT}
    return classifiers.batch_of(tokenizer, **given)


def test_a_fresh_process_loads_what_was_saved(
    language_model: Path, forked_python: Path, tmp_path: Path
) -> None:
    model, tokenizer = build(language_model)
    made = {"prompt": (model, tokenizer, batch_of(tokenizer))}
    check_in_a_fresh_process(forked_python, tmp_path, made)


def test_the_prompt_stands_behind_the_sentence_in_both_vocabularies(
    bert_tokenizer, roberta_tokenizer
) -> None:
    rows = encoded(bert_tokenizer)
    first = rows.token_ids[: rows.row_starts[1]].tolist()
    assert bert_tokenizer.decode(first) == (
        "[CLS] barack obama was born in honolulu. the [MASK] barack obama [MASK] [MASK] [MASK] the [MASK] "
        "honolulu [SEP]"
    )
    assert rows.entity_starts.tolist()[0][0] == 1, "the entities are those of the sentence"
    rows = encoded(roberta_tokenizer)
    first = rows.token_ids[: rows.row_starts[1]].tolist()
    tokens = roberta_tokenizer.convert_ids_to_tokens(first)
    assert "".join(tokens) == (
        "<s>BarackĠObamaĠwasĠbornĠinĠHonolulu.Ġthe<mask>ĠBarackĠObama<mask><mask><mask>Ġthe<mask>ĠHonolulu</s>"
    )
    assert tokens.count("Ġthe") == 2


def test_label_words_have_the_form_they_have_within_a_text(bert_tokenizer, roberta_tokenizer) -> None:
    for tokenizer, start in ((bert_tokenizer, ""), (roberta_tokenizer, "Ġ")):
        ids = label_word_ids(tokenizer, {"born_in": WORDS["born_in"]})
        words = ["university", "was", "born", "in", "York"]
        if start == "":
            words = [word.lower() for word in words]
        assert tokenizer.convert_ids_to_tokens(ids[0]) == [start + word for word in words]


def test_a_text_that_spells_a_mask_has_none(bert_tokenizer) -> None:
    rows = encoded(bert_tokenizer, sentences=["[MASK] Obama was born in [MASK] Honolulu."] * 2)
    assert (rows.token_ids == bert_tokenizer.mask_token_id).sum() == 10


def test_a_window_is_cut_from_the_sentence_and_never_from_the_prompt(bert_tokenizer) -> None:
    words = "the child was carefully wrapped and bound into the cradle and "
    text = f"{words * 3}Barack Obama was born in Honolulu, {words * 3}"
    start = text.index("Barack")
    spans = np.array([[start, start + 12, start + 25, start + 33]])
    rows = encoded(bert_tokenizer, sentences=[text], spans=spans)
    assert rows.status.tolist() == [RowStatus.WINDOWED]
    assert rows.lengths.tolist() == [64]
    ids = rows.token_ids.tolist()
    prompt = bert_tokenizer.decode(ids).partition("the [MASK]")[2]
    assert prompt == " barack obama [MASK] [MASK] [MASK] the [MASK] honolulu [SEP]"
    first, end, tail, tail_end = rows.entity_spans[0].tolist()
    assert bert_tokenizer.decode(ids[first:end]) == "barack obama"
    assert bert_tokenizer.decode(ids[tail:tail_end]) == "honolulu"
    own = end - first + tail_end - tail
    for room, status in ((2 + 7 + 2 * own, RowStatus.WINDOWED), (1 + 7 + 2 * own, RowStatus.CANNOT_BE_KEPT)):
        rows = encoded(bert_tokenizer, sentences=[text], spans=spans, max_length=room)
        assert rows.status.tolist() == [status]
    assert rows.token_ids.tolist() == [bert_tokenizer.cls_token_id, bert_tokenizer.sep_token_id]


def log_softmax(scores: np.ndarray) -> np.ndarray:
    return scores - np.log(np.exp(scores).sum())


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_scores_and_loss_against_plain_numpy(smoothing: float) -> None:
    words = np.array([[4, 7, 2, 9, 4], [5, 7, 3, 9, 6], [4, 8, 3, 9, 6]])
    vocabulary = np.random.default_rng(0).normal(size=(4, 5, 12)).astype(np.float32)
    labels = [2, 0, -100, 1]
    slots = SlotWords.of(words.tolist())
    outputs = slots.outputs(torch.from_numpy(vocabulary), with_slots=True)
    assert outputs.shape == (4, slots.num_columns) == (4, 3 + 2 + 2 + 2 + 1 + 2)
    narrow = slots.outputs(torch.from_numpy(vocabulary), with_slots=False)
    losses = slots.losses(outputs, torch.tensor(labels), label_smoothing=smoothing)
    for row, label in enumerate(labels):
        scores = np.array([sum(vocabulary[row, slot, own[slot]] for slot in range(5)) for own in words])
        np.testing.assert_allclose(narrow[row], scores, rtol=1e-5, atol=1e-5)
        if label < 0:
            assert losses[row] == 0
            continue

        def smoothed(values: np.ndarray, target: int) -> float:
            return -(1 - smoothing) * values[target] - smoothing * values.mean()

        expected = smoothed(log_softmax(scores), label)
        for slot in range(5):
            there = sorted(set(words[:, slot]))
            of_slot = log_softmax(vocabulary[row, slot, there])
            expected += smoothed(of_slot, there.index(words[label, slot])) / 5
        np.testing.assert_allclose(losses[row], expected, rtol=1e-5)
    weights = torch.tensor([1.0, 3.0, 0.5])
    weighted = unit_losses(outputs, torch.tensor(labels), slots=slots, label_weights=weights)
    plain = slots.losses(outputs, torch.tensor(labels))
    torch.testing.assert_close(weighted, plain * torch.tensor([0.5, 1.0, 0.0, 3.0]))


def test_scores_are_those_of_the_language_model_at_its_masks(language_model: Path) -> None:
    model, tokenizer = build(language_model)
    batch = batch_of(tokenizer)
    with torch.no_grad():
        found = model(**batch)
        everywhere = model.encoder(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).logits.numpy()
    for row, ids in enumerate(batch["input_ids"].tolist()):
        masks = [place for place, token in enumerate(ids) if token == tokenizer.mask_token_id]
        assert len(masks) == 5
        expected = [
            sum(everywhere[row, place, word] for place, word in zip(masks, words, strict=True))
            for words in model.config.label_word_ids
        ]
        np.testing.assert_allclose(found.logits[row], expected, rtol=1e-4, atol=1e-5)
    relations = -found.logits.log_softmax(dim=1)
    torch.testing.assert_close(found.loss, (relations[0, 0] + relations[1, 2]) / 2)


def test_a_short_batch_of_rows_without_entities_is_surely_negative(bert: Path) -> None:
    model, _ = build(bert)
    nowhere = torch.full((1, 4), -1)
    ids = torch.tensor([[2, 3]])
    logits = model(ids, torch.ones_like(ids), nowhere[:, :2], nowhere).logits
    assert logits.softmax(dim=1).tolist() == [[0.0, 1.0, 0.0]]


def test_in_training_the_loss_is_that_of_masks_and_relations(bert: Path) -> None:
    model, tokenizer = build(bert)
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    batch = batch_of(tokenizer)
    with torch.no_grad():
        evaluated = model(**batch)
        trained = model.train()(**batch)
        without_labels = model(**{name: value for name, value in batch.items() if name != "labels"})
    assert trained.logits.shape == (2, model.slots.num_columns)
    torch.testing.assert_close(trained.logits[:, :3], evaluated.logits)
    torch.testing.assert_close(without_labels.logits, evaluated.logits)
    torch.testing.assert_close(trained.loss, model.slots.losses(trained.logits, batch["labels"]).mean())
    assert trained.loss > evaluated.loss


def test_a_row_without_entities_is_surely_negative_and_costs_nothing(bert: Path) -> None:
    model, tokenizer = build(bert)
    spans = np.vstack([SPANS[:1], [[-1, -1, 0, 3]]])
    batch = batch_of(tokenizer, spans=spans)
    with torch.no_grad():
        output = model(**batch)
        alone = model(**{name: value[:1] for name, value in batch.items()})
        trained = model.train()(**batch)
    assert output.logits[1].softmax(dim=0).tolist() == [0.0, 1.0, 0.0]
    torch.testing.assert_close(output.loss, alone.loss)
    assert trained.loss.isfinite()


def test_a_saved_model_gives_the_same_scores(language_model: Path, tmp_path: Path) -> None:
    model, tokenizer = build(language_model)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.01)
    batch = batch_of(tokenizer)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert (tmp_path / "prompt.py").is_file()
    assert not (tmp_path / "label_words.py").exists()
    with torch.no_grad():
        assert torch.equal(loaded(**batch).logits, model(**batch).logits)
    tied = loaded.encoder.get_output_embeddings().weight
    assert tied is loaded.encoder.get_input_embeddings().weight


@pytest.mark.parametrize("pooling", POOLINGS)
def test_bags_learn(bert: Path, pooling: str) -> None:
    model, tokenizer = build(bert, bag_pooling=pooling)
    rows = encoded(tokenizer, sentences=SENTENCES * 2, spans=np.vstack([SPANS, SPANS]))
    nothing = np.zeros(4, dtype=np.int64)
    batches = RowBatches(rows=rows, labels=nothing, row_ids=nothing, pad_id=tokenizer.pad_token_id)
    batch = batches.__getitems__([0, 2, 1])
    del batch["row_ids"]
    batch |= {"bag_sizes": torch.tensor([2, 1]), "labels": torch.tensor([0, 2])}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(15):
        output = model.train()(**batch)
        assert output.logits.shape == (2, model.slots.num_columns)
        output.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(output.loss.item())
    assert losses[-1] < losses[0] / 2
    with torch.no_grad():
        output = model.eval()(**batch)
    assert output.logits.shape == (2, 3)
    assert output.logits.argmax(dim=1).tolist() == [0, 2]


def test_the_words_of_masks_do_not_choose_the_sentence_of_a_bag() -> None:
    # By the two labels the first sentence is the surer one; its third column is that of a word.
    logits = torch.tensor([[0.0, 2.0, 9.0], [0.0, 1.0, 0.0]])
    given = {"usable": torch.ones(2, dtype=torch.bool), "bag_sizes": torch.tensor([2]), "negative_id": 0}
    for pooling in ("one", "max"):
        pooled = training_logits(
            pooling=pooling, row_logits=logits, labels=torch.tensor([1]), num_labels=2, **given
        )
        assert pooled.tolist() == [[0.0, 2.0, 9.0]]


def test_what_does_not_go_together_is_refused(bert: Path, bert_folder: Path, tmp_path: Path) -> None:
    model, tokenizer = build(bert)
    for changes, message in (
        ({"representation": "cls"}, "'cls' does not go with the input 'prompt': only a prompt has masks"),
        ({"input_format": "plain"}, "'masks' does not go with the input 'plain': only a prompt has masks"),
        ({"classifier_head": "linear"}, "'linear' does not go with the representation 'masks': 'label_words"),
        ({"multi_label": True}, "'label_words' ranks the relations .* not go with `multi_label`"),
        ({"label_word_ids": None}, "'label_words' needs `label_word_ids` and `mask_id`"),
    ):
        with pytest.raises(ValueError, match=message):
            type(model.config).from_dict(model.config.to_dict() | changes)
    with pytest.raises(ValueError, match=r"`max_length` must be at least 13 to hold two entities as prompt"):
        RowEncoder(tokenizer, entity_input=PROMPT, max_length=12)
    assert RowEncoder(tokenizer, entity_input=PROMPT, max_length=13).budget == 11
    with pytest.raises(ValueError, match=r"lacks \d+ of the masked language model's weights \(first: cls"):
        load_encoder(str(bert_folder), language_model=True)
    DistilBertForMaskedLM(
        DistilBertConfig(vocab_size=30, dim=8, n_heads=2, n_layers=1, hidden_dim=8)
    ).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="cannot use the head of a DistilBertForMaskedLM"):
        load_encoder(str(tmp_path), language_model=True)
    assert isinstance(load_encoder(str(bert_folder)), BertModel)


def test_a_tokenizer_without_a_mask_is_refused(unigram_tokenizer) -> None:
    with pytest.raises(ValueError, match=r"'prompt' needs a masked language model, .* no mask token"):
        RowEncoder(unigram_tokenizer, entity_input=PROMPT, max_length=64)
