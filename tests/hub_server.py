"""A Hub for tests: the REST API that real clients speak, on loopback and in memory.

    with HubServer() as hub:
        subprocess.run([...], env=hub.environment(tmp_path))     # clients read the address on import
        hub.api().upload_folder(...)                             # or a client of this process
        hub.files("datasets", "tester/nyt-h")                    # path -> bytes

It knows repositories of models, datasets and Spaces with commits, branches, tags and LFS, private and gated
ones, tokens that may write or only read, and it fails on demand (`fail`). `python -m tests.hub_server PORT`
keeps one running.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub_repositories import Account, Commit, HubFault
from tests.hub_routes import HubState, Request, Routes

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TOKEN, READER, OTHER = "hf_tester_secret", "hf_reader_secret", "hf_other_secret"
ACCOUNTS = {TOKEN: Account("tester"), READER: Account("tester", "read"), OTHER: Account("other")}


@dataclass
class Failure:
    """What happens to requests "METHOD /path" that `pattern` finds, `times` times (None: always)."""

    pattern: str
    status: int | None
    times: int | None
    delay: float
    applied: bool


class HubServer(ThreadingHTTPServer):
    """The server; a context manager that serves from a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.state = HubState(url=self.url, accounts=dict(ACCOUNTS))
        self.requests: list[str] = []
        self.failures: list[Failure] = []

    def __enter__(self) -> HubServer:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def environment(self, home: Path, token: str | None = TOKEN) -> dict[str, str]:
        """The environment of a client process: this Hub and token, caches in `home`, one thread."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
        told = {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "HF_MODULES_CACHE": str(home / "modules")}
        quiet = {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "OMP_NUM_THREADS": "1"}
        return kept | told | quiet | ({} if token is None else {"HF_TOKEN": token})

    def api(self, token: str | bool = TOKEN) -> HfApi:
        """A client of this process; `token=False` is nobody."""
        from huggingface_hub import HfApi

        return HfApi(endpoint=self.url, token=token)

    def fail(
        self,
        pattern: str,
        status: int | None = 500,
        *,
        times: int | None = None,
        delay: float = 0.0,
        applied: bool = False,
    ) -> None:
        """Answer `status` to the requests that `pattern` finds.

        None: only `delay` them, in seconds. 0: hang up without an answer.
        `applied`: do what was asked before failing, as when only the answer was lost.
        """
        self.failures.append(Failure(pattern, status, times, delay, applied))

    def failure_of(self, request: str) -> Failure | None:
        with self.state.lock:
            for failure in self.failures:
                if failure.times != 0 and re.search(failure.pattern, request):
                    failure.times = None if failure.times is None else failure.times - 1
                    return failure
        return None

    def files(self, kind: str, repo_id: str, revision: str = "main") -> dict[str, bytes]:
        """Path -> content of a repository; `kind` is models, datasets or spaces."""
        files = self.state.repository(kind, repo_id).at(revision).files
        return {path: file.data for path, file in files.items()}

    def history(self, kind: str, repo_id: str, revision: str = "main") -> list[Commit]:
        """The commits of a repository, newest first."""
        return list(self.state.repository(kind, repo_id).history(revision))


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    server: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every answer takes 40 ms

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: `HubServer.requests` has them."""

    def answer(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        request = Request(self.command, url.path, query, self.headers, self.read_body())
        line = f"{self.command} {unquote(url.path)}"
        self.server.requests.append(line)
        failure = self.server.failure_of(line)
        routes = Routes(self.server.state, request)
        if failure is not None:
            time.sleep(failure.delay)
        try:
            if failure is not None and failure.status == 0:
                self.close_connection = True
                return
            if failure is not None and failure.status is not None:
                if failure.applied:
                    routes.answer()
                raise HubFault(failure.status, f"this Hub was told to answer {failure.status}")
            self.send(*routes.answer())
        except HubFault as fault:
            headers = {"X-Error-Message": fault.message} | (
                {"X-Error-Code": fault.code} if fault.code else {}
            )
            self.send(fault.status, fault.body, headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

    def read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        for name, value in {"Content-Type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def main() -> None:
    """Keep a Hub running on the port of the command line (0: any free one) until it is stopped."""
    with HubServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0) as hub:
        print(f"HF_ENDPOINT={hub.url} HF_TOKEN={TOKEN} HF_HUB_DISABLE_XET=1", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
