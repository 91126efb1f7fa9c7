"""Changing files by what a model answers: proposed, looked at by the person, written, and taken back."""

import asyncio
import contextlib
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.chat.blocks import Block, blocks
from paceline.chat.context.mentions import mentions
from paceline.chat.edits import store as texts
from paceline.chat.edits.changes import Change
from paceline.chat.edits.instruction import change_of, instruction, is_complete
from paceline.chat.edits.journal import Accepted
from paceline.chat.edits.placing import FAR, Called, Place, called, guessed, place
from paceline.chat.edits.propose import MOST, propose, unchanged
from paceline.chat.edits.replacing import is_mark
from paceline.chat.happenings import working
from paceline.chat.hidden import warned
from paceline.chat.reviewing import Reviewing, prepared
from paceline.chat.turns import Turn
from paceline.client.cancel import Cancel
from paceline.client.events import End, Message, Options, Text
from paceline.errors import InputError
from paceline.prompts.lines import line_ending
from paceline.prompts.rewriting import fence_for
from paceline.tui.figures import changed_by
from paceline.tui.screens.confirm import about_files
from paceline.tui.screens.naming import NamingScreen
from paceline.tui.screens.review import ReviewScreen
from paceline.tui.undoing import Undoing

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen

WHICH = "Which file is this for?"
NOTHING = "name the file in your question, or save the block"
WHOLE = ("It was not recognised as a change: the block would take the place of the whole file.",)


@dataclass(frozen=True)
class Computed:
    """What was answered to an edit."""

    text: str
    whole: bool  # only explanations could have followed, so it was ended
    end: End


class Editing:
    """One screen's way from an answer to files."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._cancel: Cancel | None = None  # of an edit that is computed
        self.undoing = Undoing(screen)

    @property
    def running(self) -> bool:
        """Whether an edit is computed."""
        return self._cancel is not None

    def stop(self) -> bool:
        """End the computation of an edit; whether there was one."""
        if self._cancel is None:
            return False
        self._cancel()
        return True

    async def apply(self, turn: int, number: int | None = None) -> None:
        """Show what an answer, or one of its blocks, would change; write what is accepted. Raises InputError."""
        screen = self._screen
        said = screen.acting.answer_of(turn)
        block = None if number is None else screen.acting.block_of(turn, number)
        turns = self._before(turn)
        asked = next((each for each in reversed(turns) if each.role == "user"), None)
        about = self._names(asked) if asked is not None else []
        wanted = about[0] if len(about) == 1 else ""
        await screen.suggesting.ready()
        meant = await asyncio.to_thread(self._called, said, turns)
        answer = said
        if block is not None:
            meant = {start: each for start, each in meant.items() if start == block.start}
            answer = _alone(said, block, meant[block.start].path if meant else block.name)
        names = {start: each.path for start, each in meant.items()} if block is None else {}
        files = await asyncio.to_thread(self._files, answer, turns, names.values())
        notes = {each.path: each for each in meant.values() if each.note}
        changes = tuple(
            guessed(each, notes[each.path]) if each.path in notes else each
            for each in propose(answer, files, wanted, names)
        )
        same = unchanged(answer, files, wanted, names)
        changes = tuple(each for each in changes if each.path not in same)
        if not changes or not (about or any(each.certain for each in changes)):
            talk = f"{asked.text if asked is not None else ''}\n{said}"
            others = [each for each in blocks(answer) if each.start not in names]
            placed = await self._by_what_it_defines(others, files, talk)
            if placed is None:
                return
            changes = placed or changes
        if not changes and not same and block is not None:
            name = meant[block.start].path if meant else block.name or wanted
            chosen = await screen.app.push_screen_wait(NamingScreen(WHICH, name, saves=False))
            if not chosen:
                return
            changes = await self._in_file(block, chosen)
        same = (*same, *(each.path for each in changes if not each.changes and not each.notes))
        changes = tuple(each for each in changes if each.path not in same)
        if changes:
            await self.review(changes)
        elif same:
            screen.tell(f"{', '.join(same)} {'is' if len(same) == 1 else 'are'} like this already")
        else:
            raise InputError("nothing in this answer could be applied to a file", NOTHING)

    async def _by_what_it_defines(
        self, answered: Sequence[Block], known: Container[str], said: str
    ) -> tuple[Change, ...] | None:
        """Changes of the files that define what nameless blocks define, where there is one such file for a block, or
        the person names it; None: they want none. known: files that were looked at already. said: as place has it.
        """
        screen = self._screen
        finder = screen.suggesting.workspace
        found = await asyncio.to_thread(lambda: [(each, place(each, finder.defining, said)) for each in answered])
        parts: dict[str, list[Block]] = {}
        guesses: dict[str, Place] = {}
        chosen: dict[Place, str] = {}
        for block, where in found:
            if where is None or any(path in known for path in where.paths):
                continue
            path = where.paths[0]
            if len(where.paths) > 1:
                if where not in chosen:
                    chosen[where] = await screen.app.push_screen_wait(
                        NamingScreen(WHICH, path, where.choices, saves=False)
                    )
                path = chosen[where]
            else:
                guesses[path] = where
            if path:
                parts.setdefault(path, []).append(block)
        if not parts and chosen:
            return None
        changes: list[Change] = []
        for path, mine in parts.items():
            if path not in guesses and len(mine) == 1:
                changes += await self._in_file(mine[0], path)
                continue
            text = await asyncio.to_thread(texts.read, screen.services.root, path)
            named = "\n".join(_named(block, path) for block in mine)
            known = {} if text is None else {path: text}
            proposed = [each for each in propose(named, known, path) if each.path == path]
            if not proposed and unchanged(named, known, path):
                proposed = [_as_it_is(path, text)]
            changes += [guessed(each, guesses[path]) if path in guesses and each.changes else each for each in proposed]
        return tuple(changes)

    async def _in_file(self, block: Block, name: str) -> tuple[Change, ...]:
        """What a block makes of the file that the person has named: a change of it, or else all of it. One that has
        nothing to change, and no notes: the file is like this already.
        """
        before = await asyncio.to_thread(texts.read, self._screen.services.root, name)
        known = {} if before is None else {name: before}
        found = [each for each in propose(_named(block, name), known, name) if each.path == name]
        if found:
            return tuple(found)
        if before is not None and unchanged(_named(block, name), known, name):
            return (_as_it_is(name, before),)
        notes = () if before is None else WHOLE
        after = block.text.replace("\n", line_ending(before or ""))
        return (Change(name, before, after, "whole", certain=before is None, notes=notes),)

    async def edit(self, name: str, wish: str) -> None:
        """Let the model change a file, with the file itself as its draft. Raises PacelineError."""
        screen = self._screen
        if self._cancel is not None:
            raise InputError("another edit is being computed", "Esc ends it")
        if not await screen.sending.may_be_shown(name):
            return
        text = await asyncio.to_thread(texts.read, screen.services.root, name)
        if text is None:
            raise InputError(f"there is no file {name}", "choose one from the list, or ask for it in a message")
        asked = instruction(name, text, wish)
        self._cancel = Cancel()
        try:
            computed = await self._computed(
                asked.messages,
                Options(max_tokens=asked.max_tokens, original=asked.original, priority="chat", tell_pace=True),
                lambda so_far: is_complete(asked, so_far),
                self._cancel,
            )
            cancelled = self._cancel.asked() and not computed.whole
        finally:
            self._cancel = None
            screen.show_figures(state="")
        if cancelled:
            screen.tell("nothing was changed")
            return
        change = change_of(asked, computed.text, cut=computed.end.reason == "length")
        if change is None or (not change.changes and not change.notes):
            raise InputError("the answer changes nothing", "say more exactly what is to be changed")
        await screen.ready.wait(f"the change of {name}")
        written = await self.review((change,))
        done = f"Changed {name}." if written else f"The change of {name} was not accepted: the file is as it was."
        screen.conversation.note(f"/edit {name} {wish}", done, computed.end)

    async def _computed(
        self, messages: Sequence[Message], options: Options, complete: Callable[[str], bool], cancel: Cancel
    ) -> Computed:
        screen, pieces, whole, end = self._screen, "", False, End("stop")
        async with aclosing(screen.client.chat(messages, options, cancel)) as coming:
            async for event in coming:
                if (work := working(event)) is not None:
                    screen.show_figures(**changed_by(work, f"editing, {work.tokens} tokens"))
                elif isinstance(event, End):
                    end = event
                elif isinstance(event, Text) and not whole:
                    pieces += event.text
                    whole = complete(pieces)
                    if whole:
                        cancel()  # the end still comes, with the figures
        return Computed(pieces, whole, end)

    async def review(self, changes: Sequence[Change]) -> bool:
        """Let the person choose, then write. Whether anything was written."""
        screen, trouble = self._screen, ""
        review = Reviewing(await asyncio.to_thread(prepared, screen.services.root, changes))
        while True:
            asked = ReviewScreen(review, screen.config.chat.diff, trouble)
            accepted = await screen.app.push_screen_wait(asked)
            if not accepted:
                return False
            try:
                return await self._commit(accepted)
            except InputError as error:  # what was chosen stays chosen: perhaps all but one of the files can be written
                trouble = str(error)

    async def write(self, changes: Sequence[Change], asked: str) -> None:
        """Write after a yes; what has characters that cannot be seen is looked at first."""
        if any(warned(each) != each for each in changes):
            await self.review(changes)
            return
        screen, root = self._screen, self._screen.services.root
        names = [each.path for each in changes]
        outside = [name for name in names if texts.outside(root, name)]
        if await screen.ask(about_files(asked, names, outside)):
            await self._commit([Accepted(each.path, each.before, each.after) for each in changes], asked=True)

    async def _commit(self, accepted: Sequence[Accepted], *, asked: bool = False) -> bool:
        screen, root = self._screen, self._screen.services.root
        outside = [each.path for each in accepted if texts.outside(root, each.path)]
        if (
            outside
            and not asked
            and not await screen.ask(about_files("Write outside of the workspace?", outside, outside))
        ):
            return False
        entry = await asyncio.to_thread(screen.services.journal().apply, root, accepted)
        screen.tell(f"written: {', '.join(each.path for each in accepted)} · Ctrl-Z takes it back")
        self.undoing.written(entry)
        screen.suggesting.refresh_workspace()
        return True

    def _before(self, turn: int) -> list[Turn]:
        return [each for each in self._screen.conversation.path if each.id <= turn]

    def _names(self, turn: Turn) -> list[str]:
        """The files that go with a turn, relative to the workspace."""
        found = []
        for each in turn.attached:
            if each.path:
                with contextlib.suppress(ValueError):  # elsewhere
                    found.append(Path(each.path).relative_to(self._screen.services.root).as_posix())
        return list(dict.fromkeys(found))

    def _called(self, answer: str, turns: Sequence[Turn]) -> dict[int, Called]:
        """The files that the answer's blocks are for, where that takes a look at the workspace."""
        shown = [name for turn in turns for name in self._names(turn)]
        return called(answer, blocks(answer)[:MOST], shown, self._screen.suggesting.workspace.files)

    def _files(self, answer: str, turns: Sequence[Turn], more: Iterable[str]) -> dict[str, str]:
        """Texts that the answer may be about: what was attached, whatever files it names, and more."""
        root, finder = self._screen.services.root, self._screen.suggesting.workspace
        names = [name for turn in turns for name in self._names(turn)]
        names += [*more, *(block.name for block in blocks(answer) if block.name)]
        for each in mentions(answer, lambda name: finder.resolve(name) is not None):
            meant = finder.meanings(each.name)
            names += [meant[0].path if len(meant) == 1 and meant[0].kind == "symbol" else each.name]
        found = {}
        for name in dict.fromkeys(names):
            with contextlib.suppress(InputError):  # what cannot be changed by us
                text = texts.read(root, name)
                if text is not None:
                    found[name] = text
        return found


def _named(block: Block, name: str) -> str:
    """A block alone, with the file that it is for."""
    fence = fence_for(block.text)
    end = "" if block.text.endswith("\n") else "\n"
    return f"{name}\n{fence}{block.language}\n{block.text}{end}{fence if block.closed else ''}\n"


def _alone(answer: str, block: Block, name: str) -> str:
    """A block of an answer alone, with the file that it is for. name: "": none, then with the line above it."""
    above = answer[max(0, block.start - FAR) : block.start].rstrip().rpartition("\n")[2].strip()
    unfit = "```" in above or "~~~" in above or is_mark(above)
    return _named(block, name or ("" if unfit else above))


def _as_it_is(name: str, text: str | None) -> Change:
    """No change."""
    return Change(name, text, text, "whole", certain=True)
