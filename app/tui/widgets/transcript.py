"""The turns of a conversation, one below the other; only what can be seen is laid out and drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from paceline.chat.turns import Turn
from paceline.tui.widgets.fence import OFFERS, Offer, offered, offers_row
from paceline.tui.widgets.heights import Heights
from paceline.tui.widgets.message import Entry, branch_columns
from paceline.tui.widgets.palette import GUTTER, Palette
from paceline.tui.widgets.rows import Row, wrap

FRAME = 1 / 15  # seconds between pictures while text arrives
KEPT = 40  # turns that stay laid out beside those that can be seen
_STYLES = (
    *("you", "model", "branch", "attached", "state", "failed", "selected", "greeting"),
    *("heading", "heading1", "strong", "emphasis", "struck", "code", "link", "address", "quote", "quote-mark", "mark"),
    *("frame", "fence", "fence-title", "offer", "offer-key"),
    *("keyword", "type", "function", "builtin", "constant", "number", "string", "comment", "added", "removed"),
    *("drafted-ngram", "drafted-edit", "drafted-draft", "drafted-lookahead", "drafted-other"),
)


class Transcript(ScrollView, can_focus=True):
    """A conversation. It follows its end while text arrives, unless the person has scrolled up."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in _STYLES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "next", "Next turn or block", show=False),
        Binding("k", "previous", "Turn or block before", show=False),
        Binding("J", "next_turn", "Next turn", show=False),
        Binding("K", "previous_turn", "Turn before", show=False),
        Binding("space", "unfold", "Show attachments", show=False),
    ]

    @dataclass
    class BlockAction(Message):
        """Something is to be done with a code block: `paceline.chat.blocks.blocks(text)[block]` of that turn."""

        turn: int
        block: int  # from 0
        action: str  # copy, save, open, run, apply

    @dataclass
    class TurnAction(Message):
        """Something is to be done with a turn: left, right (another branch), or what `action_turn` was asked for."""

        turn: int
        action: str

    @dataclass
    class Selected(Message):
        """Another turn or code block is selected. None: nothing is."""

        turn: int | None
        block: int | None

    def __init__(
        self, *, offers: Sequence[Offer] = OFFERS, drafts: bool = False, greeting: str = "", id: str | None = None
    ) -> None:
        """greeting: what is shown while there are no turns."""
        super().__init__(id=id)
        self._offers = tuple(offers)
        self._drafts = drafts
        self._greeting = greeting
        self._entries: list[Entry] = []
        self._places: dict[int, int] = {}  # of turns, by their id
        self._heights = Heights()
        self._following = True
        self._at: tuple[int | None, int | None] = (None, None)  # what is selected: place of the turn, block
        self._changed: set[int] = set()  # ids of turns with text that is not drawn yet
        self._frame_due = False
        self._drawn = 0.0  # when the last frame was
        self._colouring = False
        self._settling = False
        self._looks: Palette | None = None
        self._strips: dict[tuple[int, int, int, bool], Strip] = {}  # by turn's id, version, row, whether it is marked

    # --- what is shown

    @property
    def selected(self) -> tuple[int | None, int | None]:
        """Id of the selected turn, and number (from 0) of its selected block."""
        place, block = self._at
        return (None if place is None else self._entries[place].turn.id), block

    @property
    def following(self) -> bool:
        """Whether the end is shown, and goes on being shown as text arrives."""
        return self._following

    @property
    def drafts(self) -> bool:
        """Whether answers show who drafted them, instead of Markdown. Can be set."""
        return self._drafts

    @drafts.setter
    def drafts(self, shown: bool) -> None:
        self._drafts = shown
        for entry in self._entries:
            entry.show_drafts(shown)
        self._at = (self._at[0], None)
        self._measure_all()

    def show(self, turns: Sequence[Turn], branches: Mapping[int, tuple[int, int]] | None = None) -> None:
        """Shows these turns instead, at their end. branches: of turns with siblings, which it is (from 1) of how many."""
        branches = branches or {}
        self._entries = [Entry(turn, branches.get(turn.id, (1, 1)), drafts=self._drafts) for turn in turns]
        self._places = {turn.id: at for at, turn in enumerate(turns)}
        self._changed.clear()
        self._select((None, None))
        self._following = True
        self._measure_all()

    def add(self, turn: Turn, branch: tuple[int, int] = (1, 1)) -> None:
        """Puts a turn at the end, and shows the end."""
        entry = Entry(turn, branch, drafts=self._drafts)
        self._places[turn.id] = len(self._entries)
        self._entries.append(entry)
        self._heights.append(entry.estimate(self._width))
        self._following = True
        self._settle()
        self.refresh()

    def append(self, turn: int, text: str, drafter: str = "") -> None:
        """More of a turn's text has come, in a piece of any size. It is drawn with the next frame."""
        self._entries[self._places[turn]].append(text, drafter)
        self._changed.add(turn)
        if not self._frame_due:
            self._frame_due = True
            self.set_timer(max(0.001, self._drawn + FRAME - monotonic()), self._frame)

    def update_turn(self, turn: Turn, branch: tuple[int, int] | None = None) -> None:
        """The turn with this id is now so. Text that stands already is not laid out again."""
        entry = self._entries[self._places[turn.id]]
        entry.update(turn)
        entry.branch = branch or entry.branch
        self._changed.add(turn.id)
        self._frame_now()

    def remove_from(self, turn: int) -> None:
        """Takes this turn and all after it away."""
        place = self._places[turn]
        for entry in self._entries[place:]:
            del self._places[entry.turn.id]
            self._changed.discard(entry.turn.id)
        del self._entries[place:]
        self._heights.cut(place)
        if self._at[0] is not None and self._at[0] >= place:
            self._select((None, None))
        self._settle()
        self.refresh()

    # --- selecting

    def select(self, turn: int | None, block: int | None = None) -> None:
        """Selects a turn or one of its code blocks and brings it into view."""
        self._go((None if turn is None else self._places[turn], block))

    def action_next(self) -> None:
        """Selects the next turn or code block."""
        place, block = self._at
        if place is None:
            self._enter(-1)
        elif (following := 0 if block is None else block + 1) < self._entries[place].blocks():
            self._go((place, following))
        elif place + 1 < len(self._entries):
            self._go((place + 1, None))

    def action_previous(self) -> None:
        """Selects the turn or code block before."""
        place, block = self._at
        if place is None:
            self._enter(-1)
        elif block is not None:
            self._go((place, block - 1 if block else None))
        elif place > 0:
            blocks = self._entries[place - 1].blocks()
            self._go((place - 1, blocks - 1 if blocks else None))

    def action_next_turn(self) -> None:
        """Selects the next turn."""
        self._enter(0 if self._at[0] is None else self._at[0] + 1)

    def action_previous_turn(self) -> None:
        """Selects the turn before."""
        self._enter(-1 if self._at[0] is None else max(0, self._at[0] - 1))

    def action_unselect(self) -> None:
        """Selects nothing."""
        self._go((None, None))

    def action_unfold(self) -> None:
        """Shows or hides what is attached to the selected turn."""
        place = self._at[0]
        if place is not None and self._entries[place].turn.attached:
            self._entries[place].unfolded = not self._entries[place].unfolded
            self._changed.add(self._entries[place].turn.id)
            self._frame_now()

    def action_offer(self, action: str) -> None:
        """Posts BlockAction for the selected block, or the only block of the selected turn."""
        place, block = self._at
        if place is None:
            return
        entry = self._entries[place]
        if block is None and entry.blocks() == 1:
            block = 0
        if block is not None:
            self.post_message(self.BlockAction(entry.turn.id, block, action))

    def action_turn(self, action: str) -> None:
        """Posts TurnAction for the selected turn; without one, for the last."""
        if self._entries:
            place = len(self._entries) - 1 if self._at[0] is None else self._at[0]
            self.post_message(self.TurnAction(self._entries[place].turn.id, action))

    # --- scrolling

    def action_scroll_home(self) -> None:
        """Shows the beginning."""
        self._move(0)

    def action_scroll_end(self) -> None:
        """Shows the end, and follows it."""
        self._following = True
        self._settle()
        self.refresh()

    def action_page_up(self) -> None:
        """Shows what is above."""
        self._move(self.scroll_y - max(1, self.size.height - 2))

    def action_page_down(self) -> None:
        """Shows what is below."""
        self._move(self.scroll_y + max(1, self.size.height - 2))

    def action_scroll_up(self) -> None:
        """One row up."""
        self._move(self.scroll_y - 1)

    def action_scroll_down(self) -> None:
        """One row down."""
        self._move(self.scroll_y + 1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """What has come into view is laid out."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling and self._entries:
            self._following = new_value >= self.max_scroll_y
            self._settle()

    def on_resize(self, event: events.Resize) -> None:
        """Only what can be seen is laid out anew; what was at the top stays there."""
        self._measure_all()

    def notify_style_update(self) -> None:
        """The theme is another one."""
        super().notify_style_update()
        self._looks = None
        self._strips.clear()
        self.refresh()

    async def on_click(self, event: events.Click) -> None:
        """A click selects a turn or a block, and does what is offered where it falls."""
        line = event.y + self.scroll_offset.y
        place = self._heights.find(line)
        if place >= len(self._entries):
            return
        entry, row = self._entries[place], line - self._heights.start(place)
        column = event.x - GUTTER
        found = entry.place(row)
        self._select((place, found.block))
        if row == 0:
            for action, columns in zip(("left", "right"), branch_columns(entry), strict=True):
                if column in columns:
                    self.post_message(self.TurnAction(entry.turn.id, action))
        elif found.block is not None and found.offers:
            offer = offered(self._offers, column, self._width, entry.indent_of(found.block))
            if offer is not None:
                self.post_message(self.BlockAction(entry.turn.id, found.block, offer.action))
        elif 0 < row <= len(entry.turn.attached) and not entry.unfolded:
            self.action_unfold()

    # --- drawing

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        line = y + self.scroll_offset.y
        palette, width = self._palette, self.size.width
        if not self._entries:
            return palette.strip(self._greeting_row(y), width, marked=False)
        place = self._heights.find(line)
        if place >= len(self._entries) or not self._entries[place].width:
            return palette.strip(Row(()), width, marked=False)
        entry, row = self._entries[place], line - self._heights.start(place)
        marked = self._is_marked(place, row)
        key = (entry.turn.id, entry.version, row, marked)
        if key not in self._strips:
            if len(self._strips) > 2000:
                self._strips.clear()
            self._strips[key] = palette.strip(self._row(entry, row), width, marked=marked)
        return self._strips[key]

    def _row(self, entry: Entry, row: int) -> Row:
        found = entry.place(row)
        if found.offers and found.block is not None and entry.turn.state != "streaming":
            return offers_row(self._offers, self._width, entry.indent_of(found.block))
        return entry.row(row)

    def _greeting_row(self, y: int) -> Row:
        lines = wrap([(self._greeting, ("greeting",))], self._width) if self._greeting else []
        return Row(lines[y]) if y < len(lines) else Row(())

    def _is_marked(self, place: int, row: int) -> bool:
        at, block = self._at
        if place != at or row == self._entries[place].height - 1:
            return False
        return block is None or row in self._entries[place].rows_of(block)

    @property
    def _palette(self) -> Palette:
        if self._looks is None:
            self._looks = Palette(self._look, {*_STYLES}, self.rich_style)
        return self._looks

    def _look(self, name: str) -> Style:
        """What a style is, without what is behind it. A colour that lets something through is mixed here."""
        styles = self.get_component_styles(f"transcript--{name}")
        style = styles.partial_rich_style
        colour = styles.color
        if styles.has_rule("color") and colour.a < 1 and colour.ansi is None:
            style += Style(color=(self.background_colors[1] + colour).rich_color)
        return style

    @property
    def _width(self) -> int:
        """Cells that text has."""
        return max(1, self.size.width - GUTTER)

    # --- keeping things where they belong

    def _frame_now(self) -> None:
        if not self._frame_due:
            self._frame()

    def _frame(self) -> None:
        """Draws what has come since the last frame."""
        self._frame_due, self._drawn = False, monotonic()
        changed, self._changed = self._changed, set()
        if not self.size.width:
            return
        first = None
        for turn in changed:
            place = self._places[turn]
            entry = self._entries[place]
            if entry.width or place == len(self._entries) - 1:
                row = entry.lay(self._width)
                self._heights.set(place, entry.height)
                at = self._heights.start(place) + row
                first = at if first is None else min(first, at)
            else:
                self._heights.set(place, entry.estimate(self._width))
        before = self.scroll_offset.y
        self._settle()
        if first is not None and self.scroll_offset.y == before:
            top = max(0, first - before)
            if top < self.size.height:
                self.refresh(Region(0, top, self.size.width, self.size.height - top))
        else:
            self.refresh()
        self._go_on_colouring()

    def _measure_all(self) -> None:
        """Every height may be another: all are estimated, and what can be seen is laid out."""
        self._strips.clear()
        top = self.scroll_offset.y
        anchor = self._heights.find(top) if len(self._heights) == len(self._entries) else 0
        within = (top - self._heights.start(anchor)) / max(1, self._heights[anchor]) if anchor < len(self._heights) else 0
        for entry in self._entries:
            if entry.width != self._width:
                entry.unlay()
        self._heights = Heights(entry.height or entry.estimate(self._width) for entry in self._entries)
        if not self.size.width:
            return
        if not self._following and anchor < len(self._entries):
            self._lay(anchor)
            top = self._heights.start(anchor) + int(within * self._heights[anchor])
            self._settle(top)
        else:
            self._settle()
        self.refresh()

    def _settle(self, top: int | None = None) -> None:
        """Lays out what can be seen, and puts the scroll bar where that is. top: the row that is to be first."""
        if not self.size.width or self._settling:
            return
        self._settling = True
        try:
            top = self._visible(self.scroll_offset.y if top is None else top)
            total = self._heights.total
            if self.virtual_size != Size(self.size.width, total):
                # no layout of the screen for a longer conversation: only the scroll bar changes
                self.set_reactive(Widget.virtual_size, Size(self.size.width, total))
                self._scroll_update(self.virtual_size)
            if top != self.scroll_offset.y:
                self.scroll_to(y=top, animate=False, force=True)
        finally:
            self._settling = False
        self._forget()
        self._go_on_colouring()

    def _visible(self, top: int) -> int:
        """Lays out the turns that are visible from this row on. Returns where the row is now."""
        height = self.size.height
        if self._following:
            place, shown = len(self._entries), 0
            while place > 0 and shown < height:
                place -= 1
                self._lay(place)
                shown += self._heights[place]
            return max(0, self._heights.total - height)
        place = self._heights.find(top)
        if place < len(self._entries):
            within = top - self._heights.start(place)
            grown = self._lay(place)
            top += max(grown, -within) if within else 0  # what is below stays where it is
        while place < len(self._entries) and self._heights.start(place) < top + height:
            self._lay(place)
            place += 1
        return max(0, min(top, self._heights.total - height))

    def _lay(self, place: int) -> int:
        """Lays a turn out, if it is not yet. Returns by how many rows it is higher than it was taken to be."""
        entry = self._entries[place]
        if entry.width == self._width:
            return 0
        entry.lay(self._width)
        return self._heights.set(place, entry.height)

    def _forget(self) -> None:
        """Drops the rows of turns that have not been seen for long, so that memory stays the same."""
        laid = [at for at, entry in enumerate(self._entries) if entry.width]
        if len(laid) > 3 * KEPT:
            middle = self._heights.find(self.scroll_offset.y)
            laid.sort(key=lambda at: abs(at - middle))
            for at in laid[KEPT:]:
                if self._entries[at].turn.state != "streaming":
                    self._entries[at].drop()

    def _go_on_colouring(self) -> None:
        """Colours code that is in view, a little at a time, so that keys are heard in between."""
        if not self._colouring:
            self._colouring = True
            self.call_later(self._colour)

    def _colour(self) -> None:
        self._colouring = False
        place = self._heights.find(self.scroll_offset.y)
        bottom = self.scroll_offset.y + self.size.height
        while place < len(self._entries) and self._heights.start(place) < bottom:
            more, rows = self._entries[place].colour()
            start = self._heights.start(place) - self.scroll_offset.y
            for each in rows:
                self.refresh(Region(0, start + each.start, self.size.width, len(each)))
            if more:
                self._go_on_colouring()
                return
            place += 1

    def _move(self, top: float) -> None:
        """Makes this the first row, at once."""
        self.scroll_to(y=top, animate=False, force=True)

    def _enter(self, place: int) -> None:
        if self._entries:
            self._go((min(place, len(self._entries) - 1) % len(self._entries), None))

    def _go(self, at: tuple[int | None, int | None]) -> None:
        """Selects, and brings into view."""
        self._select(at)
        place, block = at
        if place is None:
            return
        self._lay(place)
        rows = self._entries[place].rows_of(block) if block is not None else range(self._entries[place].height)
        first, height = self._heights.start(place) + rows.start, self.size.height
        top = self.scroll_offset.y
        if first < top or len(rows) >= height:
            top = first
        elif first + len(rows) > top + height:
            top = first + len(rows) - height
        self._following = top + height >= self._heights.total
        self._settle(top)
        self.refresh()

    def _select(self, at: tuple[int | None, int | None]) -> None:
        if at != self._at:
            self._at = at
            self.post_message(self.Selected(*self.selected))
            self.refresh()
