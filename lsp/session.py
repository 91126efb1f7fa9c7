"""One editor's session: its settings, what its documents are offered, and what becomes of that. Knows no protocol."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from paceline.client.events import Options
from paceline.config import Config, EditorConfig
from paceline.errors import PacelineError
from paceline.lsp import options, quiet
from paceline.lsp.ahead import Ahead
from paceline.lsp.completing import Answer, Completer, Engine, Surroundings
from paceline.lsp.figures import Figures
from paceline.lsp.place import Place
from paceline.lsp.telling import Telling

SHOWN = 64  # suggestions whose acceptance can still be told
LOST = (
    f"Paceline: {quiet.REASONS['unread']}; nothing is suggested in that document before it is opened again, "
    "or the editor sends all of its text"
)
SILENCES = 50  # of which the status tells


@dataclass(frozen=True)
class Shown:
    """A suggestion in front of the person."""

    number: int
    place: Place
    text: str
    answer: Answer
    more: bool = False  # beside another one for the same place
    chosen: bool = False  # behind what a popup has chosen, which is not in the document

    @property
    def offset(self) -> int:
        """Where it goes, in its document."""
        return len(self.place.before) - self.place.elsewhere


@dataclass
class Session:
    """Belongs to one event loop. `log` takes lines for the editor's log; `heard` is told of answers."""

    config: Config
    engine: Engine
    surroundings: Surroundings
    telling: Telling
    figures: Figures
    log: Callable[[str], None]
    heard: Callable[[Answer], None] = lambda answer: None
    renew: Callable[[], Awaitable[bool]] | None = None  # ends an engine that hangs; whether there was one
    explain: bool = False  # log the reason of every silence
    shown: dict[int, Shown] = field(default_factory=dict)
    silences: deque[str] = field(default_factory=lambda: deque(maxlen=SILENCES))
    sources: Counter[str] = field(default_factory=Counter)  # of suggestions

    def __post_init__(self) -> None:
        self.completer = Completer(self.engine, self.surroundings, self.telling, self.config.editor)
        self.ahead = Ahead(self.completer, self.figures.prefetched)
        self._given: dict[str, options.Source] = {}
        self._projects: dict[str, options.Source] = {}  # of the workspace's folders, by path
        self._looking = asyncio.Lock()  # held while folders' files are read
        self._numbers = 0
        self._tells = False  # the editor says which suggestions it shows
        self._unseen: set[int] = set()  # that it has not yet said so of
        self._seen: Place | None = None  # of the last that was shown
        self._waking: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None

    @property
    def settings(self) -> EditorConfig:
        """What holds now, where a folder's own file does not say more."""
        return self.completer.settings

    def configure(self, source: options.Source) -> None:
        """Settings from one place; they replace what that place said before. What is wrong is shown once."""
        self._given[source.name] = source
        self._configured()

    def _configured(self) -> None:
        """Bring together what all places say: for each folder with a file of its own, and for the rest."""
        person = tuple(self._given.values())
        usual = options.merge(person, self.config.editor)
        found = {root: options.merge((each, *person), self.config.editor) for root, each in self._projects.items()}
        for sentence in options.told([*usual.problems, *(each for one in found.values() for each in one.problems)]):
            self.telling.once("warning", sentence)
        folders = {root: each.editor for root, each in found.items()}
        if (usual.editor, folders) != (self.settings, self.completer.folders):
            self.completer.configure(usual.editor, folders)

    async def read_projects(self, folders: Sequence[Path]) -> None:
        """The files of the workspace's folders, which are these now. Nothing is suggested until they have been read."""
        async with self._looking:
            found = {}
            for folder in folders:
                source, wrong = await asyncio.to_thread(options.of_project, folder)
                if wrong:
                    self.telling.once("warning", f"Paceline: {wrong}")
                if source is not None:
                    found[str(folder)] = source
            self._projects = found
            self._configured()

    async def ready(self) -> None:
        """Wait until what the workspace's folders say is known: that may be to leave a document alone."""
        if self._looking.locked():
            async with self._looking:
                pass

    async def suggest(self, place: Place, *, asked: bool = False, chosen: bool = False) -> list[Shown]:
        """What to show at a place; several where the person asked for it. The newest request of a document wins.

        chosen: the text before the place ends in what a popup has chosen, which is not in the document.
        """
        await self.ready()
        line = place.before.count("\n")
        self.surroundings.visible(place.uri, line, line)
        answer = await self.completer.complete(place, asked=asked)
        found = [self._show(place, answer, chosen=chosen)] if answer.text else []
        if answer.text and asked:
            for other in await self.completer.alternatives(place, self.completer.of(place).candidates - 1):
                if other.text not in [each.text for each in found]:
                    found.append(self._show(place, other, more=True, chosen=chosen))
        if not found:
            self._silent(place, answer.silence)
        self.heard(answer)
        self.ahead.after(place, answer)
        return found

    def excluded(self, uri: str, path: str, root: str) -> bool:
        """Whether no model is shown this document: it is secret, or the person's rules say so.

        path, root: as in Place.
        """
        return self.surroundings.excluded(uri, path, root)

    def rest(self, place: Place) -> str:
        """What is known for a place, without computing anything."""
        found = self.completer.suggestions.find(place, *self.engine.models)
        return found.rest if found is not None else ""

    def opened(self, uri: str, path: str, root: str, language: str, text: str) -> None:
        """A document has been opened."""
        self.surroundings.opened(uri, path, root, language, text)
        self.wake()

    def wake(self) -> None:
        """Have the engine started and its models loaded, if nothing is known of it yet. Failures are told later."""
        if self._waking is None and not self.engine.model and self.settings.enabled:
            self._waking = asyncio.get_running_loop().create_task(self._woken())

    async def _woken(self) -> None:
        with suppress(PacelineError):
            options = Options(warm=True, priority="background", anchor=0)
            await self.engine.infiller.complete("\n", "", options, lambda _: None)

    def changed(self, uri: str, text: str, start: int, end: int, inserted: str, here: Callable[[], Place]) -> None:
        """Characters [start, end) of a document became others, which gave `text`. `here`: the place behind them."""
        self.surroundings.changed(uri, text, start, end, inserted)
        self.figures.changed(uri, start, end, inserted)
        self.completer.changed(uri, here, deleted=end - start == 1 and not inserted)

    def lost(self, uri: str) -> None:
        """A document's text is not known any more, until the editor tells all of it. The person is told once."""
        self.figures.closed(uri)
        self.ahead.stop(uri)
        self.completer.close(uri)
        self.telling.once("warning", LOST)

    def saved(self, uri: str) -> None:
        """A document has been saved."""
        self.surroundings.saved(uri)

    def focused(self, uri: str) -> None:
        """The person looks at this document now: soon they will type."""
        self.wake()

    def closed(self, uri: str) -> None:
        """A document is closed: nothing is computed for it any more."""
        self.surroundings.closed(uri)
        self.figures.closed(uri)
        self.ahead.stop(uri)
        self.completer.close(uri)

    def seen(self, number: int) -> None:
        """The editor says that it shows a suggestion. From then on, those of which it does not say so do not count."""
        self._tells = True
        if number in self._unseen:
            self._unseen.discard(number)
            self._count(self.shown[number])

    def accepted(self, number: int, length: int | None = None) -> None:
        """The person took a suggestion, or its first so many characters."""
        shown = self.shown.get(number)
        if number in self._unseen:
            self.seen(number)
        if shown is not None:
            self.figures.accepted(number, shown.offset, length)

    def restart(self) -> None:
        """The engine is another one: whatever was known of it does not hold. One that hangs is ended meanwhile."""
        self.completer.reset()
        self.telling.mended()
        if self.renew is not None and (self._renewing is None or self._renewing.done()):
            self._renewing = asyncio.get_running_loop().create_task(self._renewed(self.renew))

    async def _renewed(self, renew: Callable[[], Awaitable[bool]]) -> None:
        try:
            if not await renew():
                return
        except PacelineError as error:
            self.telling.fail(error)
            return
        self.telling.once("info", "Paceline: the daemon did not answer and has been ended; another one starts")
        self.completer.reset()
        self._waking = None
        self.wake()

    async def close(self) -> None:
        """The editor goes."""
        for task in (self._waking, self._renewing):
            if task is not None:
                task.cancel()
        for uri in list(self.completer.desks):
            self.ahead.stop(uri)
            self.completer.close(uri)
        await self.figures.close()

    def status(self) -> str:
        """A few lines for a person."""
        made = sum(self.sources.values())
        known = made - self.sources["engine"]
        lines = [f"model       {self.engine.model or 'none has answered yet'}"]
        lines += [f"suggested   {made}, {known} of them without a request of their own to the engine"] if made else []
        lines += [f"ahead       {self.ahead.prefetched} computed, {self.sources['prefetch']} used"]
        counted = Counter(self.silences).most_common(5)
        lines += [f"silent      {count} times: {quiet.REASONS.get(reason, reason)}" for reason, count in counted]
        return "\n".join(lines)

    def _show(self, place: Place, answer: Answer, *, more: bool = False, chosen: bool = False) -> Shown:
        self._numbers += 1
        shown = self.shown[self._numbers] = Shown(self._numbers, place, answer.text, answer, more, chosen)
        while len(self.shown) > SHOWN:
            oldest = next(iter(self.shown))
            del self.shown[oldest]
            self._unseen.discard(oldest)
        self.sources[answer.source] += 1
        self.figures.answered(place.language, answer.source, answer.seconds)
        if self._tells:
            self._unseen.add(shown.number)
        else:
            self._count(shown)
        return shown

    def _count(self, shown: Shown) -> None:
        """A suggestion is in front of the person."""
        found, place = shown.answer.found, shown.place
        root = found.suggestion if found is not None else None
        at = None if shown.chosen else shown.offset
        more = shown.more and place is self._seen
        self._seen = place
        self.figures.shown(shown.number, place.uri, place.language, shown.text, root, at=at, more=more)

    def _silent(self, place: Place, reason: str) -> None:
        if reason != "superseded":  # whoever asked has asked again, and gets an answer to that
            self.silences.append(reason)
            self.figures.silent(place.language, reason)
        if self.explain:
            self.log(f"silent at {place.path or place.uri}: {quiet.REASONS.get(reason, reason)}")
