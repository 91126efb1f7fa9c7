"""The client for asyncio: the language server's and the terminal app's way to an engine. See client."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from paceline.client.calls import Answer, Call, Engine, Flow, Place
from paceline.client.client import EARLY, Notice, daemon_of, engine_of
from paceline.client.events import AS_CONFIGURED, Completion, Event, Message, Options
from paceline.client.gather import Gathering
from paceline.client.local import Say
from paceline.client.replies import Reader
from paceline.client.transport import grow, is_whole, may_repeat, reason, refused, settings
from paceline.config import Config

if TYPE_CHECKING:
    import httpx

    from paceline.daemon.protocol import StatusReport

T = TypeVar("T")


def connect(config: Config, say: Say = lambda _: None) -> "AsyncClient":
    """As client.connect. `say` is called in another thread."""
    return AsyncClient(engine_of(config, say))


class AsyncClient:
    """Client for asyncio; belongs to one event loop."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._http: httpx.AsyncClient | None = None
        self._place: Place | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> "AsyncClient":
        """Use as a context: connections are closed at its end."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    async def chat(self, messages: Sequence[Message], options: Options = AS_CONFIGURED) -> AsyncGenerator[Event, None]:
        """As Client.chat. Close it (contextlib.aclosing), or cancel the task that reads it, to cancel."""
        call = await self._asked(self.engine.chat(messages, options))
        async with aclosing(self._stream(call, Reader(self.engine.name))) as events:
            async for event in events:
                yield event

    async def complete(
        self, prefix: str, suffix: str, options: Options = AS_CONFIGURED, notice: Notice = lambda _: None
    ) -> Completion:
        """As Client.complete. Cancelling the task cancels the computation."""
        infilling = await self._asked(self.engine.infill(prefix, suffix, options))
        gathering, reader = Gathering(infilling, notice, single_line=options.single_line), Reader(self.engine.name)
        async with aclosing(self._stream(infilling.call, reader)) as events:
            async for event in events:
                if gathering.take(event):
                    break
        return gathering.completion(reader)

    async def models(self) -> tuple[str, ...]:
        """As Client.models."""
        return await self._asked(self.engine.models())

    async def status(self) -> "StatusReport":
        """As Client.status."""
        return await self._asked(daemon_of(self.engine).status())

    async def _asked(self, flow: Flow[T]) -> T:
        result: T
        try:
            call = next(flow)
            while True:
                call = flow.send(await self._fetched(call))
        except StopIteration as end:
            result = end.value
        return result

    async def _fetched(self, call: Call) -> Answer:
        import httpx

        response = await self._sent(call)
        try:
            return Answer(response.status_code, await self._joined(response))
        except httpx.TransportError as error:
            raise self.engine.broken(reason(error)) from error
        finally:
            await response.aclose()

    async def _stream(self, call: Call, reader: Reader) -> AsyncGenerator[Event, None]:
        import httpx

        response = await self._sent(call)
        try:
            if response.status_code != 200:
                raise refused(response, await self._joined(response), self.engine)
            if is_whole(response, self.engine):
                for event in reader.whole(await self._joined(response)):
                    yield event
            else:
                async for piece in response.aiter_bytes():
                    for event in reader.feed(piece):
                        yield event
                    if reader.over:
                        return
            for event in reader.end():
                yield event
        except httpx.TransportError as error:
            raise self.engine.broken(reason(error)) from error
        finally:
            await response.aclose()
        if not reader.over:
            raise self.engine.broken(EARLY)

    async def _joined(self, response: "httpx.Response") -> bytes:
        whole = bytearray()
        async for piece in response.aiter_bytes():
            grow(whole, piece, self.engine)
        return bytes(whole)

    async def _sent(self, call: Call) -> "httpx.Response":
        import httpx

        try:
            return await self._once(call, again=False)
        except httpx.TransportError as error:
            if not may_repeat(error):
                raise self.engine.unreachable(reason(error)) from error
        try:
            return await self._once(call, again=True)
        except httpx.TransportError as error:
            raise self.engine.unreachable(reason(error)) from error

    async def _once(self, call: Call, *, again: bool) -> "httpx.Response":
        http = await self._opened(again=again)
        return await http.send(http.build_request(call.method, call.path, content=call.body), stream=True)

    async def _opened(self, *, again: bool) -> "httpx.AsyncClient":
        import httpx

        async with self._opening:
            place = self._place
            if self._http is None or place is None or again:
                place = await asyncio.to_thread(self.engine.place)
            if self._http is None or place != self._place:
                transport = httpx.AsyncHTTPTransport(uds=place.socket, verify=False) if place.socket else None
                self._http = httpx.AsyncClient(transport=transport, **settings(place, self.engine.silence))
                self._place = place
            return self._http
