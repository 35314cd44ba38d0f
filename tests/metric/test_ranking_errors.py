"""Each message of ranking_measures and pr_curve."""

import numpy as np
import pytest

from weighted_f1_metric import pr_curve, ranking_measures

GOOD = {"scores": [[0.2, 0.1], [0.4, 0.3]], "gold": [[True, False], [False, False]]}


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"scores": [[0.2, np.nan], [np.nan, 0.3]]}, ValueError, r"unit 0, relation 1 .* holds nan \(2 such"),
        ({"scores": [[0.2, 0.1], [-np.inf, 0.3]]}, ValueError, r"unit 1, relation 0 .* holds -inf \(1 such"),
        ({"scores": [0.2, 0.1]}, ValueError, r"`scores` must have the shape .* got shape \(2,\)"),
        ({"scores": [[0.2, 0.1], [0.3]]}, ValueError, "`scores` must be a matrix .* rows of one length"),
        (
            {"scores": [["a", "b"], ["c", "d"]]},
            TypeError,
            "`scores` must be numbers; got an array of dtype <U1",
        ),
        (
            {"gold": [[True, False]]},
            ValueError,
            r"`gold` must have the shape of `scores`, \(2, 2\); got \(1, 2\)",
        ),
        ({"gold": [[1, 0], [0, 0]]}, TypeError, "`gold` must be bool; got dtype int64"),
        ({"candidates": [[1, 1], [1, 1]]}, TypeError, "`candidates` must be bool; got dtype int64"),
        ({"candidates": [[True]]}, ValueError, "`candidates` must have the shape of `scores`"),
        (
            {"candidates": [[False, True], [True, True]]},
            ValueError,
            r"`gold` marks unit 0, relation 0 .* no candidate \(1 such",
        ),
        ({"ks": (10, 0)}, ValueError, "`ks` must be at least 1; got 0"),
        ({"ks": (-5,)}, ValueError, "`ks` must be at least 1; got -5"),
        ({"ks": (True,)}, TypeError, "`ks` must be positive ints; got True"),
        ({"ks": (1.0,)}, TypeError, "`ks` must be positive ints; got 1.0"),
        ({"ks": 100}, TypeError, r"`ks` must be a collection of positive ints; got 100. Write `ks=\(100,\)`"),
        ({"ks": "100"}, TypeError, "`ks` must be a collection of positive ints; got '100'"),
    ],
)
def test_bad_input_is_named(change, error, match):
    with pytest.raises(error, match=match):
        ranking_measures(**(GOOD | change))


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"gold": np.zeros((2, 2), dtype=bool)}, ValueError, "`gold` holds no gold pair"),
        ({"max_points": 1}, ValueError, "`max_points` must be at least 2; got 1"),
        ({"max_points": 2.0}, TypeError, "`max_points` must be an int or None; got 2.0"),
        ({"max_points": True}, TypeError, "`max_points` must be an int or None; got True"),
    ],
)
def test_bad_input_of_the_curve_is_named(change, error, match):
    with pytest.raises(error, match=match):
        pr_curve(**(GOOD | change))
