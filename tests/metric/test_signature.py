"""Signatures: what they hold, round trips, comparability, fingerprints."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighted_f1_metric import (
    AVERAGES,
    VERSION,
    Signature,
    comparable,
    data_fingerprint,
    parse_signature,
    score_track,
    signature,
)

TEXT = st.text(min_size=1, max_size=8)
OPTIONAL = st.none() | TEXT


def test_line_of_a_track(rows):
    scores = score_track(
        track="bag2bag",
        references=rows,
        predictions=[{"bag_id": bag, "pred": "NA"} for bag in ("b0", "b1")],
        relations=["born_in", "lives_in"],
    )
    assert list(scores["signatures"]) == ["dsgt", "magt", "magt_ds_scope"]
    head, labels, data, version = scores["signatures"]["magt"].rsplit("|", 3)
    assert head == (
        f"averages:{'+'.join(AVERAGES)}|beta:1|negative:NA|macro:supported|entropy:all|zero:0|track:bag2bag|"
        "truth:magt|by:rows|unk:error"
    )
    keys = ("instance_id", "bag_id", "relation", "bag_label")
    assert data == f"data:{data_fingerprint(tuple(row[key] for key in keys) for row in rows)}"
    assert len(labels) == len("labels:") + 12
    assert version == f"v:{VERSION}"


@given(
    averages=st.lists(TEXT.filter(lambda text: text), min_size=1, max_size=3),
    beta=st.floats(0, 100),
    zero=st.floats(0, 1),
    negative=st.none() | st.integers(-5, 5) | TEXT | st.sampled_from(["none", "0", "-3", "a|b:c", "50%"]),
    optional=st.tuples(*[OPTIONAL] * 8),
    rest=st.tuples(*[TEXT] * 5),
)
def test_round_trip(averages, beta, zero, negative, optional, rest):
    macro, entropy, labels, data, version = rest
    value = Signature(
        tuple(averages), beta, negative, macro, entropy, zero, *optional, labels=labels, data=data, v=version
    )
    line = str(value)
    assert "\n" not in line
    assert parse_signature(line) == value
    assert str(parse_signature(line)) == line


def test_every_option_is_seen():
    base = {"labels": ["a", "b"], "data": "0123456789ab"}
    variants = [
        {},
        {"beta": 0.5},
        {"averages": ["macro"]},
        {"averages": {"macro": "micro"}},
        {"averages": {"macro": len}},
        {"negative_label": "NA"},
        {"negative_label": 0},
        {"negative_label": "0"},
        {"macro_over": "labels"},
        {"entropy_total": "positive"},
        {"zero_division": 1.0},
        {"track": "bag2bag"},
        {"truth": "magt"},
        {"by": "sentences"},
        {"unk": "exclude"},
        {"judgments": "0123456789ab"},
        {"outside": "ignore"},
        {"groups": {"a": "x"}},
        {"groups": {"a": "y"}},
        {"sample_weight": [1, 2], "data": ["a", "b"]},
        {"sample_weight": [2, 1], "data": ["a", "b"]},
        {"sample_weight": [1, 3], "data": ["a", "b"]},
        {"data": ["a", "b"]},
        {"labels": ["a", "c"]},
        {"labels": [1, 2]},
        {"labels": ["1", "2"]},
        {"data": "ba9876543210"},
    ]
    lines = [signature(**{**base, **variant}) for variant in variants]
    assert len(set(lines)) == len(lines)
    for first in lines:
        for second in lines:
            assert comparable(first, second) == (first == second)


def test_version_alone_does_not_matter():
    line = signature(labels=["a"], data="0123456789ab")
    older = str(dataclasses.replace(parse_signature(line), v="0.0.1"))
    assert older != line
    assert comparable(line, older)


def test_order_of_labels_and_rows_does_not_matter_but_content_does(rows):
    assert signature(labels=["b", "a"], data="0") == signature(labels=["a", "b"], data="0")

    def data(records):
        lines = score_track(
            track="sent2sent",
            references=records,
            predictions=[{"instance_id": r["instance_id"], "pred": "NA"} for r in records],
            relations=["born_in", "lives_in"],
        )["signatures"]
        return parse_signature(lines["dsgt"]).data

    assert data(rows) == data(rows[::-1])
    for key, value in (
        ("bag_id", "b9"),
        ("relation", "lives_in"),
        ("bag_label", "no"),
        ("instance_id", "i9"),
    ):
        assert data([{**rows[0], key: value}, *rows[1:]]) != data(rows)


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("nonsense", ValueError, "Not a signature: 'nonsense'"),
        ("beta:1", ValueError, "averages, negative, macro, entropy, zero, labels, v missing"),
        ("beta:1|beta:2", ValueError, "'beta:2'.*each once"),
        ("beta:one", ValueError, "beta is 'one', not a number"),
        (None, TypeError, "one line of text; got NoneType"),
    ],
)
def test_bad_lines(line, error, message):
    with pytest.raises(error, match=message):
        parse_signature(line)


def test_without_data_the_line_parses_back():
    line = signature(labels=["a"], data=None)
    assert parse_signature(line).data is None
    assert str(parse_signature(line)) == line
    with pytest.raises(ValueError, match="sample_weight"):
        signature(labels=["a"], data=None, sample_weight=[1.0])
