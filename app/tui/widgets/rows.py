"""Rows of cells: styled text broken into lines that fit a width. Nothing here draws."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, split_graphemes

Names = tuple[str, ...]  # of styles, the later ones win; the palette knows what they look like
Span = tuple[str, Names]
TAB = 4  # cells from one tab stop to the next

_WORDS = re.compile(r"\S+|\s+")
_TABS = re.compile("\t")


@dataclass(frozen=True)
class Row:
    """One line of the screen. fill: the style of the whole row, behind the text and after it."""

    spans: tuple[Span, ...]
    fill: Names = ()


def breaks(text: str, width: int) -> list[tuple[int, int]]:
    """Where a line is broken so that each part has at most `width` cells: ranges of characters.

    Broken at white space, which is then left out, and within a word that has no room on a line of its own. A character
    that is wider than `width` stands alone. An empty line is one empty part.
    """
    if len(text) <= width and text.isascii():
        return [(0, len(text))]
    parts: list[tuple[int, int]] = []
    start = end = used = 0  # of the part that is being filled; blanks after `end` are not in it yet
    pending = 0  # cells of those blanks
    for word in _WORDS.finditer(text):
        if word[0].isspace() and word.start() > 0:
            pending = _cells(word[0])
            continue
        size = _cells(word[0])
        if used + pending + size <= width:
            end, used, pending = word.end(), used + pending + size, 0
            continue
        if end > start:
            parts.append((start, end))
        start, end, used, pending = word.start(), word.end(), size, 0
        if size > width:
            *whole, (first, last) = chop(word[0], width)
            parts += [(start + a, start + b) for a, b in whole]
            start, end = start + first, start + last
            used = _cells(text[start:end])
    return [*parts, (start, end)]


def chop(text: str, width: int) -> list[tuple[int, int]]:
    """Ranges of characters of at most `width` cells that together are the whole text, broken anywhere."""
    width = max(1, width)
    if text.isascii():
        return [(at, min(at + width, len(text))) for at in range(0, len(text), width)] or [(0, 0)]
    parts: list[tuple[int, int]] = []
    start = used = 0
    for first, last, cells in split_graphemes(text)[0]:
        cells = cells or cell_len(text[first:last])  # what a joiner at the beginning joins is not counted
        if used + cells > width and first > start:
            parts.append((start, first))
            start, used = first, 0
        used += cells
    return [*parts, (start, len(text))]


def wrap(spans: Sequence[Span], width: int) -> list[tuple[Span, ...]]:
    """Styled text, broken at its newlines and so that it fits."""
    rows: list[tuple[Span, ...]] = []
    for line in _lines(spans):
        text = "".join(part for part, _ in line)
        rows += [cut(line, start, end) for start, end in breaks(text, max(1, width))]
    return rows


def cut(spans: Iterable[Span], start: int, end: int) -> tuple[Span, ...]:
    """The characters from `start` to `end`."""
    found: list[Span] = []
    at = 0
    for text, names in spans:
        if at >= end:
            break
        part = text[max(0, start - at) : end - at]
        if part and at + len(text) > start:
            found.append((part, names))
        at += len(text)
    return tuple(found)


def untab(text: str, column: int = 0) -> str:
    """The text of one line with blanks for its tabs; it begins at this column."""
    return untabbed([(text, ())], column)[0][0] if "\t" in text else text


def untabbed(spans: Sequence[Span], column: int = 0) -> list[Span]:
    """The spans of one line with blanks for its tabs, as many as where nothing divides its text."""
    if not any("\t" in text for text, _ in spans):
        return list(spans)
    blanks = iter(tabs("".join(text for text, _ in spans), column))
    return [(_TABS.sub(lambda _: " " * next(blanks), text), names) for text, names in spans]


def tabs(line: str, column: int = 0) -> list[int]:
    """How many blanks stand for each tab of a line that begins at this column."""
    found, at = [], column
    for part in line.split("\t")[:-1]:
        at += _cells(part)
        found.append(TAB - at % TAB)
        at += found[-1]
    return found


def undivided(spans: Sequence[Span]) -> list[Span]:
    """The same text; a character that is seen as one, however many it is made of, is all in the span it begins in."""
    text = "".join(part for part, _ in spans)
    if len(spans) < 2 or text.isascii():
        return list(spans)
    firsts = [first for first, _, _ in split_graphemes(text)[0]]
    found: list[Span] = []
    at = end = 0
    for part, names in spans:
        end += len(part)
        place = bisect_left(firsts, end)
        until = firsts[place] if place < len(firsts) else len(text)
        if until > at:
            found.append((text[at:until], names))
            at = until
    return found


def measure(spans: Iterable[Span]) -> int:
    """Cells that the text takes."""
    return sum(_cells(text) for text, _ in spans)


def shorten(text: str, width: int, mark: str = "…") -> str:
    """The beginning of a line that fits, with a mark of one cell where something is missing."""
    if _cells(text) <= width:
        return text
    if width <= 1:
        return mark[: max(0, width)]
    start, end = chop(text, width - 1)[0]
    return text[start:end] + mark if _cells(text[start:end]) < width else mark


def _lines(spans: Iterable[Span]) -> list[list[Span]]:
    lines: list[list[Span]] = [[]]
    for text, names in spans:
        first, *others = text.split("\n")
        lines[-1].append((first, names))
        lines += [[(other, names)] for other in others]
    return lines


def _cells(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)
