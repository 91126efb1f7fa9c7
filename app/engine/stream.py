"""A submitted request as its owner sees it, and as the engine keeps it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Literal

from paceline.engine.sequence import Chosen, Delta, Event, Finished, FinishReason, Generation, Prefilled, Request

Sink = Callable[[Event], None]  # must not raise, and not wait: all requests wait with it


@dataclass(eq=False)
class Stream:
    """An iterator of events that can be cancelled; or, where the owner gave a sink, just a handle to cancel with."""

    request: Request
    cancel_in: Callable[["Stream"], None]
    number: int = 0  # in the order of arrival
    sink: Sink | None = None
    events: "SimpleQueue[Event]" = field(default_factory=SimpleQueue)
    cancelled: FinishReason | Literal[""] = ""
    sequence: Generation | None = None  # once it has run for the first time
    arrived: float = field(default_factory=time.monotonic)

    def send(self, event: Event) -> None:
        """Pass an event on to the owner. Called on the engine's thread, or where the request is cancelled."""
        if self.sink is None:
            self.events.put(event)
        else:
            self.sink(event)

    def __iter__(self) -> Iterator[Prefilled | Delta | Chosen | Finished]:
        """Events up to and including Finished. Raises what went wrong. Leaving early cancels."""
        over = False
        try:
            while not over:
                event = self.events.get()
                over = isinstance(event, (Finished, BaseException))
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            if not over:
                self.cancel()

    def cancel(self) -> None:
        """Stop computing, within one step."""
        self.cancel_in(self)
