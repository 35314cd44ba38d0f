"""The pages of the metric Space, without Gradio: the numbers are those of Python, names are shown as text."""

import base64
import csv
import html
import io
import json
import re
from pathlib import Path

import pytest
from sklearn.metrics import f1_score

from weighted_f1_metric import ForeignRules, compare_runs, magt_bounds, score_track
from weighted_f1_metric.commands.prediction_files import read_predictions, read_references, read_relations
from weighted_f1_metric.space import drawn, in_page
from weighted_f1_metric.space.compare_page import compare_page
from weighted_f1_metric.space.score_page import foreign_rules, labels_page, track_page


def cells(page, name):
    """The rows of the table of that name, as texts; the first is the header."""
    table = re.search(rf'<table data-name="{name}">(.*?)</table>', page.html).group(1)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table)
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def download(page, name):
    found = re.search(rf'download="{re.escape(name)}" href="data:[\w/]+;base64,([^"]*)"', page.html)
    return base64.b64decode(found.group(1)).decode("utf-8")


def test_labels_get_the_scores_of_scikit_learn(example):
    page = labels_page(predictions=example.predictions, references=example.references, negative_label="NA")
    predictions, references = example.predictions.split("\n"), example.references.split("\n")
    classes = sorted(set(references) - {"NA"})
    expected = {
        average: f1_score(references, predictions, labels=classes, average=average, zero_division=0)
        for average in ("micro", "weighted", "macro")
    }
    shown = {row[0]: row[3] for row in cells(page, "averages")}
    assert {name: shown[name] for name in expected} == {
        name: f"{100 * value:.2f}" for name, value in expected.items()
    }
    numbers = json.loads(download(page, "scores.json"))
    assert numbers["macro_f1"] == pytest.approx(expected["macro"], abs=1e-12)
    assert numbers["signature"].startswith(
        "averages:micro+weighted+dodrans+entropy+macro|beta:1|negative:NA|"
    )
    assert numbers["signature"] in html.unescape(page.html)
    assert len(page.figures()) == 2


def test_a_track_gets_the_scores_of_python(example):
    predictions, test, rel2id = example.track
    page = track_page(track="bag2bag", predictions_file=predictions, test_file=test, rel2id_file=rel2id)
    scores = score_track(
        track="bag2bag",
        predictions=read_predictions(predictions),
        references=read_references(test),
        relations=read_relations(rel2id),
        per_class=True,
    )
    header, *rows = cells(page, "averages")
    assert header[1:4] == ["DSGT", "MAGT", "MAGT (DS scope)"]
    bounds = magt_bounds(
        track="bag2bag",
        predictions=read_predictions(predictions),
        references=read_references(test),
        relations=read_relations(rel2id),
    )
    for average, *values in rows[:5]:
        low, high = bounds[f"{average}_f1"]
        for prefix, value in zip(("dsgt", "magt", "magt_ds_scope"), values, strict=False):
            ends = f" ({100 * low:.1f} to {100 * high:.1f})" if prefix == "magt" else ""
            assert value == f"{100 * scores[f'{prefix}_{average}_f1']:.2f}{ends}"
            row = next(row for row in cells(page, prefix) if row[0] == average)
            assert ("to" in row[1]) == bool(ends)
    numbers = json.loads(json.dumps(scores | {"magt_bounds": bounds}))
    assert json.loads(download(page, "scores.json")) == numbers
    assert f"macro F1 {rows[4][2]}" in lead(page)
    assert cells(page, "ranking")[1][2] == f"{100 * scores['dsgt_auc']:.2f}"
    figures = page.figures()
    captions = list(figures)
    assert captions[0] == "F1 under each average"
    whiskers = [line.get_ydata() for line in figures[captions[0]].axes[0].lines if line.get_marker() == "_"]
    assert [bounds["micro_f1"], bounds["weighted_f1"]] == [tuple(ends) for ends in whiskers[:2]]
    pictures = drawn(page).split("more pictures")
    assert [part.count("<img") for part in pictures] == [2, len(captions) - 2]
    assert [caption for caption in captions if "recall" in caption or "Relations" in caption]
    assert sum("weighs" in caption for caption in captions) == 3


def test_the_averages_of_the_example_disagree(example):
    """A visitor sees at first sight what the family is for."""
    runs = {
        name: [json.loads(Path(path).read_text()) for path in paths]
        for name, paths in example.systems.items()
    }
    page = compare_page(
        files_a=example.systems["careful"], files_b=example.systems["frequent"], name_a="careful"
    )
    compared = compare_runs(runs_a=runs["careful"], runs_b=runs["frequent"])
    magt = compared["magt_micro_f1"]
    assert magt.difference < 0 < compared["magt_macro_f1"].difference
    assert "the averages disagree on who is better" in page.html
    assert "same test data, new seeds" in page.html
    assert "below about 2.3 sds" in page.html  # of three runs a system
    table = next(rows for rows in (cells(page, "comparison"),) if rows[0][0].startswith("DSGT"))
    dsgt = compared["dsgt_micro_f1"]
    assert table[1][:2] == ["careful (n = 3)", f"{100 * dsgt.mean_a:.1f} ± {100 * dsgt.sd_a:.1f}"]
    assert table[4][1] == f"{dsgt.p_value:.2g}"
    assert json.loads(download(page, "comparison.json"))["measures"]["magt_micro_f1"]["n_a"] == 3


def test_names_are_shown_as_text_and_formulas_are_neutralised(tmp_path):
    names = ["<img src=x onerror=alert(1)>", "**bold** [a](http://b)", '=HYPERLINK("http://x")', "@cmd", "-1"]
    file = tmp_path / "labels.csv"
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([["label"], *([name] for name in names)])
    page = labels_page(predictions_file=str(file), references_file=str(file))
    assert "<img" not in page.html
    assert [row[0] for row in cells(page, "classes")[1:]] == sorted(names)
    exported = list(csv.DictReader(io.StringIO(download(page, "scores.csv"))))
    shown = {row["name"] for row in exported if row["kind"] == "class"}
    assert shown == {names[0], names[1], "'" + names[2], "'@cmd", "'-1"}
    assert [row["f1"] for row in exported[:1]] == ["1.0"]


def test_a_csv_with_both_columns_serves_both_sides(tmp_path):
    file = tmp_path / "both.csv"
    file.write_text("id,gold,pred\n1,a,a\n2,b,a\n")
    page = labels_page(predictions_file=str(file), references_file=str(file))
    assert cells(page, "averages")[1] == ["micro", "50.00", "50.00", "50.00"]


def test_many_classes_are_cut_in_the_page_and_whole_in_the_download():
    text = "\n".join(f"label {number}" for number in range(150))
    page = labels_page(predictions=text, references=text)
    assert len(cells(page, "classes")) == 1 + 100
    assert "50 more are in the downloads." in page.html
    assert len(json.loads(download(page, "scores.json"))["per_class"]) == 150


def test_formulas_of_tex_are_text_in_the_pictures():
    page = labels_page(predictions="$\\frac{1$\na", references="$\\frac{1$\na")
    assert drawn(page).count("<img") == 2


def lead(page):
    return re.search(r'<p class="lead" role="status">(.*?)</p>', page.html).group(1)


def test_own_labels_work_with_the_name_that_is_filled_in():
    page = labels_page(predictions="pos\nneg", references="pos\npos", negative_label="NA")
    expected = labels_page(predictions="pos\nneg", references="pos\npos", negative_label="")
    assert cells(page, "averages") == cells(expected, "averages")
    assert "Negative label" in page.html
    assert "Negative label" not in expected.html
    assert lead(page).startswith("Micro F1")


def test_a_negative_label_that_no_row_has_is_named_with_the_field():
    page = in_page(labels_page)(predictions="pos\nneg", references="pos\npos", negative_label="Other")
    for part in ("Other", "Negative label", "pos", "clear the field"):
        assert part in page.html
    assert "<table" not in page.html


def test_other_labels_are_mapped_and_what_does_not_fit_is_told(example, tmp_path):
    predictions, test, rel2id = example.track
    files = {"test_file": test, "rel2id_file": rel2id}
    expected = track_page(track="bag2bag", predictions_file=predictions, **files)
    records = read_predictions(predictions)
    theirs = {name: f"label {number}" for number, name in enumerate(["NA", *read_relations(rel2id)])}
    own = tmp_path / "own.jsonl"
    own.write_text(
        "".join(
            json.dumps({"id": record["bag_id"], "answer": theirs[record["pred"]]}) + "\n"
            for record in records
        )
    )
    with pytest.raises(ValueError, match="'id'"):
        track_page(track="bag2bag", predictions_file=str(own), **files, rules=ForeignRules(pred_key="answer"))
    given = "\n".join(f"{label}\t{name}" for name, label in theirs.items())
    rules = foreign_rules(given, " id ", "answer", None, False)
    page = track_page(track="bag2bag", predictions_file=str(own), **files, rules=rules)
    assert cells(page, "averages") == cells(expected, "averages")
    half = "\n".join(given.split("\n")[:2])
    with pytest.raises(ValueError, match="'label 2'"):
        track_page(
            track="bag2bag",
            predictions_file=str(own),
            **files,
            rules=foreign_rules(half, "id", "answer", None, False),
        )
    lenient = foreign_rules(half, "id", "answer", None, True)
    page = track_page(track="bag2bag", predictions_file=str(own), **files, rules=lenient)
    assert "&#x27;label 2&#x27;" in page.html
