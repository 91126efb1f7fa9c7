"""A client that talks to an ASGI application message by message, so that it can be slow, rude, or gone."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paceline.daemon.http.app import create_app
from paceline.daemon.http.limits import Limits
from support.fake_service import PATIENCE, FakeControl, FakeHost, FakeService

TCP = ("127.0.0.1", 8765)
UNIX = ("/run/user/1000/paceline/daemon.sock", None)


@dataclass
class Reply:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    complete: bool = False

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        return self.json()["error"]

    @property
    def blocks(self) -> list[str]:
        """The blocks of an event stream."""
        return [block for block in self.body.decode().split("\n\n") if block]

    @property
    def events(self) -> list[Any]:
        """The data of an event stream's events; "[DONE]" as it is."""
        found = [block.removeprefix("data: ") for block in self.blocks if block.startswith("data: ")]
        return [each if each == "[DONE]" else json.loads(each) for each in found]

    @property
    def comments(self) -> list[str]:
        return [block.removeprefix(": ") for block in self.blocks if block.startswith(": ")]


class Connection:
    """One request on its way."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self.reply = Reply()
        self.reading = asyncio.Event()  # cleared: the client's buffers are full
        self.reading.set()
        self._changed = asyncio.Event()
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for at, chunk in enumerate(chunks):
            self._incoming.put_nowait({"type": "http.request", "body": chunk, "more_body": at + 1 < len(chunks)})

    async def receive(self) -> dict[str, Any]:
        return await self._incoming.get()

    async def send(self, message: dict[str, Any]) -> None:
        await self.reading.wait()
        if message["type"] == "http.response.start":
            assert not self.reply.status, "two responses"
            self.reply.status = message["status"]
            self.reply.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        else:
            self.reply.body += message.get("body", b"")
            self.reply.complete = not message.get("more_body", False)
        self._changed.set()

    def disconnect(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def until(self, text: bytes) -> None:
        """Return when this has arrived."""
        await asyncio.wait_for(self._arrival(text), PATIENCE)

    async def _arrival(self, text: bytes) -> None:
        while text not in self.reply.body:
            self._changed.clear()
            await self._changed.wait()


class Api:
    """An application on a fake service, and a way to ask it."""

    def __init__(
        self,
        service: FakeService | None = None,
        *,
        host: FakeHost | None = None,
        token: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.service = service or FakeService()
        self.host = host or FakeHost(self.service)
        self.control = FakeControl()
        self.app = create_app(self.host, token=token, control=self.control, limits=limits or Limits())

    def post(self, path: str, body: Any = None, **how: Any) -> Reply:
        return self.ask("POST", path, body, **how)

    def get(self, path: str, **how: Any) -> Reply:
        return self.ask("GET", path, **how)

    def ask(self, method: str, path: str, body: Any = None, **how: Any) -> Reply:
        """The whole exchange with a well-behaved client."""

        async def exchange() -> Reply:
            async with self.connected(method, path, body, **how) as connection:
                pass
            return connection.reply

        return asyncio.run(exchange())

    @contextlib.asynccontextmanager
    async def connected(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        chunks: Sequence[bytes] | None = None,
        server: tuple[str, int | None] = TCP,
        client: tuple[str, int] | None = None,
        more_headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> AsyncIterator[Connection]:
        """A connection with a request on it. Leaving waits until the application has done with it."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        connection = Connection([data] if chunks is None else chunks)
        sent = {"host": "127.0.0.1:8765", "content-length": str(len(data)), **(headers or {})}
        if chunks is not None:
            del sent["content-length"]
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in sent.items() if value is not None]
            + list(more_headers),
            "client": client or (None if server[1] is None else ("127.0.0.1", 50000)),
            "server": server,
        }
        served = asyncio.ensure_future(self.app(scope, connection.receive, connection.send))
        try:
            yield connection
            await asyncio.wait_for(asyncio.shield(served), PATIENCE)
        finally:
            if not served.done():
                served.cancel()
            await asyncio.gather(served, return_exceptions=True)
