"""Figures about suggestions: how many were shown and accepted, what of them stayed, how long they took.

They are counts by day and language, kept on this machine, without any text, name or path of a document.
"""

import asyncio
import bisect
import re
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from datetime import date

from paceline.lsp.figures_store import Key, Store
from paceline.lsp.retention import Marks
from paceline.lsp.suggestions import CLOSERS

WRITTEN_AFTER = 20.0  # seconds that counts stay in memory
SLACK = 2.0  # seconds by which a look at accepted texts may come late, so that one does for several
REMEMBERED = 64  # suggestions whose acceptance can still be told
LATENCIES = (5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3600, 6000, 12000)  # ms
_CLOSING = "".join(CLOSERS)
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")
_REASON = re.compile(r"[a-z0-9_ -]{1,32}")


@dataclass
class _Fate:
    """What becomes of a suggestion, however often it is shown again while the person types along."""

    uri: str
    language: str
    roots: tuple[Hashable, ...]  # what it, and others at the same place, come from
    at: int | None = None  # where in its document it would go in; None: that is not known, or does not matter any more
    texts: tuple[str, ...] = ()  # what is left of it, and of others at the same place, while the person types along
    end: str = ""  # "accepted", "rejected" or "ignored", once that is known


@dataclass
class _Shown:
    fate: _Fate
    text: str
    accepted: int = 0  # characters


@dataclass
class Figures:
    """Counts in memory, written now and then. Belongs to one event loop; an idle one is left alone.

    `text_of` gives the text of an open document.
    """

    store: Store
    text_of: Callable[[str], str | None]
    clock: Callable[[], float] = time.monotonic
    today: Callable[[], date] = date.today
    _counts: Counter[Key] = field(default_factory=Counter)
    _shown: dict[int, _Shown] = field(default_factory=dict)
    _latest: dict[str, _Fate] = field(default_factory=dict)  # by document
    _marks: Marks = field(default_factory=Marks)
    _writing: asyncio.TimerHandle | None = None
    _looking: asyncio.TimerHandle | None = None
    _writes: set[asyncio.Task[None]] = field(default_factory=set)

    def answered(self, language: str, source: str, seconds: float) -> None:
        """A request got a suggestion: from where ("cache", "prefetch", "flight", "engine"), and after how long."""
        self._count(language, f"from {source}")
        self._count(language, f"latency {_bucket(1000 * seconds)}")

    def silent(self, language: str, reason: str) -> None:
        """A request got nothing, for a reason as quiet.REASONS names it."""
        self._count(language, f"silent {reason if _REASON.fullmatch(reason) else 'other'}")

    def prefetched(self, language: str, count: int = 1) -> None:
        """Suggestions were computed before anybody asked."""
        self._count(language, "prefetched", count)

    def shown(
        self,
        number: int,
        uri: str,
        language: str,
        text: str,
        root: Hashable = None,
        *,
        at: int | None = None,
        more: bool = False,
    ) -> None:
        """A suggestion is in front of the person.

        at: the offset in its document where it would go in: whoever types something else there has sent it away. None
        where that is not known.
        root: what it comes from; None if that is not known. What is left of one while the person types along is the
        same one as before. more: another one for the same place at the same time; all of them count as one.
        """
        fate = self._latest.get(uri)
        same = fate is not None and root is not None and root in fate.roots and fate.end != "rejected"
        if fate is None or not (same or more):
            self._end(fate, "ignored")
            fate = self._latest[uri] = _Fate(uri, language, (root,))
            self._count(language, "shown")
        elif more:
            fate.roots = (*fate.roots, root)
        fate.at, fate.texts = at, (*fate.texts, text) if more else (text,)
        self._shown[number] = _Shown(fate, text)
        while len(self._shown) > REMEMBERED:
            del self._shown[next(iter(self._shown))]

    def accepted(self, number: int, offset: int, length: int | None = None) -> None:
        """A suggestion was accepted, all of it or up to a length.

        offset: where in its document its beginning stands now, or will stand soon. length: characters from its
        beginning, those that were accepted before included.
        """
        shown = self._shown.get(number)
        if shown is None:
            return
        upto = len(shown.text) if length is None else min(max(0, length), len(shown.text))
        text, rest = shown.text[shown.accepted : upto], shown.text[upto:]
        if not text:
            return
        fate, at = shown.fate, offset + shown.accepted
        lines = not rest or rest.startswith(("\r", "\n")) or text.endswith(("\r", "\n"))
        self._count(fate.language, "whole" if not rest and not shown.accepted else "line" if lines else "word")
        self._count(fate.language, "characters", len(text))
        self._end(fate, "accepted")
        shown.accepted = upto
        document = self.text_of(fate.uri)
        if document is not None:
            self._marks.add(fate.uri, fate.language, text, at, document, self.clock())
            self._look_later()

    def changed(self, uri: str, start: int, end: int, inserted: str) -> None:
        """Characters [start, end) of a document gave way to others."""
        if len(self._marks):
            self._marks.changed(uri, start, end, inserted, self.text_of(uri))
        fate = self._latest.get(uri)
        if fate is not None and not fate.end and fate.at is not None:
            if _goes_on(fate, fate.at, start, end, inserted):
                return
            self._end(fate, "rejected")

    def closed(self, uri: str) -> None:
        """A document is closed."""
        self._end(self._latest.pop(uri, None), "ignored")
        self._marks.forget(uri)

    async def close(self) -> None:
        """Write what is in memory. What was accepted a short while ago is not looked at any more."""
        for handle in (self._writing, self._looking):
            if handle is not None:
                handle.cancel()
        self._writing = self._looking = None
        for uri in list(self._latest):
            self.closed(uri)
        if self._writes:
            await asyncio.wait(self._writes)
        await self._write()

    def _end(self, fate: _Fate | None, end: str) -> None:
        """What has become of a suggestion. An editor may ask for the next one before it says that one was accepted."""
        if fate is None or (fate.end and (end, fate.end) != ("accepted", "ignored")):
            return
        if fate.end:
            self._count(fate.language, fate.end, -1)
        fate.end = end
        self._count(fate.language, end)

    def _count(self, language: str, what: str, by: int = 1) -> None:
        known = language if _LANGUAGE.fullmatch(language) else "other"
        self._counts[(self.today().isoformat(), known, what)] += by
        if self._writing is None:
            self._writing = asyncio.get_running_loop().call_later(WRITTEN_AFTER, self._write_soon)

    def _write_soon(self) -> None:
        self._writing = None
        task = asyncio.get_running_loop().create_task(self._write())
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _write(self) -> None:
        """What cannot be written now stays in memory for the next time that something is counted."""
        counts, self._counts = self._counts, Counter()
        if counts and not await asyncio.to_thread(self.store.add, counts):
            self._counts.update(counts)

    def _look_later(self) -> None:
        due = self._marks.due()
        if self._looking is None and due is not None:
            wait = max(0.0, due - self.clock()) + SLACK
            self._looking = asyncio.get_running_loop().call_later(wait, self._look)

    def _look(self) -> None:
        self._looking = None
        for kept in self._marks.look(self.clock(), self.text_of):
            self._count(kept.language, f"after {kept.seconds}", kept.characters)
            self._count(kept.language, f"kept {kept.seconds}", kept.kept)
        self._look_later()


def _goes_on(fate: _Fate, at: int, start: int, end: int, inserted: str) -> bool:
    """Whether a change leaves a suggestion as good as it was. What is typed of it is taken off.

    Something else in its place, or the text before it taken away, says that it was not wanted; closing marks do not,
    as editors put them there by themselves. A change elsewhere says nothing.
    """
    if start > at or (end < at and start < at):
        fate.at = at if start > at else at + len(inserted) - (end - start)
        return True
    if start < at:
        fate.at = None
        return bool(inserted)  # a word was replaced by another one, as a popup does it
    typed = inserted if any(text.startswith(inserted) for text in fate.texts) else inserted.rstrip(_CLOSING)
    fate.texts = tuple(text[len(typed) :] for text in fate.texts if text.startswith(typed))
    fate.at = at + len(typed) if any(fate.texts) else None
    return bool(fate.texts)


def _bucket(milliseconds: float) -> str:
    at = bisect.bisect_left(LATENCIES, milliseconds)
    return str(LATENCIES[at]) if at < len(LATENCIES) else "more"


def quantile(latencies: Counter[str], share: float) -> float | None:
    """Milliseconds that this share of the answers needed at most, by bucket; None where nothing was measured."""
    total, passed = sum(latencies.values()), 0
    for low, high, count in _rising(latencies):
        if passed + count >= share * total and count:
            return low + (high - low) * (share * total - passed) / count
        passed += count
    return None


def _rising(latencies: Counter[str]) -> Iterator[tuple[float, float, int]]:
    """Buckets, each with its bounds in milliseconds; the last is taken to end where it begins."""
    low = 0.0
    for high in LATENCIES:
        yield low, float(high), latencies[str(high)]
        low = float(high)
    yield low, low, latencies["more"]
