"""The head that types restrict: scores, decisions and loss against plain numpy."""

import numpy as np
import torch

from finetune.model.modeling import unit_losses
from finetune.model.type_restriction import TypeRelations, TypeRestrictionHead, label_logits

NA = 1


def drawn(*, width: int = 6, num_labels: int = 5, seed: int = 0) -> tuple[TypeRestrictionHead, TypeRelations]:
    """A head of random weights and biases for 7 pairs of types with one to four relations."""
    random = np.random.default_rng(seed)
    positive = [label for label in range(num_labels) if label != NA]
    relations = tuple(
        tuple(sorted(random.choice(positive, size=size, replace=False).tolist()))
        for size in (1, 1, 2, 2, 3, 4, 4)
    )
    known = TypeRelations(tuple(("h", f"t{number}") for number in range(7)), relations)
    torch.manual_seed(seed)
    head = TypeRestrictionHead(width=width, relations=known, num_labels=num_labels, negative_id=NA)
    with torch.no_grad():
        for value in head.parameters():
            value.normal_()
    return head, known


PAIRS = [[0, -1, -1], [6, -1, -1], [2, 5, -1], [-1, -1, -1], [1, 3, 4], [4, 6, 5]]


def test_the_head_against_plain_numpy() -> None:
    head, known = drawn()
    vectors = np.random.default_rng(1).normal(size=(len(PAIRS), 6)).astype(np.float32)
    found = head(torch.from_numpy(vectors), torch.tensor(PAIRS), with_detector=True).detach().numpy()
    assert found.shape == (6, 6)
    entries = [(pair, label) for pair, own in enumerate(known.relations) for label in own]
    weight, bias = head.weight.detach().numpy(), head.bias.detach().numpy()
    detector = head.detector.weight.detach().numpy()[0], head.detector.bias.item()
    for row, pairs in enumerate(PAIRS):
        f = vectors[row]
        d = 1 / (1 + np.exp(-(detector[0] @ f + detector[1])))
        scores = {}
        for label in range(5):
            own = [at for at, (pair, other) in enumerate(entries) if pair in pairs and other == label]
            if own:
                scores[label] = np.mean([weight[at] @ f + bias[at] for at in own])
        total = sum(np.exp(score) for score in scores.values())
        shares = {label: np.exp(score) / total for label, score in scores.items()}
        expected = np.full(5, -1e4)
        expected[NA] = np.log(1 - d) + np.log(max(shares.values(), default=1))
        for label, share in shares.items():
            expected[label] = np.log(d) + np.log(share)
        np.testing.assert_allclose(found[row, :5], expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found[row, 5], np.log(d / (1 - d)), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(head(torch.from_numpy(vectors), torch.tensor(PAIRS)).detach(), found[:, :5])
    candidates = head.candidates(torch.tensor(PAIRS)).numpy()
    for row, pairs in enumerate(PAIRS):
        assert set(np.flatnonzero(candidates[row])) == {
            r for p in pairs if p >= 0 for r in known.relations[p]
        }


def test_the_best_label_is_the_decision_in_two_stages() -> None:
    random = np.random.default_rng(2)
    for scale in (0.1, 1.0, 30.0):
        scores = (scale * random.normal(size=(2000, 5))).astype(np.float32)
        detected = (scale * random.normal(size=2000)).astype(np.float32)
        candidates = random.random((2000, 5)) < 0.5
        candidates[:, NA] = False
        logits = label_logits(*map(torch.from_numpy, (scores, candidates, detected)), negative_id=NA)
        best = np.where(candidates, scores, -np.inf).argmax(axis=1)
        expected = np.where((detected < 0) | ~candidates.any(axis=1), NA, best)
        there = candidates.any(axis=1)
        assert there.sum() > 1500
        np.testing.assert_array_equal(logits.argmax(dim=1).numpy()[there], expected[there])
        one = candidates.sum(axis=1) == 1
        sure = logits[torch.from_numpy(one)].softmax(dim=1).numpy()[np.arange(one.sum()), best[one]]
        np.testing.assert_allclose(sure, 1 / (1 + np.exp(-detected[one].astype(np.float64))), atol=1e-6)


def test_the_loss_against_its_formula() -> None:
    head, _ = drawn()
    vectors = torch.randn(6, 6, generator=torch.Generator().manual_seed(3))
    outputs = head(vectors, torch.tensor(PAIRS), with_detector=True)
    labels = [0, NA, 2, NA, 0, -100]
    candidates = head.candidates(torch.tensor(PAIRS))
    labels[0] = int(candidates[0].nonzero()[0])
    assert all(candidates[row, labels[row]] for row in (0, 2, 4))
    losses = unit_losses(outputs, torch.tensor(labels), restricted_over=NA)
    found = outputs.detach().numpy().astype(np.float64)
    for row, label in enumerate(labels):
        d = 1 / (1 + np.exp(-found[row, 5]))
        if label == -100:
            assert losses[row] == 0
        elif label == NA:
            np.testing.assert_allclose(losses[row].item(), -np.log(1 - d), rtol=1e-5)
        else:
            own = np.exp([found[row, other] for other in np.flatnonzero(candidates[row])])
            share = np.exp(found[row, label]) / own.sum()
            np.testing.assert_allclose(losses[row].item(), -np.log(d) - np.log(share), rtol=1e-5)
    weights = torch.tensor([2.0, 1.0, 0.5, 3.0, 4.0])
    weighted = unit_losses(outputs, torch.tensor(labels), restricted_over=NA, label_weights=weights)
    factors = weights[torch.tensor(labels).clamp(min=0)]
    torch.testing.assert_close(weighted, losses * factors)
    losses.sum().backward()
    assert all(value.grad.isfinite().all() for value in head.parameters())
    assert not head.weight.grad[-1].any() or 6 in PAIRS[5], "pairs that no row has are not trained"
    # A relation that its types rule out (of a model that goes on with other data) has the detector's part.
    ruled_out = next(label for label in (0, 2, 3, 4) if not candidates[0, label])
    alone = unit_losses(outputs[:1], torch.tensor([ruled_out]), restricted_over=NA)
    torch.testing.assert_close(alone, torch.nn.functional.softplus(-outputs[:1, 5]))


def test_by_rule_only_the_detector_learns() -> None:
    head, _ = drawn()
    outputs = head(torch.ones(1, 6), torch.tensor([[0, -1]]), with_detector=True)
    label = int(head.candidates(torch.tensor([[0]])).nonzero()[0, 1])
    unit_losses(outputs, torch.tensor([label]), restricted_over=NA).sum().backward()
    assert not head.weight.grad.any()
    assert head.detector.weight.grad.all()
