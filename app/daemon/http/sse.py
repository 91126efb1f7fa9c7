"""Server-sent events (WHATWG HTML) as the answer of a generation, and how a reader that does not read is left."""

import asyncio
from collections.abc import Sequence

import msgspec
from starlette.types import Send

from paceline.daemon.http.feed import Feed

DONE = b"data: [DONE]\n\n"  # OpenAI's routes end with it, llama.cpp's do not
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_encoder = msgspec.json.Encoder()


def data(chunk: object) -> bytes:
    """An event that carries a struct or plain data as JSON."""
    return b"data: " + _encoder.encode(chunk) + b"\n\n"


def comment(text: str) -> bytes:
    """A line that readers ignore unless they know it."""
    return b": " + " ".join(text.split()).encode() + b"\n\n"


class Outlet:
    """The response being written. A write that takes longer than `patience` seconds cuts the reader off."""

    def __init__(self, send: Send, feed: Feed, patience: float) -> None:
        self._send = send
        self._feed = feed
        self._patience = patience
        self.started = False
        self._written = 0.0

    async def start(self, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Send the head, with these headers too."""
        self.started = True
        self._written = asyncio.get_running_loop().time()
        await self._send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})

    async def write(self, body: bytes, *, last: bool = False) -> None:
        """Send on; returns when the reader has room for more."""
        if not body and not last:
            return
        loop = asyncio.get_running_loop()
        self._written = loop.time()
        alarm = loop.call_later(self._patience, self._feed.cut_off, f"nothing was taken for {self._patience:.0f} s")
        try:
            await self._send({"type": "http.response.body", "body": body, "more_body": not last})
        finally:
            alarm.cancel()

    async def stay_alive(self, seconds: float, text: str) -> None:
        """Write a comment whenever nothing was written for so long: whoever waits, or a proxy, might give up.

        Runs until it is cancelled.
        """
        loop = asyncio.get_running_loop()
        while True:
            left = self._written + seconds - loop.time()
            if left > 0:
                await asyncio.sleep(left)
            else:
                await self.write(comment(text))
