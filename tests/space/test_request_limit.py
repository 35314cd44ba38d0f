"""Requests that no page sends: too large ones, files of the server, wrong arguments."""

import asyncio
import socket
import urllib.error
from urllib.parse import urlsplit

import pytest

from tests.space.space_server import call, read
from weighted_f1_metric.space import RequestLimit


def answer(headers, chunks, num_bytes=10):
    """(what was sent back, how many bytes the application got)."""
    got, sent = [], []
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    async def application(scope, receive, send):
        more = True
        while more:
            message = await receive()
            got.append(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"fine"})

    limit = RequestLimit(application, num_bytes=num_bytes)
    asyncio.run(limit({"type": "http", "headers": headers}, receive, send))
    return sent, len(b"".join(got))


@pytest.mark.parametrize(
    ("headers", "chunks", "status", "received"),
    [
        ([], [b"12345", b"12345"], 200, 10),
        ([(b"content-length", b"10")], [b"1234567890"], 200, 10),
        ([(b"content-length", b"1000000000")], [b"1"], 413, 0),
        ([(b"content-length", b"-1")], [b"1"], 413, 0),
        ([], [b"12345", b"12345", b"1", b"never read"], 413, 10),
    ],
)
def test_body(headers, chunks, status, received):
    sent, got = answer(headers, chunks)
    assert (sent[0]["status"], got) == (status, received)
    if status == 413:
        assert sent[1]["body"] == b"The request is too large; at most 10 bytes are read."


def test_a_gigabyte_is_refused_by_the_space_when_it_is_declared(metric_space):
    address = urlsplit(metric_space[0])
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(
            b"POST /gradio_api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000000\r\n"
            b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


def file_at(path):
    return {"path": path, "meta": {"_type": "gradio.FileData"}}


TRACK = ["NA", "rows", "error", False, "", "", "", None, False]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("score_track", ["bag2bag", *[file_at("/etc/passwd")] * 3, *TRACK]),
        ("score_track", ["bag2bag", *[file_at("../../etc/passwd")] * 3, *TRACK]),
        ("score_track", ["bag2bag", *[file_at("http://127.0.0.1:9/secret")] * 3, *TRACK]),
        ("score_track", ["<b>", None, None, None, *TRACK]),
        ("score_labels", ["a"]),
        ("score_labels", ["a", None, "a", None, "", "<b>", False]),
    ],
)
def test_a_call_that_the_page_does_not_make(metric_space, name, data):
    events = call(metric_space[0], name, data)
    assert "event: error" in events
    for secret in ("root:", "Traceback", ".py", "/tmp/", "/home/"):
        assert secret not in events


@pytest.mark.parametrize("path", ["/etc/passwd", "space/app.py", "weighted_f1_metric.py"])
def test_files_of_the_server_cannot_be_asked_for(metric_space, path):
    with pytest.raises(urllib.error.HTTPError) as refused:
        read(f"{metric_space[0]}/gradio_api/file={path}")
    assert refused.value.code in (403, 404)
