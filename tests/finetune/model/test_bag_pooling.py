"""Bag pooling against a slow loop over bags, written from the definitions with representations."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from finetune.model.bag_pooling import (
    POOLINGS,
    bags_with_rows,
    deciding_rows,
    prediction_scores,
    score_activation,
    training_logits,
)

NUM_LABELS, WIDTH, NEGATIVE = 5, 7, 2
POSITIVE = [label for label in range(NUM_LABELS) if label != NEGATIVE]


def softmax(values: np.ndarray) -> np.ndarray:
    shifted = np.exp(values - values.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def attended(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    return softmax(rows @ query) @ rows


def slow_training(pooling, rows, weight, bias, gold) -> np.ndarray:
    """One bag, one relation an example."""
    if pooling == "att":
        return weight @ attended(rows, weight[gold]) + bias
    if pooling == "avg":
        return weight @ rows.mean(axis=0) + bias
    chosen = max(range(len(rows)), key=lambda i: softmax(weight @ rows[i] + bias)[gold])
    return weight @ rows[chosen] + bias


def slow_prediction(pooling, rows, weight, bias) -> np.ndarray:
    """One bag: the probability of each relation."""
    chances = [softmax(weight @ row + bias) for row in rows]
    if pooling == "att":
        return np.array([softmax(weight @ attended(rows, weight[r]) + bias)[r] for r in range(NUM_LABELS)])
    if pooling == "avg":
        return softmax(weight @ rows.mean(axis=0) + bias)
    if pooling == "max":
        return np.max(chances, axis=0)
    positive = [chance for chance in chances if chance.argmax() != NEGATIVE]
    if positive:
        return max(positive, key=lambda chance: max(chance[label] for label in POSITIVE))
    return max(chances, key=lambda chance: chance[NEGATIVE])


def slow_separate(pooling, rows, weight, bias, own) -> np.ndarray:
    """One bag, a sigmoid for each relation: logits; `own` are the relations by which `one` chooses."""
    logits = [weight @ row + bias for row in rows]
    if pooling == "att":
        return np.array([weight[r] @ attended(rows, weight[r]) + bias[r] for r in range(NUM_LABELS)])
    if pooling == "avg":
        return weight @ rows.mean(axis=0) + bias
    if pooling == "max":
        return np.max(logits, axis=0)
    return max(logits, key=lambda values: max(values[label] for label in own or POSITIVE))


class Bags:
    """Random bags: representations, a last layer, some unusable rows, the fourth bag without usable rows."""

    def __init__(self, seed: int, negative_bias: float = 0.0) -> None:
        random = np.random.default_rng(seed)
        self.sizes = np.array([1, 4, 9, 3, 1, 30])
        num_rows = int(self.sizes.sum())
        self.rows = random.normal(size=(num_rows, WIDTH))
        self.weight = random.normal(size=(NUM_LABELS, WIDTH))
        self.bias = random.normal(size=NUM_LABELS)
        self.bias[NEGATIVE] += negative_bias
        self.usable = random.random(num_rows) < 0.8
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.slices = [slice(*pair) for pair in pairwise(starts)]
        self.usable[[s.start for s in self.slices]] = True
        self.usable[self.slices[3]] = False
        self.labels = random.integers(0, NUM_LABELS, size=len(self.sizes))
        self.several = random.random((len(self.sizes), NUM_LABELS)) < 0.4
        self.several[1] = False

    def loop(self, one_bag) -> list[np.ndarray | None]:
        """What `one_bag(usable rows, bag number)` gives for each bag; None where no row is usable."""
        parts = [self.rows[s][self.usable[s]] for s in self.slices]
        return [one_bag(part, bag) if len(part) else None for bag, part in enumerate(parts)]

    def given(self, pooling: str, **more) -> dict:
        logits = torch.from_numpy(self.rows @ self.weight.T + self.bias)
        return {
            "pooling": pooling,
            "row_logits": logits,
            "usable": torch.from_numpy(self.usable),
            "bag_sizes": torch.from_numpy(self.sizes),
            "negative_id": NEGATIVE,
            **more,
        }


def assert_rows_equal(ours: torch.Tensor, slow: list[np.ndarray | None], instead: np.ndarray) -> None:
    expected = np.array([instead if values is None else values for values in slow])
    np.testing.assert_allclose(ours.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pooling", POOLINGS)
def test_training_equals_the_loop(pooling: str, seed: int) -> None:
    bags = Bags(seed)
    slow = bags.loop(lambda rows, bag: slow_training(pooling, rows, bags.weight, bags.bias, bags.labels[bag]))
    ours = training_logits(**bags.given(pooling, labels=torch.from_numpy(bags.labels)))
    assert_rows_equal(ours, slow, np.zeros(NUM_LABELS))


@pytest.mark.parametrize("negative_bias", [-3.0, 0.0, 2.0, 9.0])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_prediction_equals_the_loop(pooling: str, negative_bias: float) -> None:
    """From bags in which no row is best at the negative relation to bags in which all are."""
    for seed in range(5):
        bags = Bags(seed, negative_bias)
        slow = bags.loop(lambda rows, _, bags=bags: slow_prediction(pooling, rows, bags.weight, bags.bias))
        ours = prediction_scores(**bags.given(pooling))
        if score_activation(bag_pooling=pooling, multi_label=False) == "softmax":
            ours = ours.softmax(dim=1)
        assert_rows_equal(ours, slow, np.eye(NUM_LABELS)[NEGATIVE])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pooling", POOLINGS)
def test_multi_label_equals_the_loop(pooling: str, seed: int) -> None:
    bags = Bags(seed)
    for training in (True, False):

        def own(bag: int, training=training) -> list[int]:
            return [label for label in POSITIVE if training and bags.several[bag, label]]

        slow = bags.loop(
            lambda rows, bag, own=own: slow_separate(pooling, rows, bags.weight, bags.bias, own(bag))
        )
        given = bags.given(pooling, multi_label=True)
        if training:
            ours = training_logits(**given, labels=torch.from_numpy(bags.several))
            assert_rows_equal(
                ours[:, POSITIVE], [None if v is None else v[POSITIVE] for v in slow], np.zeros(4)
            )
        else:
            ours = prediction_scores(**given).sigmoid()
            slow = [None if v is None else 1 / (1 + np.exp(-v)) for v in slow]
            for values in filter(lambda v: v is not None, slow):
                values[NEGATIVE] = 1 - values[POSITIVE].max()
            assert_rows_equal(ours, slow, np.eye(NUM_LABELS)[NEGATIVE])


def everything(pooling: str, bags: Bags) -> list[torch.Tensor]:
    """Training and prediction, with and without `multi_label`."""
    given = bags.given(pooling)
    labels = [torch.from_numpy(bags.labels), torch.from_numpy(bags.several)]
    trained = [training_logits(**given, labels=labels[multi], multi_label=bool(multi)) for multi in (0, 1)]
    return trained + [prediction_scores(**given, multi_label=bool(multi)) for multi in (0, 1)]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_order_inside_a_bag_changes_nothing(pooling: str) -> None:
    bags = Bags(0)
    before = everything(pooling, bags)
    random = np.random.default_rng(1)
    order = np.concatenate([random.permutation(np.arange(s.start, s.stop)) for s in bags.slices])
    bags.rows, bags.usable = bags.rows[order], bags.usable[order]
    for old, new in zip(before, everything(pooling, bags), strict=True):
        torch.testing.assert_close(old, new)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_order_of_the_bags_changes_nothing(pooling: str) -> None:
    bags = Bags(0)
    before = everything(pooling, bags)
    order = np.array([3, 5, 0, 4, 2, 1])
    rows = np.concatenate([np.arange(bags.slices[bag].start, bags.slices[bag].stop) for bag in order])
    bags.rows, bags.usable, bags.sizes = bags.rows[rows], bags.usable[rows], bags.sizes[order]
    bags.labels, bags.several = bags.labels[order], bags.several[order]
    for old, new in zip(before, everything(pooling, bags), strict=True):
        torch.testing.assert_close(old[order], new)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_bag_of_one_is_the_sentence(pooling: str) -> None:
    bags = Bags(0)
    bags.sizes = np.ones(len(bags.rows), dtype=np.int64)
    bags.usable[:] = True
    given = bags.given(pooling)
    logits = given["row_logits"]
    labels = torch.from_numpy(np.random.default_rng(0).integers(0, NUM_LABELS, len(bags.rows)))
    torch.testing.assert_close(training_logits(**given, labels=labels), logits)
    scores = prediction_scores(**given)
    if score_activation(bag_pooling=pooling, multi_label=False) == "softmax":
        torch.testing.assert_close(scores, logits)
    else:
        torch.testing.assert_close(scores, logits.softmax(dim=1))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_rows_twice_change_nothing(pooling: str) -> None:
    """Every row as often again: also the mean and the attention stay."""
    bags = Bags(0)
    before = everything(pooling, bags)
    twice = np.concatenate([np.tile(np.arange(s.start, s.stop), 2) for s in bags.slices])
    bags.rows, bags.usable, bags.sizes = bags.rows[twice], bags.usable[twice], 2 * bags.sizes
    for old, new in zip(before, everything(pooling, bags), strict=True):
        torch.testing.assert_close(old, new)


@pytest.mark.parametrize("pooling", ["one", "max"])
def test_one_row_twice_changes_nothing(pooling: str) -> None:
    bags = Bags(0)
    before = everything(pooling, bags)
    once_more = np.insert(np.arange(len(bags.rows)), 20, [18, 18, 18])
    bags.rows, bags.usable = bags.rows[once_more], bags.usable[once_more]
    bags.sizes = bags.sizes + np.array([0, 0, 0, 0, 0, 3])
    for old, new in zip(before, everything(pooling, bags), strict=True):
        torch.testing.assert_close(old, new)


@pytest.mark.parametrize("multi_label", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_reach_the_rows_that_count(pooling: str, multi_label: bool) -> None:
    bags = Bags(0)
    given = bags.given(pooling, multi_label=multi_label)
    given["row_logits"].requires_grad_()
    labels = torch.from_numpy(bags.several if multi_label else bags.labels)
    training_logits(**given, labels=labels)[:, POSITIVE].pow(2).sum().backward()
    reached = (given["row_logits"].grad != 0).any(dim=1)
    assert torch.isfinite(given["row_logits"].grad).all()
    deciding = deciding_rows(**given, labels=labels)
    assert not reached[~given["usable"]].any()
    assert torch.equal(reached, deciding)
    per_bag = [int(deciding[s].sum()) for s in bags.slices]
    if pooling in ("att", "avg"):
        assert torch.equal(reached, given["usable"])
    elif pooling == "one" or not multi_label:
        assert per_bag == [1, 1, 1, 0, 1, 1]
    else:
        assert max(per_bag) > 1
        assert all(count <= NUM_LABELS for count in per_bag)
    # The rows that count are enough.
    few = {**given, "row_logits": given["row_logits"][deciding], "usable": given["usable"][deciding]}
    few["bag_sizes"] = torch.tensor(per_bag)
    torch.testing.assert_close(training_logits(**few, labels=labels), training_logits(**given, labels=labels))


def test_bags_without_usable_rows() -> None:
    bags = Bags(0)
    given = bags.given("one")
    expected = [True, True, True, False, True, True]
    assert bags_with_rows(given["usable"], given["bag_sizes"]).tolist() == expected


def test_wrong_arguments() -> None:
    bags = Bags(0)
    with pytest.raises(ValueError, match="must be one of 'one', 'att', 'avg', 'max'; got 'sum'"):
        prediction_scores(**bags.given("sum"))
    with pytest.raises(ValueError, match="`bag_sizes` add up to 49, but there are 48 rows"):
        prediction_scores(**{**bags.given("one"), "bag_sizes": torch.tensor([40, 9])})
