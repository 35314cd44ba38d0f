"""Each message of bootstrap_interval and randomization_test."""

import pytest

from weighted_f1_metric import bootstrap_interval, randomization_test

GOOD = {"predictions": ["a", "b"], "references": ["a", "a"], "seed": 0}


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (
            {"seed": None},
            TypeError,
            "`seed` must be an int, so that the result can be repeated; got None. 0 is a seed",
        ),
        ({"seed": True}, TypeError, "`seed` must be an int.*got True"),
        ({"bags": ["x", None]}, TypeError, r"bags\[1\] is None"),
        ({"bags": ["x"]}, ValueError, "1"),
        ({"seed": -1}, ValueError, "`seed` must be at least 0; got -1"),
        ({"n_resamples": 0}, ValueError, "`n_resamples` must be at least 1; got 0"),
        ({"n_resamples": 10.0}, TypeError, "`n_resamples` must be an int; got 10.0"),
        ({"confidence": 95}, ValueError, "`confidence` must be between 0 and 1; got 95"),
        (
            {"confidence": 1.0},
            ValueError,
            "`confidence` must lie between 0 and 1; got 1.0. Write 0.95 for 95%",
        ),
        ({"stratify": "yes"}, TypeError, "`stratify` must be True or False; got 'yes'"),
        (
            {"entropy_total": "some"},
            ValueError,
            "`entropy_total` must be one of 'all', 'positive'; got 'some'",
        ),
        ({"averages": "Macro"}, ValueError, "'Macro'"),
        (
            {"sample_weight": [1, 2]},
            TypeError,
            "Unknown options 'sample_weight'; label columns take 'labels'",
        ),
        ({"bags": [1]}, ValueError, "`bags` must name the bag of every row; got 1 ids for 2 rows"),
        ({"bags": 3}, TypeError, "`bags` must be a list or an array"),
        ({"predictions": ["a"]}, ValueError, "1 predictions and 2 references"),
        (
            {"track": "bag2bag", "bags": [1, 2]},
            ValueError,
            "`bags` goes with label columns; on a track the bags are",
        ),
    ],
)
def test_bad_input_is_named(change, error, match):
    with pytest.raises(error, match=match):
        bootstrap_interval(**(GOOD | change))


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"seed": 1.0}, TypeError, "`seed` must be an int"),
        ({"predictions_b": ["a"]}, ValueError, "1 predictions and 2 references"),
        ({"track": "bag2bag", "bags": [1, 2]}, ValueError, "`bags` goes with label columns"),
    ],
)
def test_bad_input_of_the_test_is_named(change, error, match):
    good = {"predictions_a": ["a", "b"], "predictions_b": ["b", "b"], "references": ["a", "a"], "seed": 0}
    with pytest.raises(error, match=match):
        randomization_test(**(good | change))
