"""How fast something goes on, and how long it will still take."""

import time
from collections.abc import Callable


class Pace:
    """Told how far a transfer is, says how fast it is and when it will be over. Begins anew with each label."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._label = ""
        self._began = 0.0
        self._first = 0

    def at(self, label: str, done: int, total: int) -> tuple[float, float]:
        """(bytes a second, seconds left); 0 where nothing can be said yet. What was there at first does not count."""
        now = self._clock()
        if label != self._label or done < self._first:
            self._label, self._began, self._first = label, now, done
        passed = now - self._began
        rate = (done - self._first) / passed if passed >= 1.0 else 0.0
        return rate, max(0, total - done) / rate if rate > 0 else 0.0
