"""Word encoders: every layer against plain numpy, and what padding and positions must not change."""

import numpy as np
import pytest
import torch
from transformers import AutoModel

from finetune.model.crcnn import CRCNNHead, crcnn_loss
from finetune.model.word_encoders import WordEncoder, WordEncoderConfig, piecewise_maximum

SHAPE = {
    "vocab_size": 20,
    "num_fixed_words": 5,
    "word_size": 6,
    "position_size": 2,
    "max_distance": 3,
    "num_filters": 7,
    "lstm_size": 4,
    "embedding_dropout": 0.5,
    "lstm_dropout": 0.5,
}
ARCHITECTURES = ["cnn", "pcnn", "att_blstm"]
# Rows of different lengths; entities inside, at both ends, tail in front of the head, adjacent, the same.
LENGTHS = [9, 5, 7, 3, 8]
STARTS = [(2, 6), (4, 0), (3, 2), (0, 1), (5, 5)]


def build(architecture: str, **changes) -> WordEncoder:
    torch.manual_seed(3)
    return WordEncoder(WordEncoderConfig(architecture=architecture, **(SHAPE | changes))).eval()


def batch(width: int = 9) -> dict[str, torch.Tensor]:
    random = np.random.default_rng(8)
    ids = random.integers(1, 20, size=(len(LENGTHS), 9))
    mask = np.arange(width) < np.array(LENGTHS)[:, None]
    ids = np.where(mask, np.pad(ids, ((0, 0), (0, width - 9))), 0)
    return {
        "input_ids": torch.from_numpy(ids),
        "attention_mask": torch.from_numpy(mask.astype(np.int64)),
        "entity_starts": torch.tensor(STARTS),
    }


def arrays(model: WordEncoder) -> dict[str, np.ndarray]:
    return {name: value.detach().double().numpy() for name, value in model.named_parameters()}


def embedded(weights: dict[str, np.ndarray], row: int) -> np.ndarray:
    """Word vector, then the vectors of the two clipped signed distances; shape (length, 10)."""
    table = np.concatenate([weights["words.fixed"], weights["words.trained"]])
    vectors = []
    for place, word in enumerate(batch()["input_ids"][row, : LENGTHS[row]].tolist()):
        head, tail = (min(3, max(-3, place - start)) + 3 for start in STARTS[row])
        positions = weights["head_positions.weight"][head], weights["tail_positions.weight"][tail]
        vectors.append(np.concatenate([table[word], *positions]))
    return np.array(vectors)


def convolved(weights: dict[str, np.ndarray], vectors: np.ndarray) -> np.ndarray:
    padded = np.vstack([np.zeros((1, 10)), vectors, np.zeros((1, 10))])
    seen = [padded[place : place + 3].ravel() for place in range(len(vectors))]
    return np.array(seen) @ weights["convolution.weight"].T + weights["convolution.bias"]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def lstm(weights: dict[str, np.ndarray], name: str, vectors: np.ndarray) -> np.ndarray:
    hidden, cell, states = np.zeros(4), np.zeros(4), []
    for vector in vectors:
        gates = weights[f"{name}.weight_ih_l0"] @ vector + weights[f"{name}.bias_ih_l0"]
        gates = gates + weights[f"{name}.weight_hh_l0"] @ hidden + weights[f"{name}.bias_hh_l0"]
        let_in, forget, new, out = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(let_in) * np.tanh(new)
        hidden = sigmoid(out) * np.tanh(cell)
        states.append(hidden)
    return np.array(states)


def expected(architecture: str, weights: dict[str, np.ndarray], row: int) -> np.ndarray:
    vectors = embedded(weights, row)
    if architecture == "att_blstm":
        back = lstm(weights, "backward_lstm", vectors[::-1])[::-1]
        states = lstm(weights, "forward_lstm", vectors) + back
        scores = np.exp(np.tanh(states) @ weights["attention.weight"][0])
        return np.tanh(scores / scores.sum() @ states)
    states = convolved(weights, vectors)
    first, second = sorted(STARTS[row])
    pieces = [states] if architecture == "cnn" else np.split(states, [first, second])
    return np.tanh(np.concatenate([p.max(axis=0) if len(p) else np.zeros(7) for p in pieces]))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_forward_pass_equals_numpy(architecture: str) -> None:
    model = build(architecture)
    with torch.no_grad():
        sentences = model(**batch()).pooler_output
    assert sentences.shape == (5, model.config.hidden_size)
    weights = arrays(model)
    for row, sentence in enumerate(sentences.numpy()):
        np.testing.assert_allclose(sentence, expected(architecture, weights, row), atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_padding_and_company_change_nothing(architecture: str) -> None:
    model = build(architecture)
    with torch.no_grad():
        together = model(**batch(width=24)).pooler_output
        for row, length in enumerate(LENGTHS):
            alone = {name: value[row : row + 1] for name, value in batch().items()}
            alone["input_ids"] = alone["input_ids"][:, :length]
            alone["attention_mask"] = alone["attention_mask"][:, :length]
            torch.testing.assert_close(together[row], model(**alone).pooler_output[0], atol=1e-6, rtol=0)
        other = batch(width=24)
        other["input_ids"] = other["input_ids"].masked_fill(other["attention_mask"] == 0, 19)
        assert torch.equal(model(**other).pooler_output, together), "the words of the padding do not count"


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ((2, 4), [2.0, 4.0, 6.0]),  # in between
        ((4, 2), [2.0, 4.0, 6.0]),  # swapped
        ((0, 5), [0.0, 5.0, 6.0]),  # at both ends: nothing in front of the first
        ((2, 3), [2.0, 3.0, 6.0]),  # adjacent
        ((3, 3), [3.0, 0.0, 6.0]),  # the same place: nothing in between
        ((0, 0), [0.0, 0.0, 6.0]),
    ],
)
def test_pieces_start_at_the_entities(starts: tuple[int, int], expected: list[float]) -> None:
    """One filter that gives 1, 2, ... 6 from left to right, so that a piece's maximum is its last place."""
    model = build("pcnn", num_filters=1, window=1, position_size=1, word_size=1, max_distance=9)
    with torch.no_grad():
        for value in model.parameters():
            value.zero_()
        model.words.trained[:6, 0] = torch.arange(1.0, 7.0)
        model.convolution.weight[0, 0] = 1.0
        sentence = model(
            input_ids=torch.arange(5, 11)[None],
            attention_mask=torch.ones(1, 6, dtype=torch.long),
            entity_starts=torch.tensor([starts]),
        ).pooler_output
    torch.testing.assert_close(
        torch.atanh(sentence.double())[0].float(), torch.tensor(expected), atol=0.05, rtol=0
    )


def test_an_empty_piece_takes_no_part_in_the_gradient() -> None:
    states = torch.full((1, 3, 2), -5.0, requires_grad=True)
    top = piecewise_maximum(states, torch.tensor([[0, 0, -1]]), 3)
    assert top.tolist() == [[-5.0, -5.0, 0.0, 0.0, 0.0, 0.0]]
    top.sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert states.grad.sum().item() == 2.0
    assert states.grad[0, 2].tolist() == [0.0, 0.0]


def test_attention_weights_sum_to_one_over_the_words() -> None:
    model = build("att_blstm")
    words = batch(width=12)["attention_mask"].bool()
    weights = model.attention_weights(torch.randn(5, 12, 4), words)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(5))
    assert (weights[~words] == 0).all()
    assert (weights[words] > 0).all()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_row_without_words_or_entities_is_finite(architecture: str) -> None:
    model = build(architecture).train()
    rows = batch()
    rows["attention_mask"][1] = 0
    rows["entity_starts"][1] = -1
    sentences = model(**rows).pooler_output
    sentences.sum().backward()
    assert sentences.isfinite().all()
    assert all(value.grad.isfinite().all() for value in model.parameters() if value.grad is not None)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_batch_without_any_word_has_vectors(architecture: str) -> None:
    nothing = torch.zeros((2, 0), dtype=torch.long)
    rows = {"input_ids": nothing, "attention_mask": nothing, "entity_starts": torch.full((2, 2), -1)}
    sentences = build(architecture)(**rows).pooler_output
    assert sentences.shape == (2, build(architecture).config.hidden_size)
    assert sentences.isfinite().all()


def test_fixed_words_have_vectors_and_no_gradient() -> None:
    model = build("cnn")
    assert {name for name, value in model.named_parameters() if not value.requires_grad} == {"words.fixed"}
    ids, values = torch.tensor([1, 7, 4, 19]), torch.randn(4, 6)
    model.words.set_vectors(ids, values)
    assert torch.equal(model.words(ids[None])[0], values)
    assert torch.equal(
        build("cnn", num_fixed_words=0).words(torch.tensor([[19]]))[0, 0],
        build("cnn", num_fixed_words=0).words.trained[19],
    )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_saved_and_loaded(architecture: str, tmp_path) -> None:
    model = build(architecture)
    model.save_pretrained(tmp_path)
    loaded = AutoModel.from_pretrained(tmp_path).eval()
    assert type(loaded) is WordEncoder
    with torch.no_grad():
        assert torch.equal(model(**batch()).pooler_output, loaded(**batch()).pooler_output)


def test_config_checks() -> None:
    with pytest.raises(ValueError, match="`architecture` must be one of cnn, pcnn, att_blstm; got 'rnn'"):
        WordEncoderConfig(architecture="rnn")
    with pytest.raises(ValueError, match="`window` must be a positive odd number of words; got 4"):
        WordEncoderConfig(window=4)


def test_crcnn_loss_equals_its_formula() -> None:
    random = np.random.default_rng(0)
    scores, labels, negative = random.normal(scale=3, size=(50, 6)), random.integers(0, 6, size=50), 2
    scores[:, negative] = 0.0
    losses = crcnn_loss(torch.from_numpy(scores), torch.from_numpy(labels), negative).numpy()
    for row, label, loss in zip(scores, labels, losses, strict=True):
        others = max(row[c] for c in range(6) if c not in (label, negative))
        formula = np.log(1 + np.exp(2 * (0.5 + others)))
        if label != negative:
            formula += np.log(1 + np.exp(2 * (2.5 - row[label])))
        assert loss == pytest.approx(formula, abs=1e-9)


def test_one_positive_relation_has_no_competitor() -> None:
    scores = torch.tensor([[1.0, 0.0], [1.0, 0.0]], requires_grad=True)
    losses = crcnn_loss(scores, torch.tensor([0, 1]), 1)
    assert losses.tolist() == pytest.approx([np.log(1 + np.exp(3)), np.log(1 + np.exp(3))])
    losses.sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


def test_the_negative_relation_has_no_vector_and_wins_below_zero() -> None:
    torch.manual_seed(0)
    head = CRCNNHead(width=5, num_labels=4, negative_id=1)
    assert sum(value.numel() for value in head.parameters()) == 15
    sentences = torch.randn(200, 5)
    scores = head(sentences)
    assert (scores[:, 1] == 0).all()
    positive = scores[:, [0, 2, 3]]
    torch.testing.assert_close(positive, sentences @ head.vectors.T)
    assert torch.equal(scores.argmax(dim=1) == 1, (positive < 0).all(dim=1))
    assert (scores.argmax(dim=1) == 1).any()
