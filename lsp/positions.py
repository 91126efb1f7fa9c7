r"""Positions as the language server protocol counts them, and offsets of characters as Python counts them.

A position is a line and a number of code units in it, both from 0. Which units, editor and server agree upon. Lines
end by \n, \r\n, \r and by nothing else (see prompts.lines).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Literal

from paceline.prompts.lines import line_starts

Encoding = Literal["utf-8", "utf-16", "utf-32"]
BLOCK = 512  # lines whose lengths are kept together
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_CONTINUATION = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that do not begin a character


def units(text: str, encoding: Encoding) -> int:
    """The text's length in code units. A lone surrogate counts as one unit of UTF-16 and three of UTF-8."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))


def column(line: str, character: int, encoding: Encoding) -> int:
    """Offset in the line of a number of code units: beyond the end the end, inside a character its beginning."""
    if character <= 0:
        return 0
    line = line[:character]  # no character has less than one unit
    if encoding == "utf-32" or line.isascii():
        return len(line)
    if encoding == "utf-16":
        return _utf16_column(line, character)
    data = line.encode("utf-8", "surrogatepass")
    begun = len(data[:character].translate(None, _CONTINUATION))
    return begun - (0x80 <= data[character] < 0xC0 if character < len(data) else 0)


def _utf16_column(line: str, character: int) -> int:
    pairs = 0
    for found in _ASTRAL.finditer(line):
        unit = found.start() + pairs
        if unit >= character:
            break
        if unit + 1 == character:
            return found.start()
        pairs += 1
    return min(len(line), character - pairs)


class LineIndex:
    """Where the lines of a text begin. An edit costs as much as it changes, plus a look at some blocks of lines."""

    def __init__(self, text: str) -> None:
        self._blocks: list[list[int]] = [[]]  # lengths of lines with their endings; the last line may be empty
        self._lines: list[int] = [0]  # lines in each block
        self._chars: list[int] = [0]  # characters in each block
        self._put(0, 1, _lengths(0, [*line_starts(text), len(text)]))

    @property
    def count(self) -> int:
        """Number of lines; at least one."""
        return sum(self._lines)

    def starts(self) -> list[int]:
        """The offset of each line's beginning."""
        return [0, *accumulate(length for block in self._blocks for length in block)][:-1]

    def span(self, line: int) -> tuple[int, int]:
        """Offsets of a line's beginning and of its end, its ending included; of the last one if there are fewer."""
        block, first, start = self._block_of_line(line)
        lengths = self._blocks[block]
        at = min(line - first, len(lengths) - 1)
        start += sum(lengths[:at])
        return start, start + lengths[at]

    def line_at(self, offset: int) -> int:
        """The line that a character is in; the last one for the text's end."""
        last = len(self._blocks) - 1
        line = start = 0
        for block, chars in enumerate(self._chars):
            if offset < start + chars or block == last:
                ends = list(accumulate(self._blocks[block], initial=start))[1:]
                return line + min(bisect_right(ends, offset), len(ends) - 1)
            line, start = line + self._lines[block], start + chars
        raise AssertionError("there is at least one block")

    def replace(self, text: str, start: int, end: int, inserted: int) -> None:
        r"""Follow an edit: characters [start, end) became `inserted` others, which gave `text`.

        Only what was inserted and a character on either side of it is looked at: \r and \n that come together are
        one ending, and two where something comes between them.
        """
        back = 1 if start and text[start - 1] == "\r" else 0
        first, last = self.line_at(start - back), self.line_at(end)
        begin, stop = self.span(first)[0], self.span(last)[1] + inserted - (end - start)
        head, tail = start - back, start + inserted
        if text[tail - 1 : tail + 1] == "\r\n" and tail:
            tail += 1
        cuts = [head + cut for cut in line_starts(text[head:tail])]
        if last < self.count - 1:  # what ends there is the line that ended there before
            cuts = [cut for cut in cuts if cut < stop]
        self._replace_lines(first, last + 1, _lengths(begin, [*cuts, stop]))

    def _replace_lines(self, first: int, end: int, lengths: list[int]) -> None:
        left, before, _ = self._block_of_line(first)
        right, after, _ = self._block_of_line(end - 1)
        kept = [*self._blocks[left][: first - before], *lengths, *self._blocks[right][end - after :]]
        self._put(left, right + 1, kept)

    def _put(self, left: int, right: int, lengths: list[int]) -> None:
        """Lengths instead of those in blocks [left, right)."""
        size = len(lengths) if len(lengths) <= 2 * BLOCK else BLOCK
        blocks = [lengths[at : at + size] for at in range(0, len(lengths), size or 1)]
        if not blocks and right - left == len(self._blocks):
            blocks = [[0]]
        self._blocks[left:right] = blocks
        self._lines[left:right] = map(len, blocks)
        self._chars[left:right] = map(sum, blocks)

    def _block_of_line(self, line: int) -> tuple[int, int, int]:
        """The block with a line, the number of its first line and that line's offset."""
        last = len(self._blocks) - 1
        first = start = 0
        for block, lines in enumerate(self._lines):
            if line < first + lines or block == last:
                return block, first, start
            first, start = first + lines, start + self._chars[block]
        raise AssertionError("there is at least one block")


def offset_of(text: str, index: LineIndex, line: int, character: int, encoding: Encoding) -> int:
    """Offset of a position in the text: after the last line its end, after a line's end that line's end."""
    if line < 0:
        return 0
    if line >= index.count:
        return len(text)
    start, end = index.span(line)
    content = _without_ending(text, start, end)
    if encoding == "utf-32":
        return min(max(0, character) + start, content)
    return start + column(text[start : min(content, start + max(0, character))], character, encoding)


def position_of(text: str, index: LineIndex, offset: int, encoding: Encoding) -> tuple[int, int]:
    r"""Line and code units of an offset, which is clamped to the text; inside of \r\n, of the line's end."""
    offset = min(max(0, offset), len(text))
    line = index.line_at(offset)
    start, end = index.span(line)
    return line, units(text[start : min(offset, _without_ending(text, start, end))], encoding)


def _without_ending(text: str, start: int, end: int) -> int:
    """Where a line [start, end) ends without its line ending."""
    if text.endswith("\r\n", start, end):
        return end - 2
    return end - 1 if text.endswith(("\n", "\r"), start, end) else end


def _lengths(start: int, ends: Iterable[int]) -> list[int]:
    found = []
    for end in ends:
        found.append(end - start)
        start = end
    return found
