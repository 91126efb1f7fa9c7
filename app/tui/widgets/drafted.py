"""Who drafted what of a text that is shown as Markdown: its characters, followed into what is shown of them.

What is shown of a text are its characters in their order, without marks, escapes and the titles of links. Nothing here
draws.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from itertools import groupby
from operator import itemgetter

from paceline.tui.widgets.rows import Names, Span, untab

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{1,32});")
_TARGET = re.compile(r"\]\([^()\s]*")  # of a link, where it is not shown
_TITLE = re.compile(r"""[ \t\n]*(?:"[^"]*"|'[^']*'|\([^()]*\))[ \t\n]*\)""")


class Drafted:
    """A text's stretches by who drafted them, as they come."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._names: list[Names] = []

    def add(self, characters: int, drafter: str) -> None:
        """The text goes on with so many characters. drafter "": the model itself."""
        names: Names = ("drafted", f"drafted-{drafter}") if drafter else ()
        if self._names and self._names[-1] == names:
            self._ends[-1] += characters
        elif characters:
            self._ends.append((self._ends[-1] if self._ends else 0) + characters)
            self._names.append(names)

    def line(self, text: str, start: int) -> list[Span]:
        """A stretch of the text that begins there, in its drafters' styles."""
        spans: list[Span] = []
        at, end = start, start + len(text)
        for run in range(bisect_right(self._ends, start), len(self._ends)):
            if at >= end:
                break
            until = min(end, self._ends[run])
            spans.append((text[at - start : until - start], self._names[run]))
            at = until
        return [*spans, (text[at - start :], ())] if at < end else spans

    def follow(self, lines: Sequence[str], starts: Sequence[int]) -> "Shown":
        """What is shown of these lines, joined, with blanks for their tabs. starts: where each begins in the text."""
        names: list[Names] = []
        for at, (line, start) in enumerate(zip(lines, starts, strict=True)):
            names += [()] if at else []  # the newline between two
            styles = [style for part, style in self.line(line, start) for _ in part]
            names += _untabbed(line, styles) if "\t" in line else styles
        return Shown("\n".join(map(untab, lines)), names)


class Shown:
    """Goes through a text beside what is shown of it."""

    def __init__(self, source: str, names: Sequence[Names]) -> None:
        """names: of each character of the source."""
        self._source, self._names, self._at = source, names, 0

    def skip(self, at: int) -> "Shown":
        """Goes on from this character: what stands before it is not shown."""
        self._at = at
        return self

    def paint(self, spans: Iterable[Span]) -> list[Span]:
        """The same characters as in these spans, which are shown next, in their drafters' styles and no others."""
        found: list[tuple[str, Names]] = []
        for text, names in spans:
            found += self._address(text) if "address" in names else self._text(text)
        return [("".join(character for character, _ in run), names) for names, run in groupby(found, key=itemgetter(1))]

    def _address(self, shown: str) -> Iterator[tuple[str, Names]]:
        """The address of a link, between brackets that are not its own."""
        lead, address, end = shown[:2], shown[2:-1], shown[-1:]
        at = self._source.find(address, self._at)
        known = self._names[at : at + len(address)] if at >= 0 else ()
        yield from ((each, ()) for each in lead)
        yield from zip(address, known, strict=True) if known else ((each, ()) for each in address)
        yield from ((each, ()) for each in end)
        if at >= 0:
            self._at = at + len(address)
            title = _TITLE.match(self._source, self._at)
            self._at = title.end() if title else self._at

    def _text(self, shown: str) -> Iterator[tuple[str, Names]]:
        for character in shown:
            before = self._at
            at = self._find(character)
            if at is None:  # it is not of this text
                self._at = before
            yield character, () if at is None else self._names[at]

    def _find(self, character: str) -> int | None:
        """Where the next character that is shown stands; goes on behind it."""
        source = self._source
        while self._at < len(source):
            at = self._at
            if source[at] == "\\" and source[at + 1 : at + 2] == character != "\n":
                self._at = at + 2
                return at + 1
            entity = _ENTITY.match(source, at) if source[at] == "&" else None
            if entity and unescape(entity[0]) == character:
                self._at = entity.end()
                return at
            if source[at] == character or (source[at] == "\n" and character == " "):
                self._at = at + 1
                return at
            hidden = _TARGET.match(source, at) if source[at] == "]" else None
            self._at = hidden.end() if hidden else at + 1
        return None


def _untabbed(line: str, names: Sequence[Names]) -> Iterator[Names]:
    """The styles of a line's characters, for the same line with blanks for its tabs."""
    shown = 0
    for at, (character, each) in enumerate(zip(line, names, strict=True)):
        until = len(untab(line[: at + 1])) if character == "\t" else shown + 1
        yield from [each] * (until - shown)
        shown = until
