"""Bounds: equal to an independent program on real data, and to trying every answer on small random data."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from weighted_f1_metric import magt_bounds, order_bounds, score_track
from weighted_f1_metric.units import read_units
from weighted_f1_metric.unjudged.bounds import bounds_of_units, checked_options, order_of_units

RELATIONS = ["r0", "r1", "r2"]
AVERAGES = ("micro", "weighted", "dodrans", "entropy", "macro", "n^0.4")


def _close(found, expected):
    return found == pytest.approx(tuple(expected), abs=1e-9)


@pytest.fixture(scope="module")
def expected(nyt_h_shaped):
    return json.loads((nyt_h_shaped.folder / "expected_bounds.json").read_text())


@pytest.mark.parametrize(("part", "by"), [("bounds", "rows"), ("bounds_by_sentence", "sentences")])
def test_bounds_of_real_systems(nyt_h_shaped, expected, part, by):
    for key, values in expected[part].items():
        track, predictions = nyt_h_shaped.predictions_of(key)
        found = magt_bounds(
            track=track,
            references=nyt_h_shaped.references,
            predictions=predictions,
            relations=nyt_h_shaped.relations,
            by=by,
        )
        assert found.pop("num_unjudged") == values.pop("num_unjudged") == found.pop("num_open")
        found.pop("num_judged_on_twin")
        assert found.keys() == values.keys()
        assert all(_close(found[name], values[name]) for name in values), key


def test_order_of_real_systems(nyt_h_shaped, expected):
    certain = dict.fromkeys(("micro_f1", "macro_all_f1"), 0)
    for key, values in expected["order"].items():
        track, a, b = key.split("/")
        sides = {
            f"predictions_{side}": nyt_h_shaped.predictions_of(f"{track}/{system}")[1]
            for side, system in (("a", a), ("b", b))
        }
        found = order_bounds(
            track=track, references=nyt_h_shaped.references, relations=nyt_h_shaped.relations, **sides
        )
        assert all(_close(found[name], values[name]) for name in values), key
        for name in certain:
            certain[name] += found[name][0] > 0 or found[name][1] < 0
    assert certain == {"micro_f1": 0, "macro_all_f1": 17}


def test_the_answers_that_a_twin_holds(nyt_h_shaped):
    _, predictions = nyt_h_shaped.predictions_of("sent2sent/lr_between")
    inputs = {
        "track": "sent2sent",
        "predictions": predictions,
        "references": nyt_h_shaped.references,
        "relations": nyt_h_shaped.relations,
    }
    by_rows, joined = magt_bounds(**inputs), magt_bounds(**inputs, by="sentences")
    assert (by_rows["num_open"], by_rows["num_judged_on_twin"]) == (34, 17)
    assert (joined["num_open"], joined["num_judged_on_twin"]) == (9, 0)
    bare = [{key: row[key] for key in row if key != "sentence"} for row in nyt_h_shaped.references]
    assert magt_bounds(**{**inputs, "references": bare})["num_judged_on_twin"] is None


@st.composite
def small_data(draw, num_systems=1):
    """Reference rows in bags, and what systems say of each unit; few pairs are open."""
    num_rows = draw(st.integers(1, 5 - num_systems))
    rows = [
        {
            "instance_id": f"i{number}",
            "bag_id": f"b{draw(st.integers(0, 2))}",
            "relation": draw(st.sampled_from([*RELATIONS, "NA"])),
            "bag_label": draw(st.sampled_from(["yes", "no", "yes", "no", "unk"])),
        }
        for number in range(num_rows)
    ]
    track = draw(st.sampled_from(["sent2sent", "bag2bag"]))
    key = "bag_id" if track == "bag2bag" else "instance_id"
    ids = list(dict.fromkeys(row[key] for row in rows))
    said = st.lists(st.sampled_from(RELATIONS), max_size=2, unique=True)
    systems = [[{key: number, "pred": draw(said)} for number in ids] for _ in range(num_systems)]
    return {"track": track, "references": rows, "relations": RELATIONS}, systems


def _completions(inputs, systems, unk):
    """Every way to answer the open pairs, as judgments of rows; an unk beside a yes decides nothing."""
    key = "bag_id" if inputs["track"] == "bag2bag" else "instance_id"
    rows_of = {}
    for row in inputs["references"]:
        rows_of.setdefault(row[key], []).append(row)
    waiting, settled = [], []
    for unit, rows in rows_of.items():
        said = {
            name for system in systems for record in system if record[key] == unit for name in record["pred"]
        }
        for name in RELATIONS:
            labels = {row["bag_label"] for row in rows if row["relation"] == name}
            if not labels and name in said:
                waiting.append([(row["instance_id"], name) for row in rows])
            elif unk == "open" and "unk" in labels:
                ids = [
                    (r["instance_id"], name) for r in rows if (r["relation"], r["bag_label"]) == (name, "unk")
                ]
                (settled if "yes" in labels else waiting).append(ids)
    for answers in itertools.product(("yes", "no"), repeat=len(waiting)):
        yield [
            {"instance_id": number, "relation": name, "answer": answer}
            for answer, pairs in [*zip(answers, waiting, strict=True), *(("no", pairs) for pairs in settled)]
            for number, name in pairs
        ]


def _scores(inputs, system, judgments, options):
    # With unk="open" every pair is answered, so that nothing is left to exclude.
    scores = score_track(
        **inputs,
        predictions=system,
        judgments=judgments,
        truths="magt",
        unk="exclude",
        averages=AVERAGES,
        **options,
    )
    return {key.removeprefix("magt_"): value for key, value in scores.items() if isinstance(value, float)}


def _judged(inputs):
    positive = [row["bag_label"] for row in inputs["references"] if row["relation"] != "NA"]
    return not positive or set(positive) != {"unk"}


OPTIONS = st.fixed_dictionaries(
    {"beta": st.sampled_from([1.0, 0.5]), "zero_division": st.sampled_from([0.0, 1.0, 0.3])}
)


@settings(max_examples=50)
@given(data=small_data(), unk=st.sampled_from(["exclude", "open"]), options=OPTIONS)
def test_bounds_are_those_of_every_completion(data, unk, options):
    inputs, systems = data
    if not _judged(inputs) and unk == "exclude":
        return
    found = magt_bounds(**inputs, predictions=systems[0], unk=unk, averages=AVERAGES, **options)
    tried = [_scores(inputs, systems[0], answers, options) for answers in _completions(inputs, systems, unk)]
    assert 2 ** found["num_open"] == len(tried)
    measured = {name: bounds for name, bounds in found.items() if isinstance(bounds, tuple)}
    assert len(measured) == 3 * (len(AVERAGES) + 1)
    for name, bounds in measured.items():
        values = [scores[name] for scores in tried]
        assert bounds == pytest.approx((min(values), max(values)), abs=1e-12), name


@settings(max_examples=40)
@given(data=small_data(num_systems=2), unk=st.sampled_from(["exclude", "open"]), options=OPTIONS)
def test_order_bounds_are_those_of_every_completion(data, unk, options):
    inputs, (a, b) = data
    if not _judged(inputs) and unk == "exclude":
        return
    found = order_bounds(**inputs, predictions_a=a, predictions_b=b, unk=unk, averages=AVERAGES, **options)
    assume(found["num_open"] <= 5)
    completions = list(_completions(inputs, (a, b), unk))
    sides = [[_scores(inputs, side, answers, options) for answers in completions] for side in (a, b)]
    assert 2 ** found.pop("num_open") == len(completions)
    assert len(found) == len(AVERAGES) + 1
    for name, bounds in found.items():
        values = [one[name] - other[name] for one, other in zip(*sides, strict=True)]
        assert bounds == pytest.approx((min(values), max(values)), abs=1e-12), name
    reverse = order_bounds(**inputs, predictions_a=b, predictions_b=a, unk=unk, averages=AVERAGES, **options)
    assert all(reverse[name] == pytest.approx((-high, -low)) for name, (low, high) in found.items())


def test_without_open_pairs_the_bounds_are_the_score(nyt_h_shaped):
    _, predictions = nyt_h_shaped.predictions_of("bag2bag/echo_ds_label")
    inputs = {
        "track": "bag2bag",
        "predictions": predictions,
        "references": nyt_h_shaped.references,
        "relations": nyt_h_shaped.relations,
    }
    scores = score_track(**inputs)
    for name, bounds in magt_bounds(**inputs).items():
        if isinstance(bounds, tuple):
            assert bounds == pytest.approx((scores[f"magt_{name}"],) * 2)


def test_many_units_equal_few_with_the_same_shares():
    """Three classes in one large draw: the ends are reached by scores that counts by hand give."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "instance_id": f"i{n}",
            "bag_id": f"b{n}",
            "relation": RELATIONS[n % 3],
            "bag_label": ("yes", "no")[n % 2],
        }
        for n in range(3000)
    ]
    units = read_units(track="sent2sent", references=rows, relations=RELATIONS)
    predicted = np.zeros((3000, 3), dtype=bool)
    predicted[np.arange(3000), rng.integers(0, 3, 3000)] = True
    found = bounds_of_units(units, predicted, averages={"micro": "micro"})
    right, waiting = (predicted & units.confirmed).sum(), (predicted & ~units.distant).sum()
    low, high = 2 * right / (1500 + 3000), 2 * (right + waiting) / (1500 + waiting + 3000)
    assert found["micro_f1"] == pytest.approx((low, high))
    itself = order_of_units(units, predicted, predicted, averages={"dodrans": "dodrans"})
    assert itself["dodrans_f1"] == itself["macro_all_f1"] == (0, 0)


def test_an_answer_moves_the_bounds(rows):
    predictions = [{"instance_id": f"i{n}", "pred": "works_for"} for n in range(4)]
    inputs = {
        "track": "sent2sent",
        "references": rows,
        "predictions": predictions,
        "relations": ["born_in", "lives_in", "works_for"],
    }
    judgments = [{"instance_id": "i2", "relation": "works_for", "answer": "yes"}]
    assert magt_bounds(**inputs)["micro_precision"] == (0, 1)
    judged = magt_bounds(**inputs, judgments=judgments)
    assert (judged["micro_precision"], judged["num_open"]) == ((0.25, 1), 3)


def test_a_function_is_refused(rows):
    inputs = {"track": "bag2bag", "references": rows, "relations": ["born_in", "lives_in"]}
    said = [{"bag_id": "b0", "pred": "NA"}, {"bag_id": "b1", "pred": "NA"}]
    with pytest.raises(ValueError, match="spread"):
        magt_bounds(**inputs, predictions=said, averages={"spread": len})
    with pytest.raises(ValueError, match="unk"):
        order_bounds(**inputs, predictions_a=said, predictions_b=said, unk="maybe")
    with pytest.raises(ValueError, match="beta"):
        checked_options(averages="micro", beta=-1, zero_division=0)


def test_unk_must_be_chosen(rows):
    half = [{**rows[0], "bag_label": "unk"}, *rows[1:]]
    inputs = {"track": "sent2sent", "references": half, "relations": ["born_in", "lives_in"]}
    said = [{"instance_id": row["instance_id"], "pred": "lives_in"} for row in rows]
    with pytest.raises(ValueError, match="unk"):
        magt_bounds(**inputs, predictions=said)
    opened = magt_bounds(**inputs, predictions=said, unk="open")
    # i0 and i2 are predicted and no DS relation; i0's own born_in is open, too, and not predicted.
    assert (opened["num_open"], opened["num_unjudged"]) == (3, 2)
    everything = [{**row, "bag_label": "unk"} for row in rows]
    with pytest.raises(ValueError, match="unk"):
        magt_bounds(**{**inputs, "references": everything}, predictions=said, unk="exclude")
    # Right: 4 of 4 predictions, beside two pairs of born_in that could be gold, too.
    assert magt_bounds(**{**inputs, "references": everything}, predictions=said, unk="open")[
        "micro_recall"
    ] == (0, 1)
