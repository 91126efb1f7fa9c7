"""The language server at a socket: one editor, which a person has started by hand."""

import asyncio
import re

from paceline.errors import InputError
from paceline.lsp.server import Server

LARGEST = 64 * 2**20  # bytes of one message
_HEADER = re.compile(rb"(?:Content-(?:Length|Type): [^\r\n]*)?\r\n")


def serve(server: Server, host: str, port: int) -> None:
    """Until the editor goes. Raises InputError where nobody can listen there."""
    asyncio.run(_serve(server, host, port))


async def _serve(server: Server, host: str, port: int) -> None:
    coming: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    coming = asyncio.get_running_loop().create_future()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if coming.done():  # a second one
            writer.close()
        else:
            coming.set_result((reader, writer))

    try:
        listening = await asyncio.start_server(connected, host, port)
    except OSError as error:
        raise InputError(f"cannot listen at {host}:{port}: {error.strerror or error}", "choose another port") from error
    reader, writer = await coming
    listening.close()
    try:
        await server.speak(Frames(reader), writer)
    finally:
        writer.close()


class Frames:
    """Reads messages of the protocol. Anything else ends the connection: it comes from a browser, or worse."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def readline(self) -> bytes:
        """A line of a message's head; nothing at the end."""
        try:
            line = await self._reader.readline()
        except (ValueError, OSError):  # too long a line; the other side is gone
            return b""
        return line if _HEADER.fullmatch(line) else b""

    async def readexactly(self, size: int) -> bytes:
        """A message's body; nothing at the end."""
        if size > LARGEST:
            return b""
        try:
            return await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError):
            return b""
