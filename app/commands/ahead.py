"""Reads an answer ahead of whoever prints it: a server cuts off readers that stop, and a pager may pause for hours."""

import contextlib
import threading
from collections.abc import Generator
from queue import SimpleQueue

from paceline.client.events import End, Event, Progress, Usage


def read_ahead(events: Generator[Event, None, None]) -> Generator[Event, None, None]:
    """The same events, taken by another thread as they come. An answer has a last token, so they may be kept.

    Closing this closes those. Ctrl-C ends the answer, but not without what is known of its figures; then it goes on.
    """
    kept: SimpleQueue[Event | BaseException | None] = SimpleQueue()
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
        yield End("cancelled", Usage(prompt_tokens))
        raise
    finally:
        left.set()
