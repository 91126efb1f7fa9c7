"""Changes of files, taken back: those of this window at once, all others after a question."""

import asyncio
import time
from typing import TYPE_CHECKING

from paceline.errors import InputError
from paceline.tui.screens.confirm import about_files

if TYPE_CHECKING:
    from paceline.chat.edits.journal import Entry
    from paceline.tui.screens.chat import ChatScreen

HINT = "only what was applied here can be"


class Undoing:
    """One window's."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._began = time.time()
        self._own: list[str] = []  # ids of entries, the oldest first
        self.at = float("-inf")  # when this window changed files last, on time.monotonic's clock; or took that back

    def written(self, entry: "Entry") -> None:
        """Files were changed, from this window."""
        self._own.append(entry.id)
        self.at = time.monotonic()

    async def own(self) -> None:
        """Take back what this window has written last. Raises InputError."""
        found = await asyncio.to_thread(self._screen.services.journal().entries)
        entry = next((each for each in found if each.id in self._own), None)
        if entry is None:
            raise InputError("there is nothing of this window to take back", "/undo takes back what others wrote, too")
        await self._take_back(entry)

    async def last(self) -> None:
        """Take back what was written last here, whoever did; what this window did not write after a yes. InputError."""
        screen = self._screen
        entry = await asyncio.to_thread(screen.services.journal().last, screen.services.root)
        if entry is None:
            raise InputError("there is nothing to take back", HINT)
        if entry.id not in self._own:
            when = time.strftime("%d %B, %H:%M", time.localtime(entry.created))
            who = "was written" if entry.created < self._began else "another window wrote"
            names = [each.name for each in entry.files]
            if not await screen.ask(about_files(f"Undo what {who} on {when}?", names, yes="Undo")):
                return
        await self._take_back(entry)

    async def _take_back(self, entry: "Entry") -> None:
        screen, journal = self._screen, self._screen.services.journal()
        names = [each.name for each in entry.files]
        try:
            await asyncio.to_thread(journal.undo, entry)
        except InputError as error:
            if not await screen.ask(about_files(f"Undo all the same? {error.message}", names, yes="Undo")):
                return
            await asyncio.to_thread(lambda: journal.undo(entry, force=True))
        if entry.id in self._own:
            self.at = float("-inf")
        screen.tell(f"as it was: {', '.join(names)}")
