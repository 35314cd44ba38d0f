"""plots: what the figures show, that series differ without colour, no display, and every error."""

import dataclasses
import io
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
from matplotlib.figure import Figure

from weighted_f1_metric.counts import class_counts
from weighted_f1_metric.exponent_curve import exponent_curve
from weighted_f1_metric.family import family_from_counts
from weighted_f1_metric.figures import calibration_plots, plots, ranking_plots
from weighted_f1_metric.figures.plots import plot_averages
from weighted_f1_metric.ranking import pr_curve, ranking_measures
from weighted_f1_metric.systems.calibration import Calibration
from weighted_f1_metric.weighting import class_weights

LABELS = ["NA", *(f"/people/person/r{i}" for i in range(8))]


def counts(seed=0, accuracy=0.7):
    gold = np.random.default_rng(0).choice(9, 600, p=np.arange(9, 0, -1) / 45)
    rng = np.random.default_rng(seed + 1)
    predicted = np.where(rng.random(600) < accuracy, gold, rng.choice(9, 600))
    names = np.array(LABELS)
    # The rarest class is in `labels` only: it has no support and must not be drawn.
    return class_counts(
        predictions=names[predicted], references=names[gold], labels=[*LABELS, "unseen"], negative_label="NA"
    )


def curves(num_runs=3):
    gold = np.random.default_rng(0).random((300, 4)) < 0.2
    return [
        pr_curve(scores=gold + np.random.default_rng(seed).normal(size=gold.shape), gold=gold)
        for seed in range(num_runs)
    ]


def coverage(seed=0):
    rng = np.random.default_rng(seed)
    return ranking_measures(scores=rng.random((60, 5)), gold=rng.random((60, 5)) < 0.3, ks=(5, 2, 50, 1000))


def curve():
    gold = ["a"] * 40 + ["b"] * 4
    systems = (
        ["a"] * 40 + ["NA"] * 4,
        ["a"] * 15 + ["NA"] * 25 + ["b"] * 4,
    )  # the frequent class, the rare one
    both = [
        class_counts(predictions=p, references=gold, labels=["a", "b", "NA"], negative_label="NA")
        for p in systems
    ]
    return exponent_curve(counts_a=both[0], counts_b=both[1])


def families(num_runs):
    return [family_from_counts(counts(seed)) for seed in range(num_runs)]


FIGURES = {
    "weights": lambda: plots.plot_class_weights(counts(), title="Title"),
    "pr": lambda: ranking_plots.plot_pr_curves({"dsgt": curves(), "magt": curves()}),
    "coverage": lambda: ranking_plots.plot_relation_coverage(
        {"x": coverage(), "y": coverage(1)}, num_relations=5
    ),
    "pr panels": lambda: ranking_plots.plot_pr_panels(
        {"dsgt": {"x": curves(), "y": curves()}, "magt": {"x": curves()}}
    ),
    "coverage panels": lambda: ranking_plots.plot_coverage_panels(
        {"all": {"x": coverage(), "y": coverage(1)}, "correct": {"x": coverage()}}, correct=["correct"]
    ),
    "support": lambda: plots.plot_f1_by_support({"x": counts(), "y": counts(1)}),
    "averages": lambda: plot_averages({"dsgt": families(3), "magt": families(2)}),
    "exponent": lambda: plots.plot_exponent_curve(curve(), name_a="x", name_b="y"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_labelled_and_saves(name):
    figure = FIGURES[name]()
    assert isinstance(figure, Figure)
    axes = figure.axes[0]
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    target = io.BytesIO()
    figure.savefig(target, format="png")
    assert target.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", FIGURES)
def test_series_differ_without_colour(name):
    axes = FIGURES[name]().axes[0]
    named = [line for line in axes.lines if not line.get_label().startswith("_")]
    assert len(named) >= 2
    looks = {
        (str(line.get_linestyle()), line.get_marker(), str(line.get_markerfacecolor())) for line in named
    }
    forms = {(str(line.get_linestyle()), line.get_marker()) for line in named}
    assert len(looks) == len(forms) == len(named)
    legend = axes.get_legend() or axes.figure.legends[0]
    assert {text.get_text() for text in legend.get_texts()} == {line.get_label() for line in named}


def test_styles_are_distinct_and_colours_are_okabe_and_itos():
    okabe_ito = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
    for series in (plots.COLOURS, plots.LINES, plots.MARKERS):
        assert len({str(one) for one in series}) == 7
    assert set(plots.COLOURS) < okabe_ito


def test_ten_series_differ_by_colour_and_line_or_marker():
    looks = [plots.line_style(number, markers=True) for number in range(10)]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 10
    assert len({(str(look["linestyle"]), look["marker"]) for look in looks}) == 10


def test_class_weights_show_the_normalised_schemes():
    own = counts()
    axes = plots.plot_class_weights(own).axes[0]
    support = np.sort(own.support[own.support > 0])[::-1]
    for line in axes.lines:
        weights = class_weights(support, line.get_label(), total=own.total)
        np.testing.assert_allclose(line.get_ydata(), 100 * weights / weights.sum())
        assert line.get_ydata().sum() == pytest.approx(100)
    assert [line.get_label() for line in axes.lines] == ["weighted", "dodrans", "entropy", "macro"]


def test_pr_band_is_one_sd_around_the_mean_of_the_runs():
    runs = curves()
    axes = ranking_plots.plot_pr_curves({"magt": runs, "dsgt": runs[:1]}, max_recall=0.5).axes[0]
    assert axes.lines[0].get_label() == f"MAGT (prevalence {100 * runs[0].num_gold / 1200:.1f}%, n = 3)"
    assert axes.lines[1].get_label().startswith("DSGT")
    assert len(axes.collections) == 1  # one run has no band
    x, mean = axes.lines[0].get_data()
    place = 700
    at = [np.interp(x[place], run.recall, run.precision) for run in runs]
    assert mean[place] == pytest.approx(np.mean(at), abs=0.01)
    band = axes.collections[0].get_paths()[0].vertices
    near = band[np.isclose(band[:, 0], x[place])][:, 1]
    sd = np.std(at, ddof=1)
    assert sorted(near) == pytest.approx([np.mean(at) - sd, np.mean(at) + sd], abs=0.01)


def test_panels_share_the_recall_axis_and_show_the_prevalence():
    runs = curves()
    longer = [dataclasses.replace(run, recall=1.5 * run.recall) for run in runs]
    five = {f"s{i}": runs for i in range(5)}
    figure = ranking_plots.plot_pr_panels(
        {"dsgt": {"x": runs}, "magt": {"x": longer}}, title="T", recall="bags"
    )
    first, second = figure.axes
    assert [axes.get_xlim() for axes in figure.axes] == [(0, 1.5), (0, 1.5)]
    assert [axes.get_xlabel() for axes in figure.axes] == ["bags", "bags"]
    prevalence = runs[0].num_gold / 1200
    assert first.get_title() == f"DSGT (prevalence {100 * prevalence:.1f}%)"
    assert second.lines[-1].get_ydata() == pytest.approx([prevalence, prevalence])
    alone = ranking_plots.plot_pr_curves({"dsgt": runs}, max_recall=1.5).axes[0].lines[0]
    np.testing.assert_array_equal(first.lines[0].get_ydata(), alone.get_ydata())
    assert [axes.lines[0].get_xdata()[-1] for axes in figure.axes] == [1, 1.5], (
        "a line ends where all is found"
    )
    assert len(first.collections) == 1
    assert not ranking_plots.plot_pr_panels({"dsgt": five}).axes[0].collections, "no bands of five systems"
    assert figure.legends[0].get_texts()[0].get_text() == "x (n = 3)"


@pytest.mark.parametrize("name", ["_hidden", r"costs $\foo{$", "a$_1$", "$"])
def test_legends_show_every_name_as_it_is(name):
    """matplotlib leaves out a label that starts with "_", and fails on maths that it cannot read."""
    covered = coverage()
    figures = [
        ranking_plots.plot_pr_panels({"dsgt": {name: curves()}}),
        ranking_plots.plot_coverage_panels({"all": {name: covered}}),
        ranking_plots.plot_relation_coverage({name: covered}),
        plots.plot_f1_by_support({name: counts(), "other": counts(1)}),
        plot_averages({name: [family_from_counts(counts())]}),
    ]
    for figure in figures:
        figure.savefig(io.BytesIO())
        legend = (figure.legends or [figure.axes[0].get_legend()])[0]
        text = legend.get_texts()[0]
        shown, is_maths = text._preprocess_math(text.get_text())
        assert not is_maths
        assert shown.strip().removesuffix("(n = 1)").removesuffix("(n = 3)").strip() == name


def test_coverage_panels_count_all_or_the_correct_ones():
    measures = coverage()
    figure = ranking_plots.plot_coverage_panels(
        {"all": {"x": measures}, "right": {"x": measures}}, correct=["right"], num_relations=5
    )
    drawn = [axes.lines[0].get_ydata()[1] for axes in figure.axes]
    assert drawn == [measures["relations_covered_at_5"], measures["correct_relations_covered_at_5"]]
    assert [axes.get_title() for axes in figure.axes] == ["all", "right"]


def test_averages_are_means_with_their_sd():
    runs = families(3)
    axes = plot_averages({"magt": runs, "dsgt": runs[:1]}).axes[0]
    names = ["micro", "weighted", "dodrans", "entropy", "macro"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == names
    points, one_run = [line for line in axes.lines if not line.get_label().startswith("_")]
    values = np.array([[run[f"{name}_f1"] for name in names] for run in runs])
    assert list(points.get_ydata()) == pytest.approx(values.mean(axis=0))
    assert list(one_run.get_ydata()) == pytest.approx(values[0])
    assert points.get_label() == "MAGT (n = 3)"
    assert len(axes.containers) == 1, "one run has no bar"
    (bars,) = axes.containers[0].lines[2]
    heights = [segment[1, 1] - segment[0, 1] for segment in bars.get_segments()]
    assert heights == pytest.approx(2 * values.std(axis=0, ddof=1))


def test_coverage_is_drawn_by_rising_k_without_undefined_points():
    measures = coverage()
    axes = ranking_plots.plot_relation_coverage({"x": measures}, correct=True).axes[0]
    assert axes.lines[0].get_xdata().tolist() == [2, 5, 50]  # 1000 exceeds the candidates
    assert axes.lines[0].get_ydata()[1] == measures["correct_relations_covered_at_5"]


def test_f1_by_support_names_the_classes_of_a_single_system():
    own = counts()
    axes = plots.plot_f1_by_support({"x": own}).axes[0]
    assert axes.get_xscale() == "log"
    assert axes.lines[0].get_xdata().tolist() == own.support[own.support > 0].tolist()
    written = {text.get_text() for text in axes.texts}
    assert written <= {f"r{i}" for i in range(8)}
    assert len(written) >= 6
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert not plots.plot_f1_by_support({"x": own}, max_names=3).axes[0].texts


def test_crossings_are_marked_on_the_line():
    own = curve()
    assert own.crossings
    axes = plots.plot_exponent_curve(own).axes[0]
    marked = [line for line in axes.lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in marked] == list(own.crossings)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), own.scores_a)
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), own.scores_b)


def test_no_display_is_touched():
    code = (
        "import sys; from weighted_f1_metric.figures import plots;"
        "from weighted_f1_metric.counts import class_counts;"
        "assert 'matplotlib' not in sys.modules;"
        "plots.plot_class_weights(class_counts(predictions=['a'], references=['a']));"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "nyt-h\[plots\]"'):
        plots.plot_class_weights(counts())


EMPTY = class_counts(predictions=["NA"], references=["NA"], labels=["a", "NA"], negative_label="NA")


@pytest.mark.parametrize(
    ("draw", "match"),
    [
        (lambda: plots.plot_class_weights(EMPTY), "`counts.support` is empty; there is nothing to draw"),
        (lambda: plots.plot_class_weights(counts(), averages=["micro"]), "'micro' sums counts over classes"),
        (lambda: ranking_plots.plot_pr_curves({}), "`curves` is empty"),
        (lambda: ranking_plots.plot_pr_curves({"dsgt": []}), r"`curves\['dsgt'\]` is empty"),
        (lambda: ranking_plots.plot_relation_coverage({}), "`scores` is empty"),
        (lambda: ranking_plots.plot_pr_panels({}), "`panels` is empty"),
        (lambda: ranking_plots.plot_pr_panels({"dsgt": {}}), r"`panels\['dsgt'\]` is empty"),
        (lambda: ranking_plots.plot_pr_panels({"dsgt": {"x": []}}), r"`panels\['dsgt'\]\['x'\]` is empty"),
        (lambda: ranking_plots.plot_coverage_panels({}), "`panels` is empty"),
        (
            lambda: ranking_plots.plot_coverage_panels({"all": {"x": {"auc": 0.5}}}),
            r"`panels\['all'\]` of 'x' have no relations_covered_at_K; keys are 'auc'",
        ),
        (
            lambda: ranking_plots.plot_relation_coverage({"x": {"auc": 0.5}}),
            "`scores` of 'x' have no relations_covered_at_K; keys are 'auc'",
        ),
        (lambda: plots.plot_f1_by_support({}), "`counts` is empty"),
        (lambda: plot_averages({}), "`scores` is empty"),
        (lambda: plot_averages({"x": []}), "has a name without runs"),
        (
            lambda: plot_averages({"x": [{"micro_fbeta": 1.0}]}),
            "no key that ends in _f1; they hold micro_fbeta",
        ),
        (lambda: plots.plot_f1_by_support({"x": EMPTY}), r"`counts\['x'\].support` is empty"),
    ],
)
def test_nothing_to_draw_is_said(draw, match):
    with pytest.raises(ValueError, match=match):
        draw()


def test_a_long_legend_stays_within_the_figure():
    runs = curves()
    figure = ranking_plots.plot_pr_curves(dict.fromkeys(("dsgt", "magt", "magt_ds_scope"), runs))
    figure.savefig(io.BytesIO())
    box = figure.legends[0].get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_what_scores_are_worth():
    one = Calibration(
        num_predictions=4,
        precision=0.75,
        mean_score=0.6,
        ece=0.1,
        bins=((0.3, 0.5, 2), (0.9, 1.0, 2)),
        aurc=0.2,
        coverage_at=0.5,
        threshold_at=0.9,
        wanted=0.9,
        least_sum=0,
        greatest_sum=1,
        curve=((0.5, 0.0), (1.0, 0.25)),
    )
    line = calibration_plots.plot_reliability({"magt": one}).axes[0].lines[1]
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([0.3, 0.9], [0.5, 1.0])
    risk, wanted = calibration_plots.plot_risk_coverage({"magt": one}).axes[0].lines
    assert (list(risk.get_xdata()), list(risk.get_ydata())) == ([0, 0.5, 1], [0, 0, 0.25])
    assert wanted.get_ydata() == pytest.approx([0.1, 0.1])
    with pytest.raises(ValueError, match="empty"):
        calibration_plots.plot_reliability({"magt": dataclasses.replace(one, bins=())})
