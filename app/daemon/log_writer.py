"""Writes the daemon's log: what happened to the daemon, never what was asked or answered.

A message of ours names models, files and figures. An exception that is not ours may carry anything, such as a piece of
a prompt, so only its type and the places in the code are written.
"""

import asyncio
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any

from paceline.daemon.log import LARGEST, create

OLDER = 2  # files that are kept besides the newest
ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Discreet(logging.Formatter):
    """Of an exception, type and places; see above."""

    def format(self, record: logging.LogRecord) -> str:
        """One record. What another formatter has kept of its exception in it is not taken."""
        record.exc_text = None
        return super().format(record)

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - logging's name
        """A line for each exception of the chain, what caused it first, and the frames of each."""
        return "\n".join(_described(ei[1]))


def _described(error: BaseException | None) -> Iterator[str]:
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.insert(0, error)
        error = error.__cause__ or error.__context__
    for each in chain:
        yield f"  {type(each).__module__}.{type(each).__qualname__}"
        for frame in traceback.extract_tb(each.__traceback__):
            yield f"    {frame.filename}:{frame.lineno} in {frame.name}"


class LogFile(RotatingFileHandler):
    """The file. A process whose stderr is that file too, as a daemon's is, keeps writing into the newest one."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=LARGEST, backupCount=OLDER, encoding="utf-8")
        self.has_stderr = _same_file(2, self._descriptor())

    def doRollover(self) -> None:  # noqa: N802 - logging's name
        """Begin a new file."""
        super().doRollover()
        Path(self.baseFilename).chmod(0o600)
        if self.has_stderr:
            for descriptor in (1, 2):
                os.dup2(self._descriptor(), descriptor)

    def _descriptor(self) -> int:
        assert self.stream is not None, "it is opened at once"
        return self.stream.fileno()


def start(path: Path) -> logging.Logger:
    """Send this process's log to the file and, where that is something else, to stderr. Raises OSError."""
    create(path)
    file = LogFile(path)
    file.setFormatter(Discreet("%(asctime)s [%(process)d] %(levelname)s %(message)s"))
    handlers: list[logging.Handler] = [file]
    if sys.stderr is not None and not file.has_stderr:
        handlers.append(logging.StreamHandler())
        handlers[-1].setFormatter(Discreet("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=handlers, force=True)
    ours = logging.getLogger("paceline")
    ours.setLevel(logging.INFO)
    return ours


def loop_failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What asyncio calls for errors that nobody handled. Its own handler would write the exception's text."""
    error = context.get("exception")
    logging.getLogger("paceline").error(
        "%s", context.get("message", "an error in the event loop"), exc_info=error if error else None
    )


def _same_file(one: int, other: int) -> bool:
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:  # closed
        return False
