"""The metric's Space in a real browser: what a visitor reads in the page is what Python says."""

import json
import random
from pathlib import Path

import pytest

from weighted_f1_metric import f1_family, score_track
from weighted_f1_metric.commands.prediction_files import read_predictions, read_references, read_relations

AVERAGES = ("micro", "weighted", "dodrans", "entropy", "macro")


@pytest.fixture
def visit(open_page, metric_space):
    """Opens the Space as a new visitor."""
    url, _, log = metric_space
    before = len(log.read_text())

    def visit(**options):
        return open_page(url, "#tables table", **options)

    yield visit
    assert "Traceback" not in log.read_text()[before:]


def upload(page, where, path):
    """Uploads a file and waits until it is there."""
    page.set_input_files(f"#{where} input[type=file]", path)
    page.wait_for_selector(f"#{where} .file-preview")


def score(page, button="score_labels"):
    """Clicks and waits for the answer, which takes the place of what was shown."""
    page.evaluate("document.querySelector('#tables .nyt-page').dataset.old = 'yes'")
    page.click(f"#{button}")
    page.wait_for_selector("#tables .nyt-page:not([data-old])")


def averages(page):
    """Row title -> the other cells of the table of averages."""
    rows = page.locator("#tables table[data-name=averages] tbody tr").all()
    cells = [row.locator("th, td").all_inner_texts() for row in rows]
    return {title: values for title, *values in cells}


def percents(scores, average):
    return [f"{100 * scores[f'{average}_{measure}']:.2f}" for measure in ("precision", "recall", "f1")]


def choose_track(page, files):
    page.get_by_label("A track of NYT-H").check()
    for where, path in zip(("pred_file", "test_file", "rel2id_file"), files, strict=True):
        upload(page, where, path)


def test_an_example_is_scored_at_first_sight(visit, example):
    page = visit()
    scores = f1_family(
        predictions=example.predictions.split("\n"),
        references=example.references.split("\n"),
        negative_label="NA",
    )
    assert averages(page) == {average: percents(scores, average) for average in AVERAGES}
    assert page.locator("#figures img").count() == 2
    assert page.locator(".signature").first.inner_text().startswith("averages:micro+weighted")


def test_uploaded_labels_get_the_numbers_of_python(visit, tmp_path):
    generator = random.Random(0)
    references = [generator.choice("abcdN") for _ in range(50_000)]
    predictions = [label if generator.random() < 0.7 else generator.choice("abcdN") for label in references]
    for name, labels in (("gold.txt", references), ("predicted.txt", predictions)):
        (tmp_path / name).write_text("\n".join(labels))
    page = visit()
    upload(page, "predictions_file", tmp_path / "predicted.txt")
    upload(page, "references_file", tmp_path / "gold.txt")
    page.get_by_label("Negative label").fill("N")
    score(page)
    scores = f1_family(predictions=predictions, references=references, negative_label="N")
    assert averages(page) == {average: percents(scores, average) for average in AVERAGES}
    with page.expect_download() as download:
        page.click("a[download='scores.json']")
    assert json.loads(Path(download.value.path()).read_text())["dodrans_f1"] == scores["dodrans_f1"]


def test_results_of_the_other_kind_of_input_disappear(visit, example):
    page = visit()
    assert page.locator("#tables table").count()
    choose_track(page, example.track)
    page.wait_for_selector("#tables table", state="detached")
    assert page.locator("#figures img").count() == 0


def test_an_uploaded_track_gets_the_numbers_of_python(visit, example):
    page = visit()
    choose_track(page, example.track)
    score(page, "score_track")
    predictions, test, rel2id = example.track
    scores = score_track(
        track="bag2bag",
        predictions=read_predictions(predictions),
        references=read_references(test),
        relations=read_relations(rel2id),
    )
    shown = averages(page)
    for average in AVERAGES:
        keys = [f"{truth}_{average}_f1" for truth in ("dsgt", "magt", "magt_ds_scope")]
        numbers = [cell.split(" ")[0] for cell in shown[average][:3]]
        assert numbers == [f"{100 * scores[key]:.2f}" for key in keys]
    page.wait_for_selector("#figures img >> nth=7", state="attached")
    alternatives = [image.get_attribute("alt") for image in page.locator("#figures img").all()]
    assert "Precision against recall" in alternatives
    assert page.locator(".signature").first.inner_text() == "\n".join(
        f"{title}: {line}"
        for title, line in zip(
            ("DSGT", "MAGT", "MAGT (DS scope)"), scores["signatures"].values(), strict=True
        )
    )


def test_a_wrong_file_is_answered_in_the_page_and_takes_the_old_numbers_away(visit, example, tmp_path):
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"bag_id": "EXAMPLE-BAG#0", "pred": "NA"}\n{"bag_id": \n')
    page = visit()
    choose_track(page, [wrong, *example.track[1:]])
    score(page, "score_track")
    assert page.locator("#tables [role=alert]").inner_text() == (
        "wrong.jsonl, line 2: not valid JSON (Expecting value, column 12)."
    )
    assert page.locator("#tables table").count() == 0


def test_names_are_shown_as_they_are_written(visit, tmp_path):
    names = [
        "<img src=x onerror=alert(1)>",
        "**bold** [a](http://b)",
        "${alert(2)}",
        "{{value}}",
        "$\\frac{1",
    ]
    (tmp_path / "names.txt").write_text("\n".join(names))
    page = visit()
    for where in ("predictions_file", "references_file"):
        upload(page, where, tmp_path / "names.txt")
    page.get_by_label("Negative label").fill("")
    score(page)
    shown = page.locator("#tables table[data-name=classes] tbody th").all_inner_texts()
    assert shown == sorted(names)
    page.wait_for_selector("#figures img >> nth=1")


def test_a_narrow_dark_screen(visit):
    page = visit(width=375, color_scheme="dark")
    for tab in ("Compare", "About", "Score"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
    red, green, blue = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert max(red, green, blue) < 80
    cells = page.locator("#tables table[data-name=averages] td").all()
    assert all((box := cell.bounding_box())["x"] >= 0 and box["x"] + box["width"] <= 375 for cell in cells)


def test_two_visitors_at_once_get_their_own_numbers(visit, tmp_path):
    pages = []
    for name, predicted in (("one", "a\nb\nb\nb"), ("other", "a\na\na\nb")):
        (tmp_path / f"{name}.txt").write_text(predicted)
        (tmp_path / "gold.txt").write_text("a\na\nb\nb")
        page = visit()
        upload(page, "predictions_file", tmp_path / f"{name}.txt")
        upload(page, "references_file", tmp_path / "gold.txt")
        page.get_by_label("Negative label").fill("b")
        page.evaluate("document.querySelector('#tables .nyt-page').dataset.old = 'yes'")
        pages.append(page)
    for page in pages:
        page.click("#score_labels", no_wait_after=True)
    for page in pages:
        page.wait_for_selector("#tables .nyt-page:not([data-old])")
    # class a: precision 1/1 and recall 1/2, against 2/3 and 2/2
    assert [averages(page)["micro"] for page in pages] == [
        ["100.00", "50.00", "66.67"],
        ["66.67", "100.00", "80.00"],
    ]


def test_the_example_runs_are_compared(visit):
    page = visit()
    page.get_by_role("tab", name="Compare").click()
    page.click("#fill_runs")
    page.wait_for_selector("#runs_B .file-preview")
    page.click("#compare")
    page.wait_for_selector("#comparison table")
    assert page.locator("#comparison table").count() == 3
    assert "the averages disagree on who is better" in page.locator("#comparison").inner_text()
