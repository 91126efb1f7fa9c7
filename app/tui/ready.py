"""What is ready to be looked at, and opens by itself: not over a message that is being written."""

import asyncio
import time
from typing import TYPE_CHECKING

from paceline.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen

PAUSE = 1.0  # seconds without a key, after which somebody looks up


class Ready:
    """One screen's."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._wanted = asyncio.Event()  # the person wants to see it now

    def show(self) -> None:
        """Open it, whatever is written."""
        self._wanted.set()

    async def wait(self, what: str) -> None:
        """Until a dialog that opens by itself takes no keys which are meant for the prompt.

        That is while something is written there, unless the person wants to see it. what: is ready, in words.
        """
        screen, told = self._screen, False
        prompt = screen.query_one(Prompt)
        self._wanted.clear()
        while not self._wanted.is_set() and (prompt.text.strip() or time.monotonic() - screen.typed_at < PAUSE):
            if prompt.text.strip() and not told:
                screen.tell(f"{what} is ready: F7 shows it")
                screen.show_figures(state=f"{what} is ready (F7)")
                told = True
            await asyncio.sleep(PAUSE / 4)
        if told:
            screen.show_figures(state="")
