"""What is computed before anybody asks, while nobody waits: the next large window, and the likeliest next completion.

Both have a lower priority in the engine than what somebody waits for, and are stopped when the person goes elsewhere.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

from paceline.client.events import Extra
from paceline.config import EditorConfig
from paceline.errors import PacelineError
from paceline.lsp.anchor import Window
from paceline.lsp.completing import Answer, Completer, Desk
from paceline.lsp.place import Place
from paceline.prompts.lines import last_line_start, line_ending

CALM = 0.15  # seconds after an answer before the next is computed: whoever types against it is faster
FRESH = 20.0  # seconds between two looks at a workspace's files
SHARE = 3  # the part of a window's characters that other files may take, besides its own
OPENERS = ("{", "[", "(", ":")
HEAD = 20_000  # characters of a document, where its imports are
_IMPORTS = re.compile(r"^[ \t]*(?:from|import|use|mod|#[ \t]*include|(?:const|let|var)\b[^\n]*\brequire)\b.*\n", re.M)
_IMPORTING = re.compile(r"[ \t]*from[ \t]+\S+[ \t]+import\b")  # names may come, but it is known what of


@dataclass
class _Work:
    task: "asyncio.Task[None]" = field(init=False)
    window: Window | None = None  # that is being read, as soon as that is known
    target: Place | None = None  # that is being completed


@dataclass
class Ahead:
    """Belongs to one event loop. At most one window is read and one completion computed for each document."""

    completer: Completer
    counts: Callable[[str], None] = lambda language: None  # is told the language of each completion computed ahead
    prefetched: int = 0  # completions that were computed ahead
    _reading: dict[str, _Work] = field(default_factory=dict)
    _computing: dict[str, _Work] = field(default_factory=dict)
    _looked: dict[str, tuple[float, EditorConfig]] = field(default_factory=dict)  # when, and how, for each document
    _imports: dict[str, frozenset[str]] = field(default_factory=dict)  # by document

    def after(self, place: Place, answer: Answer) -> None:
        """An answer has gone out: get ready for what comes next."""
        desk = self.completer.desks.get(place.uri)
        if desk is None or answer.silence in ("engine", "superseded") or self.completer.kept_back(place):
            return  # it is closed, or no model is shown it
        if self._imports.setdefault(place.uri, imports := imported(place)) != imports:
            self._imports[place.uri] = imports
            self._looked.pop(place.uri, None)
            desk.windows.outdated = True  # it shows nothing of what is imported now
        self._warm(desk, place)
        if answer.text and self.completer.of(place).prefetch:
            self._prefetch(desk, likely(place, answer.text))

    def stop(self, uri: str) -> None:
        """The document is closed."""
        self._looked.pop(uri, None)
        self._imports.pop(uri, None)
        for works in (self._reading, self._computing):
            if uri in works:
                works.pop(uri).task.cancel()

    def _warm(self, desk: Desk, place: Place) -> None:
        """Have the next large window read, unless that happens already."""
        work = self._reading.get(place.uri)
        if work is not None and not work.task.done():
            window = work.window
            if window is None or (window is desk.windows.warming and window.typed(place) is not None):
                return
            work.task.cancel()
            desk.windows.warming = None
        if desk.windows.lacks(place):
            work = self._reading[place.uri] = _Work()
            work.task = _quietly(self._read(desk, place, work))

    async def _read(self, desk: Desk, place: Place, work: _Work) -> None:
        completer, surroundings = self.completer, self.completer.surroundings
        _, full = completer.budgets
        extra: tuple[Extra, ...] = ()
        if completer.of(place).other_files:
            await self._refreshed(place)
            if completer.kept_back(place):  # as the rules on the disk say, which may have been read just now
                return
            found = surroundings.gather(place, full.prefix // SHARE)
            extra = tuple(Extra(each.name, each.text) for each in found)
        window = work.window = desk.windows.wanted(place, full, extra)
        if window is None:
            return
        read = False
        desk.windows.began(window)
        try:
            await completer.warm(place, window)
            read = True
        finally:
            desk.windows.ended(window, read=read)

    async def _refreshed(self, place: Place) -> None:
        """Look at the workspace's files, if that was some time ago."""
        now = asyncio.get_running_loop().time()
        settings = self.completer.of(place)
        when, then = self._looked.get(place.uri, (-FRESH, settings))
        if now - when >= FRESH or then is not settings:
            self._looked[place.uri] = now, settings
            await asyncio.to_thread(self.completer.surroundings.refresh, place)

    def _prefetch(self, desk: Desk, target: Place) -> None:
        """Have a place completed where the person is likely to be soon, unless that happens already."""
        work = self._computing.get(target.uri)
        if work is not None and not work.task.done():
            if work.target == target:
                return
            work.task.cancel()
        if self.completer.suggestions.find(target, *self.completer.engine.models) is None:
            work = self._computing[target.uri] = _Work(target=target)
            work.task = _quietly(self._compute(desk, target))

    async def _compute(self, desk: Desk, target: Place) -> None:
        await asyncio.sleep(CALM)
        window = self.completer.window(desk, target)
        self.prefetched += 1
        self.counts(target.language)
        await self.completer.compute_ahead(target, window)


def imported(place: Place) -> frozenset[str]:
    """What other files are imported by lines before the cursor, as the lines say it that are complete."""
    typed = _IMPORTING.match(place.before, last_line_start(place.before))
    return frozenset([*map(_module, _IMPORTS.findall(place.before[:HEAD])), *([_module(typed[0])] if typed else [])])


def _module(line: str) -> str:
    found = _IMPORTING.match(line)
    return (found[0] if found else line).strip()


def likely(place: Place, text: str) -> Place:
    """Where the person will be if they accept the text and go on: at the start of a new line.

    Who accepts its first line only, or types it, finds the rest of it among what is known.
    """
    before = place.before + text
    line = before[last_line_start(before) :]
    indent = line[: len(line) - len(line.lstrip())]
    if line.rstrip().endswith(OPENERS):
        indent += "\t" if indent.startswith("\t") or "\n\t" in before[-4096:] else "    "
    return replace(place, before=before + line_ending(place.before + place.after) + indent, version=None)


def _quietly(work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
    """Work whose failure nobody needs to be told of: whoever asks for the same will be."""

    def ended(task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, PacelineError):
            raise error  # a fault of ours, which asyncio reports

    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(ended)
    return task
