"""Reads an answer ahead of whoever prints it: a server cuts off readers that stop, and a pager may pause for hours."""

import contextlib
import threading
import time
from collections.abc import Generator
from queue import Empty, SimpleQueue

from paceline.client.cancel import PATIENCE, Cancel
from paceline.client.events import End, Event, Progress, Usage

Kept = Event | BaseException | None  # None: there is no more


def read_ahead(events: Generator[Event, None, None], cancel: Cancel) -> Generator[Event, None, None]:
    """The same events, taken by another thread as they come. An answer has a last token, so they may be kept.

    Closing this closes those. Ctrl-C cancels the answer; what is left of it comes, then Ctrl-C goes on. The end is
    waited for, but not for long, and not where Ctrl-C comes again.
    """
    kept: SimpleQueue[Kept] = SimpleQueue()
    left = threading.Event()

    def take() -> None:
        try:
            with contextlib.closing(events):
                for event in events:
                    kept.put(event)
                    if left.is_set():
                        break
            kept.put(None)
        except BaseException as error:  # it belongs to the thread that prints
            kept.put(error)

    threading.Thread(target=take, name="paceline-reader", daemon=True).start()
    prompt_tokens: int | None = None
    try:
        while (event := kept.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, Progress):
                prompt_tokens = event.total
            yield event
    except KeyboardInterrupt:
        cancel()
        yield from _rest(kept, prompt_tokens)
        raise
    finally:
        left.set()


def _rest(kept: "SimpleQueue[Kept]", prompt_tokens: int | None) -> Generator[Event, None, None]:
    """What still comes of a cancelled answer; its last event is an End in any case."""
    until = time.monotonic() + PATIENCE
    event: Kept = None
    while not isinstance(event, End):
        try:
            event = kept.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            event = None
        if event is None or isinstance(event, BaseException):
            event = End("cancelled", Usage(prompt_tokens))
        yield event
