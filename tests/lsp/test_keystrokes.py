"""Real Python files typed key by key, with slips and jumps: no suggestion is stale, and none says what stands there."""

import asyncio
import bisect as a_file
import random
import textwrap as another_file
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.typing import keys as keyboard
from paceline.client.events import Options
from paceline.config import Config
from paceline.lsp.completing import Engine
from paceline.lsp.figures import Figures
from paceline.lsp.figures_store import Store
from paceline.lsp.place import Place
from paceline.lsp.rhythm import Rhythm
from paceline.lsp.session import Session
from paceline.lsp.telling import Telling
from support.scripted_infiller import NoSurroundings, ScriptedInfiller

URI = "file:///work/a.py"
FILES = [a_file, another_file]


def author(text: str, choice: random.Random) -> Callable[[str, str, Options], str]:
    """Somebody who knows the file: often right, sometimes saying more than is missing, sometimes anything."""

    def says(prefix: str, suffix: str, _: Options) -> str:
        at = text.find(prefix[-60:])
        following = text[at + len(prefix[-60:]) :] if at >= 0 and len(prefix) > 60 else "value)"
        line = following.split("\n", 1)[0]
        kind = choice.random()
        if kind < 0.5:
            return line
        if kind < 0.7:
            return "\n".join(following.split("\n")[: choice.randint(1, 6)])
        if kind < 0.85:
            return line + suffix[: choice.randint(0, 80)]
        return choice.choice(["", "\n", ")", "    return None\n", "x" * 200, line + "\n" + line])

    return says


class Writer:
    """The session of somebody who types, and everything that was shown to them."""

    def __init__(self, text: str, choice: random.Random, folder: Path) -> None:
        self.infiller = ScriptedInfiller(author(text, choice))
        telling = Telling(lambda kind, said: None)
        figures = Figures(Store(folder / "figures"), lambda uri: self.text)
        self.session = Session(Config(), Engine(self.infiller), NoSurroundings(), telling, figures, print)
        self.session.completer.desk(URI).rhythm = Rhythm(latency=0.0)
        self.text, self.version, self.faults, self.shown = "", 0, list[str](), 0
        self.before, self.after = "", ""

    def place(self, at: int) -> Place:
        return Place(URI, "python", self.version, self.text[:at], self.text[at:], "a.py")

    async def ask(self, place: Place) -> None:
        for each in await self.session.suggest(place):
            self.shown += 1
            if (each.place.before, each.place.after) != (place.before, place.after):
                self.faults.append("shown at another place than was asked about")
            if place.version == self.version and place.before + place.after != self.text:
                self.faults.append("stale")
            self.faults += repetitions(place, each.text)

    async def write(self, text: str, strokes: list[keyboard.Key], choice: random.Random) -> None:
        self.text, waiting = text, list[asyncio.Task[None]]()
        for key in strokes:
            self.text = keyboard.applied(self.text, key)
            self.version += 1
            start, at = key.at - key.removed, key.at - key.removed + len(key.text)
            self.session.changed(URI, self.text, start, key.at, key.text, lambda at=at: self.place(at))
            waiting.append(asyncio.create_task(self.ask(self.place(at))))
            for _ in range(choice.choice([0, 1, 3, 10])):
                await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        await self.session.close()


def repetitions(place: Place, text: str) -> list[str]:
    """What a suggestion says though it stands behind the cursor."""
    rest, _, below = place.after.partition("\n")
    following = next((line.rstrip() for line in below.split("\n") if line.strip()), "")
    lines = text.split("\n")
    found = []
    if rest.strip() and text.endswith(rest.strip()) and len(rest.strip()) > 2:
        found.append(f"repeats the rest of the line: {text!r} before {rest!r}")
    if len(lines) > 1 and len(following.strip()) > 3 and lines[-1].rstrip() == following:
        found.append(f"repeats the next line: {text!r} before {following!r}")
    if not rest.strip() and text != text.rstrip():
        found.append(f"ends in blanks: {text!r}")
    return found


@pytest.mark.parametrize("seed", range(6))
def test_nothing_that_is_shown_is_stale_or_stands_there_already(seed: int, tmp_path: Path):
    choice = random.Random(seed)
    source = Path(str(FILES[seed % 2].__file__)).read_text(encoding="utf-8")
    parts = keyboard.parts(source, choice, 3, 8)
    strokes = list(keyboard.typed(source, parts, choice))
    text, _ = keyboard.without(source, parts)
    writer = Writer(source, choice, tmp_path)
    asyncio.run(asyncio.wait_for(writer.write(text, strokes, choice), 60))
    assert writer.text == source
    assert writer.shown > 20
    assert writer.faults == []


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
