"""Events of generations, from the engine's thread to the event loop. Bounded."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from paceline.engine.sequence import Delta, Event

Tagged = tuple[int, Event]  # which of a request's streams, and what happened there


class Feed:
    """A queue that any thread fills and one task empties. Belongs to the loop that runs when it is made.

    `cut` is done, with a reason, once more events wait than may: then nothing more is taken in.
    """

    def __init__(self, most: int, pace: float = 0.0) -> None:
        """pace: seconds in which pieces of text are gathered.

        Every message wakes two processes that take the cores from the decoding threads, which wait for each other
        hundreds of times a token; people read no faster than this.
        """
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._most = most
        self._lock = threading.Lock()
        self._waiting: deque[Tagged] = deque()
        self._something = asyncio.Event()
        self._pressing = asyncio.Event()  # something that is not just more text
        self._gathering = False
        self._open = True
        self.cut: asyncio.Future[str] = self._loop.create_future()

    def sink(self, index: int) -> Callable[[Event], None]:
        """Where the stream with this number puts its events, on whichever thread."""
        return partial(self._put, index)

    async def take(self) -> list[Tagged]:
        """All that has happened since the last time; waits for something. Adjacent pieces of text are one, unless
        somebody else drafted them.
        """
        if self._gathering:
            with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                await asyncio.wait_for(self._pressing.wait(), self._pace)
            with self._lock:
                self._gathering = False
                if self._waiting:
                    self._something.set()
        await self._something.wait()
        self._something.clear()
        self._pressing.clear()
        with self._lock:
            events, self._waiting = self._waiting, deque()
            self._gathering = self._pace > 0 and any(isinstance(event, Delta) for _, event in events)
        return joined(events)

    def cut_off(self, reason: str) -> None:
        """Give the reader up. On the loop's thread."""
        if not self.cut.done():
            self.cut.set_result(reason)

    def close(self) -> None:
        """Whatever still comes is dropped."""
        with self._lock:
            self._open = False
            self._waiting.clear()

    def _put(self, index: int, event: Event) -> None:
        with self._lock:
            if not self._open:
                return
            full = len(self._waiting) >= self._most
            if full:
                self._open = False
            else:
                self._waiting.append((index, event))
            pressing = not isinstance(event, Delta)  # whoever asks for single tokens gets them singly, too
            # Otherwise the loop knows already, or will look when it has gathered for long enough.
            wake = pressing if self._gathering else len(self._waiting) == 1
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
            if full:
                self._loop.call_soon_threadsafe(self.cut_off, f"{self._most} events were not taken")
            elif wake:
                self._loop.call_soon_threadsafe(self._wake, pressing)

    def _wake(self, pressing: bool) -> None:
        self._something.set()
        if pressing:
            self._pressing.set()


def joined(events: "deque[Tagged] | list[Tagged]") -> list[Tagged]:
    """The events with text of the same stream and drafter that comes in a row as one piece."""
    found: list[Tagged] = []
    texts: list[str] = []
    for index, event in events:
        at, last = found[-1] if found else (-1, None)
        if isinstance(event, Delta) and isinstance(last, Delta) and (index, event.drafter) == (at, last.drafter):
            texts.append(event.text)
            found[-1] = (index, event)  # the newest one's figures
            continue
        _close_text(found, texts)
        if isinstance(event, Delta):
            texts.append(event.text)
        found.append((index, event))
    _close_text(found, texts)
    return found


def _close_text(found: list[Tagged], texts: list[str]) -> None:
    """The texts that came in a row become the last event's."""
    if len(texts) > 1:
        index, last = found[-1]
        assert isinstance(last, Delta), "texts are those of a piece and of what follows it"
        found[-1] = (index, replace(last, text="".join(texts)))
    texts.clear()
