"""What goes with the next message, above the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from paceline.chat import labels
from paceline.chat.titles import one_line
from paceline.chat.turns import Attached
from paceline.tui.widgets.rows import shorten

REMOVE = " x"
ROWS = 4  # at most; what stands further down is reached with the arrow keys


class AttachmentBar(Widget, can_focus=True):
    """The attached things, each of which can be taken away again. Takes no room while there are none."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,left,k", "move(-1)", "Before", show=False),
        Binding("down,right,j", "move(1)", "Next", show=False),
        Binding("delete,backspace,x", "remove", "Remove", show=False),
    ]

    @dataclass
    class Removed(Message):
        """The person wants this one away: its place in what was shown. The bar changes when it is shown the rest."""

        index: int
        attached: Attached

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._attached: tuple[Attached, ...] = ()
        self._chosen = 0
        self._first = 0  # in view
        self.display = False

    def show(self, attached: Sequence[Attached]) -> None:
        """Shows these."""
        self._attached = tuple(attached)
        self.display = bool(self._attached)
        self.styles.height = min(ROWS, len(self._attached)) or 1
        self._choose(self._chosen)

    def action_move(self, by: int) -> None:
        """Chooses another."""
        self._choose(self._chosen + by)

    def action_remove(self) -> None:
        """Asks for the chosen one to be taken away."""
        self._remove(self._chosen)

    def on_click(self, event: events.Click) -> None:
        """A click on the mark at the end of a line takes that away; one beside it chooses it."""
        at = self._first + event.get_content_offset_capture(self).y
        if at < len(self._attached):
            self._choose(at)
            end = cell_len(self._line(at))
            if end - len(REMOVE) <= event.get_content_offset_capture(self).x < end:
                self._remove(at)

    def on_focus(self) -> None:
        """The chosen one is set off."""
        self.refresh()

    def on_blur(self) -> None:
        """And no longer."""
        self.refresh()

    def render(self) -> Content:
        """One line each."""
        rows = range(self._first, min(self._first + ROWS, len(self._attached)))
        lines = [Content(self._line(at)) for at in rows]
        if self.has_focus and lines:
            lines[self._chosen - self._first] = lines[self._chosen - self._first].stylize("reverse")
        return Content("\n").join(lines)

    def _line(self, at: int) -> str:
        attached = self._attached[at]
        name, whole = one_line(attached.name), labels.attachment(attached)
        room = max(8, self.size.width - len("+ ") - len(REMOVE))
        return "+ " + (shorten(name, room) if cell_len(whole) > room else whole) + REMOVE

    def _choose(self, at: int) -> None:
        self._chosen = min(max(0, at), max(0, len(self._attached) - 1))
        self._first = min(max(self._first, self._chosen - ROWS + 1), self._chosen)
        self._first = max(0, min(self._first, len(self._attached) - ROWS))
        self.refresh()

    def _remove(self, at: int) -> None:
        if at < len(self._attached):
            self.post_message(self.Removed(at, self._attached[at]))
