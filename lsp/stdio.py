"""The language server at the process' own pipes, as editors start it."""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, NoReturn

from paceline.lsp.server import Server

CHUNK = 2**16  # bytes that are read at once
LONGEST = 2**20  # bytes of a line in a message's head
STDIN = 0


def serve(server: Server, output: BinaryIO) -> NoReturn:
    """Until the editor goes, or the process is told to end. It ends then, with the protocol's exit status.

    Nothing may hold it up by then, and a thread that waits for a daemon would, for minutes.
    """
    asyncio.run(_serve(server, output))
    raise AssertionError("the process has ended")


async def _serve(server: Server, output: BinaryIO) -> None:
    await server.speak(Input(STDIN), Output(output, server.stop))
    logging.shutdown()
    with suppress(OSError, ValueError):
        output.flush()
    os._exit(server.protocol.left or 0)


class Input:
    """What the editor sends. A thread of its own reads it, for which the process' end does not wait."""

    def __init__(self, descriptor: int) -> None:
        """Belongs to the running event loop."""
        self._reader = asyncio.StreamReader(limit=LONGEST)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(descriptor,), name="paceline-stdin", daemon=True).start()

    def _read(self, descriptor: int) -> None:
        data = b"more"
        with suppress(RuntimeError):  # the loop is closed
            while data:
                try:
                    data = os.read(descriptor, CHUNK)
                except OSError:
                    data = b""
                self._loop.call_soon_threadsafe(*((self._reader.feed_data, data) if data else (self._reader.feed_eof,)))

    async def readline(self) -> bytes:
        """A line of a message's head; nothing at the end."""
        try:
            return await self._reader.readline()
        except ValueError:  # nothing that has such lines speaks the protocol
            return b""

    async def readexactly(self, size: int) -> bytes:
        """A message's body; nothing at the end."""
        try:
            return await self._reader.readexactly(size)
        except asyncio.IncompleteReadError:
            return b""


class Output:
    """Where messages to the editor go. `gone` is called when nobody reads them any more."""

    def __init__(self, stream: BinaryIO, gone: Callable[[], None]) -> None:
        self._stream = stream
        self._gone = gone

    def write(self, data: bytes) -> None:
        """At once."""
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError):
            self._gone()

    def close(self) -> None:
        """The process' end does that."""
