"""Completions for documents that are being typed in: from what is known, from what is on its way, or from the engine.

`Completer.complete` is the whole way of a request. The newest request of a document wins, also where an editor never
cancels one.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol
from uuid import uuid4

from paceline.client.events import Completion, Extra, Options
from paceline.config import EditorConfig
from paceline.errors import PacelineError
from paceline.lsp import quiet
from paceline.lsp.alternatives import SPREAD, Drawing
from paceline.lsp.anchor import Budget, Window
from paceline.lsp.deleting import is_single
from paceline.lsp.engine import Engine, StoppedError
from paceline.lsp.flight import Flight, Notice
from paceline.lsp.place import Place
from paceline.lsp.rhythm import Rhythm
from paceline.lsp.suggestions import Found, Suggestion, Suggestions, made
from paceline.lsp.syntax import name_of
from paceline.lsp.telling import Telling
from paceline.lsp.windows import Windows
from paceline.prompts.context import Attachment
from paceline.prompts.shape import extent
from paceline.text import strip_controls

STROKE = 64  # characters that one stroke may take away
GRACE = 0.25  # seconds that a computation goes on which nobody waits for, but which still agrees with the text
Source = Literal["cache", "prefetch", "flight", "engine"]


class Surroundings(Protocol):
    """What knows other files. `refresh` may run in another thread."""

    def configure(self, settings: EditorConfig, folders: Mapping[str, EditorConfig]) -> None:
        """What may be shown, from now on: in these workspace folders, and elsewhere."""

    def refresh(self, place: Place) -> None:
        """Read what `gather` needs."""

    def repository_name(self, root: str) -> str:
        """What a workspace folder's repository is called."""
        ...

    def excluded(self, uri: str, path: str = "", root: str = "") -> bool:
        """Whether a document gets no completions. path and root: as in Place, where they are known."""
        ...

    def gather(self, place: Place, characters: int) -> tuple[Attachment, ...]:
        """Parts of them that help here, within the budget; those that change rarely first."""
        ...

    def quotable(self, place: Place) -> tuple[Attachment, ...]:
        """Other texts from which an answer may be guessed; the model is not shown them."""
        ...

    def visible(self, uri: str, first_line: int, last_line: int) -> None:
        """These lines are where a person looks."""

    def focused(self, uri: str) -> None:
        """A person looks at this document, wherever in it."""

    def opened(self, uri: str, path: str, root: str, language: str, text: str) -> None:
        """A document has been opened."""

    def changed(self, uri: str, text: str, start: int, end: int, inserted: str) -> None:
        """And changed: `text` is what it is now."""

    def saved(self, uri: str) -> None:
        """And saved."""

    def closed(self, uri: str) -> None:
        """And closed."""


@dataclass(frozen=True)
class Answer:
    """What a request gets. Without a text there is a reason."""

    text: str = ""
    silence: str = ""  # why there is nothing, as quiet.REASONS names it
    source: Source = "engine"
    seconds: float = 0.0
    found: Found | None = None


@dataclass
class Desk:
    """One document that is being typed in."""

    rhythm: Rhythm = field(default_factory=Rhythm)
    windows: Windows = field(default_factory=Windows)
    flight: Flight | None = None
    newest: int = 0  # number of its newest request
    drawing: Drawing | None = None  # of alternatives
    deleted: int | None = None  # where its last change took something back, if it did
    shown: tuple[Suggestion, ...] = ()  # the last that were

    def stop_drawing(self) -> None:
        """Nobody wants alternatives for a place any more."""
        if self.drawing is not None:
            self.drawing.cancel()
            self.drawing = None


@dataclass
class Completer:
    """Belongs to one event loop."""

    engine: Engine
    surroundings: Surroundings
    telling: Telling
    settings: EditorConfig = field(default_factory=EditorConfig)
    folders: Mapping[str, EditorConfig] = field(default_factory=dict)  # in workspace folders that say something else
    name: str = field(default_factory=lambda: uuid4().hex)  # two windows may have the same document open
    suggestions: Suggestions = field(default_factory=Suggestions)
    desks: dict[str, Desk] = field(default_factory=dict)

    async def complete(self, place: Place, *, asked: bool = False) -> Answer:
        """Something for this place. asked: by hand, so nothing is held back and nothing is waited for."""
        now, desk = asyncio.get_running_loop().time, self.desk(place.uri)
        began = now()
        source: Source = "cache"
        desk.newest = number = desk.newest + 1
        if desk.drawing is not None and not desk.drawing.serves(place):
            desk.stop_drawing()
        if reason := self._quiet(place, desk, asked=asked):
            return Answer(silence=reason)
        while (found := self.suggestions.find(place, *self.engine.models)) is None:
            if self.engine.rests(now()) and not asked:
                return Answer(silence="engine")
            flight = desk.flight
            if flight is not None and flight.serves(place):
                source = "flight"
            else:
                self.drop(desk)
                await asyncio.sleep(0 if asked else desk.rhythm.wait(now()))
                if number != desk.newest:
                    return Answer(silence="superseded")
                source, flight = "engine", self.start(desk, place)
            if reason := await self._landed(flight, desk, number):
                return Answer(silence=reason)
        return self._judged(place, found, source, now() - began, asked=asked)

    async def alternatives(self, place: Place, count: int) -> list[Answer]:
        """Other things that could stand at a place: those that are known, and those that are drawn within a moment.

        What is not there by then is found by whoever asks there again.
        """
        now, desk = asyncio.get_running_loop().time, self.desk(place.uri)
        began, number, seeds = now(), desk.newest, range(1, count + 1)
        known = self.suggestions.drawn(place, *self.engine.models)
        if missing := [seed for seed in seeds if seed not in known]:
            if desk.drawing is None or not desk.drawing.serves(place):
                desk.drawing = Drawing(place, self._drawer(place, self.window(desk, place)))
            await desk.drawing.drawn(missing)
        if number != desk.newest:
            return []
        found = self.suggestions.drawn(place, *self.engine.models)
        there = [found[seed] for seed in seeds if seed in found and found[seed].rest]
        desk.shown = (*desk.shown, *(each.suggestion for each in there))
        source: dict[bool, Source] = {True: "cache", False: "engine"}
        return [Answer(each.rest, "", source[each.suggestion.seed in known], now() - began, each) for each in there]

    def _drawer(self, place: Place, window: Window) -> Callable[[int], Coroutine[Any, Any, None]]:
        async def draw(seed: int) -> None:
            drawn = {"temperature": SPREAD, "seed": seed, "priority": "prefetch", "supersedes": ""}
            found = await self._infilled(place, window, _silent, **drawn)
            self.suggestions.add(place.uri, replace(found, seed=seed))

        return draw

    def changed(self, uri: str, here: Callable[[], Place], *, removed: str, inserted: str) -> None:
        """In a document one text has given way to another; `here` makes the place behind that.

        What is computed goes on as long as it agrees with the text: the request for it may come yet.
        """
        desk = self.desks.get(uri)
        if desk is None:
            return
        desk.deleted = None
        if removed and not inserted and len(removed) <= STROKE and is_single(removed, (place := here()).before):
            desk.deleted = place.offset
        desk.rhythm.typed(asyncio.get_running_loop().time())
        desk.stop_drawing()
        if desk.flight is not None and not desk.flight.over and not desk.flight.serves(here()):
            self._give_up(desk)

    def close(self, uri: str) -> None:
        """The document is closed."""
        desk = self.desks.pop(uri, None)
        if desk is not None:
            self._give_up(desk)
        self.suggestions.forget(uri)

    def configure(self, settings: EditorConfig, folders: Mapping[str, EditorConfig]) -> None:
        """Other settings hold from now on: what was chosen and computed with the former ones is of no use."""
        self.settings, self.folders = settings, folders
        self.surroundings.configure(settings, folders)
        self._begin_anew()

    def _begin_anew(self) -> None:
        for desk in self.desks.values():
            self._give_up(desk)
            desk.windows.forget()
        self.suggestions.clear()

    def reset(self) -> None:
        """Nothing that is known of the engine holds any more."""
        self._begin_anew()
        self.engine.renewed()

    def of(self, place: Place) -> EditorConfig:
        """The settings that hold at a place."""
        return self.folders.get(place.root, self.settings)

    def desk(self, uri: str) -> Desk:
        """The document's; a new one if there is none."""
        return self.desks.setdefault(uri, Desk())

    def drop(self, desk: Desk) -> None:
        """Stop what is computed for a document: it is of no use any more."""
        if desk.flight is not None:
            desk.flight.cancel()
            desk.flight = None

    def _give_up(self, desk: Desk) -> None:
        """Who waits for what is computed for a document waits in vain."""
        desk.newest += 1
        desk.stop_drawing()
        self.drop(desk)

    def start(self, desk: Desk, place: Place) -> Flight:
        """Compute a completion for a place."""
        window = self.window(desk, place)
        desk.flight = Flight(place, lambda notice: self.compute(desk, place, window, notice))
        return desk.flight

    async def compute(self, desk: Desk, place: Place, window: Window, notice: Notice) -> None:
        """A completion that is remembered. Raises PacelineError."""
        began = asyncio.get_running_loop().time()
        found = await self._infilled(place, window, notice)
        desk.rhythm.answered(asyncio.get_running_loop().time() - began)
        self.suggestions.add(place.uri, found)

    async def compute_ahead(self, place: Place, window: Window) -> None:
        """One that nobody has asked for yet, and so behind all that somebody has. Raises PacelineError."""
        found = await self._infilled(place, window, _silent, priority="prefetch", supersedes="")
        self.suggestions.add(place.uri, replace(found, prefetched=True))

    async def _infilled(self, place: Place, window: Window, notice: Notice, **changes: Any) -> Suggestion:  # noqa: ANN401
        typed = window.typed(place) or ""
        options = replace(self._options(place, window, typed), **changes)
        done = await self._ask(place, window, typed, options, notice)
        self.telling.mended(place.uri)
        text = quiet.worth_keeping(strip_controls(done.text), place, self.of(place))
        return made(place, text, done.model, done.logprobs, done.tokens)

    async def warm(self, place: Place, window: Window) -> None:
        """Have a window read, while nobody waits. Raises PacelineError, also where that was stopped."""
        options = replace(self._about(place, window), warm=True, priority="background", anchor=0)
        await self._ask(place, window, "", options, _silent)

    async def _ask(self, place: Place, window: Window, typed: str, options: Options, notice: Notice) -> Completion:
        """The engine's answer, from which something is learned about it. Raises PacelineError."""
        prefix, suffix = window.shown(place, typed)
        done = await self.engine.infiller.complete(prefix, suffix, options, notice)
        if done.finish_reason in ("cancelled", "superseded"):
            raise StoppedError("the completion was stopped")
        self.engine.answered(done, window, typed, options.priority)
        return done

    @property
    def budgets(self) -> tuple[Budget, Budget]:
        """Characters of a window that is read at once, and of a large one."""
        return self.engine.budgets(self.settings.latency_ms / 1000)

    def window(self, desk: Desk, place: Place) -> Window:
        """What of the document the model is shown for this place."""
        return desk.windows.choose(place, *self.budgets)

    def _about(self, place: Place, window: Window) -> Options:
        """What the model is shown besides the document's text."""
        repository = self.surroundings.repository_name(place.root)
        return Options(filename=name_of(place.path, place.uri), repository=repository, extra=window.extra)

    def _options(self, place: Place, window: Window, typed: str) -> Options:
        settings = self.of(place)
        wanted = extent(place.before, place.after, place.language, settings.max_tokens, multiline=settings.multiline)
        return replace(
            self._about(place, window),
            max_tokens=wanted.max_tokens,
            temperature=0.0,
            priority="completion",
            supersedes=f"{self.name}/{place.uri}",
            stop_at=wanted.stop_at,
            max_lines=settings.max_lines,
            anchor=len(typed),
            logprobs=True,
            partial=True,
            references=tuple(Extra(each.name, each.text) for each in self.surroundings.quotable(place)),
        )

    def _quiet(self, place: Place, desk: Desk, *, asked: bool) -> str | None:
        reason = quiet.before(place, self.of(place), asked=asked, deleted=desk.deleted == place.offset)
        if reason in quiet.MATTERS_OF_PROSE and self._followed(place, desk):
            reason = None
        return reason or ("ignored" if self._excluded(place) else None)

    def kept_back(self, place: Place) -> bool:
        """Whether no model is shown this document, unless perhaps the person asks for that by hand."""
        return quiet.of_the_file(place, self.of(place), asked=False) is not None or self._excluded(place)

    def _excluded(self, place: Place) -> bool:
        return self.surroundings.excluded(place.uri, place.path, place.root)

    def _followed(self, place: Place, desk: Desk) -> bool:
        """Whether the person is on the way through a suggestion that was shown: has taken or typed its beginning."""
        found = self.suggestions.find(place, *self.engine.models)
        return found is not None and bool(found.typed) and any(found.suggestion is each for each in desk.shown)

    async def _landed(self, flight: Flight, desk: Desk, number: int) -> str:
        """Wait for a flight; why nothing comes of it, if so."""
        try:
            await flight.landed()
        except StoppedError:
            return "superseded"
        except PacelineError as error:
            self.engine.failed(asyncio.get_running_loop().time())
            for each in self.desks.values():  # it may have lost its cache with its life
                each.windows.forget()
            self.telling.fail(error, flight.place.uri)
            return "engine"
        except asyncio.CancelledError:
            if not flight.stopped:  # then it was this request that was cancelled
                self._abandoned(flight, desk, number)
                raise
        return "superseded" if number != desk.newest else ""

    def _abandoned(self, flight: Flight, desk: Desk, number: int) -> None:
        """Nobody waits for it. It goes on for a moment: editors cancel a request right before they send the next."""

        def end() -> None:
            if desk.newest == number and desk.flight is flight:
                self.drop(desk)

        asyncio.get_running_loop().call_later(GRACE, end)

    def _judged(self, place: Place, found: Found, source: Source, seconds: float, *, asked: bool) -> Answer:
        rest = quiet.trimmed(found.rest, place) if found.closers else found.rest
        silence = "" if asked and rest else quiet.after(rest, found.logprobs, place, self.of(place))
        if not silence:
            if source == "cache" and found.suggestion.prefetched:
                source = "prefetch"
            found = self.suggestions.shown(place.uri, found)
            self.desk(place.uri).shown = (found.suggestion,)
        return Answer("" if silence else rest, silence or "", source, seconds, found)


def _silent(_: object) -> None:
    """Of what comes on the way, nothing is needed."""
