"""The road of a login: Gradio's local stand-in for the Hub's OAuth, with an account of the loopback Hub."""

import json
import urllib.request

import pytest

from tests.space.space_server import START_SECONDS, running
from weighted_f1_metric import space, write_predictions

pytest.importorskip("itsdangerous", reason="Gradio signs the cookie of a login with itsdangerous")
BOUNDARY = "----------------predictions"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def ask(url, body=None, *, cookie="", kind="application/json"):
    """The answer of the page to a visitor with this cookie; redirects are not followed."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())
    headers = {"Content-Type": kind, **({"Cookie": cookie} if cookie else {})}
    try:
        return opener.open(urllib.request.Request(url, body, headers), timeout=START_SECONDS)
    except urllib.error.HTTPError as answer:
        if answer.code not in (302, 303, 307):
            raise
        return answer


def submit(url, name, path, cookie):
    """The events of a submission to bag2bag, as the page makes them."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="{path.name}"\r\n\r\n'
    body = head.encode() + path.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode()
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    with ask(f"{url}/gradio_api/upload", body, cookie=cookie, kind=kind) as answer:
        file = {"path": json.load(answer)[0], "meta": {"_type": "gradio.FileData"}}
    data = json.dumps({"data": [name, "", "bag2bag", [file]]}).encode()
    with ask(f"{url}/gradio_api/call/submit", data, cookie=cookie) as answer:
        event = json.load(answer)["event_id"]
    with ask(f"{url}/gradio_api/call/submit/{event}", cookie=cookie) as answer:
        return answer.read().decode()


def test_a_hidden_test_set_takes_submissions_of_logins_and_keeps_their_name(
    staged_leaderboard, hub, tmp_path
):
    test, results, work = (tmp_path / name for name in ("test", "results", "work"))
    for place in (test, results, work):
        place.mkdir()
    data = space.example_track()
    write_predictions(test / "test.json", data["references"])
    ids = {name: number for number, name in enumerate(["NA", *data["relations"]])}
    (test / "rel2id.json").write_text(json.dumps(ids))
    write_predictions(tmp_path / "p.jsonl", space.example_predictions("rare"))
    api = hub.api()
    environment = {
        "LEADERBOARD_TEST_DIR": str(test),
        "LEADERBOARD_RESULTS_DIR": str(results),
        "OAUTH_CLIENT_ID": "client",  # the Hub sets it where the card says hf_oauth
        "HF_ENDPOINT": api.endpoint,
        "HF_TOKEN": api.token,
    }
    with running(staged_leaderboard, work, **environment) as (url, _, log):
        refused = submit(url, "mine", tmp_path / "p.jsonl", cookie="")
        assert 'role=\\"alert\\"' in refused
        assert list((results / "results").glob("*.json")) == []
        with ask(f"{url}/login/huggingface") as answer:
            assert "/login/callback" in answer.headers["Location"]
        with ask(f"{url}/login/callback") as answer:
            cookie = answer.headers["Set-Cookie"].split(";")[0]
        assert "mine is on the bag2bag board" in submit(url, "mine", tmp_path / "p.jsonl", cookie)
        (result,) = (results / "results").glob("*.json")
        assert json.loads(result.read_text())["login"] == api.whoami()["name"] == "tester"
        assert api.token not in log.read_text()
