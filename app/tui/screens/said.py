"""What the app has said lately, to be read again."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from paceline.tui.screens.dialog import Dialog, Line


class SaidScreen(Dialog[None]):
    """The last thing stands first, each as a whole."""

    CSS_PATH: ClassVar = ["dialog.tcss", "said.tcss"]
    HEADING = "What was said lately"
    AUTO_FOCUS = SCROLLED = "#said"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "leave", "Back", id="said.back"),
        Binding("down,j", "scroll_text(1)", "Down", show=False, id="said.down"),
        Binding("up,k", "scroll_text(-1)", "Up", show=False, id="said.up"),
    ]

    def __init__(self, text: str) -> None:
        """text: all of it; empty: nothing was said yet."""
        super().__init__()
        self._text = text

    def body(self) -> ComposeResult:
        """The text."""
        with VerticalScroll(id="said"):
            yield Line(self._text or "Nothing was said yet.")

    def action_leave(self) -> None:
        """Back."""
        self.dismiss(None)
