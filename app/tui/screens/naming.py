"""A question that is answered with a line of text."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from paceline.tui.screens.dialog import Dialog
from paceline.tui.widgets.notes import Notes


class NamingScreen(Dialog[str]):
    """The result is what was entered, without blanks around it; empty: the person does not want to."""

    CSS_PATH: ClassVar = ["dialog.tcss", "naming.tcss"]
    AUTO_FOCUS = "#name"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "save", "Save", id="naming.save", priority=True),
        Binding("enter", "choose", "Choose", id="naming.choose", priority=True),
        Binding("escape", "leave", "Never mind", id="naming.leave"),
    ]

    def __init__(
        self, question: str, value: str = "", more: str = "", trouble: str = "", *, saves: bool = True
    ) -> None:
        """more: what helps to answer. trouble: what went wrong with the answer before.

        saves: something is saved under the name; False: it only says which is meant.
        """
        super().__init__()
        self._saves = saves
        self._question = question
        self._value = value
        self._more = more
        self._trouble = trouble

    def body(self) -> ComposeResult:
        """What helps, and the line."""
        if self._more:
            yield Notes(self._more, id="more")
        yield Input(self._value, id="name", compact=True)

    def on_mount(self) -> None:
        """The title is the question."""
        self.head(self._question)
        self.tell(self._trouble)
        self.query_one(Input).cursor_blink = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter is one of two."""
        return self._saves == (action == "save") if action in ("save", "choose") else True

    def action_save(self) -> None:
        """What is written is the answer."""
        self.dismiss(self.query_one(Input).value.strip())

    def action_choose(self) -> None:
        """The same."""
        self.action_save()

    def action_leave(self) -> None:
        """Nothing is entered."""
        self.dismiss("")
