"""A staged Space in a process of its own, in which nothing of ours can be imported but what was staged."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from hub_cards import front_matter

START_SECONDS = 120
# An installed or editable copy of ours must not be found, and `-I` leaves the folder of the tests out.
RUN = """
import importlib.util, runpy, sys
ours = ("weighted_f1_metric", "leaderboard", "hub_cards", "nyt_h_dataset", "finetune")
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in str(finder).lower()]
found = [name for name in ours if importlib.util.find_spec(name)]
assert not found, f"{found} can be imported without the staged folder"
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def app_file(folder):
    """What the card of the staged folder says is to be run."""
    return front_matter((folder / "README.md").read_text(encoding="utf-8"))["app_file"]


@contextlib.contextmanager
def running(folder, work, **environment):
    """The address of the Space in `folder`, its process and the file of its log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GRADIO", "PYTHON"))}
    own = {
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(work / "uploads"),
        "GRADIO_ANALYTICS_ENABLED": "False",
        "HF_HOME": str(work / "home"),
        "MPLCONFIGDIR": str(work / "matplotlib"),
        "OMP_NUM_THREADS": "1",
        "no_proxy": "127.0.0.1,localhost",
    }
    url, log = f"http://127.0.0.1:{port}", work / "space.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", RUN, app_file(folder)],
            cwd=folder, env=kept | own | environment, stdout=stream, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        _wait(process, url, log)
        yield url, process, log
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def read(url, data=None):
    """The body of an answer, as text; `data` is posted as JSON."""
    body = None if data is None else json.dumps({"data": data}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=START_SECONDS) as answer:
        return answer.read().decode("utf-8")


def call(url, name, data):
    """The events of a call of the function of that name, as the page itself makes it."""
    event = json.loads(read(f"{url}/gradio_api/call/{name}", data))["event_id"]
    return read(f"{url}/gradio_api/call/{name}/{event}")


def _wait(process, url, log):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError):
            read(url)
            return
        time.sleep(0.2)
    raise AssertionError(f"the Space did not answer within {START_SECONDS} s: {log.read_text()}")
