"""Where a person works in the documents that are open, as the editor tells it."""

from dataclasses import dataclass, field

NEAR = 600  # characters between two edits that are one region
LONGEST = 4000  # characters of one region at most
EDITS = 3  # regions that are kept of one document
MARGIN = 6  # lines shown before and after an edit
Span = tuple[int, int]


@dataclass
class Region:
    """Characters that were edited, in offsets of the present text, and when."""

    start: int
    end: int
    when: int


@dataclass
class Open:
    """A document that an editor has open. Its text is the editor's."""

    uri: str
    path: str
    root: str
    language: str
    text: str
    when: int = 0  # the number of the last event that somebody caused in it
    seen: Span | None = None  # lines that were visible last
    edits: list[Region] = field(default_factory=list)
    version: int = 0  # counts its changes
    looked: "tuple[int, Span, Span] | None" = (
        None  # the version and lines that were looked for last, and where they are
    )
    left: int = 0  # the line of the cursor when something was last taken from around it

    def name(self) -> str:
        """What the model may call it."""
        return self.path or self.uri.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1]

    def edited(self, text: str, start: int, end: int, inserted: int, when: int) -> None:
        """Its characters from start to end have been replaced by so many others."""
        self.text, self.when, self.version = text, when, self.version + 1
        shift = inserted - (end - start)
        merged = Region(start, start + inserted, when)
        rest = []
        for region in self.edits:
            if region.start >= end:
                moved = Region(region.start + shift, region.end + shift, region.when)
            elif region.end <= start:
                moved = region
            else:
                moved = Region(min(region.start, start), max(region.end + shift, start + inserted), region.when)
            near = moved.start <= merged.end + NEAR and moved.end >= merged.start - NEAR
            if near and max(moved.end, merged.end) - min(moved.start, merged.start) <= LONGEST:
                merged = Region(min(moved.start, merged.start), max(moved.end, merged.end), when)
            else:
                rest.append(moved)
        if merged.end - merged.start > LONGEST:  # all of it, as formatters do: nobody works everywhere
            self.edits = rest[-EDITS:]
        else:
            self.edits = [*rest, merged][-EDITS:]

    def spans(self, characters: int) -> list[tuple[Span, int]]:
        """(characters, when) of the regions to show, newest first: edited ones, then the visible one, disjoint."""
        found: list[tuple[Span, int]] = []
        for region in reversed(self.edits):
            _add(found, around(self.text, region.start, region.end, characters), region.when)
        if self.seen is not None:
            start, end = self._offsets(self.seen)
            _add(found, around(self.text, start, end, characters, margin=0), self.when)
        return found

    def _offsets(self, seen: Span) -> Span:
        """Where lines are. In a long text that takes a while, and it is asked for often."""
        if self.looked is None or self.looked[:2] != (self.version, seen):
            self.looked = self.version, seen, offsets(self.text, *seen)
        return self.looked[2]


def _add(found: list[tuple[Span, int]], span: Span, when: int) -> None:
    if span[0] < span[1] and all(span[1] <= other[0] or other[1] <= span[0] for other, _ in found):
        found.append((span, when))


def offsets(text: str, first: int, last: int) -> Span:
    """Where the lines from first to last, counted from 0, begin and end."""
    at = 0
    for _ in range(max(0, first)):
        after = text.find("\n", at) + 1
        if not after:
            return len(text), len(text)
        at = after
    start = at
    for _ in range(max(0, last - max(0, first)) + 1):
        after = text.find("\n", at) + 1
        if not after:
            return start, len(text)
        at = after
    return start, at


def around(text: str, start: int, end: int, characters: int, margin: int = MARGIN) -> Span:
    """Whole lines around a part of a text, at most so many characters; where it is longer, its middle."""
    if end - start > characters:
        middle = (start + end) // 2
        start = end = middle
        margin = max(margin, characters)
    first, last = _line_start(text, start), _line_end(text, end)
    if last - first > characters:
        return first, first
    for _ in range(margin):
        before = _line_start(text, first - 1) if first else first
        after = _line_end(text, last) if last < len(text) else last
        if after - before > characters:
            break
        if (before, after) == (first, last):
            break
        first, last = before, after
    return first, last


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, max(0, at)) + 1


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)
