"""The streams of one request: submitted in order, watched together, cancelled together."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paceline.daemon.http.feed import Feed, Tagged
from paceline.engine.sequence import Event, Finished, Prefilled
from paceline.engine.stats import Stats
from paceline.errors import BusyError

if TYPE_CHECKING:
    from paceline.daemon.service import Service
    from paceline.engine.stream import Stream

Sink = Callable[[Event], None]


@dataclass(frozen=True)
class Job:
    """A stream to be submitted. `after`: once that job has its prompt read, so that this one finds it in the cache."""

    submit: "Callable[[Service, Sink], Stream]"  # on any thread; may take its time
    after: int | None = None


class Run:
    """The jobs of one request, numbered from 0. Not more than `window` of them at a time take part in the engine."""

    def __init__(self, service: "Service", jobs: Sequence[Job], feed: Feed, window: int) -> None:
        self._service = service
        self._jobs = jobs
        self._feed = feed
        self._window = max(1, window)
        self._waiting = list(range(len(jobs)))
        self._read: set[int] = set()  # their prompt is in the cache
        self._streams: dict[int, Stream] = {}  # running
        self._cancelled = False

    async def begin(self) -> None:
        """Submit what may be submitted now. Raises PacelineError when the engine refuses.

        An engine that is full refuses a request's first job; later ones wait for the earlier.
        """
        for index in () if self._cancelled else list(self._waiting):
            after = self._jobs[index].after
            if len(self._streams) >= self._window:
                return
            if after is not None and after not in self._read:
                continue
            try:
                self._streams[index] = await self._submit(index)
            except BusyError:
                if not self._streams:
                    raise
                return
            self._waiting.remove(index)
            if self._cancelled:  # meanwhile
                self._streams[index].cancel()
                return

    async def batches(self) -> AsyncIterator[list[Tagged]]:
        """Everything that happens, until all jobs are finished. Raises what went wrong with one of them."""
        while self._streams:
            batch = await self._feed.take()
            for index, event in batch:
                if isinstance(event, BaseException):
                    raise event
                if isinstance(event, Finished):
                    self._streams.pop(index, None)
                if not isinstance(event, Prefilled) or event.done >= event.total:
                    self._read.add(index)
            yield batch
            await self.begin()
        if self._waiting:  # cancelled before they began
            yield never_begun(self._waiting)

    def cancel(self) -> None:
        """Stop computing what is not finished, and begin nothing more; the ends still come."""
        self._cancelled = True
        for stream in self._streams.values():
            stream.cancel()

    async def _submit(self, index: int) -> "Stream":
        """On a thread, since reading a long text takes a while. Whoever stops waiting leaves nothing running."""
        submission = _Submission()
        work = self._jobs[index].submit
        try:
            return await asyncio.to_thread(submission.run, work, self._service, self._feed.sink(index))
        except asyncio.CancelledError:
            submission.give_up()
            raise


def never_begun(jobs: Iterable[int]) -> list[Tagged]:
    """The ends of jobs that were cancelled before the engine knew of them."""
    return [(index, Finished("cancelled", Stats())) for index in jobs]


class _Submission:
    """A stream on its way from a thread to somebody who may not want it any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: Stream | None = None
        self._wanted = True

    def run(self, submit: "Callable[[Service, Sink], Stream]", service: "Service", sink: Sink) -> "Stream":
        """Submit; cancel at once what nobody waits for. On the thread."""
        stream = submit(service, sink)
        with self._lock:
            self._stream = stream
            wanted = self._wanted
        if not wanted:
            stream.cancel()
        return stream

    def give_up(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._wanted = False
            stream = self._stream
        if stream is not None:
            stream.cancel()
