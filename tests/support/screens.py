"""One screen, shown in an app of its own, and what a person sees of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from paceline.tui.themes import THEMES, defaults


class Alone(App[None]):
    """Shows one screen, and keeps its result."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, screen: Screen[Any], theme: str = "paceline-dark") -> None:
        super().__init__(ansi_color=theme.endswith(("ansi", "plain")))
        self.first = screen
        self.results: list[Any] = []
        self._chosen_theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return defaults()

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._chosen_theme
        self.push_screen(self.first, self.results.append)


class Seen:
    """A running app: keys go in, lines come out."""

    def __init__(self, pilot: Pilot[None], app: Alone) -> None:
        self.pilot, self.app = pilot, app

    @property
    def lines(self) -> list[str]:
        """What is on the terminal, without colours."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def keys(self) -> str:
        """The line of keys at the bottom of a dialog."""
        return self.lines[self.column_of("╰")[1] - 1]

    @property
    def result(self) -> Any:
        """Of the screen, once it has gone."""
        (result,) = self.app.results
        return result

    @property
    def gone(self) -> bool:
        return bool(self.app.results)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def settle(self) -> None:
        """Until nothing runs beside the screen."""
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    async def settle_quietly(self) -> None:
        """A few turns of the loop: what was cancelled has ended."""
        for _ in range(5):
            await asyncio.sleep(0)
        await self.pilot.pause()

    def column_of(self, word: str) -> tuple[int, int]:
        """Where a word stands: (x, y)."""
        for y, line in enumerate(self.lines):
            if word in line:
                return line.index(word), y
        raise AssertionError(f"{word!r} is not to be seen:\n{self.text}")

    async def click(self, word: str) -> None:
        await self.pilot.click(offset=self.column_of(word))
        await self.pilot.pause()


@asynccontextmanager
async def showing(
    screen: Screen[Any], size: tuple[int, int] = (80, 24), theme: str = "paceline-dark"
) -> AsyncIterator[Seen]:
    app = Alone(screen, theme)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Seen(pilot, app)
