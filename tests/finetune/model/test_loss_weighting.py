"""How much an example counts, against [B] Table 2 by hand, and the loss of a unit against other code."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from transformers.trainer_pt_utils import LabelSmoother

from finetune.model.modeling import unit_losses
from finetune.training.train import label_weights

# Label 1 is the negative relation; 16 examples of class 0, 1 of class 2, none of class 3.
LABELS = np.array([0] * 16 + [1] * 3 + [2])


def weights_of(scheme: str) -> list[float] | None:
    found = label_weights(labels=LABELS, num_labels=4, negative_id=1, scheme=scheme)
    return None if found is None else found.tolist()


def test_each_scheme_by_hand() -> None:
    assert weights_of("none") is None
    assert weights_of("weighted") == [1, 1, 1, 0]
    # macro: 17 positive examples, 2 classes: each class has 17/2 in sum.
    assert weights_of("macro") == pytest.approx([Fraction(17, 2 * 16), 1, Fraction(17, 2), 0])
    # dodrans: 16^(3/4) = 8 and 1, so 17 in sum are 8/9 and 1/9 of 17.
    assert weights_of("dodrans") == pytest.approx([17 * 8 / 9 / 16, 1, 17 / 9, 0])
    # entropy: N = 20 counts the negative examples.
    common, rare = 16 * math.log(20 / 16), math.log(20)
    assert weights_of("entropy") == pytest.approx(
        [17 * common / (common + rare) / 16, 1, 17 * rare / (common + rare), 0]
    )


@pytest.mark.parametrize("scheme", ["weighted", "dodrans", "entropy", "macro"])
def test_positive_examples_have_mean_one(scheme: str) -> None:
    found = weights_of(scheme)
    assert found is not None
    positive = [found[label] for label in LABELS.tolist() if label != 1]
    assert np.mean(positive) == pytest.approx(1)


@pytest.mark.parametrize(("labels", "scheme"), [([1, 1], "macro"), ([0, 0], "entropy")])
def test_nothing_to_weigh(labels: list[int], scheme: str) -> None:
    with pytest.raises(ValueError, match=f"`--loss_weighting {scheme}` gives every class the weight 0"):
        label_weights(labels=np.array(labels), num_labels=2, negative_id=1, scheme=scheme)


def test_unit_losses_are_those_of_numpy() -> None:
    logits = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    labels = np.array([0, 3, -100, 1, 2])
    weights = np.array([0.5, 1.0, 2.0, 4.0], dtype=np.float32)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    expected = [0.0 if label < 0 else -log_p[row, label] * weights[label] for row, label in enumerate(labels)]
    found = unit_losses(
        torch.from_numpy(logits), torch.from_numpy(labels), label_weights=torch.from_numpy(weights)
    )
    assert found.tolist() == pytest.approx(expected, rel=1e-5)


def test_smoothing_is_the_trainers() -> None:
    logits = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, 1, 2, 3, 4, -100])
    expected = LabelSmoother(epsilon=0.1)({"logits": logits}, labels)
    found = unit_losses(logits, labels, label_smoothing=0.1).sum() / 5
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    assert found.item() != pytest.approx(unit_losses(logits, labels).sum().item() / 5, rel=1e-3)
