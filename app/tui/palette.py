"""The command palette: every slash command, found by name and by what it does."""

from dataclasses import dataclass
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.message import Message

from paceline.chat.slash import COMMANDS, SlashCommand


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
