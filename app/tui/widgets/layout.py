"""What a block looks like at a width: rows of styled text. Nothing here draws."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paceline.tui.widgets.drafted import Drafted
from paceline.tui.widgets.inline import inline
from paceline.tui.widgets.markdown import Block
from paceline.tui.widgets.rows import Names, Row, Span, chop, cut, measure, untab, untabbed, wrap
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


@dataclass(frozen=True)
class Lines:
    """The lines of a block that are to be laid out, with what there is of the next one."""

    texts: Sequence[str]
    starts: Sequence[int]  # of each: where in the answer it begins
    drafted: Drafted | None = None  # None: the styles are those of Markdown

    def inline(self, names: Names = ()) -> list[Span]:
        """As one text, its marks read."""
        return self.within(0, names)

    def within(self, start: int, names: Names = ()) -> list[Span]:
        """The same from this character on."""
        spans = inline(self.joined[start:], names)
        if self.drafted is None:
            return spans
        return self.drafted.follow(self.texts, self.starts).skip(start).paint(spans)

    def plain(self, at: int, names: Names) -> list[Span]:
        """One line as it is."""
        text = self.texts[at]
        return untabbed([(text, names)] if self.drafted is None else self.drafted.line(text, self.starts[at]))

    @property
    def joined(self) -> str:
        """All of it."""
        return "\n".join(map(untab, self.texts))


def lay(
    block: Block, width: int, *, first: bool, more: str = "", start: int = 0, drafted: Drafted | None = None
) -> Laid:
    """The rows of a block that is no fence. first: none stands before it. more: the beginning of its next line, and
    where in the answer that starts. drafted: who drafted the answer, shown instead of Markdown's styles.
    """
    hanging = [(more, start)] if more else []
    texts, starts = [*block.lines, *(text for text, _ in hanging)], [*block.starts, *(at for _, at in hanging)]
    lines = Lines(texts, starts, drafted)
    rows = _SHAPES[block.kind](block, lines, min(width, PROSE) if block.kind in _PROSE else width)
    spaced = not first and (block.gap or block.kind == "heading")
    return Laid([BLANK, *rows] if spaced else rows)


def _paragraph(block: Block, lines: Lines, width: int) -> list[Row]:
    return _indented_rows(lines.inline(), "", block.indent, width)


def _heading(block: Block, lines: Lines, width: int) -> list[Row]:
    names = ("heading", "heading1") if len(block.mark) == 1 else ("heading",)
    return [Row(spans) for spans in wrap(lines.inline(names), width)]


def _item(block: Block, lines: Lines, width: int) -> list[Row]:
    start, mark = 0, block.mark if block.mark[0].isdigit() else "•"
    if task := _TASK.match(lines.joined):
        start, mark = task.end(), "☐" if task[1] == " " else "☑"
    return _indented_rows(lines.within(start), mark + " ", block.indent, width)


def _quote(block: Block, lines: Lines, width: int) -> list[Row]:
    shown = wrap(lines.inline(("quote",)), width - 2)
    return [Row((("│ ", ("quote-mark",)), *spans)) for spans in shown]


def _rule(block: Block, lines: Lines, width: int) -> list[Row]:
    return [Row((("─" * width, ("frame",)),))]


def _table(block: Block, lines: Lines, width: int) -> list[Row]:
    each = zip(lines.texts, lines.starts, strict=True)
    shown = [lines.drafted.follow([line], [start]) for line, start in each] if lines.drafted is not None else []
    return table(list(map(untab, lines.texts)), width, shown)


def _indented(block: Block, lines: Lines, width: int) -> list[Row]:
    found = (lines.plain(at, ("code",)) for at in range(len(lines.texts)))
    return [Row(cut(spans, a, b)) for spans in found for a, b in chop("".join(text for text, _ in spans), width)]


def _literal(block: Block, lines: Lines, width: int) -> list[Row]:
    return [Row(part) for at in range(len(lines.texts)) for part in wrap(lines.plain(at, ()), width)]


_SHAPES: dict[str, Callable[[Block, Lines, int], list[Row]]] = {
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

    def __init__(
        self,
        block: Block,
        width: int,
        *,
        first: bool,
        coloured: Sequence[tuple[Span, ...] | None],
        drafted: Drafted | None = None,
    ) -> None:
        """coloured: by line; None, or none at all, where the colours are not known. drafted: as for `lay`."""
        self.block = block
        self._drafted = drafted
        self._indent = min(block.indent, max(0, width - MIN_WIDTH))
        self._width = width - self._indent
        self._before = 0 if first else 1
        self._coloured = coloured
        self._parts: list[tuple[int, int, int]] = []  # of each row: the line, and its characters
        self._lines = 0
        self._hanging: list[tuple[int, int, int]] = []
        self._more, self._start = "", 0

    def grow(self, more: str = "", start: int = 0) -> int:
        """The block has more lines, and the beginning of another, which starts there in the answer.

        Returns the first row that may look different.
        """
        changed = self._before + 1 + len(self._parts)
        for at in range(self._lines, len(self.block.lines)):
            self._parts += self._broken(at, self.block.lines[at])
        self._lines = len(self.block.lines)
        self._more, self._start = more, start
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
        inside = line < self._lines
        text, start = (self.block.lines[line], self.block.starts[line]) if inside else (self._more, self._start)
        if self._drafted is not None:
            return untabbed(self._drafted.line(text, start))
        known = self._coloured[line] if line < len(self._coloured) and inside else None
        return untabbed(known) if known is not None else [(untab(text), ())]

    def _line(self, text: str, names: str) -> Row:
        shown = cut([("─ ", ("frame",)), (text, (names,)), (" " if text else "", ())], 0, self._width)
        if text and measure(shown) > self._width:
            start, end = chop(text, max(1, self._width - 3))[0]
            shown = (("─ ", ("frame",)), (text[start:end], (names,)), (" ", ()))
        return Row(self._shifted((*shown, ("─" * (self._width - measure(shown)), ("frame",)))))

    def _shifted(self, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return ((" " * self._indent, ()), *spans) if self._indent else spans


def _indented_rows(spans: Sequence[Span], mark: str, indent: int, width: int) -> list[Row]:
    """Wrapped text behind a mark; what does not fit beside it is indented as far."""
    marked = measure([(mark, ())])
    indent = min(indent, max(0, width - marked - MIN_WIDTH))
    rows = wrap(spans, width - indent - marked)
    blank: Names = ()
    first: tuple[Span, ...] = ((" " * indent, blank), (mark, ("mark",)))
    other: tuple[Span, ...] = ((" " * (indent + marked), blank),)
    return [Row((*(first if at == 0 else other), *row)) for at, row in enumerate(rows)]
