"""How much of an accepted suggestion is still there a while later: marks that move with the edits of a document."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

AFTER = (30, 300)  # seconds
MOST = 256  # marks that are followed at a time
LONGEST = 4000  # characters of a text that is compared
NEAR = 256  # characters around the place where a text is looked for that the editor has inserted


@dataclass
class Mark:
    """An accepted text, and where in its document it is now. The text is kept in memory only, and not for long."""

    uri: str
    language: str
    text: str
    start: int
    end: int
    since: float  # seconds, of the clock of whoever looks
    pending: bool  # the editor has not told yet that it has inserted the text
    looked: int = 0  # how many of AFTER are behind it
    lost: bool = False  # it was taken out as a whole: undone, or on its way to another place

    @property
    def due(self) -> float:
        """When to look at it next."""
        return self.since + AFTER[self.looked]


@dataclass(frozen=True)
class Kept:
    """What a look at a mark has found."""

    language: str
    seconds: int  # after which
    characters: int  # accepted
    kept: int  # and still there


class Marks:
    """All marks of one editor. Not thread-safe."""

    def __init__(self) -> None:
        self._marks: list[Mark] = []
        self._came: tuple[str, int, str] | None = None  # document, offset and text of the last change, if it added some

    def __len__(self) -> int:
        """How many are followed."""
        return len(self._marks)

    def add(self, uri: str, language: str, text: str, at: int, document: str, now: float) -> None:
        """A text was accepted at an offset of a document; it may stand there already, or the editor will tell soon."""
        text = text[:LONGEST]
        found = document.find(text, max(0, at - NEAR), at + NEAR + len(text))
        start, end = (found, found + len(text)) if found >= 0 else (at, at)
        self._marks.append(Mark(uri, language, text, start, end, now, pending=found < 0))
        del self._marks[:-MOST]

    def changed(self, uri: str, start: int, end: int, inserted: str, document: str | None = None) -> None:
        """Characters [start, end) of a document gave way to others. document: its text now.

        A text that was taken out is the same one when it comes back, wherever that is: by a redo, or where a person
        has moved its line to. Editors tell of the two halves of a move in either order.
        """
        for mark in self._marks:
            if mark.uri != uri:
                continue
            if mark.lost and (at := _returned(mark.text, start, inserted, document)) is not None:
                mark.start, mark.end, mark.lost = at, at + len(mark.text), False
                continue
            taken = _takes(mark, start, end, inserted)
            _move(mark, start, end, inserted)
            if taken:
                at = self._elsewhere(mark, start, end, len(inserted))
                mark.lost = at is None
                mark.start, mark.end = (mark.start, mark.end) if at is None else (at, at + len(mark.text))
        self._came = (uri, start, inserted) if inserted else None

    def _elsewhere(self, mark: Mark, start: int, end: int, inserted: int) -> int | None:
        """Where the text stands that the change before this one has brought, if it is this mark's."""
        uri, came, text = self._came or ("", 0, "")
        found = text.find(mark.text)
        if uri != mark.uri or found < 0 or (start < came + len(text) and end > came):
            return None
        return came + found + (inserted - (end - start) if end <= came else 0)

    def forget(self, uri: str) -> None:
        """A document is closed: what becomes of it is not known any more."""
        self._marks = [mark for mark in self._marks if mark.uri != uri]

    def due(self) -> float | None:
        """When to look next; None: there is nothing to look at."""
        return min((mark.due for mark in self._marks), default=None)

    def look(self, now: float, text_of: Callable[[str], str | None]) -> list[Kept]:
        """What has become of the marks that are due. `text_of`: an open document's text, None for any other."""
        found = []
        for mark in [each for each in self._marks if each.due <= now]:
            text = text_of(mark.uri)
            if text is not None:
                there = kept(mark.text, text[mark.start : min(mark.end, mark.start + 2 * LONGEST)])
                found.append(Kept(mark.language, AFTER[mark.looked], len(mark.text), there))
            mark.looked += 1
        self._marks = [mark for mark in self._marks if mark.looked < len(AFTER)]
        return found


def kept(accepted: str, there: str) -> int:
    """How many characters of the accepted text are still there, in their order."""
    if accepted in there:
        return len(accepted)
    matcher = difflib.SequenceMatcher(None, accepted, there, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def _move(mark: Mark, start: int, end: int, inserted: str) -> None:
    grown = len(inserted) - (end - start)
    if mark.pending and start <= mark.start <= end and inserted:
        at = inserted.find(mark.text)
        mark.start, mark.end = (start, start + len(inserted)) if at < 0 else (start + at, start + at + len(mark.text))
        mark.pending = False
    elif end <= mark.start:
        mark.start, mark.end = mark.start + grown, mark.end + grown
    elif start < mark.end:  # it touches the text: what stands there instead is looked at, too
        mark.start, mark.end = min(mark.start, start), max(mark.end, end) + grown


def _takes(mark: Mark, start: int, end: int, inserted: str) -> bool:
    """Whether a change takes the whole text out, and puts nothing like it there."""
    there = not mark.pending and mark.start < mark.end
    return there and start <= mark.start and mark.end <= end and 2 * len(inserted) < len(mark.text)


def _returned(text: str, start: int, inserted: str, document: str | None) -> int | None:
    """Where a text stands that a change has brought back: in what was inserted, or together with what stood around,
    as an editor that tells whole texts only may have both.
    """
    if not inserted:
        return None
    reach = len(text) - 1
    if document is None:
        found = inserted.find(text)
        return start + found if found >= 0 else None
    found = document.find(text, max(0, start - reach), start + len(inserted) + reach)
    return found if found >= 0 else None
