"""The answer of a generating route, in one piece or as a stream of events."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from paceline.daemon.http import sse
from paceline.daemon.http.choice import Choice
from paceline.daemon.http.connection import ClientGoneError, CutOffError, while_connected
from paceline.daemon.http.errors import tell
from paceline.daemon.http.feed import Feed
from paceline.daemon.http.guard import where
from paceline.daemon.http.limits import Limits
from paceline.daemon.http.metrics import Meters
from paceline.daemon.http.run import Job, Run
from paceline.engine.sequence import Event
from paceline.errors import PacelineError

if TYPE_CHECKING:
    from paceline.daemon.host import Host
    from paceline.daemon.service import Service

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Desk:
    """What every route needs."""

    host: "Host"
    limits: Limits
    meters: Meters


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
    """Generates while it is sent. A client that disconnects, or does not read, ends its requests at once."""

    def __init__(self, desk: Desk, shape: Shape, *, stream: bool) -> None:
        super().__init__()
        self._desk = desk
        self._shape = shape
        self._stream = stream
        self._failed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. Raises PacelineError as long as nothing has been sent."""
        limits, shape = self._desk.limits, self._shape
        feed = Feed(limits.pending_events)
        outcome = "failed"
        with self._desk.meters.request(shape.route) as note:
            try:
                await while_connected(receive, self._work(send, feed), feed.cut)
                if not self._failed:
                    outcome = "finished"
            except ClientGoneError:
                outcome = "disconnected"
            except CutOffError as error:
                outcome = "cut_off"  # the answer stays unfinished, which closes the connection
                log.warning("%s: the reader was cut off: %s", shape.route, error)
            except PacelineError as error:
                outcome = "refused" if tell(error).status < 500 else "failed"
                raise
            finally:
                feed.close()
                note(outcome, [each.finished for each in shape.choices if each.finished is not None])

    async def _work(self, send: Send, feed: Feed) -> None:
        outlet = sse.Outlet(send, feed, self._desk.limits.stall_seconds)
        try:
            async with self._service(outlet) as service:
                jobs = await asyncio.to_thread(self._shape.plan, service)
                run = Run(service, jobs, feed, self._desk.host.config.engine.parallel)
                try:
                    await self._tell(run, outlet, send)
                finally:
                    run.cancel()
        except Exception as error:  # in the middle of a stream there is no status left to say it with
            if not outlet.started:
                raise
            self._failed = True
            if not isinstance(error, PacelineError):
                log.error("%s failed: %s", self._shape.route, where(error))
            await outlet.write(sse.data(tell(error).body), last=True)

    async def _tell(self, run: Run, outlet: sse.Outlet, send: Send) -> None:
        await run.begin()
        if self._stream and not outlet.started:
            await outlet.start()
        async for batch in run.batches():
            chunks = [chunk for index, event in batch for chunk in self._shape.take(index, event)]
            if self._stream:
                await outlet.write(b"".join(map(sse.data, chunks)))
        if self._stream:
            await outlet.write(b"".join(map(sse.data, self._shape.end())) + self._shape.ending, last=True)
        else:
            body = msgspec.json.encode(self._shape.whole())
            head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": body})

    @asynccontextmanager
    async def _service(self, outlet: sse.Outlet) -> "AsyncIterator[Service]":
        """The loaded pair. A stream begins before it is loaded, so that the client knows what is going on."""
        if not self._stream or self._desk.host.loaded is not None:
            async with self._desk.host.use() as service:
                yield service
            return
        await outlet.start()
        telling = asyncio.ensure_future(self._say_loading(outlet))
        try:
            async with self._desk.host.use() as service:
                telling.cancel()
                await asyncio.wait({telling})
                await outlet.write(b"".join(sse.comment(f"note {text}") for text in service.notes))
                yield service
        finally:
            telling.cancel()

    async def _say_loading(self, outlet: sse.Outlet) -> None:
        while True:
            await outlet.write(sse.comment("loading the models"))
            await asyncio.sleep(self._desk.limits.comment_seconds)
