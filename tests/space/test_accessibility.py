"""Both Spaces under axe-core: no violation in either theme, on a wide and on a narrow screen."""

from pathlib import Path

import pytest

from tests.space.space_server import running

axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python carries axe-core")
WIDTHS, THEMES = (1200, 375), ("light", "dark")


@pytest.fixture(scope="module")
def board_url(staged_leaderboard, tmp_path_factory):
    with running(staged_leaderboard, tmp_path_factory.mktemp("axe")) as (url, _, _):
        yield url


def violations(page):
    # What fades in has another contrast until it is there.
    page.wait_for_function("document.getAnimations().every((one) => !(one instanceof CSSTransition))")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], node["html"][:200]) for one in found for node in one["nodes"]]


def prepare(page):
    page.evaluate(Path(axe.AXE_FILE_PATH).read_text(encoding="utf-8") + "; undefined")


def check(open_page, url, wait_for, tabs):
    for theme in THEMES:
        page = open_page(f"{url}?__theme={theme}", wait_for)
        prepare(page)
        for tab, shown in tabs.items():
            page.get_by_role("tab", name=tab, exact=True).click()
            page.wait_for_selector(shown)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert violations(page) == [], (width, theme, tab)
                assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_metric_has_no_violation(open_page, metric_space):
    tabs = {"Score": "#tables table", "Compare": "#compare", "About": "text=Which average?"}
    check(open_page, metric_space[0], "#figures img", tabs)


def test_the_leaderboard_has_no_violation(open_page, board_url):
    check(open_page, board_url, "#ranks img", {"Board": "#board table", "Submit": "#send"})


def upload(page, where, paths):
    page.set_input_files(f"#{where} input[type=file]", paths)
    page.wait_for_selector(f"#{where} .file-preview")


def test_results_and_errors_of_the_metric_have_no_violation(open_page, metric_space, example):
    """No file, a track with all its tables open, a comparison: one visit."""
    page = open_page(f"{metric_space[0]}?__theme=dark", "#figures img", width=375)
    prepare(page)
    page.get_by_label("A track of NYT-H").check()
    page.click("#score_track")
    page.wait_for_selector("#tables:not(:has(.pending)) [role=alert]")
    assert violations(page) == []
    predictions, test, rel2id = example.track
    for where, path in (("pred_file", predictions), ("test_file", test), ("rel2id_file", rel2id)):
        upload(page, where, path)
    page.click("#score_track")
    page.wait_for_selector("#figures img >> nth=7", state="attached")
    page.evaluate("document.querySelectorAll('.nyt-page details').forEach((one) => (one.open = true))")
    assert page.locator("#tables table:has(caption)").count() == page.locator("#tables table").count() > 5
    assert page.locator("#tables tbody tr").count() == page.locator("#tables tbody th[scope=row]").count()
    assert violations(page) == []
    page.get_by_role("tab", name="Compare").click()
    page.click("#fill_runs")
    page.wait_for_selector("#runs_B .file-preview")
    page.click("#compare")
    page.wait_for_selector("#comparison:not(:has(.pending)) table")
    assert violations(page) == []


def test_a_submission_and_a_refusal_have_no_violation(open_page, board_url, example):
    page = open_page(f"{board_url}?__theme=light", "#board table")
    prepare(page)
    page.get_by_role("tab", name="Submit").click()
    page.fill("#name input, #name textarea", "mine")
    upload(page, "file", example.track[0])
    page.click("#send")
    page.wait_for_selector("#answer:not(:has(.pending)) table")
    assert violations(page) == []
    page.fill("#name input, #name textarea", "echo")
    page.click("#send")
    page.wait_for_selector("#answer:not(:has(.pending)) [role=alert]")
    assert violations(page) == []


def test_the_board_is_sorted_by_its_heads_and_searched(open_page, board_url):
    page = open_page(board_url, "#board table")
    models = page.locator("#board tbody tr:visible th")
    macro = page.locator("#board th", has=page.get_by_role("button", name="macro", exact=True))
    column = macro.evaluate("head => [...head.parentNode.children].indexOf(head) + 1")
    for order in ("descending", "ascending"):
        macro.get_by_role("button").click()
        assert macro.get_attribute("aria-sort") == order
        cells = page.locator(f"#board tbody tr:not(.reference) :nth-child({column})").all_inner_texts()
        values = [float(cell.split()[0]) for cell in cells]
        assert values == sorted(values, reverse=order == "descending")
    assert models.last.inner_text() == "copy of the distant labels"
    page.get_by_label("Search models").fill("RARE")
    assert models.all_inner_texts() == ["example: rare", "copy of the distant labels"]


def test_the_templates_hold_every_id(open_page, board_url, tmp_path):
    page = open_page(board_url, "#board table")
    page.get_by_role("tab", name="Submit").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Template of bag2bag").click()
    assert len(Path(download.value.path()).read_text().splitlines()) == 32
