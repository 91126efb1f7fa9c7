"""What a block looks like at a width: rows of styled text. Nothing here draws."""

import re
from collections.abc import Callable, Sequence

from paceline.tui.widgets.inline import inline
from paceline.tui.widgets.markdown import Block
from paceline.tui.widgets.rows import Names, Row, Span, chop, cut, measure, untab, wrap
from paceline.tui.widgets.table import table

BLANK = Row(())
PROSE = 100  # cells of a line of prose at most: longer ones are hard to read
MIN_WIDTH = 8  # cells that text is given at least, however far it is indented
_PROSE = ("paragraph", "heading", "item", "quote", "literal")
_TASK = re.compile(r"\[([ xX])\] +")


class Laid:
    """A block at a width, all of its rows at once."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def row(self, at: int) -> Row:
        """One of them."""
        return self._rows[at]


def lay(block: Block, width: int, *, first: bool, more: str = "") -> Laid:
    """The rows of a block that is no fence. first: none stands before it. more: the beginning of its next line."""
    lines = [*block.lines, more] if more else block.lines
    rows = _SHAPES[block.kind](block, lines, min(width, PROSE) if block.kind in _PROSE else width)
    spaced = not first and (block.gap or block.kind == "heading")
    return Laid([BLANK, *rows] if spaced else rows)


def _paragraph(block: Block, lines: Sequence[str], width: int) -> list[Row]:
    return _indented_rows(inline(_joined(lines)), "", block.indent, width)


def _heading(block: Block, lines: Sequence[str], width: int) -> list[Row]:
    names = ("heading", "heading1") if len(block.mark) == 1 else ("heading",)
    return [Row(spans) for spans in wrap(inline(_joined(lines), names), width)]


def _item(block: Block, lines: Sequence[str], width: int) -> list[Row]:
    text, mark = _joined(lines), block.mark if block.mark[0].isdigit() else "•"
    if task := _TASK.match(text):
        text, mark = text[task.end() :], "☐" if task[1] == " " else "☑"
    return _indented_rows(inline(text), mark + " ", block.indent, width)


def _quote(block: Block, lines: Sequence[str], width: int) -> list[Row]:
    shown = wrap(inline(_joined(lines), ("quote",)), width - 2)
    return [Row((("│ ", ("quote-mark",)), *spans)) for spans in shown]


def _rule(block: Block, lines: Sequence[str], width: int) -> list[Row]:
    return [Row((("─" * width, ("frame",)),))]


def _table(block: Block, lines: Sequence[str], width: int) -> list[Row]:
    return table(list(map(untab, lines)), width)


def _indented(block: Block, lines: Sequence[str], width: int) -> list[Row]:
    return [Row(((line[a:b], ("code",)),)) for line in map(untab, lines) for a, b in chop(line, width)]


def _literal(block: Block, lines: Sequence[str], width: int) -> list[Row]:
    rows = []
    for pieces in block.drafters:
        spans = untabbed([(text, ("drafted", f"drafted-{drafter}") if drafter else ()) for text, drafter in pieces])
        rows += [Row(part) for part in wrap(spans, width)]
    return rows


_SHAPES: dict[str, Callable[[Block, Sequence[str], int], list[Row]]] = {
    "paragraph": _paragraph,
    "heading": _heading,
    "item": _item,
    "quote": _quote,
    "rule": _rule,
    "table": _table,
    "indented": _indented,
    "literal": _literal,
}


class LaidFence:
    """Fenced code at a width. Rows are made when they are asked for, and lines can be added."""

    def __init__(self, block: Block, width: int, *, first: bool, coloured: Sequence[tuple[Span, ...] | None]) -> None:
        """coloured: by line; None, or none at all, where the colours are not known."""
        self.block = block
        self._indent = min(block.indent, max(0, width - MIN_WIDTH))
        self._width = width - self._indent
        self._before = 0 if first else 1
        self._coloured = coloured
        self._parts: list[tuple[int, int, int]] = []  # of each row: the line, and its characters
        self._lines = 0
        self._hanging: list[tuple[int, int, int]] = []
        self._more = ""

    def grow(self, more: str = "") -> int:
        """The block has more lines, and the beginning of another. Returns the first row that may look different."""
        changed = self._before + 1 + len(self._parts)
        for at in range(self._lines, len(self.block.lines)):
            self._parts += self._broken(at, self.block.lines[at])
        self._lines = len(self.block.lines)
        self._more = more
        self._hanging = self._broken(self._lines, more) if more else []
        return changed

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self._before + 2 + len(self._parts) + len(self._hanging)

    def row(self, at: int) -> Row:
        """One of them."""
        at -= self._before
        if at < 0:
            return BLANK
        if at == 0:
            return self._line(self.title, "fence-title")
        parts = self._parts if at <= len(self._parts) else self._hanging
        place = at - 1 if parts is self._parts else at - 1 - len(self._parts)
        if place >= len(parts):
            return self._line("", "frame")
        line, start, end = parts[place]
        return Row(self._shifted(cut(self._spans(line), start, end)), ("fence",))

    def rows_of(self, lines: range) -> range:
        """The rows in which these lines are."""
        first = next((at for at, part in enumerate(self._parts) if part[0] >= lines.start), len(self._parts))
        last = next((at for at in range(first, len(self._parts)) if self._parts[at][0] >= lines.stop), len(self._parts))
        return range(first + self._before + 1, last + self._before + 1)

    def is_last(self, at: int) -> bool:
        """Whether this is the row below the code, in which is offered what can be done with it."""
        return at == self.height - 1

    @property
    def lead(self) -> int:
        """Blank rows above it."""
        return self._before

    @property
    def indent(self) -> int:
        """Cells before each row."""
        return self._indent

    @property
    def title(self) -> str:
        """What stands above the code: its number and what the fence says."""
        return " ".join(filter(None, (str(self.block.number + 1), untab(self.block.info))))

    def _broken(self, at: int, line: str) -> list[tuple[int, int, int]]:
        return [(at, start, end) for start, end in chop(untab(line), self._width)]

    def _spans(self, line: int) -> Sequence[Span]:
        if line >= self._lines:
            return [(untab(self._more), ())]
        known = self._coloured[line] if line < len(self._coloured) else None
        return untabbed(known) if known is not None else [(untab(self.block.lines[line]), ())]

    def _line(self, text: str, names: str) -> Row:
        shown = cut([("─ ", ("frame",)), (text, (names,)), (" " if text else "", ())], 0, self._width)
        if text and measure(shown) > self._width:
            start, end = chop(text, max(1, self._width - 3))[0]
            shown = (("─ ", ("frame",)), (text[start:end], (names,)), (" ", ()))
        return Row(self._shifted((*shown, ("─" * (self._width - measure(shown)), ("frame",)))))

    def _shifted(self, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return ((" " * self._indent, ()), *spans) if self._indent else spans


def untabbed(spans: Sequence[Span]) -> list[Span]:
    """The spans of one line with blanks for tabs."""
    if not any("\t" in text for text, _ in spans):
        return list(spans)
    found: list[Span] = []
    column = 0
    for text, names in spans:
        shown = untab(text, column)
        found.append((shown, names))
        column += measure([(shown, ())])
    return found


def _indented_rows(spans: Sequence[Span], mark: str, indent: int, width: int) -> list[Row]:
    """Wrapped text behind a mark; what does not fit beside it is indented as far."""
    marked = measure([(mark, ())])
    indent = min(indent, max(0, width - marked - MIN_WIDTH))
    rows = wrap(spans, width - indent - marked)
    blank: Names = ()
    first: tuple[Span, ...] = ((" " * indent, blank), (mark, ("mark",)))
    other: tuple[Span, ...] = ((" " * (indent + marked), blank),)
    return [Row((*(first if at == 0 else other), *row)) for at, row in enumerate(rows)]


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(map(untab, lines))
