"""The client for asyncio: the language server's and the terminal app's way to an engine. See client."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from paceline.client.calls import Answer, Call, Engine, Flow, Place
from paceline.client.cancel import PATIENCE, Cancel
from paceline.client.client import EARLY, TOLD, Notice, daemon_of, engine_of
from paceline.client.discretion import Discretion
from paceline.client.events import AS_CONFIGURED, Completion, Event, Message, Options
from paceline.client.gather import Gathering
from paceline.client.local import Local, Say
from paceline.client.replies import Reader
from paceline.client.transport import Line, grow, is_whole, may_repeat, reason, refused, settings
from paceline.config import Config
from paceline.errors import ConfigError, ModelError

if TYPE_CHECKING:
    import httpx

    from paceline.daemon.protocol import StatusReport

T = TypeVar("T")
QUIET = 10.0  # seconds without a byte from the daemon, after which it is asked whether it is still there


def connect(config: Config, say: Say = lambda _: None) -> "AsyncClient":
    """As client.connect. `say` is called in another thread."""
    return AsyncClient(engine_of(config, say))


class AsyncClient:
    """Client for asyncio; belongs to one event loop."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._http: httpx.AsyncClient | None = None
        self._place: Place | None = None
        self._discreet = Discretion(lambda: self._place)
        self._opening = asyncio.Lock()
        self._doubted = False  # whether who answered is still the one to ask

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

    async def chat(
        self, messages: Sequence[Message], options: Options = AS_CONFIGURED, cancel: Cancel | None = None
    ) -> AsyncGenerator[Event, None]:
        """As Client.chat. To leave early, close it (contextlib.aclosing), or cancel the task that reads it."""
        call = await self._asked(self.engine.chat(messages, options))
        async with aclosing(self._stream(call, Reader(self.engine.name), cancel or Cancel())) as events:
            async for event in events:
                yield event

    async def complete(
        self,
        prefix: str,
        suffix: str,
        options: Options = AS_CONFIGURED,
        notice: Notice = lambda _: None,
        cancel: Cancel | None = None,
    ) -> Completion:
        """As Client.complete. Cancelling the task ends the computation, too."""
        infilling = await self._asked(self.engine.infill(prefix, suffix, options))
        gathering, reader = Gathering(infilling, notice), Reader(self.engine.name)
        async with aclosing(self._stream(infilling.call, reader, cancel or Cancel())) as events:
            async for event in events:
                if gathering.take(event):
                    break
        return gathering.completion(reader)

    async def models(self) -> tuple[str, ...]:
        """As Client.models."""
        return await self._asked(self.engine.models())

    def turn_to(self, engine: Engine) -> None:
        """Another engine is asked from now on. Answers that are on their way come to their end."""
        self.engine, self._doubted = engine, True

    async def renew(self) -> bool:
        """Close the connections, and have the daemon end: when its requests are done, or at once if it is deaf.

        Whether it was. The next request starts another. Raises PacelineError where it cannot be ended.
        """
        await self.aclose()
        return isinstance(self.engine, Local) and await asyncio.to_thread(self.engine.renew)

    async def status(self) -> "StatusReport":
        """As Client.status."""
        return await self._asked(daemon_of(self.engine).status())

    async def follow(self, flow: Flow[T]) -> T:
        """What comes of several calls, one after the other."""
        return await self._asked(flow)

    async def _asked(self, flow: Flow[T]) -> T:
        result: T
        with self._discreet, self._doubting():
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

    async def _stream(self, call: Call, reader: Reader, cancel: Cancel) -> AsyncGenerator[Event, None]:
        with self._discreet, self._doubting():
            async with aclosing(self._streamed(call, reader, cancel)) as events:
                async for event in events:
                    yield self._discreet.event(event)

    @contextmanager
    def _doubting(self) -> Iterator[None]:
        """A daemon without a usable model may be one that goes by an older configuration: it is looked at again."""
        try:
            yield
        except (ConfigError, ModelError):
            self._doubted = True
            raise

    async def _streamed(self, call: Call, reader: Reader, cancel: Cancel) -> AsyncGenerator[Event, None]:
        import httpx

        if cancel.asked():
            yield reader.cut()
            return
        response = await self._sent(call)
        ending = _Ending(self._end, Line(response))
        try:
            with ending.line:
                if response.status_code != 200:
                    raise refused(response, await self._joined(response), self.engine)
                cancel.when_asked(ending.begin)
                async with aclosing(self._read(response, reader)) as events:
                    async for event in events:
                        yield event
        except httpx.TransportError as error:
            if not cancel.asked():
                raise self.engine.broken(reason(error)) from error
        finally:
            cancel.over()
            ending.stop()
            await response.aclose()
        if not reader.over:
            if not cancel.asked():
                raise self.engine.broken(EARLY)
            yield reader.cut()

    async def _read(self, response: "httpx.Response", reader: Reader) -> AsyncGenerator[Event, None]:
        if is_whole(response, self.engine):
            for event in reader.whole(await self._joined(response)):
                yield event
        else:
            async for piece in self._pieces(response):
                for event in reader.feed(piece):
                    yield event
                if reader.over:
                    return
        for event in reader.end():
            yield event

    async def _end(self, line: Line) -> None:
        """As Client._end."""
        if await self._told(self.engine.cancelling(line.name)):
            await asyncio.sleep(PATIENCE)
        line.cut()

    async def _told(self, call: Call | None) -> bool:
        import httpx

        http = self._http
        if call is None or http is None:
            return False
        try:
            told = await http.request(call.method, call.path, content=call.body, timeout=PATIENCE)
        except (httpx.HTTPError, RuntimeError):  # the latter: it was closed
            return False
        return told.status_code in TOLD

    async def _joined(self, response: "httpx.Response") -> bytes:
        whole = bytearray()
        async for piece in self._pieces(response):
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
        import httpx

        http = await self._opened(again=again)
        request = http.build_request(call.method, call.path, content=call.body)
        try:
            return await self._awaited(http.send(request, stream=True))
        except RuntimeError as error:
            if not http.is_closed:
                raise
            raise httpx.ConnectError("its connections have just been closed") from error

    async def _pieces(self, response: "httpx.Response") -> AsyncGenerator[bytes, None]:
        pieces = response.aiter_bytes()
        while (piece := await self._awaited(_next(pieces))) is not None:
            yield piece

    async def _awaited(self, coming: Coroutine[Any, Any, T]) -> T:
        """What comes. A daemon may be silent while it computes; one that is silent to everybody hangs.

        Raises PacelineError for that one. Servers elsewhere have a limit of their own; see Engine.silence.
        """
        engine = self.engine
        if not isinstance(engine, Local):
            return await coming
        waiting = asyncio.ensure_future(coming)
        try:
            while not (await asyncio.wait({waiting}, timeout=QUIET))[0]:
                await asyncio.to_thread(engine.check)
        finally:
            if waiting.cancel():
                await asyncio.wait({waiting})
        return waiting.result()

    async def _opened(self, *, again: bool) -> "httpx.AsyncClient":
        import httpx

        async with self._opening:
            place = self._place
            if self._http is None or place is None or again or self._doubted:
                engine = self.engine
                place = await asyncio.to_thread(engine.place)
                self._doubted = engine is not self.engine
            if self._http is None or place != self._place:
                transport = httpx.AsyncHTTPTransport(uds=place.socket, verify=False) if place.socket else None
                self._http = httpx.AsyncClient(transport=transport, **settings(place, self.engine.silence))
                self._place = place
            return self._http


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


class _Ending:
    """The end of one answer, which any thread may ask for, and which one task on the loop brings about."""

    def __init__(self, end: Callable[[Line], Coroutine[Any, Any, None]], line: Line) -> None:
        self.line = line
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._over = False

    def begin(self) -> None:
        """From any thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        if not self._over:
            self._task = self._loop.create_task(self._end(self.line))

    def stop(self) -> None:
        """The answer has ended."""
        self._over = True
        if self._task is not None:
            self._task.cancel()
