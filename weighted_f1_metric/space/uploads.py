"""What strangers send: refused when too large or no text; errors in words that name no server path."""

from __future__ import annotations

import codecs
import functools
import logging
import os
import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..commands.files import encoding_of, open_bytes
from .pages import Page, figure_html, message_box

LOGGER = logging.getLogger(__name__)
_CHUNK_BYTES = 1 << 20
_SEPARATORS = "{[,:;\t"
_DRAWING = threading.Lock()
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f]")  # no text file holds these

NEUTRAL_MESSAGE = (
    "Something went wrong on the server; nothing was scored. The error was logged. Please check the files, "
    "or report it with what you did."
)


@dataclass(frozen=True)
class UploadLimits:
    """How much is read at most.

    Attributes:
        num_bytes, num_rows: Of one file, unpacked.
        num_values: Values in it, as its brackets, colons and separators count them: an object or a list
            without content takes 3 bytes in a file and about 75 in memory.
    """

    num_bytes: int
    num_rows: int
    num_values: int = 4_000_000


class SpaceError(Exception):
    """The base of the errors of this Space."""


class UploadError(SpaceError, ValueError):
    """An upload that is refused; its text is meant for the page."""


def checked_upload(path: str | os.PathLike[str] | None, what: str, limits: UploadLimits) -> Path:
    """Return the path of an uploaded text file, which is within the limits.

    Args:
        path: where Gradio put the file, or None when there is none.
        what: what messages call it when it is missing, e.g. "prediction file".
        limits: the most that is read.

    Raises:
        UploadError: no file, an empty or too large one (its gzip unpacked), too many lines or values, no
            text.
    """
    if path is None:
        raise UploadError(f"There is no {what}; upload one.")
    file = Path(path)
    size = file.stat().st_size
    if not size:
        raise UploadError(f"{file.name} is empty.")
    if size > limits.num_bytes:
        raise UploadError(f"{file.name} has {size:,} bytes; at most {limits.num_bytes:,} are read here.")
    decoder = None
    rows, size, values = 1, 0, 0
    with open_bytes(file) as stream:
        while True:
            chunk = stream.read(_CHUNK_BYTES)
            decoder = decoder or codecs.getincrementaldecoder(encoding_of(chunk))()
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError:
                raise UploadError(f"{file.name} is no UTF-8 text (near line {rows:,}).") from None
            if not chunk:
                break
            size += len(chunk)
            if size > limits.num_bytes:
                raise UploadError(f"{file.name} unpacks to more than {limits.num_bytes:,} bytes.")
            if _CONTROL.search(text):
                raise UploadError(
                    f"{file.name} is no text file: it holds control characters (near line {rows:,})."
                )
            rows += text.count("\n")
            values += sum(map(text.count, _SEPARATORS))
            if values > limits.num_values:
                raise UploadError(
                    f"{file.name} holds more than {limits.num_values:,} values (near line {rows:,}); no more "
                    "are read here. Score it at home: python -m weighted_f1_metric score."
                )
    if rows - 1 > limits.num_rows:
        raise UploadError(f"{file.name} has {rows - 1:,} lines; at most {limits.num_rows:,} are read here.")
    return file


def in_page(function: Callable[..., Page]) -> Callable[..., Page]:
    """Return `function`, whose errors become messages in the page: their words, without server paths or traceback.

    Errors of input (ValueError, TypeError, FileNotFoundError) are shown as they are, with uploaded files
    called by their names. Whatever else goes wrong is logged here and shown as `NEUTRAL_MESSAGE`.

    >>> @in_page
    ... def page(track):
    ...     raise ValueError(f"`track` must not be {track!r}.")
    >>> page("<b>").html
    '<div class="nyt-page"><div class="message error" role="alert">`track` must not be &#x27;&lt;b&gt;&#x27;.</div></div>'
    """  # noqa: E501

    @functools.wraps(function)
    def page(*args: Any, **kwargs: Any) -> Page:
        try:
            return function(*args, **kwargs)
        except (ValueError, TypeError, FileNotFoundError, RecursionError) as error:
            return Page(message_box(_words(error, [*args, *kwargs.values()]), error=True))
        except Exception:
            LOGGER.exception("a request failed")
            return Page(message_box(NEUTRAL_MESSAGE, error=True))

    return page


# Pictures that stand open; more of them would hide what matters.
NUM_SHOWN = 2


def drawn(page: Page) -> str:
    """Return the pictures of a page as HTML; one page is drawn at a time, and a failure becomes a message."""
    try:
        with _DRAWING:  # matplotlib's text layout is shared by threads
            pictures = [figure_html(figure, caption) for caption, figure in page.figures().items()]
    except Exception:
        LOGGER.exception("the pictures failed")
        return message_box("The pictures could not be drawn; the numbers above are complete.", error=True)
    if not pictures:
        return ""
    shown, rest = ("".join(part) for part in (pictures[:NUM_SHOWN], pictures[NUM_SHOWN:]))
    parts = f'<div class="figures">{shown}</div>'
    if rest:
        parts += (
            f"<details><summary>{len(pictures) - NUM_SHOWN} more pictures</summary>"
            f'<div class="figures">{rest}</div></details>'
        )
    return f'<div class="nyt-page">{parts}</div>'


def _words(error: Exception, arguments: list[Any]) -> str:
    """The text of an error with the names of files in place of their paths."""
    if isinstance(error, RecursionError):
        return "A file nests its JSON too deeply to be read."
    text = str(error)
    for value in arguments:
        for path in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(path, (str, os.PathLike)) and os.path.isabs(path) and os.path.isfile(path):
                text = text.replace(str(path), Path(path).name)
    places = (tempfile.gettempdir(), os.getcwd(), str(Path(__file__).parents[1]))
    if any(place + os.sep in text for place in places):
        LOGGER.error("a message named a server path: %s", text)
        return NEUTRAL_MESSAGE
    return text


class RequestLimit:
    """ASGI middleware that refuses a request body of more than `num_bytes`, declared or sent.

    A declared length is refused before anything is read; without one the body is cut when it has passed the
    limit.
    """

    def __init__(self, app: Any, *, num_bytes: int) -> None:
        """Wraps the application `app`."""
        self.app = app
        self.num_bytes = num_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Passes the request on, or answers 413."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self.num_bytes:
            await self._refuse(send)
            return
        received = 0
        started = False

        async def counted() -> Any:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.num_bytes:
                raise _TooLargeError
            return message

        async def watched(message: Any) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, counted, watched)
        except _TooLargeError:
            if not started:
                await self._refuse(send)

    async def _refuse(self, send: Any) -> None:
        text = f"The request is too large; at most {self.num_bytes:,} bytes are read.".encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": text})


class _TooLargeError(SpaceError):
    """A body that has passed the limit."""
