"""The answer of a generating route, in one piece or as a stream of events."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from paceline.daemon.connection import ABORT
from paceline.daemon.http import sse
from paceline.daemon.http.choice import Choice
from paceline.daemon.http.connection import ClientGoneError, CutOffError, unless, while_connected
from paceline.daemon.http.errors import tell
from paceline.daemon.http.feed import Feed, Tagged
from paceline.daemon.http.guard import where
from paceline.daemon.http.limits import Limits
from paceline.daemon.http.metrics import Meters
from paceline.daemon.http.run import Job, Run, never_begun
from paceline.daemon.http.running import HEADER, Running, Ticket
from paceline.daemon.http.state import configured
from paceline.engine.sequence import Event
from paceline.errors import PacelineError

if TYPE_CHECKING:
    from paceline.daemon.host import Host
    from paceline.daemon.service import Service

LOADING = "loading the models"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Desk:
    """What every route needs."""

    host: "Host"
    limits: Limits
    meters: Meters
    running: Running


class Shape(Protocol):
    """One route's way to ask the engine, and to tell what it says. One for each request."""

    @property
    def route(self) -> str:
        """Its address, for the figures."""
        ...

    @property
    def ending(self) -> bytes:
        """What a stream ends with."""
        ...

    @property
    def choices(self) -> Sequence[Choice]:
        """One for each job, as soon as there is a plan."""
        ...

    def plan(self, service: "Service") -> Sequence[Job]:
        """The jobs, one for each choice. On a thread. Raises PacelineError."""
        ...

    def skip(self, model: str) -> None:
        """Instead of a plan: choices that stay empty, since the request was cancelled before the model was there."""
        ...

    def take(self, index: int, event: Event) -> Iterable[object]:
        """Note an event of a job; what a stream tells about it."""
        ...

    def end(self) -> Iterable[object]:
        """What a stream tells when all jobs are finished."""
        ...

    def whole(self) -> object:
        """The answer in one piece, when all jobs are finished."""
        ...


class Generating(Response):
    """Generates while it is sent. A client that disconnects, or does not read, ends its requests at once.

    Who knows the `name` may cancel it: then the answer ends early, but in an orderly way.
    """

    def __init__(self, desk: Desk, shape: Shape, name: str, *, stream: bool) -> None:
        super().__init__()
        self._desk = desk
        self._shape = shape
        self._name = name
        self._stream = stream
        self._failed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. Raises PacelineError as long as nothing has been sent."""
        limits, shape = self._desk.limits, self._shape
        feed = Feed(limits.pending_events, limits.pace)
        outcome = "failed"
        with self._desk.running.entered(self._name) as ticket, self._desk.meters.request(shape.route) as note:
            try:
                await while_connected(receive, self._work(send, feed, ticket), feed.cut)
                if not self._failed:
                    outcome = "cancelled" if ticket.cancelled.done() else "finished"
            except ClientGoneError:
                outcome = "disconnected"
            except CutOffError as error:
                outcome = "cut_off"  # the answer stays unfinished, which closes the connection
                log.warning("%s: the reader was cut off: %s", shape.route, error)
                scope.get("state", {}).get(ABORT, _leave)()
                await asyncio.sleep(0)  # the server learns of it
            except PacelineError as error:
                outcome = "refused" if tell(error).status < 500 else "failed"
                raise
            finally:
                feed.close()
                note(outcome, [each.finished for each in shape.choices if each.finished is not None])

    async def _work(self, send: Send, feed: Feed, ticket: Ticket) -> None:
        outlet = sse.Outlet(send, feed, self._desk.limits.stall_seconds)
        try:
            async with AsyncExitStack() as stack:
                service = await unless(ticket.cancelled, stack.enter_async_context(self._service(outlet)))
                if service is None:
                    self._shape.skip(configured(self._desk.host.config))
                    await self._tell(_once(never_begun(range(len(self._shape.choices)))), outlet, send)
                else:
                    await self._run(service, feed, ticket, outlet, send)
        except Exception as error:  # in the middle of a stream there is no status left to say it with
            if not outlet.started:
                raise
            self._failed = True
            if not isinstance(error, PacelineError):
                log.error("%s failed: %s", self._shape.route, where(error))
            await outlet.write(sse.data(tell(error).body), last=True)

    async def _run(self, service: "Service", feed: Feed, ticket: Ticket, outlet: sse.Outlet, send: Send) -> None:
        jobs = await asyncio.to_thread(self._shape.plan, service)
        run = Run(service, jobs, feed, self._desk.host.config.engine.parallel)
        if ticket.cancelled.done():
            run.cancel()
        ticket.cancelled.add_done_callback(lambda _: run.cancel())
        try:
            await run.begin()
            await self._tell(run.batches(), outlet, send)
        finally:
            run.cancel()

    async def _tell(self, batches: AsyncIterator[list[Tagged]], outlet: sse.Outlet, send: Send) -> None:
        shape = self._shape
        if not self._stream:
            async for batch in batches:
                for index, event in batch:
                    for _ in shape.take(index, event):
                        pass
            body = msgspec.json.encode(shape.whole())
            head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": [*head, self._header]})
            await send({"type": "http.response.body", "body": body})
            return
        await self._start(outlet)
        async with _alive(outlet, self._desk.limits.comment_seconds, "still at it"):
            async for batch in batches:
                chunks = [chunk for index, event in batch for chunk in shape.take(index, event)]
                await outlet.write(b"".join(map(sse.data, chunks)))
        await outlet.write(b"".join(map(sse.data, shape.end())) + shape.ending, last=True)

    async def _start(self, outlet: sse.Outlet) -> None:
        if not outlet.started:
            await outlet.start([self._header])

    @property
    def _header(self) -> tuple[bytes, bytes]:
        return HEADER.lower().encode(), self._name.encode()

    @asynccontextmanager
    async def _service(self, outlet: sse.Outlet) -> "AsyncIterator[Service]":
        """The loaded pair. A stream begins before it is loaded, so that the client knows what is going on."""
        if not self._stream or self._desk.host.loaded is not None:
            async with self._desk.host.use() as service:
                yield service
            return
        await self._start(outlet)
        await outlet.write(sse.comment(LOADING))
        async with AsyncExitStack() as stack:
            async with _alive(outlet, self._desk.limits.comment_seconds, LOADING):
                service = await stack.enter_async_context(self._desk.host.use())
            await outlet.write(b"".join(sse.comment(f"note {text}") for text in service.notes))
            yield service


@asynccontextmanager
async def _alive(outlet: sse.Outlet, seconds: float, text: str) -> AsyncIterator[None]:
    """Meanwhile the stream does not fall silent."""
    comments = asyncio.ensure_future(outlet.stay_alive(seconds, text))
    try:
        yield
    finally:
        comments.cancel()
        await asyncio.gather(comments, return_exceptions=True)


async def _once(batch: list[Tagged]) -> AsyncIterator[list[Tagged]]:
    yield batch


def _leave() -> None:
    """The server that runs the application will close the connection in its own way."""
