"""label_statistics: [B] Table 1 from real labels, scipy's entropy, and every error."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from tests.folders import SHARED
from weighted_f1_metric.label_statistics import label_statistics, statistics_table

needs_data = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the shared data folder is not beside the repository"
)


@needs_data
@pytest.mark.parametrize("directed", [True, False])
def test_semeval_rows_of_table_1(directed):
    """[B] Table 1: 14.45 / 14.37 / 291 with direction, 9.61 / 8.80 / 2.10 without, as printed."""
    lines = (SHARED / "semeval2010" / "TEST_KEY_DIRECTED.txt").read_text().splitlines()
    labels = [line.split("\t")[1].strip() for line in lines]
    if not directed:
        labels = [label.split("(")[0] for label in labels]
    name = "semeval_directed" if directed else "semeval_undirected"
    expected = json.loads((SHARED / "paper_b_tables.json").read_text())["table_1_test_sets"][name]
    result = label_statistics(labels=labels, negative_label="Other")
    assert result["num_relations"] == expected["num_relations"]
    assert result["num_samples"] == 2717
    for key in ("perplexity", "perplexity_without_negative"):
        assert round(result[key], 2) == expected[key]
    assert result["imbalance_ratio"] == pytest.approx(expected["imbalance_ratio"], abs=0.005)


@given(st.lists(st.integers(0, 6), min_size=1), st.booleans())
def test_perplexity_is_exp_of_the_entropy(labels, as_text):
    column = [f"r{label}" for label in labels] if as_text else labels
    negative = column[0]
    support = {label: column.count(label) for label in column}
    result = label_statistics(labels=column, negative_label=negative)
    assert result["perplexity"] == pytest.approx(math.exp(entropy(list(support.values()))))
    assert 1 - 1e-12 <= result["perplexity"] <= result["num_relations"] + 1e-12
    assert result["negative_fraction"] == support.pop(negative) / len(column)
    if support:
        assert result["perplexity_without_negative"] == pytest.approx(
            math.exp(entropy(list(support.values())))
        )
        assert result["imbalance_ratio"] == max(support.values()) / min(support.values())
    else:
        assert (result["perplexity_without_negative"], result["imbalance_ratio"]) == (None, None)


def test_without_a_negative_label_all_labels_are_relations():
    result = label_statistics(labels=[0, 0, 0, 1])
    assert (result["num_relations"], result["negative_fraction"], result["imbalance_ratio"]) == (2, 0.0, 3.0)
    assert result["perplexity"] == result["perplexity_without_negative"]


def test_table_writes_what_is_not_defined_as_a_dash():
    row = statistics_table({"a|b": label_statistics(labels=["NA"], negative_label="NA")}).splitlines()[2]
    assert row == "| a\\|b | 1 | 1 | 100.0 | 1.00 | - | - |"


@pytest.mark.parametrize(
    ("labels", "negative", "error", "match"),
    [
        ([], None, ValueError, "`labels` is empty"),
        ([1.5], None, TypeError, "`labels` holds float labels"),
        (["a", 1], None, TypeError, "`labels` mixes str and int labels"),
        (["a"], "NA", ValueError, "`negative_label` is 'NA', which no row .* has"),
    ],
)
def test_bad_input_is_named(labels, negative, error, match):
    with pytest.raises(error, match=match):
        label_statistics(labels=labels, negative_label=negative)
