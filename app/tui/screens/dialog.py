"""What all screens beside the conversation have: a frame with a title, room for a body, the keys at the bottom."""

from collections.abc import Iterable
from math import inf
from typing import ClassVar, TypeVar

from textual import on
from textual.app import App, ComposeResult, ReturnType
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Event, Key, Mount, Paste
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from paceline.errors import PacelineError
from paceline.text import strip_controls
from paceline.tui.widgets.keys import KeyLine
from paceline.tui.widgets.notes import Notes
from paceline.tui.widgets.passage import Passage

Result = TypeVar("Result")
MARK = "bold underline"  # also where there are no colours


def plain(text: str) -> Content:
    """Text of anybody's, ready to be drawn: no control characters, no markup."""
    return Content(strip_controls(text).expandtabs(4).replace("\r\n", "\n"))


def one_line(text: str) -> Content:
    """The same in a single line."""
    return Content(" ".join(strip_controls(text).split()))


def marked(text: str, spans: Iterable[tuple[int, int]], style: str = MARK) -> Content:
    """A single line of anybody's text with stretches of it, in characters, set off.

    Spans count characters of the text as it is given; where control characters have to be taken out, nothing is set
    off, as the spans would be wrong.
    """
    shown = one_line(text)
    if shown.plain != text:
        return shown
    for start, end in spans:
        shown = shown.stylize(style, start, end)
    return shown


class Line(Static):
    """Text that is never read as markup."""

    def __init__(self, text: str | Content = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(text if isinstance(text, Content) else plain(text), markup=False, id=id, classes=classes)

    def say(self, text: str | Content) -> None:
        """Show this instead."""
        self.update(text if isinstance(text, Content) else plain(text))


class Dialog(ModalScreen[Result]):
    """A framed screen over the conversation. Subclasses give `body`; keys come from their bindings.

    A subclass names its own styles after ours: `CSS_PATH = ["dialog.tcss", "its_own.tcss"]`.
    """

    CSS_PATH: ClassVar = ["dialog.tcss"]
    GUARD: ClassVar = 0.5  # seconds after its opening in which keys are still meant for what was there before
    GUARDED: ClassVar = False  # whether it has one: those that write or fetch something
    _opened_at = inf  # of the clock that events have
    SCROLLED: ClassVar = ""  # what `scroll_text` scrolls, of those that bind keys to it
    HEADING = ""
    MORE: ClassVar = "Tab, then ↓: the rest"  # how a text is read on that has no room
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-usual"), (110, "-wide")]  # noqa: RUF012 - as Textual has it
    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-high")]  # noqa: RUF012

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "interrupt", show=False, id="dialog.interrupt")]

    def action_interrupt(self) -> None:
        """As Esc."""
        self.app.simulate_key("escape")

    def action_scroll_text(self, step: int) -> None:
        """A line of what does not fit, by keys that a subclass binds."""
        self.query_one(self.SCROLLED, Widget).scroll_relative(y=step, animate=False)

    def takes(self, event: Event) -> bool:
        """Whether an input was made for this dialog: not before a person can have seen what it asks."""
        return not self.GUARDED or event.time >= self._opened_at + self.GUARD

    def _on_mount(self, event: Mount) -> None:
        super()._on_mount(event)
        self._opened_at = event.time

    def compose(self) -> ComposeResult:
        """Frame, body, keys."""
        with Vertical(id="frame") as frame:
            frame.border_title = one_line(self.HEADING)
            yield from self.body()
            with Vertical(id="bottom"):
                yield from self.below()
                yield Notes(id="trouble")
                yield KeyLine()

    def body(self) -> ComposeResult:
        """What stands between title and keys."""
        yield from ()

    def below(self) -> ComposeResult:
        """What is always in sight, above the keys, however long the body is."""
        yield from ()

    @on(Passage.Changed)
    def _more_or_less(self) -> None:
        """Say how what is out of sight is reached, while there is something."""
        more = any(each.overflows for each in self.query(Passage))
        self.query_one("#frame", Widget).border_subtitle = self.MORE if more else ""

    def head(self, text: str) -> None:
        """Change the title."""
        self.query_one("#frame", Widget).border_title = one_line(text)

    def tell(self, trouble: PacelineError | str) -> None:
        """Say what went wrong, and what to do about it, above the keys; an empty text takes it away."""
        notes = self.query_one("#trouble", Notes)
        notes.say(str(trouble))
        if notes.has_focus and not str(trouble):
            self.focus_previous()  # it goes
        notes.display = bool(str(trouble))


class GuardingApp(App[ReturnType]):
    """An app in which what is being typed while a dialog opens does not answer it."""

    async def on_event(self, event: Event) -> None:
        """Leave out keys and pastes that were meant for what was there before."""
        if isinstance(event, (Key, Paste)) and isinstance(self.screen, Dialog) and not self.screen.takes(event):
            return
        await super().on_event(event)
