"""One editor's session: its settings, what its documents are offered, and what becomes of that. Knows no protocol."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from paceline.client.events import Options
from paceline.config import Config, EditorConfig
from paceline.errors import ConfigError, ModelError, PacelineError
from paceline.lsp import options, quiet
from paceline.lsp.ahead import Ahead
from paceline.lsp.completing import Answer, Completer, Surroundings
from paceline.lsp.engine import Engine
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
    renew: Callable[[], Awaitable[bool]] | None = None  # ends the engine for another one; whether it hung
    news: Callable[[], options.Own | None] = lambda: None  # what the person's configuration says, where that is new
    explain: bool = False  # log the reason of every silence
    shown: dict[int, Shown] = field(default_factory=dict)
    silences: deque[str] = field(default_factory=lambda: deque(maxlen=SILENCES))
    sources: Counter[str] = field(default_factory=Counter)  # of suggestions

    def __post_init__(self) -> None:
        self.completer = Completer(self.engine, self.surroundings, self.telling, self.config.editor)
        self.ahead = Ahead(self.completer, self.figures.prefetched)
        self._given: dict[str, options.Source] = {}
        self._scoped: dict[str, Mapping[str, options.Source]] = {}  # what they say for folders, by their names
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

    def configure(self, source: options.Source, folders: Mapping[str, options.Source] = MappingProxyType({})) -> None:
        """Settings from one place; they replace what that place said before. What is wrong is shown once.

        folders: what it says instead of that for folders of the workspace, by path.
        """
        self._given[source.name], self._scoped[source.name] = source, folders
        self._configured()

    def _configured(self) -> None:
        """Bring together what all places say: for each folder with a file of its own, and for the rest."""
        usual = options.merge(tuple(self._given.values()), self.config.editor)
        found = {}
        for root in {**self._projects, **{root: None for scoped in self._scoped.values() for root in scoped}}:
            person = [self._scoped[name].get(root, each) for name, each in self._given.items()]
            project = [self._projects[root]] if root in self._projects else []
            found[root] = options.merge([*project, *person], self.config.editor)
        for sentence in options.told([*usual.problems, *(each for one in found.values() for each in one.problems)]):
            self.telling.once("warning", sentence)
        folders = {root: each.editor for root, each in found.items()}
        if (usual.editor, folders) != (self.settings, self.completer.folders):
            self.completer.configure(usual.editor, folders)

    def look(self) -> None:
        """Go by the person's configuration as it is now: it may name another engine, or say other things."""
        own = self.news()
        if own is None:
            return
        self.telling.mended()
        if own.error is not None:
            self.telling.fail(own.error)
            return
        for sentence in options.told(own.problems):
            self.telling.once("warning", sentence)
        self.config = own.config
        self._configured()
        self._begin_anew()

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
        self.look()
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

    def showing(self, place: Place) -> Shown | None:
        """What is in front of the person at a place, if its beginning has been typed or accepted up to there."""
        for shown in reversed(self.shown.values()):
            done = len(place.before) - len(shown.place.before)
            there = shown.place.uri == place.uri and 0 <= done < len(shown.text)
            if there and place.before == shown.place.before + shown.text[:done]:
                return shown
        return None

    def opened(self, uri: str, path: str, root: str, language: str, text: str) -> None:
        """A document has been opened."""
        self.surroundings.opened(uri, path, root, language, text)
        self.wake()

    def wake(self) -> None:
        """Have the engine started and its models loaded, if nothing is known of it yet."""
        if self._waking is None and not self.engine.model and self.settings.enabled:
            self._waking = asyncio.get_running_loop().create_task(self._woken())

    async def _woken(self) -> None:
        options = Options(warm=True, priority="background", anchor=0)
        try:
            self.engine.woken(await self.engine.infiller.complete("\n", "", options, lambda _: None))
        except (ModelError, ConfigError) as error:  # nothing will ever come: they should not have to ask to learn that
            self.telling.fail(error)
        except PacelineError:
            pass  # it may work by the time that somebody asks, who is told otherwise

    def changed(self, uri: str, text: str, start: int, removed: str, inserted: str, here: Callable[[], Place]) -> None:
        """At an offset of a document one text gave way to another. `text`: all of it now. `here`: the place behind."""
        end = start + len(removed)
        self.surroundings.changed(uri, text, start, end, inserted)
        self.figures.changed(uri, start, end, inserted)
        self.completer.changed(uri, here, removed=removed, inserted=inserted)

    def lost(self, uri: str) -> None:
        """A document's text is not known any more, until the editor tells all of it. The person is told once."""
        self.figures.closed(uri)
        self.ahead.stop(uri)
        self.completer.close(uri)
        self.telling.once("warning", LOST)

    def saved(self, uri: str) -> None:
        """A document has been saved."""
        self.surroundings.saved(uri)

    def focused(self, uri: str, lines: tuple[int, int] | None = None) -> None:
        """The person looks at this document now: soon they will type.

        lines: the first and the last that can be seen, counted from 0; None where the editor does not say.
        """
        if lines is None:
            self.surroundings.focused(uri)
        else:
            self.surroundings.visible(uri, *lines)
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
            self.figures.accepted(number, shown.place.offset, length)

    def restart(self) -> None:
        """Have the engine start anew, and forget what was known of it."""
        self.look()
        self.completer.reset()
        self.telling.mended()
        if self.renew is not None and (self._renewing is None or self._renewing.done()):
            self._renewing = asyncio.get_running_loop().create_task(self._renewed(self.renew))

    async def _renewed(self, renew: Callable[[], Awaitable[bool]]) -> None:
        try:
            hung = await renew()
        except PacelineError as error:
            self.telling.fail(error)
            return
        if hung:
            self.telling.once("info", "Paceline: the daemon did not answer and has been ended; another one starts")
        self._begin_anew()

    def _begin_anew(self) -> None:
        """It is another engine from now on: what was known of the one before does not hold."""
        self.completer.reset()
        if self._waking is not None:
            self._waking.cancel()
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
        used, computed = self.sources["prefetch"], self.ahead.prefetched
        share = f" ({100 * used / computed:.0f} %)" if computed else ""
        lines += [f"ahead       {computed} computed, {used} used{share}"]
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
        at = None if shown.chosen else shown.place.offset
        more = shown.more and place is self._seen
        self._seen = place
        self.figures.shown(shown.number, place.uri, place.language, shown.text, root, at=at, more=more)

    def _silent(self, place: Place, reason: str) -> None:
        if reason != "superseded":  # whoever asked has asked again, and gets an answer to that
            self.silences.append(reason)
            self.figures.silent(place.language, reason)
        if self.explain:
            self.log(f"silent at {place.path or place.uri}: {quiet.REASONS.get(reason, reason)}")
