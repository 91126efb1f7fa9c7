"""What opens beside the prompt while something is typed: mentions, commands and their arguments, earlier inputs."""

import asyncio
import time
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from paceline.chat import slash
from paceline.chat.context.mentions import completed, named, needs_blank, typing
from paceline.chat.words import ago
from paceline.errors import PacelineError
from paceline.tui.screens.finder import Choice, Finder
from paceline.tui.widgets.prompt import PopupKey, Prompt

if TYPE_CHECKING:
    from paceline.chat.context.finder import Finder as Workspace
    from paceline.chat.context.finder import Found
    from paceline.tui.screens.chat import ChatScreen

What = Literal["", "mention", "command", "argument", "recall"]


class Suggesting:
    """The list of one screen."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._what: What = ""
        self._word = ""
        self._seen = asyncio.Event()
        self.popup = Finder(id="popup")

    @cached_property
    def workspace(self) -> "Workspace":
        """What can be mentioned."""
        from paceline.chat.context.finder import Finder as Workspace

        return Workspace(self._screen.services.root)

    def refresh_workspace(self) -> None:
        """Look at the files again, in a thread."""
        self._screen.run_worker(self._refresh(), group="workspace", exclusive=True)

    async def _refresh(self) -> None:
        while not await asyncio.to_thread(self.workspace.refresh):
            self._seen.set()
        self._seen.set()
        if self._what == "mention":
            self.typed(self._word)

    async def ready(self) -> None:
        """Wait until the workspace has been looked at, as far as that goes in some seconds."""
        await self._seen.wait()

    @property
    def _prompt(self) -> Prompt:
        return self._screen.query_one(Prompt)

    def typed(self, word: str) -> None:
        """The word at the cursor begins with `@` or `/`, or is empty: nothing is to be offered."""
        self._word = word
        if self._what == "recall":
            self._offer("recall", self._recalled())
            return
        text = self._prompt.text
        argument = slash.argument_of(text)
        if word.startswith("@"):
            workspace = self.workspace
            found = workspace.find(named(word))
            quoted = word.startswith('@"')  # and not closed yet
            whole = bool(found) and not quoted and named(found[0].mention) == named(word)  # Enter is for the message
            self._offer("mention", [] if whole else [_choice(each) for each in found], "" if whole else workspace.note)
        elif argument is not None:
            self._offer("argument", self._arguments(*argument))
        elif word.startswith("/") and text.startswith("/"):
            commands = [_command(each) for each in slash.complete(text)]
            self._offer("command", [] if [each.value for each in commands] == [text] else commands)
        else:
            self._offer("", [])

    def changed(self) -> None:
        """The text of the prompt is another one: earlier inputs are searched for it."""
        if self._what == "recall":
            self._offer("recall", self._recalled())

    def recall(self) -> None:
        """Search earlier inputs for what stands in the prompt."""
        self._what = "recall"
        self._offer("recall", self._recalled())

    def key(self, key: PopupKey) -> None:
        """A key for the list."""
        self.popup.key(key)

    def picked(self, choice: Choice, *, tab: bool) -> None:
        """Put it into the prompt; a command that is complete is obeyed at once, unless it was picked with Tab."""
        what = self._what
        self.closed()
        prompt = self._prompt
        if what == "mention":
            text, cursor = prompt.text, prompt.cursor
            typed = typing(text, cursor)
            found = self.workspace.resolve(named(choice.value))
            if typed is not None:
                prompt.replace_all(*completed(text, typed, choice.value))
                if found is not None and found.kind == "file" and needs_blank(text, typed):
                    prompt.blank_gives_way(":")
            if found is not None:
                self.workspace.attached(found)
        elif what == "recall":
            prompt.replace_all(choice.value)
        else:
            prompt.replace_all(choice.value)
            if not tab and not choice.value.endswith(" "):
                self._screen.do(self._screen.sending.submit(choice.value))

    def closed(self) -> None:
        """Nothing is offered any more."""
        self._offer("", [])

    def _offer(self, what: What, choices: list[Choice], note: str = "") -> None:
        self._what = what if choices or what == "recall" else ""
        self.popup.offer(choices, note)
        self._prompt.popup_open = self.popup.open
        if what == "recall" and not choices:
            self._what = ""

    def _arguments(self, command: slash.SlashCommand, typed: str) -> list[Choice]:
        """What the command may be given, as far as it is known by name."""
        screen = self._screen
        if command.completes == "file":
            found = self.workspace.find(typed) if " " not in typed else ()
            return [
                Choice(each.path, f"/{command.name} {each.path} ", each.positions, each.detail)
                for each in found
                if each.kind == "file"
            ]
        if command.completes == "session":
            return self._sessions(command, typed.strip())
        values: Sequence[str] = {
            "command": tuple(each.name for each in slash.COMMANDS),
            "format": tuple(slash.FORMATS),
            "switch": slash.SWITCHES,
            "theme": screen.commands.themes(),
            "workload": screen.services.workloads(),
        }.get(command.completes, ())
        begun = [each for each in values if each.startswith(typed.strip()) and each != typed.strip()]
        return [Choice(each, f"/{command.name} {each}") for each in begun]

    def _sessions(self, command: slash.SlashCommand, typed: str) -> list[Choice]:
        """Other sessions, the last one first, by their titles; the command is given the id."""
        screen, now = self._screen, time.time()
        try:
            known = [each.session for each in screen.services.store.list()]
        except PacelineError:  # whoever asks for one is told
            return []
        here, words = screen.conversation.session.id, typed.casefold().split()
        found = [
            each
            for each in known
            if each.id not in (here, typed)
            and (each.id.startswith(typed) or all(word in each.title.casefold() for word in words))
        ]
        return [
            Choice(each.title or each.id, f"/{command.name} {each.id}", detail=ago(each.updated, now)) for each in found
        ]

    def _recalled(self) -> list[Choice]:
        found = self._screen.services.history.search(self._prompt.text)
        return [Choice(" ".join(each.split())[:200], each) for each in found]


def _choice(found: "Found") -> Choice:
    return Choice(found.name, found.mention, found.positions, found.detail)


def _command(command: slash.SlashCommand) -> Choice:
    value = f"/{command.name} " if command.needs_argument else f"/{command.name}"
    return Choice(command.usage, value, detail=command.help)
