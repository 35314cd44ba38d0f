"""Weighting schemes, their desiderata, and the average of any measure."""

import math

import numpy as np
import pytest

from weighted_f1_metric import average_scores, check_desiderata, class_weights


@pytest.mark.parametrize(
    "scheme", ["weighted", "dodrans", "entropy", "macro", "n^0", "n^0.5", "n^1", np.ones_like]
)
def test_a_class_without_support_has_no_weight(scheme):
    weights = class_weights([4, 0, 1], scheme, total=9)
    assert weights[1] == 0
    assert np.all(weights[[0, 2]] > 0)


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("weighted", [16, 1]),
        ("dodrans", [8, 1]),
        ("entropy", [16 * math.log(2), math.log(32)]),
        ("macro", [1, 1]),
        ("n^0.5", [4, 1]),
    ],
)
def test_weights_by_hand(scheme, expected):
    """16^(3/4) = 8; of 32 rows, 16 are a half."""
    assert class_weights([16, 1], scheme, total=32).tolist() == pytest.approx(expected)


def test_a_function_may_leave_classes_out():
    assert class_weights([4, 2, 1], lambda n: n >= 2).tolist() == [1, 1, 0]


def test_function_sees_one_vector_at_a_time():
    support = np.array([[3, 1, 0], [1, 1, 2]])
    weights = class_weights(support, lambda n: n / n.sum())
    np.testing.assert_allclose(weights.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("scheme", "d1"), [("weighted", True), ("dodrans", True), ("macro", True), ("n^0.3", True)]
)
def test_desiderata_of_the_power_schemes(scheme, d1):
    support = np.array([1, 5, 5, 40, 900])
    assert check_desiderata(class_weights(support, scheme), support) == {"D0": True, "D1": d1, "D2": True}


def test_desiderata_of_others():
    support = np.array([5, 10, 85])
    entropy = class_weights(support, "entropy")  # 85 log(100 / 85) < 10 log(10)
    assert check_desiderata(entropy, support) == {"D0": True, "D1": False, "D2": True}
    assert check_desiderata(support**2, support) == {"D0": True, "D1": True, "D2": False}
    assert check_desiderata([-1, 1, 2], support)["D0"] is False
    assert check_desiderata([1, 1], [0, 3])["D0"] is False
    assert check_desiderata([1, 2], [3, 3]) == {"D0": True, "D1": False, "D2": False}
    assert check_desiderata([8, 1, 0], [16, 1, 0]) == {"D0": True, "D1": True, "D2": True}
    with np.errstate(all="raise"):
        assert check_desiderata([0, 0], [3, 3]) == {"D0": False, "D1": False, "D2": False}


def test_average_scores_weighs_any_measure():
    assert average_scores([0.2, 0.6], [3, 1], "weighted") == pytest.approx(0.3)
    assert average_scores([0.2, 0.6], [0, 0], "macro", zero_division=0.5) == 0.5
    stacked = average_scores([[0.2, 0.6], [1, 0]], [[3, 1], [1, 1]], "macro")
    np.testing.assert_allclose(stacked, [0.4, 0.5])
    whole = average_scores([0.2, 0.6], [3, 1], "entropy", total=8)
    w = 3 * math.log(8 / 3), math.log(8)
    assert whole == pytest.approx((w[0] * 0.2 + w[1] * 0.6) / sum(w))
