"""Keeps a model's tables from being freed while somebody reads them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from paceline.errors import ModelError


class Readers:
    """Who uses a model's tables, on any thread: they go with the weights, and not under somebody's hands."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self.closed = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep the tables for this long. Raises ModelError when they are gone."""
        with self._changed:
            self.check()
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def check(self) -> None:
        """Raise ModelError when they are gone."""
        if self.closed:
            raise ModelError("the model was closed", "send the request again")

    def close(self) -> None:
        """Let nobody begin, and wait for those who have."""
        with self._changed:
            self.closed = True
            self._changed.wait_for(lambda: not self._count)
