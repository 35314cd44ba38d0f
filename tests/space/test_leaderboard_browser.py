"""The leaderboard's Space in a real browser, on a test set whose labels must not reach the page."""

import json
import urllib.error

import pytest

from tests.space.space_server import call, read, running
from weighted_f1_metric import score_track, space, write_predictions

SECRET = "SECRET-SENTENCE"


@pytest.fixture(scope="module")
def board(staged_leaderboard, tmp_path_factory):
    """(address, folder of the test set, folder of the results)."""
    test, results = tmp_path_factory.mktemp("test"), tmp_path_factory.mktemp("results")
    data = space.example_track()
    for row in data["references"]:
        row["sentence"] = SECRET
    write_predictions(test / "test.json", data["references"])
    ids = {name: number for number, name in enumerate(["NA", *data["relations"]])}
    (test / "rel2id.json").write_text(json.dumps(ids))
    environment = {"LEADERBOARD_TEST_DIR": str(test), "LEADERBOARD_RESULTS_DIR": str(results)}
    with running(staged_leaderboard, tmp_path_factory.mktemp("work"), **environment) as (url, _, log):
        yield url, test, results
        assert "Traceback" not in log.read_text()


def rows(page):
    """The cells of the board, a list for each line."""
    lines = page.locator("#board table tr").all()
    return [line.locator("th, td").all_inner_texts() for line in lines]


def fill_in(page, name, path):
    page.get_by_role("tab", name="Submit").click()
    page.fill("#name input, #name textarea", name)
    page.set_input_files("#file input[type=file]", path)
    page.wait_for_selector("#file .file-preview")


def predictions_of(system, folder):
    path = folder / f"{system}.jsonl"
    write_predictions(path, space.example_predictions(system))
    return path


def test_submissions_at_the_same_moment_are_both_on_the_board(open_page, board, tmp_path):
    url, _, results = board
    pages = [open_page(url, "#board table") for _ in range(2)]
    for page, system in zip(pages, ("rare", "frequent"), strict=True):
        fill_in(page, f"<b>{system}</b>", predictions_of(system, tmp_path))
    for page in pages:
        page.click("#send", no_wait_after=True)
    for page, system in zip(pages, ("rare", "frequent"), strict=True):
        message = page.wait_for_selector("#answer .message").inner_text()
        assert message == f"<b>{system}</b> is on the bag2bag board."
    page = open_page(url, "#board table")
    header, *lines, echo = rows(page)
    assert {line[0] for line in lines} == {"<b>rare</b>", "<b>frequent</b>"}
    place = header.index("dodrans")
    for line in lines:
        scores = score_track(
            track="bag2bag",
            predictions=space.example_predictions(line[0][3:-4]),
            **space.example_track(),
        )
        assert line[place].split()[0] == f"{100 * scores['magt_dodrans_f1']:.1f}"
    assert echo[place] == f"{100 * scores['echo']['magt_dodrans_f1']:.1f}"
    records = [json.loads(path.read_text()) for path in (results / "results").glob("*.json")]
    assert len(list((results / "counts").glob("*.json"))) == len(records)
    assert {record["signatures"]["magt"] for record in records} == {scores["signatures"]["magt"]}


def test_the_labels_of_the_test_set_are_not_sent(open_page, board):
    url = board[0]
    page = open_page(url, "#board table")
    shown = [call(url, "board", ["bag2bag", truth, "macro_f1"]) for truth in ("dsgt", "magt")]
    assert all("copy of the distant labels" in text for text in shown)
    sent = [page.content(), *shown, *(read(f"{url}/{path}") for path in ("", "config", "gradio_api/info"))]
    assert not [text for text in sent if SECRET in text or "bag_label" in text or "EXAMPLE#" in text]


def test_the_board_is_sorted_and_filtered(open_page, board):
    page = open_page(board[0], "#board table")
    before = rows(page)
    choose(page, "sort_by", "macro F1")
    page.wait_for_function("document.querySelector('#board').innerText.includes('sorted by macro F1.')")
    after = rows(page)
    column = before[0].index("macro")
    values = [float(line[column].split()[0]) for line in after[1:-1]]
    assert values == sorted(values, reverse=True)
    choose(page, "truth", "DSGT")
    page.wait_for_function("document.querySelector('#board').innerText.includes('under DSGT')")
    header, *_, echo = rows(page)
    assert echo[header.index("↓ macro")] == "100.0"  # the copy of the distant labels, under these labels
    choose(page, "track", "sent2sent")
    page.wait_for_function("document.querySelector('#board').innerText.includes('0 models under DSGT')")
    page.wait_for_selector("#ranks img", state="detached")


def choose(page, control, title):
    page.click(f"#{control} input")
    page.get_by_role("option", name=title, exact=True).click()


def test_a_wrong_file_is_answered_in_the_page(open_page, board, tmp_path):
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"instance_id": "EXAMPLE#0", "pred": "NA"}\n')
    page = open_page(board[0], "#board table", width=375)
    fill_in(page, "wrong", wrong)
    page.click("#send")
    assert page.wait_for_selector("#answer [role=alert]").inner_text() == (
        "Track 'bag2bag' takes predictions by 'bag_id', these have 'instance_id'; score them with a sentence "
        "track."
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize("path", ["test.json", "rel2id.json"])
def test_the_test_set_cannot_be_asked_for(board, path):
    url, test, _ = board
    with pytest.raises(urllib.error.HTTPError) as refused:
        read(f"{url}/gradio_api/file={test / path}")
    assert refused.value.code in (403, 404)
