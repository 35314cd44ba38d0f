"""What results look like in a notebook: short lines, tables, data frames."""

import pytest

from weighted_f1_metric import Table, bootstrap_interval, randomization_test

GOLD, PREDICTED = ["a", "b", "a", "c"] * 5, ["a", "b", "b", "c"] * 5


def test_intervals_are_a_table_and_a_frame() -> None:
    pandas = pytest.importorskip("pandas", reason="the extra `dataset` brings it")
    result = bootstrap_interval(predictions=PREDICTED, references=GOLD, seed=0, n_resamples=50)
    interval = result.intervals["micro_f1"]
    assert repr(interval) == f"{interval.estimate:.4f} ({interval.low:.4f} to {interval.high:.4f})"
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.loc["micro_f1", "low"] == interval.low
    assert list(frame.index) == list(result.intervals)
    (line,) = (line for line in repr(result).splitlines() if line.startswith("micro_f1 "))
    assert line.split()[1:] == [
        f"{100 * value:.2f}" for value in (interval.estimate, interval.low, interval.high)
    ]
    assert f"<th>micro_f1</th><td>{100 * interval.estimate:.2f}</td>" in result._repr_html_()


def test_tests_are_a_table_and_a_frame() -> None:
    pytest.importorskip("pandas", reason="the extra `dataset` brings it")
    result = randomization_test(
        predictions_a=PREDICTED, predictions_b=GOLD, references=GOLD, seed=0, n_resamples=50
    )
    frame = result.to_frame()
    assert frame.loc["macro_f1", "p_value"] == result.p_values["macro_f1"]
    assert f"{100 * result.differences['macro_f1']:.2f}" in repr(result)


def test_a_table_shows_text_and_no_markup() -> None:
    pytest.importorskip("pandas", reason="the extra `dataset` brings it")
    table = Table(["F1", "<b>"], [["micro", "<i>50</i>"]], notes=["a & b"])
    shown = table._repr_html_()
    assert "<b>" not in shown
    assert "&lt;i&gt;50" in shown
    assert "a &amp; b" in shown
    assert table.to_frame().loc["micro", "<b>"] == "<i>50</i>"
