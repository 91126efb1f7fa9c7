"""Server-sent events out of bytes that come in pieces of any size (WHATWG HTML, "Server-sent events")."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from paceline.errors import EngineError

LARGEST = 16 * 2**20  # bytes of one event; a line that never ends must not fill the memory
_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Comment:
    """A line that other clients ignore."""

    text: str


class Events:
    """Splits a stream into the data of events (bytes) and comments. Names and ids of events are not needed here.

    An event that the end of the stream cuts off never happened.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[bytes | Comment]:
        """What is complete now. Raises EngineError when one event is larger than any that makes sense."""
        whole = self._rest + piece
        if whole.endswith(b"\r"):  # a newline may follow that belongs to it
            lines = _END.split(whole[:-1])
            self._rest = lines.pop() + b"\r"
        else:
            lines = _END.split(whole) if b"\r" in whole else whole.split(b"\n")
            self._rest = lines.pop()
        if len(self._rest) + self._size > LARGEST:
            raise EngineError("the server sends an event that does not end", "check what answers at this address")
        for line in lines:
            yield from self._line(line)

    def _line(self, line: bytes) -> Iterator[bytes | Comment]:
        if line.startswith(b"data:"):
            value = line[5:]
            self._data.append(value[1:] if value.startswith(b" ") else value)
            self._size += len(value) + 1
        elif not line:
            if self._data:
                data, self._data, self._size = b"\n".join(self._data), [], 0
                yield data
        elif line.startswith(b":"):
            yield Comment(line[1:].decode("utf-8", "replace").strip())
        elif line.startswith(b"error:"):  # llama.cpp before 2025 reports failures this way
            yield b'{"error":' + (line[6:].strip() or b"null") + b"}"
