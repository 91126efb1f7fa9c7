"""The meter in full: what fills the context."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from paceline.chat.context.budget import Sizes
from paceline.tui.screens.dialog import Dialog
from paceline.tui.widgets.meter import Meter


class ContextScreen(Dialog[None]):
    """Shows the figures; each attachment and each turn has a line."""

    CSS_PATH: ClassVar = ["dialog.tcss", "context.tcss"]
    HEADING = "Context, in tokens"
    AUTO_FOCUS = "#figures"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "leave", "Back", id="context.back")]

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self._sizes = sizes

    def body(self) -> ComposeResult:
        """The meter."""
        with VerticalScroll(id="figures"):
            yield Meter(self._sizes, details=True)

    def action_leave(self) -> None:
        """Back."""
        self.dismiss(None)
