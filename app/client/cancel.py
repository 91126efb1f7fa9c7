"""Ends one request early, and in an orderly way: what it has cost is told all the same."""

import threading
from collections.abc import Callable

PATIENCE = 2.0  # seconds for a cancelled answer to end; then the connection is closed


class Cancel:
    """A switch for one request. It is given to `chat` or `complete`, and called from any thread or task.

    The computation stops, and the answer ends with End("cancelled") and the figures that are known. Called before the
    request is sent, it sends nothing; called after the end, it does nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self._act: Callable[[], None] | None = None

    def __call__(self) -> None:
        """Cancel. May take as long as it takes to tell the engine."""
        with self._lock:
            act = None if self._asked else self._act
            self._asked = True
        if act is not None:
            act()

    def asked(self) -> bool:
        """Whether it was called."""
        return self._asked

    def when_asked(self, act: Callable[[], None]) -> None:
        """From now on calling it does this, and so does having called it before. For clients."""
        with self._lock:
            self._act = act
            late = self._asked
        if late:
            act()

    def over(self) -> None:
        """The request has ended. For clients."""
        with self._lock:
            self._act = None
