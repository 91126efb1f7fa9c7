"""Who drafted what of a text that is shown as Markdown: its characters, followed into what is shown of them.

What is shown of a text are its characters in their order, without marks, escapes and the titles of links. Nothing here
draws.
"""

import re
import string
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from markdown_it.helpers import parseLinkDestination, parseLinkTitle

from paceline.tui.widgets.inline import inline
from paceline.tui.widgets.rows import Names, Span, tabs, undivided, untab

AHEAD = 1_000  # characters of marks and blanks that are looked through for the next one that is shown
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_TICKS = re.compile("`+")
_ESCAPED = frozenset(string.punctuation)
_MARKS = _ESCAPED | frozenset(string.whitespace)


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
        return undivided([*spans, (text[at - start :], ())] if at < end else spans)

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
            found += self._read(text, names)
        runs = groupby(found, key=itemgetter(1))
        return undivided([("".join(part for part, _ in run), names) for names, run in runs])

    def _read(self, shown: str, names: Names) -> Iterable[tuple[str, Names]]:
        if "address" in names:
            return self._address(shown)
        if "inserted" in names:
            return [(shown, ())]
        if "code" in names:
            return self._code(shown)
        return self._literal(shown) if "literal" in names else self._text(shown)

    def _address(self, shown: str) -> Iterator[tuple[str, Names]]:
        """The address of a link, between brackets that are not its own; "" where it is not shown."""
        yield shown[:2], ()
        source, opening = self._source, self._source.find("](", self._at, self._at + AHEAD)
        if opening < 0:
            yield shown[2:], ()
            return
        at = self._at = self._blanks(opening + 2)
        target = parseLinkDestination(source, at, len(source))
        yield from self._text(shown[2:-1])
        at = self._blanks(target.pos) if target.ok else at
        title = parseLinkTitle(source, at, len(source))
        self._at = (self._blanks(title.pos) if title.ok else at) + 1
        yield shown[2:][-1:], ()

    def _code(self, shown: str) -> Iterator[tuple[str, Names]]:
        """Code within a line, where marks are text."""
        opening = _TICKS.search(self._source, self._at, self._at + AHEAD)
        if opening is None:
            yield shown, ()
            return
        closing = re.compile(f"(?<!`){opening[0]}(?!`)").search(self._source, opening.end())
        end = len(self._source) if closing is None else closing.start()
        inner = self._source[opening.end() : end]
        padded = inner[:1] in (" ", "\n") and inner[-1:] in (" ", "\n") and not inner.isspace()
        self._at = opening.end() + padded
        yield from self._literal(shown)
        self._at = end + len(opening[0])

    def _literal(self, shown: str) -> Iterator[tuple[str, Names]]:
        """Text in which nothing stands for anything else."""
        at = self._source.find(shown, self._at, self._at + AHEAD + len(shown))
        if at < 0:  # a line's end for a blank, as in code, or a bar of a table's cell
            yield from self._text(shown)
            return
        self._at = at + len(shown)
        yield from zip(shown, self._names[at : self._at], strict=True)

    def _text(self, shown: str) -> Iterator[tuple[str, Names]]:
        at = 0
        while at < len(shown):
            place, size = self._find(shown, at)
            yield shown[at : at + size], () if place is None else self._names[place]
            at += size

    def _find(self, shown: str, place: int) -> tuple[int | None, int]:
        """Where in the source the next characters that are shown stand, and how many they are; goes on behind them.

        None: they are not of this text. Only marks and blanks are hidden, and what a control's number made a sequence.
        """
        source, character, any_hidden = self._source, shown[place], False
        at = self._at
        while at < min(len(source), self._at + AHEAD):
            each = source[at]
            if each == "\\" and source[at + 1 : at + 2] == character and character in _ESCAPED:
                self._at = at + 2
                return at + 1, 1
            entity = _ENTITY.match(source, at) if each == "&" else None
            stands_for = _meaning(entity[0]) if entity else ""
            if entity and stands_for != entity[0]:
                if stands_for and shown.startswith(stands_for, place):
                    self._at = entity.end()
                    return at, len(stands_for)
                if not stands_for:
                    at, any_hidden = entity.end(), True
                    continue
            if each == character or (each == "\n" and character == " "):
                self._at = at + 1
                return at, 1
            if each not in _MARKS and not any_hidden:
                break
            at += 1
        return None, 1

    def _blanks(self, at: int) -> int:
        """The first character from there on that is no blank."""
        while self._source[at : at + 1] in (" ", "\n"):
            at += 1
        return at


@lru_cache(maxsize=1000)
def _meaning(entity: str) -> str:
    """The characters that are shown for an entity; itself, where it is none."""
    return "".join(text for text, _ in inline(entity))


def _untabbed(line: str, names: Sequence[Names]) -> Iterator[Names]:
    """The styles of a line's characters, for the same line with blanks for its tabs."""
    blanks = iter(tabs(line))
    for character, each in zip(line, names, strict=True):
        yield from [each] * (next(blanks) if character == "\t" else 1)
