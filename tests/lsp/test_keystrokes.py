"""Real Python files typed key by key, with slips, second thoughts and jumps, at the rhythm of a person: whatever is
shown is right at exactly the text that is there then.
"""

import asyncio
import bisect as a_file
import random
import textwrap as another_file
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench.typing import keys as keyboard
from paceline.client.events import Completion, Event, Options, Text, Usage
from paceline.config import Config, EditorConfig
from paceline.lsp import quiet
from paceline.lsp.engine import Engine
from paceline.lsp.figures import Figures
from paceline.lsp.figures_store import Store
from paceline.lsp.place import Place
from paceline.lsp.session import Session
from paceline.lsp.telling import Telling
from support.author import Author
from support.scripted_infiller import NoSurroundings
from support.virtual_time import run

URI = "file:///work/a.py"
FILES = [a_file, another_file]
CONFIG = Config(editor=EditorConfig(other_files=False))
SECOND_THOUGHTS, DETOURS = 0.04, 0.04  # of the keys


class Writing:
    """Answers as the author does, after a while, and tells of it word by word."""

    def __init__(self, author: Author, choice: random.Random) -> None:
        self._author, self._choice = author, choice

    async def complete(self, prefix: str, suffix: str, options: Options, notice: Callable[[Event], None]) -> Completion:
        text = "" if options.warm else self._author.says(prefix, suffix)
        await asyncio.sleep(self._choice.choice([0.01, 0.05, 0.2, 0.6]))
        for word in text.split(" "):
            notice(Text(word if text.startswith(word) else " " + word))
            await asyncio.sleep(self._choice.choice([0.0, 0.02, 0.1]))
        return Completion(text, "stop", Usage(10, 1, 0), {}, "author", logprobs=(-0.1,))


class Writer:
    """The session of somebody who types, and what was wrong of all that was shown to them."""

    def __init__(self, author: Author, choice: random.Random, folder: Path, *, cancels: bool) -> None:
        self.author, self._choice, self._cancels = author, choice, cancels
        figures = Figures(Store(folder / "figures"), lambda uri: self.text)
        engine = Engine(Writing(author, choice))
        self.session = Session(CONFIG, engine, NoSurroundings(), Telling(lambda *_: None), figures, print)
        self.text, self.version = "", 0
        self.shown, self.faults, self.sources = 0, list[str](), Counter[str]()
        self._waiting = list[asyncio.Task[None]]()

    def place(self, at: int) -> Place:
        return Place(URI, "python", self.version, self.text[:at], self.text[at:], "a.py")

    def change(self, at: int, removed: int, text: str) -> int:
        """Take so many characters before an offset away, and put others there; gives the cursor behind them."""
        start = at - removed
        gone, self.text = self.text[start:at], self.text[:start] + text + self.text[at:]
        self.version += 1
        cursor = start + len(text)
        self.session.changed(URI, self.text, start, gone, text, lambda: self.place(cursor))
        return cursor

    def ask(self, at: int) -> None:
        """As an editor does behind every key; some of them cancel the request before."""
        if self._cancels and self._waiting:
            self._waiting[-1].cancel()
        self._waiting.append(asyncio.create_task(self._asked(self.place(at))))

    async def _asked(self, place: Place) -> None:
        for each in await self.session.suggest(place):
            if place.version != self.version:
                continue  # the server leaves these out
            self.shown += 1
            self.sources[each.answer.source] += 1
            if each.text not in self.author.would_say(place.before, place.after, self._trimmed):
                self.faults.append(f"{each.text!r} behind {place.before[-40:]!r}, before {place.after[:30]!r}")

    def _trimmed(self, before: str, after: str, text: str) -> str:
        return quiet.worth_keeping(text, replace(self.place(0), before=before, after=after), CONFIG.editor)

    async def write(self, text: str, strokes: list[keyboard.Key]) -> None:
        self.text, choice = text, self._choice
        for key in strokes:
            await asyncio.sleep(key.wait)
            at = self.change(key.at, key.removed, key.text)
            self.ask(at)
            if key.removed == 0 and choice.random() < SECOND_THOUGHTS:
                await self._think_again(at)
            if self.text[at : at + 1] == "\n" and choice.random() < DETOURS:
                await self._look_elsewhere(at)
        await asyncio.gather(*self._waiting, return_exceptions=True)
        await self.session.close()

    async def _think_again(self, at: int) -> None:
        """Delete some of what stands before the cursor, key by key, and write it again."""
        start = max(self.text.rfind("\n", 0, at) + 1, at - self._choice.randint(1, 8))
        gone = self.text[start:at]
        while at > start:
            await asyncio.sleep(0.09)
            at = self.change(at, 1, "")
            self.ask(at)
        for char in gone:
            await asyncio.sleep(self._choice.choice([0.1, 0.3]))
            at = self.change(at, 0, char)
            self.ask(at)

    async def _look_elsewhere(self, at: int) -> None:
        """Write a line below the cursor's, come back, and take it out again."""
        await asyncio.sleep(2.0)
        for _ in range(self._choice.randint(1, 2)):
            note = f"note_{self._choice.randrange(100)} = seen\n"
            self.change(at + 1, 0, note)
            self.ask(at)
            await asyncio.sleep(self._choice.choice([0.0, 2.0]))
            self.change(at + 1 + len(note), len(note), "")
            self.ask(at)
            await asyncio.sleep(self._choice.choice([0.0, 2.0]))


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_shown_is_right_at_exactly_the_text_that_is_there(seed: int, tmp_path: Path):
    choice = random.Random(seed)
    source = Path(str(FILES[seed % 2].__file__)).read_text(encoding="utf-8")
    parts = keyboard.parts(source, choice, 3, 4)
    text, _ = keyboard.without(source, parts)
    writer = Writer(Author(source), choice, tmp_path, cancels=seed < 2)
    run(writer.write(text, list(keyboard.typed(source, parts, choice))))
    assert writer.text == source
    assert writer.faults == []
    assert writer.shown > 50
    assert all(writer.sources[each] for each in ("engine", "cache", "flight")), writer.sources


@pytest.mark.parametrize("seed", range(20))
def test_the_keys_write_what_was_taken_out(seed: int):
    choice = random.Random(seed)
    source = Path(str(another_file.__file__)).read_text(encoding="utf-8")
    parts = keyboard.parts(source, choice, 4, 5)
    text, _ = keyboard.without(source, parts)
    assert len(text) < len(source)
    for key in keyboard.typed(source, parts, choice):
        text = keyboard.applied(text, key)
    assert text == source
