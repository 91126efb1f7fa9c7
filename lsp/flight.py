"""One completion that is being computed. Several requests may wait for it, and none of them owns it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from paceline.client.events import Event, Text
from paceline.lsp.place import Place

Notice = Callable[[Event], None]
Compute = Callable[[Notice], Coroutine[Any, Any, None]]


class Flight:
    """Belongs to one event loop. It goes on when whoever waits is cancelled, until `cancel`."""

    def __init__(self, place: Place, compute: Compute) -> None:
        """`compute` is given what to call with what comes on the way."""
        self.place = place
        self.stopped = False  # by `cancel`, before it had ended
        self._wanted = place
        self._so_far = ""
        self._task = asyncio.get_running_loop().create_task(compute(self._notice))
        self._task.add_done_callback(retrieved)

    @property
    def over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._task.done()

    def serves(self, place: Place) -> bool:
        """Whether what it has said so far is what the person has typed meanwhile, as far as both go.

        If so, it is for this place from now on: it ends by itself as soon as it says something else.
        """
        agrees = self._agrees(place)
        self._wanted = place if agrees else self._wanted
        return agrees

    def _agrees(self, place: Place) -> bool:
        if self.over or place.uri != self.place.uri or place.after != self.place.after:
            return False
        then = self.place.before
        typed = place.before[len(then) :]
        if not place.before.startswith(then):
            return False
        return self._so_far.startswith(typed) or typed.startswith(self._so_far)

    async def landed(self) -> None:
        """Wait for its end. Raises what computing raises; asyncio.CancelledError where it was cancelled."""
        await asyncio.shield(self._task)

    def cancel(self) -> None:
        """Nobody wants it any more: the engine stops."""
        self.stopped = self._task.cancel() or self.stopped

    def _notice(self, event: Event) -> None:
        if isinstance(event, Text):
            self._so_far += event.text
            if not self._agrees(self._wanted):
                self.cancel()


def retrieved(task: "asyncio.Task[None]") -> None:
    """An error that nobody waits for any more is not one that asyncio has to complain about."""
    if not task.cancelled():
        task.exception()
