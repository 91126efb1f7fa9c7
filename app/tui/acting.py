"""What can be done with an answer: its code copied, saved, opened, run, applied; its turn edited or asked again."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.chat import clipboard
from paceline.chat.blocks import Block, blocks
from paceline.chat.context.running import Command, run
from paceline.chat.edits import store as texts
from paceline.chat.edits.changes import Change
from paceline.chat.runnable import runnable
from paceline.chat.turns import Turn
from paceline.errors import InputError
from paceline.prompts.context import LANGUAGES
from paceline.text import strip_controls
from paceline.tui.editor import Editor
from paceline.tui.screens.confirm import about_command
from paceline.tui.screens.naming import NamingScreen
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen


class Acting:
    """One screen's actions. Each may take several steps, and asks before anything is written or run."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._command: asyncio.Task[None] | None = None
        self._editor = Editor(screen.app, screen.services.environ)

    @property
    def running(self) -> bool:
        """Whether a command runs."""
        return self._command is not None

    async def finished(self) -> None:
        """Wait for the command that runs, if there is one."""
        if self._command is not None:
            await asyncio.wait([self._command])

    def stop(self) -> bool:
        """End the command that runs; whether there was one."""
        if self._command is None:
            return False
        self._command.cancel()
        return True

    # --- turns and blocks ---------------------------------------------------------------------------------------------

    async def turn(self, action: str, turn: int) -> None:
        """Do something with a turn. Raises PacelineError."""
        screen, conversation = self._screen, self._screen.conversation
        found = self.turn_of(turn)
        if action in ("left", "right", "go_on"):
            await screen.sending.free()
        if action in ("left", "right"):
            conversation.switch(turn, -1 if action == "left" else 1)
        elif action == "retry":
            await screen.sending.retry(turn)
        elif action == "go_on":
            conversation.go_on()
        elif action == "copy":
            await self.copy(found.text)
        elif action == "apply":
            if found.state == "streaming":
                raise InputError("this answer is still being written", "wait for its end, or stop it with Esc")
            await self._screen.files.apply(turn)
        elif action == "edit":
            if found.role != "user":
                raise InputError("only messages of your own can be edited", "choose one of them")
            prompt = screen.query_one(Prompt)
            if prompt.text.strip() and screen.editing is None:
                raise InputError("something is written in the prompt already", "send or clear it first")
            screen.begin_editing(found)
            prompt.replace_all(found.text)
            prompt.focus()
            screen.tell("Enter goes on from this message; the old branch is kept. Esc: never mind")

    def branch(self, by: int) -> None:
        """Another branch at the selected turn, or at the last that has any. Raises InputError where there is none."""
        conversation = self._screen.conversation
        turn, _ = self._screen.query_one(Transcript).selected
        path, branches = conversation.path, conversation.branches()
        found = turn or next((each.id for each in reversed(path) if branches[each.id][1] > 1), None)
        if found is None:
            raise InputError("there are no other branches", "edit a message, or ask for another answer")
        conversation.switch(found, by)

    async def block(self, action: str, turn: int, number: int) -> None:
        """Do something with a code block. Raises PacelineError."""
        block = self.block_of(turn, number)
        if not block.closed and self.turn_of(turn).state == "streaming":
            raise InputError("this block is still being written", "wait for its end, or stop it with Esc")
        if action == "copy":
            await self.copy(block.text)
        elif action == "save":
            await self.save(block.text, block.name or f"snippet{suffix_of(block.language)}")
        elif action == "open":
            await self.open(block)
        elif action == "run":
            found = runnable(block, self._screen.services.root, self._screen.services.environ)
            await self.run(found.line, found.given)
        elif action == "apply":
            await self._screen.files.apply(turn, number)

    async def copy(self, text: str) -> None:
        """Copy, and say honestly where it went."""
        screen = self._screen
        driver = screen.app._driver  # nothing else writes past Textual's own output
        write = driver.write if driver is not None else lambda _: None
        done = await asyncio.to_thread(clipboard.copy, text, screen.services.environ, write, screen.services.cache)
        screen.tell(done.message, error=done.how == "none")

    async def save(self, text: str, name: str = "") -> None:
        """Write a text into a file, after its name and a yes. Raises InputError."""
        screen, root = self._screen, self._screen.services.root
        chosen = await screen.app.push_screen_wait(NamingScreen("Save as", name or "snippet.txt"))
        if not chosen:
            return
        before = await asyncio.to_thread(texts.read, root, chosen)
        change = Change(chosen, before, text, "whole", certain=True)
        if before is None:
            await self._screen.files.write((change,), asked="Write this file?")
        else:
            await self._screen.files.review((change,))

    async def open(self, block: Block) -> None:
        """Open the file that a block is for in the person's editor, or else the block itself."""
        root = self._screen.services.root
        path = root / block.name if block.name and not texts.outside(root, block.name) else None
        if path is not None and path.is_file():
            await self._editor.file(path)
            return
        suffix = Path(block.name).suffix if block.name else suffix_of(block.language)
        changed = await self._editor.text(block.text, suffix)
        if changed != block.text:
            await self.save(changed, block.name)

    async def write_message(self) -> None:
        """Write the message in the person's editor."""
        prompt = self._screen.query_one(Prompt)
        before = prompt.text
        written = (await self._editor.text(before, ".md")).rstrip("\n")
        since = prompt.text.removesuffix(before).rstrip("\n")  # a message that could not be sent stands before it
        prompt.replace_all("\n".join(each for each in (since, written) if each))

    # --- commands -----------------------------------------------------------------------------------------------------

    async def run(self, line: str, given: str = "") -> None:
        """Run a command after asking, and attach its output to the next message. given: what it reads. InputError."""
        screen, root = self._screen, self._screen.services.root
        if self._command is not None:
            raise InputError("another command is running", "Esc ends it")
        seconds = screen.config.chat.command_seconds
        if not await screen.ask(about_command(line, str(root), seconds, given)):
            return
        screen.show_figures(state=f"running {line}")
        self._command = asyncio.ensure_future(self._run(Command(line, root, given), seconds))
        try:
            await asyncio.wait([self._command])
        finally:
            ended, self._command = self._command, None
            screen.show_figures(state="")
        if not ended.cancelled():
            ended.result()  # raises what it raised
        else:
            screen.tell("the command was ended")

    async def _run(self, command: Command, seconds: float) -> None:
        screen = self._screen
        screen.output_panel.begin(f"$ {command.line}")
        ran = await run(command, seconds, screen.output_panel.add)
        screen.output_panel.end(f"{ran.how} {ran.status}, {ran.seconds:.1f} s")
        screen.output = ran.attached
        screen.attach((*(each for each in screen.attached if each.kind != "output"), ran.attached))
        screen.tell(f"its output goes with your next message ({ran.how} {ran.status}, {ran.seconds:.1f} s)")

    # --- what these stand on ------------------------------------------------------------------------------------------

    def turn_of(self, turn: int) -> Turn:
        """A turn that is shown. Raises InputError."""
        found = next((each for each in self._screen.conversation.path if each.id == turn), None)
        if found is None:
            raise InputError("this turn is not on the branch that is shown", "switch to its branch")
        return found

    def text_of(self, turn: int, block: int | None) -> str:
        """The code of a block, or all of a turn. Raises InputError."""
        return self.turn_of(turn).text if block is None else self.block_of(turn, block).text

    def answer_of(self, turn: int) -> str:
        """A turn's text, in which code blocks are those that are shown: controls may make or hide some."""
        text = self.turn_of(turn).text
        shown = strip_controls(text)
        return text if text == shown or len(blocks(text)) == len(blocks(shown)) else shown

    def blocks_of(self, turn: int) -> Sequence[Block]:
        """The code blocks of a turn, as they are shown. Raises InputError."""
        return blocks(self.answer_of(turn))

    def block_of(self, turn: int, number: int) -> Block:
        """A code block of a turn, counted from 0. Raises InputError."""
        found = self.blocks_of(turn)
        if not 0 <= number < len(found):
            raise InputError("there is no such code block", "choose another")
        return found[number]


def suffix_of(language: str) -> str:
    """How names of files in a language end."""
    return next((suffix for suffix, name in LANGUAGES.items() if name == language), ".txt")
