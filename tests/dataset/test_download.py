"""`download` against a server on the loopback interface: resume, checksum, and what to do without access."""

import contextlib
import hashlib
import io
import random
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nyt_h_dataset import load_nyt_h, write_sample
from nyt_h_dataset.__main__ import main
from nyt_h_dataset.download import DRIVE_ID, by_hand, download_nyt_h

ADDRESS = "drive.google.com/file/d/1my4W7O-ioCYWRiP6VCbgGfXTzgdrDep0/view"


class FileServer(ThreadingHTTPServer):
    """Serves `content`; cuts an answer after `cut` bytes, answers `status` instead, knows ranges."""

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.cut, self.status, self.served = content, None, 200, []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/nyt-h.tar.bz2"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, asked = self.server, self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        body = server.content[start:]
        self.send_response(server.status if server.status != 200 else (206 if asked else 200))
        if asked:
            self.send_header(
                "Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}"
            )
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"one"')
        self.end_headers()
        sent = body[: server.cut]
        server.served.append((start, len(sent)))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(sent)
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A sample packed as the authors pack theirs, with noise that does not compress."""
    root = tmp_path_factory.mktemp("archive")
    folder = write_sample(root / "data", size="tiny").path
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:bz2") as tar:
        tar.add(folder, "data")
        noise = random.Random(0).randbytes(2_000_000)
        entry = tarfile.TarInfo("data/noise.bin")
        entry.size = len(noise)
        tar.addfile(entry, io.BytesIO(noise))
    return raw.getvalue()


@pytest.fixture
def server(archive, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    served = FileServer(archive)
    thread = threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_archive_arrives_with_its_checksum_and_is_read_as_it_is(server, archive, tmp_path):
    info = download_nyt_h(tmp_path / "new" / "out", url=server.url, quiet=True)
    assert info.path.read_bytes() == archive
    assert (info.sha256, info.num_bytes) == (hashlib.sha256(archive).hexdigest(), len(archive))
    assert not info.was_there
    assert names(info.path.parent) == ["nyt-h.tar.bz2"]
    data = load_nyt_h(info.path.parent, cache_dir=tmp_path / "cache")
    assert len(data["test"]) == 90


def test_an_archive_that_is_there_is_checked_and_not_fetched_again(server, archive, tmp_path):
    download_nyt_h(tmp_path, url=server.url, quiet=True)
    served = list(server.served)
    info = download_nyt_h(tmp_path, url=server.url, quiet=True, sha256=hashlib.sha256(archive).hexdigest())
    assert info.was_there
    assert server.served == served
    with pytest.raises(ValueError, match=r"has the SHA-256 [0-9a-f]{64}, not 0{64}\.$"):
        download_nyt_h(tmp_path, url=server.url, sha256="0" * 64)
    assert names(tmp_path) == ["nyt-h.tar.bz2"], "a file that was there is never removed"


def test_an_interrupted_download_goes_on_where_it_stopped(server, archive, tmp_path):
    server.cut = 700_000
    with pytest.raises(ConnectionError, match="run the same again to go on, or delete it") as caught:
        download_nyt_h(tmp_path, url=server.url, quiet=True, retries=0)
    assert "By hand: " in str(caught.value)
    (part,) = names(tmp_path)
    assert part.endswith(".part"), "nothing half has the archive's name"
    received = (tmp_path / part).stat().st_size
    assert 0 < received <= 700_000
    server.cut = None
    server.served.clear()
    info = download_nyt_h(tmp_path, url=server.url, quiet=True, retries=0)
    assert (received, len(archive) - received) in server.served
    assert info.path.read_bytes() == archive
    assert names(tmp_path) == ["nyt-h.tar.bz2"]


def test_a_connection_that_breaks_is_tried_again(server, archive, tmp_path, monkeypatch):
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)  # the wait between two tries
    server.cut = 900_000
    info = download_nyt_h(tmp_path, url=server.url, quiet=True, retries=5)
    assert info.path.read_bytes() == archive
    assert len(server.served) >= 3


def test_another_checksum_is_refused_and_the_file_removed(server, tmp_path):
    with pytest.raises(ValueError, match=r"has the SHA-256 [0-9a-f]{64}, not f{64}\. It was removed"):
        download_nyt_h(tmp_path, url=server.url, quiet=True, sha256="F" * 64)
    assert names(tmp_path) == []


def test_a_web_page_in_its_place_is_refused(server, tmp_path):
    server.content = b"<html>Quota exceeded</html>"
    with pytest.raises(ValueError, match=r"not a tar archive; .*b'<html>Quota.* It was removed"):
        download_nyt_h(tmp_path, url=server.url, quiet=True)
    assert names(tmp_path) == []


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_refusal_says_how_to_do_it_by_hand(server, tmp_path, status):
    server.status = status
    with pytest.raises(ConnectionError, match=f"could not be downloaded: {status}") as caught:
        download_nyt_h(tmp_path, url=server.url, quiet=True)
    assert ADDRESS in str(caught.value)
    assert f'copy it to {tmp_path}. Then load_nyt_h("{tmp_path}")' in str(caught.value)
    assert names(tmp_path) == []


def test_a_connection_that_brings_nothing_leaves_nothing(server, tmp_path):
    server.cut = 0
    with pytest.raises(ConnectionError, match="could not be downloaded"):
        download_nyt_h(tmp_path, url=server.url, quiet=True, retries=0)
    assert names(tmp_path) == []


def test_a_machine_without_access_is_told_what_to_do(server, tmp_path, capsys):
    url = server.url
    server.server_close()
    with pytest.raises(ConnectionError, match="could not be downloaded: ") as caught:
        download_nyt_h(tmp_path, url=url, quiet=True, retries=0)
    assert ADDRESS in str(caught.value)
    assert "github.com/Spico197/NYT-H" in str(caught.value)


def test_the_authors_file_is_the_default(tmp_path, monkeypatch):
    asked = {}

    def download(**options):
        asked.update(options)
        raise gdown.exceptions.FileURLRetrievalError("no access")

    import gdown

    monkeypatch.setattr(gdown, "download", download)
    with pytest.raises(ConnectionError, match="no access"):
        download_nyt_h(tmp_path)
    assert (asked["id"], asked["url"]) == (DRIVE_ID, None)
    assert asked["use_cookies"] is False, "nothing is written outside `out`"
    assert DRIVE_ID == "1my4W7O-ioCYWRiP6VCbgGfXTzgdrDep0"


def test_without_gdown_the_extra_and_the_way_by_hand_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gdown", None)
    with pytest.raises(ImportError, match=r'pip install "nyt-h\[download\]"\. By hand: ') as caught:
        download_nyt_h(tmp_path)
    assert by_hand(tmp_path) in str(caught.value)


def test_wrong_arguments_are_named(tmp_path):
    for wrong in ("abc", "g" * 64, ""):
        with pytest.raises(ValueError, match=f"`sha256` must be 64 hex digits; got '{wrong}'"):
            download_nyt_h(tmp_path, sha256=wrong)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file; give a folder"):
        download_nyt_h(tmp_path / "file")


def test_the_command_shows_progress_and_prints_the_checksum(server, archive, tmp_path, capfd):
    words = ["download", "--out", str(tmp_path), "--url", server.url]
    digest = hashlib.sha256(archive).hexdigest()
    assert main([*words, "--sha256", digest]) == 0
    shown = capfd.readouterr()
    assert f"SHA-256: {digest} (as expected)" in shown.out
    assert f"Downloaded: {tmp_path / 'nyt-h.tar.bz2'} ({len(archive):,} bytes)" in shown.out
    assert "100%" in shown.err
    assert main(words) == 0
    shown = capfd.readouterr()
    assert f"There already: {tmp_path / 'nyt-h.tar.bz2'}" in shown.out
    assert f"SHA-256: {digest}\n" in shown.out
    assert main([*words, "--sha256", "0" * 64]) == 2
    assert "nyt-h-dataset: " in capfd.readouterr().err


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_an_archive_that_is_there_and_cut_off_is_fetched_again(server, archive, tmp_path, share):
    (tmp_path / "nyt-h.tar.bz2").write_bytes(archive[: int(len(archive) * share)])
    info = download_nyt_h(tmp_path, url=server.url, quiet=True)
    assert not info.was_there
    assert info.path.read_bytes() == archive


def test_a_download_that_is_cut_off_is_refused_and_removed(server, archive, tmp_path):
    server.content = archive[:-20]
    with pytest.raises(ValueError, match="cut off or damaged"):
        download_nyt_h(tmp_path, url=server.url, quiet=True)
    assert names(tmp_path) == []


def test_the_archive_is_a_file_like_any_other(server, tmp_path):
    path = download_nyt_h(tmp_path, url=server.url, quiet=True).path
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
