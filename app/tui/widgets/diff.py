"""A change, line by line: in one column, or as it is beside as it would be. Draws only the lines that are in sight."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from paceline.chat.edits.changes import Change
from paceline.chat.edits.review import Pair, Row, side_by_side, unified
from paceline.chat.edits.words import LONG_LINE, Marks, differing
from paceline.chat.hidden import reveal, reveal_ending
from paceline.tui.signs import are_few
from paceline.tui.widgets import colouring
from paceline.tui.widgets.palette import Palette
from paceline.tui.widgets.rows import TAB, Names, Span, cut, undivided, untab
from paceline.tui.widgets.sides import Side, Sides

STEP = 8  # columns that long lines are moved by at once
CUT = "…"  # ends a line that goes on
DENSE = 8  # characters for each column that are looked at, since some take none; lines may have millions
LONG = 10_000  # characters of a line that are looked at in any case: it is in colours only as a whole
SIGNS = {"same": " ", "out": "-", "in": "+", "gap": " "}
_LINES = ("same", "out", "in", "out-mark", "in-mark", "out-sign", "in-sign", "gap", "gutter", "head", "cursor")


@dataclass(frozen=True)
class Head:
    """The line above a hunk: whether it is accepted."""

    hunk: int


Entry = Head | Row | Pair


def entries(rows: Iterable[Row | Pair]) -> tuple[Entry, ...]:
    """The rows, with a line above each hunk."""
    found: list[Entry] = []
    last: int | None = None
    for row in rows:
        if row.hunk is not None and row.hunk != last:
            found.append(Head(row.hunk))
        last = row.hunk
        found.append(row)
    return tuple(found)


def pieces(spans: Iterable[Span], marks: Marks) -> Iterator[tuple[str, Names, bool]]:
    """Stretches of a line as they are drawn, tabs filled up, with their styles, and whether they are marked."""
    edges = [edge for mark in marks for edge in mark]
    at = column = 0  # of the characters, and of the cells
    for text, names in undivided([*spans]):
        start = 0
        while start < len(text):
            passed = bisect_right(edges, at + start)
            end = min(len(text), edges[passed] - at) if passed < len(edges) else len(text)
            drawn = untab(text[start:end], column)
            yield drawn, names, passed % 2 == 1
            column += cell_len(drawn)
            start = end
        at += len(text)


def marks_of(row: Row, *, ascii_only: bool = False) -> Marks:
    """Which stretches of a row's text, as it is shown, differ from the line in whose place it stands."""
    if row.other is None or max(len(row.text), len(row.other)) > LONG_LINE:
        return ()
    text, other = reveal(row.text, ascii_only=ascii_only), reveal(row.other, ascii_only=ascii_only)
    return differing(text, other)[0] if row.kind == "out" else differing(other, text)[1]


class DiffView(ScrollView, can_focus=True):
    """Shows one change. The owner keeps which hunks are accepted, and sets `chosen`."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text("utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"diff--{name}" for name in (*_LINES, *colouring.NAMES)),
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "lines(-1)", "Up", show=False),
        Binding("down", "lines(1)", "Down", show=False),
        Binding("pageup", "pages(-1)", "Page up", show=False),
        Binding("pagedown", "pages(1)", "Page down", show=False),
        Binding("left", "columns(-1)", "Left", show=False),
        Binding("right", "columns(1)", "Right", show=False),
        Binding("home", "edge(False)", "First line", show=False),
        Binding("end", "edge(True)", "Last line", show=False),
    ]

    split: reactive[bool] = reactive(False)
    chosen: reactive[frozenset[int]] = reactive(frozenset[int]())
    hunk: reactive[int | None] = reactive(None)  # the one that keys are about

    @dataclass
    class Toggled(Message):
        """A person clicked on the line above a hunk."""

        hunk: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._change: Change | None = None
        self._sides: Sides | None = None
        self._ascii_only = False  # whether the terminal has no other characters
        self._colouring = False  # whether colours are being worked out
        self._looks: Palette | None = None
        self._entries: tuple[Entry, ...] = ()
        self._extents: tuple[tuple[int, int], ...] = ()  # the first and the last line of each hunk in this view
        self._longest = 0  # columns of a line's text
        self._digits = 1  # of the largest line number

    def show(self, change: Change, chosen: frozenset[int], *, last: bool = False) -> None:
        """Show another change, from its first hunk on, or from its last."""
        self._ascii_only = are_few(self.app)
        self._change, self._sides = change, Sides(change, ascii_only=self._ascii_only)
        self.set_reactive(DiffView.chosen, chosen)
        self._lay_out()
        self.hunk = (len(self._extents) - 1 if last else 0) if self._extents else None
        self._reveal()

    def go(self, step: int) -> bool:
        """Make another hunk the current one, and bring it into sight. False: there is none in this direction."""
        there = (self.hunk if self.hunk is not None else -1) + step
        if not 0 <= there < len(self._extents):
            return False
        self.hunk = there
        self._reveal()
        return True

    def action_lines(self, step: int) -> None:
        """Scroll by lines; at once, as a glide through a large change costs more than it shows."""
        self.scroll_relative(y=step, animate=False)

    def action_pages(self, step: int) -> None:
        """Scroll by screens, with a line in common."""
        self.action_lines(step * max(1, self.scrollable_content_region.height - 1))

    def action_columns(self, step: int) -> None:
        """Move long lines, as far as the longest of them needs."""
        width = self.scrollable_content_region.width
        room = (width - 1) // 2 if self.split else width
        furthest = max(0, self._longest + self._gutter - room)
        self.scroll_to(x=min(furthest, max(0, self.scroll_offset.x + step * STEP)), animate=False)

    def action_edge(self, end: bool) -> None:
        """Scroll to the last line, or to the first."""
        self.scroll_to(y=self.max_scroll_y if end else 0, animate=False)

    # --- what stands where --------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        change = self._change
        if change is None:
            return
        self._entries = entries(side_by_side(change) if self.split else unified(change))
        self._extents = extents(self._entries)
        numbers = [number for row in self._rows() for number in (row.old, row.new) if number is not None]
        self._digits = len(str(max(numbers, default=1)))
        longest = self._longest = max((self._width(row) for row in self._rows()), default=0)
        gutter = self._gutter
        width = 2 * (gutter + longest) + 1 if self.split else gutter + longest
        self.virtual_size = Size(width, len(self._entries))
        self.refresh()

    def _rows(self) -> Iterator[Row]:
        for entry in self._entries:
            if isinstance(entry, Row):
                yield entry
            elif isinstance(entry, Pair):
                yield from filter(None, (entry.left, entry.right))

    def _width(self, row: Row) -> int:
        """Columns of a row's text, without looking closely: wide characters count two, tabs a whole stop."""
        code = reveal(row.text, ascii_only=self._ascii_only) + self._ending(row)
        return (len(code) if code.isascii() else cell_len(code)) + code.count("\t") * (TAB - 1)

    def _ending(self, row: Row) -> str:
        return "" if row.ending is None else reveal_ending(row.ending, ascii_only=self._ascii_only)

    @property
    def _gutter(self) -> int:
        """Columns before a line's text: cursor, number or numbers, sign."""
        return 1 + self._digits + 3 if self.split else 1 + 2 * (self._digits + 1) + 2

    def _reveal(self) -> None:
        """Bring the current hunk into sight, a little below the top."""
        if self.hunk is not None:
            self.scroll_to(y=max(0, self._extents[self.hunk][0] - 2), animate=False, force=True)
        self._go_on_colouring()

    def watch_split(self) -> None:
        """The same change, in the other form."""
        self._lay_out()
        self._reveal()

    def watch_chosen(self) -> None:
        """Boxes change."""
        self.refresh()

    def watch_hunk(self) -> None:
        """The cursor moves."""
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Keys are never about a hunk that is out of sight while another one is in sight."""
        super().watch_scroll_y(old_value, new_value)
        self._go_on_colouring()
        top, height = round(new_value), max(1, self.scrollable_content_region.height)
        if self.hunk is None or _meets(self._extents[self.hunk], top, height):
            return
        above = self._extents[self.hunk][1] < top
        seen = [at for at, extent in enumerate(self._extents) if _meets(extent, top, height)]
        if seen:
            self.hunk = seen[0] if above else seen[-1]

    def on_resize(self, event: Resize) -> None:
        """Other lines may be in sight."""
        self._go_on_colouring()

    def notify_style_update(self) -> None:
        """The theme is another one."""
        super().notify_style_update()
        self._looks = None

    def on_click(self, event: Click) -> None:
        """A click on the line above a hunk accepts it, or no longer; one elsewhere makes its hunk the current one."""
        at = event.y + self.scroll_offset.y
        entry = self._entries[at] if 0 <= at < len(self._entries) else None
        if isinstance(entry, Head):
            self.hunk = entry.hunk
            self.post_message(self.Toggled(entry.hunk))
        elif entry is not None and entry.hunk is not None:
            self.hunk = entry.hunk

    # --- colours ------------------------------------------------------------------------------------------------------

    def _awaited(self) -> Iterator[Side]:
        """For each line in sight whose colours are not known yet: the text that it is in."""
        top = self.scroll_offset.y
        for entry in self._entries[top : top + self.scrollable_content_region.height]:
            for row, new in _sides(entry):
                found = self._sides.of(row, new=new) if self._sides is not None else None
                if found is not None and found[0].awaits(found[1]):
                    yield found[0]

    def _go_on_colouring(self) -> None:
        """A little at a time, so that keys are heard in between."""
        if not self._colouring and next(self._awaited(), None) is not None:
            self._colouring = True
            self.call_later(self._colour)

    def _colour(self) -> None:
        self._colouring = False
        awaited = list(self._awaited())
        if awaited:
            awaited[0].work()
            if len(list(self._awaited())) < len(awaited):
                self.refresh()
        self._go_on_colouring()

    # --- drawing ------------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line of the view."""
        left, top = self.scroll_offset
        width, base = self.scrollable_content_region.width, self.rich_style
        if not 0 <= top + y < len(self._entries):
            return Strip.blank(width, base)
        entry = self._entries[top + y]
        if isinstance(entry, Head):
            return self._head(entry.hunk, width)
        if isinstance(entry, Row):
            return self._line(entry, width, left, entry.hunk, new=True)
        half = (width - 1) // 2
        bar = Strip([Segment("│", self._style("gap"))], 1)
        before = self._line(entry.left, half, left, entry.hunk, new=False)
        return Strip.join([before, bar, self._line(entry.right, width - half - 1, left, None, new=True)])

    def _head(self, hunk: int, width: int) -> Strip:
        box = "[x]" if hunk in self.chosen else "[ ]"
        cursor = ">" if hunk == self.hunk else " "
        text = f"{cursor}{box} hunk {hunk + 1} of {len(self._extents)}"
        style = self._style("cursor" if hunk == self.hunk else "head")
        return Strip([Segment(set_cell_size(text, width), style)], width)

    def _line(self, row: Row | None, width: int, left: int, hunk: int | None, *, new: bool) -> Strip:
        """A row, cut to a width in columns, its text moved to the left by `left`. None: nothing stands there.

        new: it is drawn as a line of the text as it would be, where it is in both.
        """
        if row is None:
            return Strip.blank(width, self._style("gap"))
        style = self._style(row.kind)
        if row.kind == "gap":
            return Strip([Segment(set_cell_size(f"{' ' * self._gutter}… {row.text} …", width), style)], width)
        cursor = Segment("▌" if hunk is not None and hunk == self.hunk else " ", self._style("gutter"))
        sign = self._style("gutter" if row.kind == "same" else f"{row.kind}-sign")
        gutter = Strip([cursor, Segment(self._numbers(row) + SIGNS[row.kind], sign)])
        room = max(0, width - gutter.cell_length - 1)
        shown = DENSE * (left + room + 1)
        code = reveal(row.text[: max(shown, LONG) + 1], ascii_only=self._ascii_only)
        whole = Strip(self._segments(row, code, shown, new=new)).simplify()
        text = whole.crop(left, left + room).extend_cell_length(room, style)
        if (whole.cell_length > left + room or len(code) > shown) and room:
            text = Strip.join([text.crop(0, room - 1), Strip([Segment(CUT, style)], 1)])
        return Strip.join([gutter, Strip([Segment(" ", style)], 1), text]).crop(0, width)

    def _segments(self, row: Row, text: str, shown: int, *, new: bool) -> Iterator[Segment]:
        """So many characters of a row's text in colours: those of the code, behind them those of the change."""
        found = self._sides.of(row, new=new) if self._sides is not None else None
        spans: Sequence[Span] = found[0].spans(found[1], text) if found is not None else [(text, ())]
        for piece, names, marked in pieces(cut(spans, 0, shown), marks_of(row, ascii_only=self._ascii_only)):
            styles = (f"{row.kind}-mark" if marked else row.kind, *names)
            yield Segment(piece, self._palette[styles])
        if row.ending is not None:
            yield Segment(self._ending(row), self._palette[f"{row.kind}-mark",])

    def _numbers(self, row: Row) -> str:
        numbers: Sequence[int | None] = (row.old, row.new)
        if self.split:  # lines that stay have both: the side tells which is meant
            numbers = (row.old if row.kind != "in" else row.new,)
        return "".join(f"{'' if number is None else number:>{self._digits}} " for number in numbers)

    def _style(self, name: str) -> Style:
        return self._palette[name,]

    @property
    def _palette(self) -> Palette:
        if self._looks is None:
            self._looks = Palette(self._look, {*_LINES, *colouring.NAMES}, self.rich_style)
        return self._looks

    def _look(self, name: str) -> Style:
        """What a style is: of a line with what is behind it, of code without."""
        if name in _LINES:
            return self.get_component_rich_style(f"diff--{name}")
        return self.get_component_styles(f"diff--{name}").partial_rich_style


def extents(found: Sequence[Entry]) -> tuple[tuple[int, int], ...]:
    """The first and the last line of each hunk, the line above it included."""
    starts: list[int] = []
    ends: list[int] = []
    for at, entry in enumerate(found):
        if isinstance(entry, Head):
            starts.append(at)
            ends.append(at)
        elif entry.hunk is not None:
            ends[-1] = at
    return tuple(zip(starts, ends, strict=True))


def _sides(entry: Entry) -> Iterator[tuple[Row, bool]]:
    """The rows of a line of the view, and whether each is drawn as one of the text as it would be."""
    if isinstance(entry, Row):
        yield entry, True
    elif isinstance(entry, Pair):
        yield from ((row, new) for row, new in ((entry.left, False), (entry.right, True)) if row is not None)


def _meets(extent: tuple[int, int], top: int, height: int) -> bool:
    """Whether any of these lines is among the `height` ones from `top` on."""
    return extent[1] >= top and extent[0] < top + height
