"""Answers are shown even where they cannot be kept, and kept as soon as they can be."""

import asyncio
from collections.abc import Callable, Sequence

from paceline.chat.database import LockedError
from paceline.chat.happenings import Tell, Told
from paceline.chat.keeper import Keeper
from paceline.chat.turns import Run, Turn
from paceline.errors import InputError, PacelineError

EVERY = 2.0  # seconds between two tries, once an answer has ended
PATIENT = 3  # tries that another process may be in the way of, before that is said


class Persisting:
    """One conversation's answers on their way to the disk. What fails is told once, and when it is over."""

    def __init__(self, store: Keeper, tell: Tell) -> None:
        self._store = store
        self._tell = tell
        self._failed = 0  # tries, one after the other
        self._told = False
        self._refused = ""  # why something never can be kept: said once

    def update(self, turn: Turn) -> None:
        """All of it."""
        self._try(lambda: self._store.update(turn))

    def append(self, turn: int, text: str, runs: Sequence[Run]) -> None:
        """More of it."""
        self._try(lambda: self._store.append(turn, text, runs))

    def settle(self) -> None:
        """What could not be kept before."""
        if self._store.owing:
            self._try(self._store.settle)

    async def settled(self) -> None:
        """Try until nothing is left."""
        while self._store.owing:
            await asyncio.sleep(EVERY)
            self.settle()

    def _try(self, keep: Callable[[], None]) -> None:
        try:
            keep()
        except InputError as error:  # it never can be
            if str(error) != self._refused:
                self._refused = str(error)
                self._tell(Told(f"this answer is not kept: {error}", error=True))
        except PacelineError as error:
            self._failed += 1
            busy = isinstance(error, LockedError) and self._failed < PATIENT
            if not self._told and not busy:
                self._told = True
                self._tell(Told(f"this answer is not kept yet: {error}", error=True))
        else:
            if self._told:
                self._tell(Told("this answer is kept after all"))
            self._failed, self._told = 0, False
