"""Rank plots: every system, its set and its letters are drawn; a matrix of P(a > b); files for a paper."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")

from weighted_f1_metric import plot_probability_better, plot_ranks, rank_intervals
from weighted_f1_metric.commands.figure_files import write_rank_figures

GOLD = ["a", "b"] * 30


def result(num_systems=3, name="s{}"):
    rng = np.random.default_rng(0)
    systems = {}
    for number in range(num_systems):
        wrong = rng.random(60) < 0.8 * number / num_systems
        flipped = {"a": "b", "b": "a"}
        systems[name.format(number)] = [flipped[g] if bad else g for g, bad in zip(GOLD, wrong, strict=True)]
    return rank_intervals(systems=systems, references=GOLD, seed=0, n_resamples=200, averages="micro")


def test_every_set_rank_and_letter_is_drawn():
    ranking = result().rankings["micro_f1"]
    figure = plot_ranks(ranking, asked="new test bags")
    (axes,) = figure.axes
    lines, dots = axes.lines[::2], axes.lines[1::2]
    for place, (system, line, dot) in enumerate(zip(ranking.systems, lines, dots, strict=True)):
        assert line.get_xydata().tolist() == [[system.rank_low, place], [system.rank_high, place]]
        assert dot.get_xydata().tolist() == [[system.rank, place]]
    assert [text.get_text() for text in axes.texts] == [system.group for system in ranking.systems]
    assert [text.get_text() for text in axes.get_yticklabels()] == [system.name for system in ranking.systems]
    assert "new test bags" in axes.get_xlabel()
    top, bottom = axes.get_ylim()[1], axes.get_ylim()[0]
    assert top < 0 < bottom  # the best stands on top


def test_matrix_shows_every_probability_and_who_is_told_apart():
    ranking = result().rankings["micro_f1"]
    axes = plot_probability_better(ranking).axes[0]
    (image,) = axes.images
    assert np.asarray(image.get_array()).tolist() == ranking.probability_better.tolist()
    assert len(axes.texts) == 6
    dots = {(round(float(line.get_ydata()[0])), int(line.get_xdata()[0])) for line in axes.lines}
    assert dots == {tuple(pair) for pair in np.argwhere(ranking.separated).tolist()}
    assert dots


def test_many_systems_and_names_that_no_font_has():
    ranking = result(30, name="模型{}").rankings["micro_f1"]
    for figure in (plot_ranks(ranking), plot_probability_better(ranking)):
        names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert len(names) == 30
        assert all(text.isascii() for text in names)
        figure.draw_without_rendering()
    assert not plot_probability_better(ranking).axes[0].texts


def test_files_are_vectors_without_a_date(tmp_path):
    paths = write_rank_figures(tmp_path, result())
    assert [path.name for path in paths] == [
        "ranks_micro_f1.pdf",
        "ranks_micro_f1.png",
        "better_micro_f1.pdf",
        "better_micro_f1.png",
    ]
    content = paths[0].read_bytes()
    assert content.startswith(b"%PDF")
    assert b"CreationDate" not in content
    assert b"/Type3" not in content
    assert write_rank_figures(tmp_path, result())[0].read_bytes() == content
