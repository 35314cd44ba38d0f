"""Files of the example, as a visitor would upload them; a browser; both Spaces from their staged folders."""

import importlib.util
import shutil
from urllib.parse import urlsplit

import pytest

from hub_cards import stage_metric
from leaderboard.staging import stage_leaderboard
from tests.folders import ROOT
from tests.space.space_server import running
from weighted_f1_metric.space.example_files import write_example

METRIC = ROOT / "weighted_f1_metric"
MILLISECONDS = 60_000  # that a busy machine may take
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
]


@pytest.fixture(scope="session")
def example(tmp_path_factory):
    return write_example(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")  # its event loop runs in this thread as long as it is open
def browser():
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium; install it with apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


def needs_gradio():
    if importlib.util.find_spec("gradio") is None:
        pytest.skip("there is no gradio; install the extra `space`")


@pytest.fixture(scope="session")
def metric_space(tmp_path_factory):
    """(address, process, log) of the metric's Space."""
    needs_gradio()
    folder = tmp_path_factory.mktemp("metric") / "app"  # as on the Hub: not the name of the package
    folder.mkdir()
    stage_metric(METRIC, folder, repo_id="tester/weighted_f1_metric")
    with running(folder, tmp_path_factory.mktemp("work")) as space:
        yield space


@pytest.fixture(scope="session")
def staged_leaderboard(tmp_path_factory):
    needs_gradio()
    folder = tmp_path_factory.mktemp("leaderboard") / "app"
    folder.mkdir()
    stage_leaderboard(folder)
    return folder


@pytest.fixture
def open_page(browser):
    """Opens an address as a new visitor; checks at the end that nothing left the machine or failed."""
    contexts, asked, complaints = [], [], []

    def open_page(url, wait_for, width=1200, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.goto(url)
        page.wait_for_selector(wait_for)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert {urlsplit(url).hostname for url in asked if url.startswith("http")} <= {"127.0.0.1"}
    assert complaints == []
