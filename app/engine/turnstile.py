"""Engines that share a processor take turns, step by step: two that compute at once would both crawl.

The one with the most urgent request goes first, as long as it has any; others get a turn in between, seldom.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

STARVED = 16  # steps of others after which an engine with less urgent requests gets one too


class Turnstile:
    """Lets one thread through at a time. `who` is an engine, `rank` the class of its most urgent request, 0 first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ranks: dict[object, int] = {}  # of those that have something to do, at the turnstile or not
        self._waiting: dict[object, int] = {}  # steps of others since it came; in the order of arrival
        self._inside: object = None

    @contextmanager
    def turn(self, who: object, rank: int) -> Iterator[None]:
        """Wait for the turn, and hold it."""
        with self._changed:
            self._ranks[who] = rank
            self._waiting[who] = 0
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._inside is None and self._next() is who)
            del self._waiting[who]
            self._inside = who
        try:
            yield
        finally:
            with self._changed:
                self._inside = None
                for other in self._waiting:
                    self._waiting[other] += 1
                self._changed.notify_all()

    def rest(self, who: object) -> None:
        """It has nothing to do for now: nobody waits for it any longer."""
        with self._changed:
            self._ranks.pop(who, None)
            self._changed.notify_all()

    def crowded(self, who: object) -> bool:
        """Whether others have something to do."""
        return any(other is not who for other in list(self._ranks))

    def _next(self) -> object:
        """Whose turn it is, or None: somebody more urgent is between two steps and will be back at once."""
        starved = next((each for each, passed in self._waiting.items() if passed >= STARVED), None)
        if starved is not None:
            return starved
        urgent = min(self._waiting, key=lambda each: self._ranks[each], default=None)
        if urgent is None or any(rank < self._ranks[urgent] for rank in self._ranks.values()):
            return None
        return urgent
