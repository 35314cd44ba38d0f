"""A file with one JSON array (the older release) -> its objects one by one, each with its place (pure)."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .record_lines import DECODER, RecordError, kind

_SPACE = re.compile(r"[ \t\r\n]*")
_MAX_RECORD = 1 << 26
_SHOWN = 20


class ArrayItem(NamedTuple):
    """An object of the array and where it begins: ``file:line (record 3)``, records counted from 1."""

    record: dict[str, Any]
    where: str


def array_items(path: str, *, chunk_bytes: int = 1 << 22) -> Iterator[ArrayItem]:
    """Yield the objects of the JSON array in `path`, with no more than a chunk of the file in memory.

    Raises:
        RecordError: not UTF-8, not one array of objects, cut off, something behind the array.
    """
    with _Text(path, chunk_bytes) as text:
        first = text.peek()
        if not first:
            return
        if first != "[":
            hint = (
                " It looks like the newer release, one object a line: its files are named train_nonna.json, "
                "na_train.json and so on."
                if first == "{"
                else " Is it another file under this name?"
            )
            raise RecordError(f"{text.where}: a JSON array must begin here; got {text.shown()}.{hint}")
        text.skip()
        number = 0
        while (char := text.peek()) != "]" or number:
            number += 1
            where = f"{text.where} (record {number})"
            if char != "{":
                raise RecordError(f"{where}: an object must begin here; got {text.shown()}.{_hint(char)}")
            yield ArrayItem(text.take_object(where), where)
            char = text.peek()
            if char == "]":
                break
            if char != ",":
                raise RecordError(
                    f"{text.where}: a comma or the end of the array must follow record {number}; got "
                    f"{text.shown()}.{_hint(char)}"
                )
            text.skip()
        text.skip()
        if text.peek():
            raise RecordError(f"{text.where}: something follows the array: {text.shown()}.")


def _hint(char: str) -> str:
    return "" if char else " Is the file cut off?"


class _Text:
    """The text of a file in a window that moves on; knows its line."""

    def __init__(self, path: str, chunk_bytes: int) -> None:
        self._path, self._chunk_bytes = path, chunk_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._window, self._at, self._line, self._ended = "", 0, 1, False

    def __enter__(self) -> _Text:
        self._file = open(self._path, "rb")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def where(self) -> str:
        return f"{self._path}:{self._line}"

    def shown(self) -> str:
        while len(self._window) - self._at < _SHOWN and not self._ended:
            self._read()
        return repr(self._window[self._at :][:_SHOWN]) if self.peek() else "the end of the file"

    def peek(self) -> str:
        """The next character that is no white space; "" at the end of the file."""
        while True:
            match = _SPACE.match(self._window, self._at)
            self._move(match.end() if match else self._at)
            if self._at < len(self._window) or self._ended:
                return self._window[self._at : self._at + 1]
            self._read()

    def skip(self) -> None:
        self._move(self._at + 1)

    def take_object(self, where: str) -> dict[str, Any]:
        while True:
            try:
                record, end = DECODER.raw_decode(self._window, self._at)
            except json.JSONDecodeError as error:
                # Perhaps the window ends inside the object.
                if self._ended or len(self._window) - self._at > _MAX_RECORD:
                    cut_off = error.pos >= len(self._window) or "Unterminated" in error.msg
                    hint = " Is the file cut off?" if cut_off else ""
                    raise RecordError(f"{where}: not valid JSON ({error.msg}).{hint}") from error
                self._read()
            except (ValueError, RecursionError) as error:
                raise RecordError(f"{where}: not valid JSON ({error}).") from error
            else:
                self._move(end)
                if not isinstance(record, dict):
                    raise RecordError(f"{where}: a record must be an object; got {kind(record)}.")
                return record

    def _move(self, to: int) -> None:
        self._line += self._window.count("\n", self._at, to)
        self._at = to

    def _read(self) -> None:
        data = self._file.read(self._chunk_bytes)
        self._ended = not data
        try:
            text = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            ahead = self._window.count("\n", self._at) + error.object.count(b"\n", 0, error.start)
            raise RecordError(
                f"{self._path}:{self._line + ahead}: the byte 0x{error.object[error.start]:02x} is not "
                "UTF-8; convert the file to UTF-8."
            ) from error
        self._window, self._at = self._window[self._at :] + text, 0
