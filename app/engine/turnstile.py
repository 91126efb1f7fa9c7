"""Engines that share a processor take turns, step by step: two that compute at once would both be slower."""

import threading
from collections import deque
from types import TracebackType


class Turnstile:
    """A lock that lets threads through in the order in which they came."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()  # the first has the turn

    def __enter__(self) -> None:
        """Wait for the turn."""
        mine = threading.Event()
        with self._lock:
            self._queue.append(mine)
            if len(self._queue) == 1:
                mine.set()
        mine.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the next one through."""
        with self._lock:
            self._queue.popleft()
            if self._queue:
                self._queue[0].set()
