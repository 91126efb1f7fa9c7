"""The command palettes: every slash command, found by name and by what it does; and every theme."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.message import Message

from paceline.chat.slash import COMMANDS, SlashCommand
from paceline.tui import themes


@dataclass
class CommandChosen(Message):
    """A command of the palette: for the screen to run, or to put into the prompt where it needs an argument."""

    command: SlashCommand


class SlashProvider(Provider):
    """Posts `CommandChosen` to the screen the palette was opened on."""

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for command in COMMANDS:
            yield DiscoveryHit(Content(command.usage), partial(self._choose, command), command.usage, command.help)

    async def search(self, query: str) -> Hits:
        """Those that match; the name counts more than the help text."""
        matcher = self.matcher(query)
        for command in COMMANDS:
            name, text = command.usage, f"{command.usage}  {command.help} {' '.join(command.aliases)}"
            score = max(matcher.match(name), 0.7 * matcher.match(text))
            if score > 0:
                yield Hit(score, Content(name), partial(self._choose, command), name, command.help)

    def _choose(self, command: SlashCommand) -> None:
        self.screen.post_message(CommandChosen(command))


@dataclass(frozen=True)
class _Theme:
    """A line of the palette."""

    name: str
    about: str  # what it looks like; "": its name says it

    def line(self, now: str) -> Content:
        """Its name, marked where it is the present one."""
        mark = Content.styled("  ● now", "bold") if self.name == now else Content("")
        return Content(self.name) + mark


class ThemeProvider(Provider):
    """Has the screen that the palette was opened on do `/theme NAME`."""

    async def discover(self) -> Hits:
        """All of them, ours first."""
        for theme, line in self._lines():
            yield DiscoveryHit(line, partial(self._choose, theme), theme.name, theme.about)

    async def search(self, query: str) -> Hits:
        """Those whose name matches; ours also by what they look like, and before others that match as well."""
        matcher = self.matcher(query)
        for theme, line in self._lines():
            score = max(matcher.match(theme.name), 0.7 * matcher.match(theme.about)) * (1.2 if theme.about else 1)
            if score > 0:
                yield Hit(score, line, partial(self._choose, theme), theme.name, theme.about)

    def _lines(self) -> Iterator[tuple[_Theme, Content]]:
        now = themes.called(self.app.theme)
        for name in themes.names():
            theme = _Theme(name, themes.ABOUT.get(name, ""))
            yield theme, theme.line(now)

    async def _choose(self, theme: _Theme) -> None:
        await self.screen.run_action(f"slash('theme {theme.name}')")
