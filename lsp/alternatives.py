"""Other things that could stand at a place, for a person who asks by hand: drawn from the model's distribution."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from paceline.lsp.flight import retrieved
from paceline.lsp.place import Place

PATIENCE = 1.5  # seconds that a person waits for them once the likeliest one is known
SPREAD = 0.7  # temperature

Draw = Callable[[int], Coroutine[Any, Any, None]]  # for a seed; what comes of it is remembered


class Drawing:
    """What is drawn for one place. Belongs to one event loop.

    It goes on for whoever asks there again when nobody waits any more, until `cancel`.
    """

    def __init__(self, place: Place, draw: Draw) -> None:
        self.place = place
        self._draw = draw
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def serves(self, place: Place) -> bool:
        """Whether what is drawn could stand at this place, too."""
        then = self.place
        return (place.uri, place.before, place.after) == (then.uri, then.before, then.after)

    async def drawn(self, seeds: Iterable[int]) -> None:
        """Draw with these seeds, and wait until that has been done or PATIENCE is over. Whatever fails is missing."""
        for seed in seeds:
            if seed not in self._tasks or self._tasks[seed].done():
                self._tasks[seed] = asyncio.get_running_loop().create_task(self._draw(seed))
                self._tasks[seed].add_done_callback(retrieved)
        try:
            await asyncio.wait(self._tasks.values(), timeout=PATIENCE)
        except asyncio.CancelledError:  # who asked does not want them any more
            self.cancel()
            raise

    def cancel(self) -> None:
        """Nobody wants them any more: the engine stops."""
        for task in self._tasks.values():
            task.cancel()
