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
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], node["html"][:200]) for one in found for node in one["nodes"]]


def check(open_page, url, wait_for, tabs):
    for theme in THEMES:
        page = open_page(f"{url}?__theme={theme}", wait_for)
        page.evaluate(Path(axe.AXE_FILE_PATH).read_text(encoding="utf-8") + "; undefined")
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


def test_the_board_is_sorted_by_its_heads_and_searched(open_page, board_url):
    page = open_page(board_url, "#board table")
    models = page.locator("#board tbody tr:visible td:first-child")
    macro = page.locator("#board th", has=page.get_by_role("button", name="macro", exact=True))
    column = macro.evaluate("head => [...head.parentNode.children].indexOf(head) + 1")
    for order in ("descending", "ascending"):
        macro.get_by_role("button").click()
        assert macro.get_attribute("aria-sort") == order
        cells = page.locator(f"#board tbody tr:not(.reference) td:nth-child({column})").all_inner_texts()
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
