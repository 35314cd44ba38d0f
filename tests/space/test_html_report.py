"""The page of `score --html` in a browser: nothing is fetched, nothing from files runs, axe finds nothing."""

import json
from pathlib import Path

import pytest

from weighted_f1_metric.__main__ import main

EVIL = "<img src=x onerror=document.title='run'>&\"'"
RELATIONS = ["born_in", EVIL, "works_for"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page with everything on it."""
    folder = tmp_path_factory.mktemp("report")
    rows, said = [], []
    for number in range(60):
        relation = RELATIONS[number % 3] if number % 4 else "NA"
        rows.append(
            {
                "instance_id": f"i{number}{EVIL}",
                "bag_id": f"b{number // 2}",
                "relation": relation,
                "bag_label": "unk" if relation == "NA" else ("yes", "no")[number % 2],
                "sentence": f"Ann {number} </script><script>document.title='run'</script> saw Bonn {EVIL} .",
                "head": {"word": "Ann"},
                "tail": {"word": "Bonn"},
            }
        )
        scores = {name: ((number * place) % 7 + 1) / 24 for place, name in enumerate(RELATIONS, 1)}
        said.append({"row": rows[-1]["instance_id"], "scores": scores})
    na = [
        {**row, "instance_id": f"n{n}", "bag_id": f"nb{n}", "relation": "NA"}
        for n, row in enumerate(rows[:4])
    ]
    said += [{"row": row["instance_id"], "scores": said[0]["scores"]} for row in na]
    for name, records in (("test", rows), ("na", na), ("pred", said), ("train", rows[:9])):
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "rel2id").write_text(json.dumps({"NA": 0, **{name: n for n, name in enumerate(RELATIONS, 1)}}))
    files = {
        "-r": "rel2id",
        "-t": "test",
        "-p": "pred",
        "--na_rows": "na",
        "--train": "train",
        "--html": "x.html",
    }
    arguments = [part for flag, name in files.items() for part in (flag, str(folder / name))]
    arguments += ["--id_key", "row", "--per_class", "--breakdown", "bag_size", "seen", "--threshold", "0.2"]
    assert main(["score", "-k", "sent2sent", *arguments]) == 0
    return folder / "x.html"


def test_the_page_stands_alone(report):
    text = report.read_text(encoding="utf-8")
    assert "<script>document.title" not in text
    assert "<img" not in text
    for address in ("src=", "@import", "url(http", 'rel="stylesheet"'):
        assert address not in text.replace("src=x onerror", "")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_in_a_browser(report, browser, theme):
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python carries axe-core")
    context = browser.new_context(color_scheme=theme, offline=True)
    asked = []
    try:
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        page.evaluate(Path(axe.AXE_FILE_PATH).read_text(encoding="utf-8") + "; undefined")
        for width in (1200, 375):
            page.set_viewport_size({"width": width, "height": 800})
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            assert [(one["id"], node["html"][:200]) for one in found for node in one["nodes"]] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.title() == "pred on sent2sent"
        table = page.locator("table").first
        head = table.get_by_role("button", name="DSGT", exact=True)
        head.click()
        cells = [float(cell) for cell in table.locator("tbody td:nth-child(2)").all_inner_texts()]
        assert cells == sorted(cells, reverse=True)
    finally:
        context.close()
    assert {url.split(":")[0] for url in asked} <= {"file", "data"}
