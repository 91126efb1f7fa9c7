"""One line on the terminal that says what is going on, and vanishes when there is something to read."""

import os
import sys
from types import TracebackType
from typing import TextIO


class Status:
    """A transient line on stderr. On anything but a terminal it says nothing."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr  # None: started with a closed stderr
        self._shown = False
        dumb = os.environ.get("TERM") in ("dumb", "unknown")  # such a terminal shows escape sequences as text
        self._live = self._stream is not None and self._stream.isatty() and not dumb

    def __enter__(self) -> "Status":
        """Use as a context: the line is gone at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away."""
        self.clear()

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._live:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
            self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False
