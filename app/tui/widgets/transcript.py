"""The turns of a conversation, one below the other; only what can be seen is laid out and drawn."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from paceline.chat.turns import Turn
from paceline.text import strip_controls
from paceline.tui.widgets.column import Column
from paceline.tui.widgets.fence import OFFERS, Offer, offered
from paceline.tui.widgets.frames import Frames
from paceline.tui.widgets.layout import BLANK
from paceline.tui.widgets.looks import NAMES, look
from paceline.tui.widgets.message import AS_WRITTEN, Entry, branch_columns
from paceline.tui.widgets.palette import GUTTER, Palette
from paceline.tui.widgets.rows import Row, wrap
from paceline.tui.widgets.rowview import RowView
from paceline.tui.widgets.selection import Selection
from paceline.tui.widgets.strips import Strips
from paceline.tui.widgets.toasts import stand_above


class Transcript(RowView, can_focus=True):
    """A conversation. It follows its end while text arrives, unless the person has scrolled up."""

    ALLOW_SELECT = False  # with the mouse: rows are no document; blocks are copied, and terminals select by themselves
    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in NAMES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "next", "Next turn or block", show=False, id="turns.next"),
        Binding("k", "previous", "Turn or block before", show=False, id="turns.previous"),
        Binding("J", "next_turn", "Next turn", show=False, id="turns.next_turn"),
        Binding("K", "previous_turn", "Turn before", show=False, id="turns.previous_turn"),
        Binding("c", "offer('copy')", "Copy the block", show=False, id="turns.copy"),
        Binding("s", "offer('save')", "Save the block to a file", show=False, id="turns.save"),
        Binding("o", "offer('open')", "Open the block in $EDITOR", show=False, id="turns.open"),
        Binding("r", "offer('run')", "Run the block, after asking", show=False, id="turns.run"),
        Binding("a", "offer('apply')", "Apply the block to a file, after a look at it", show=False, id="turns.apply"),
        Binding("A", "turn('apply')", "Apply all of the answer", show=False, id="turns.apply_all"),
        Binding("C", "turn('copy')", "Copy the whole turn", show=False, id="turns.copy_all"),
        Binding("e", "turn('edit')", "Edit this message of yours", show=False, id="turns.edit"),
        Binding("t", "turn('retry')", "Generate the answer again", show=False, id="turns.retry"),
        Binding("g", "turn('go_on')", "Go on with an answer that was cut or stopped", show=False, id="turns.go_on"),
        Binding("left,h", "turn('left')", "The branch before", show=False, id="turns.left"),
        Binding("right,l", "turn('right')", "The next branch", show=False, id="turns.right"),
        Binding("space", "unfold", "Show attachments", show=False, id="turns.unfold"),
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
        self._column = Column()
        self._following = True
        self._at = Selection()
        self._frames = Frames(self, self._draw)
        self._colouring = False
        self._settling = False
        self._told = False  # that a turn could not be laid out
        self._strips: Strips | None = None

    # --- what is shown

    @property
    def selected(self) -> tuple[int | None, int | None]:
        """Id of the selected turn, and number (from 0) of its selected block."""
        at = self._at
        return (None if at.place is None else self._column.entries[at.place].turn.id), at.block

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
        for entry in self._column.entries:
            entry.show_drafts(shown)
        self._select(Selection(self._at.place))
        self._resize()

    def show(self, turns: Sequence[Turn], branches: Mapping[int, tuple[int, int]] | None = None) -> None:
        """Shows these turns instead, at their end. branches: of turns with siblings, which it is (from 1) of how many.

        A turn that is shown already keeps its rows.
        """
        branches = branches or {}
        known = {entry.turn.id: entry for entry in self._column.entries}
        entries = []
        for turn in turns:
            entry = known.get(turn.id)
            if entry is None or (entry.turn.role, entry.turn.created) != (turn.role, turn.created):
                entry = Entry(turn, drafts=self._drafts)  # of another conversation, if there was one
            entry.update(turn)
            entry.branch = branches.get(turn.id, (1, 1))
            entry.unlay()
            entries.append(entry)
        self._select(Selection())
        self._column = Column(entries, self._width)
        self._frames.forget()
        self._following = True
        self._settle()
        self.refresh()

    def add(self, turn: Turn, branch: tuple[int, int] = (1, 1)) -> None:
        """Puts a turn at the end, and shows the end."""
        self._column.add(Entry(turn, branch, drafts=self._drafts))
        self._following = True
        self._settle()
        self.refresh()

    def append(self, turn: int, text: str, drafter: str = "") -> None:
        """More of a turn's text has come, in a piece of any size. It is drawn with the next frame."""
        self._column.entries[self._column.place(turn)].append(text, drafter)
        self._frames.soon(turn)

    def update_turn(self, turn: Turn, branch: tuple[int, int] | None = None) -> None:
        """The turn with this id is now so. Text that stands already is not laid out again."""
        entry = self._column.entries[self._column.place(turn.id)]
        entry.update(turn)
        entry.branch = branch or entry.branch
        self._redraw(entry)

    # --- selecting

    def select(self, turn: int | None, block: int | None = None) -> None:
        """Selects a turn or one of its code blocks and brings it into view."""
        self._go(Selection(None if turn is None else self._column.place(turn), block))

    def action_next(self) -> None:
        """Selects the next turn or code block."""
        self._go(self._at.next(self._column))

    def action_previous(self) -> None:
        """Selects the turn or code block before."""
        self._go(self._at.previous(self._column))

    def action_next_turn(self) -> None:
        """Selects the next turn."""
        self._go(self._at.turn(self._column, 1))

    def action_previous_turn(self) -> None:
        """Selects the turn before."""
        self._go(self._at.turn(self._column, -1))

    def action_unselect(self) -> None:
        """Selects nothing."""
        self._select(Selection())

    def action_unfold(self) -> None:
        """Shows or hides what is attached to the selected turn."""
        if self._at.place is not None:
            entry = self._column.entries[self._at.place]
            entry.unfolded = not entry.unfolded
            self._redraw(entry)

    def action_offer(self, action: str) -> None:
        """Posts BlockAction for the selected block, or the only block of the selected turn."""
        if self._at.place is None:
            return
        entry, block = self._column.entries[self._at.place], self._at.block
        if block is None and entry.blocks() == 1:
            block = 0
        if block is not None:
            self.post_message(self.BlockAction(entry.turn.id, block, action))

    def action_turn(self, action: str) -> None:
        """Posts TurnAction for the selected turn; without one, for the last."""
        if self._column.entries:
            place = -1 if self._at.place is None else self._at.place
            self.post_message(self.TurnAction(self._column.entries[place].turn.id, action))

    # --- scrolling

    def action_scroll_end(self) -> None:
        """Shows the end, and follows it."""
        self._following = True
        self._settle()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """What has come into view is laid out."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling and len(self._column):
            self._following = new_value >= self.max_scroll_y
            self._settle()

    def on_resize(self, event: events.Resize) -> None:
        """Only what can be seen is laid out anew; what was at the top stays there."""
        self._resize()
        stand_above(self.screen, self.region.bottom)  # never over what is being written

    def notify_style_update(self) -> None:
        """The theme is another one."""
        super().notify_style_update()
        self._strips = None
        self.refresh()

    async def on_click(self, event: events.Click) -> None:
        """A click selects a turn or a block, and does what is offered where it falls."""
        found = self._column.at(event.y + self.scroll_offset.y)
        if found is None:
            return
        entry, row = found
        place, column = entry.place(row), event.x - GUTTER
        self._select(Selection(self._column.place(entry.turn.id), place.block))
        if row == 0:
            for action, columns in zip(("left", "right"), branch_columns(entry), strict=True):
                if column in columns:
                    self.post_message(self.TurnAction(entry.turn.id, action))
        elif place.block is not None and place.offers:
            offer = offered(self._offers, column, self._width, entry.indent_of(place.block))
            if offer is not None:
                self.post_message(self.BlockAction(entry.turn.id, place.block, offer.action))
        elif entry.in_head(row) and not entry.unfolded:
            self.action_unfold()

    # --- drawing

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        strips = self._drawn_strips
        if not len(self._column):
            return strips.plain(self._greeting_row(y))
        found = self._column.at(y + self.scroll_offset.y)
        if found is None or not found[0].width:
            return strips.plain(BLANK)
        try:
            return strips.of(*found, marked=self._at.covers(self._column, *found))
        except Exception as fault:
            self._give_up(found[0], fault)
            return strips.plain(BLANK)

    def _greeting_row(self, y: int) -> Row:
        lines = wrap([(self._greeting, ("greeting",))], self._width) if self._greeting else []
        return Row(lines[y]) if y < len(lines) else BLANK

    @property
    def _drawn_strips(self) -> Strips:
        if self._strips is None or self._strips.width != self._width:
            palette = Palette(lambda name: look(self, f"transcript--{name}"), {*NAMES}, self.rich_style)
            self._strips = Strips(palette, self._width, self._offers)
        return self._strips

    @property
    def _width(self) -> int:
        """Cells that text has."""
        return max(1, self.room.width - GUTTER)

    # --- keeping things where they belong

    def _redraw(self, entry: Entry) -> None:
        """Something of a turn has changed that does not come in many pieces."""
        self._frames.now(entry.turn.id)

    def _draw(self, changed: Set[int]) -> None:
        """Draws what has come since the last frame."""
        if not self.room.width:
            return
        first = min(self._column.changed(self._column.place(turn)) for turn in changed)
        before = self.scroll_offset.y
        self._settle()
        if self.scroll_offset.y != before:
            self.refresh()
        else:
            top = max(0, first - before)
            if top < self.room.height:
                self.refresh(Region(0, top, self.room.width, self.room.height - top))

    def _give_up(self, entry: Entry, fault: Exception) -> None:
        """A turn cannot be drawn: it is laid out as it was written, once what is being drawn now is done."""
        if len(entry.faults) < 2:
            entry.give_up(fault)
            self.call_later(self._redraw, entry)

    def _tell_faults(self) -> None:
        """Says once that a turn is not shown as it should be, and why."""
        faults = [
            each.faults[0] for each, _ in self._column.seen(self.scroll_offset.y, self.room.height) if each.faults
        ]
        if faults and not self._told:
            self._told = True
            why = strip_controls(f"{type(faults[0]).__name__}: {faults[0]}")
            self.app.notify(f"{AS_WRITTEN}. Please report this fault: {why}", severity="error", markup=False)

    def _resize(self) -> None:
        if self.room.width:
            top = self._column.resize(self._width, self.scroll_offset.y)
            self._settle(top)
            self.refresh()

    def _settle(self, top: int | None = None) -> None:
        """Lays out what can be seen, and puts the scroll bar where that is. top: the row that is to be first."""
        if not self.room.width or self._settling:
            return
        self._settling = True
        try:
            height = self.room.height
            top = self.scroll_offset.y if top is None else top
            top = self._column.end(height) if self._following else self._column.visible(top, height)
            size = Size(self.room.width, self._column.height)
            if self.virtual_size != size:
                # a longer conversation is no reason to lay out the screen: only the scroll bar changes
                self.set_reactive(Widget.virtual_size, size)
                self._scroll_update(size)
            if top != self.scroll_offset.y:
                self.move(top)
        finally:
            self._settling = False
        self._column.forget(top)
        self._tell_faults()
        self._go_on_colouring()

    def _go_on_colouring(self) -> None:
        """Colours code that is in view, a little at a time, so that keys are heard in between."""
        seen = self._column.seen(self.scroll_offset.y, self.room.height)
        if not self._colouring and any(entry.uncoloured for entry, _ in seen):
            self._colouring = True
            self.call_later(self._colour)

    def _colour(self) -> None:
        self._colouring = False
        top = self.scroll_offset.y
        for entry, start in self._column.seen(top, self.room.height):
            if entry.uncoloured:
                try:
                    coloured = entry.colour()
                except Exception as fault:
                    self._give_up(entry, fault)
                    break
                for rows in coloured:
                    self.refresh(Region(0, start - top + rows.start, self.room.width, len(rows)))
                break
        self._go_on_colouring()

    def _go(self, at: Selection | None) -> None:
        """Selects, and brings into view. None: there is nothing to go to."""
        if at is None:
            return
        self._select(at)
        if at.place is None or not self.room.width:
            return
        height = self.room.height
        top = at.top(self._column, self.scroll_offset.y, height)
        self._following = top + height >= self._column.height
        self._settle(top)
        self.refresh()

    def _select(self, at: Selection) -> None:
        if at != self._at:
            self._at = at
            self.post_message(self.Selected(*self.selected))
            self.refresh()
