"""A question that is answered with yes or no, with all that is going to happen in sight."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button

from paceline.chat.hidden import hides, reveal
from paceline.tui.screens.dialog import Dialog, Line, plain

SHORT = 5  # lines that need no counting


@dataclass(frozen=True)
class Question:
    """What a person is asked. `lines` is shown whole, line by line; `warnings` stand above, in words."""

    title: str
    lines: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    yes: str = "Yes"
    no: str = "No"


def about_command(command: str, folder: str, seconds: float = 0.0, given: str = "") -> Question:
    """Whether to run a command. `command`: exactly what the shell gets; seconds: after which it is ended, 0: never;
    given: exactly what the command reads on its standard input.
    """
    limit = (f"it is ended after {seconds:.0f} s",) if seconds else ()
    unseen = any(map(hides, (command, given)))
    hidden = ("the command has characters that cannot be seen; signs stand for them",) if unseen else ()
    reads = ("", "with this to read:", reveal(given.rstrip())) if given else ()
    return Question(
        "Run this command?", (reveal(command), *reads, "", f"in {folder}", *limit), hidden, "Run", "Don't run"
    )


def about_files(title: str, names: Iterable[str], outside: Iterable[str] = (), yes: str = "Write") -> Question:
    """Whether to write files. `outside`: those of the names that lie outside of the workspace."""
    beyond = set(outside)
    listed = tuple(f"{name}  (outside of the workspace)" if name in beyond else name for name in names)
    count = len(beyond)
    warning = (
        f"{count} of these files lie{'s' * (count == 1)} OUTSIDE of the workspace"
        if len(listed) > 1
        else "this file lies OUTSIDE of the workspace"
    )
    hidden = (
        ("a name has characters that cannot be seen; signs stand for them here",) if any(map(hides, listed)) else ()
    )
    return Question(title, tuple(map(reveal, listed)), ((warning,) if beyond else ()) + hidden, yes, "Don't write")


class ConfirmScreen(Dialog[bool | None]):
    """Yes only for who says so: `y`, or Enter or a click on Yes. Everything else is no; None for Esc: no answer."""

    CSS_PATH: ClassVar = ["dialog.tcss", "confirm.tcss"]
    GUARDED: ClassVar = True
    SCROLLED: ClassVar = "#lines"
    AUTO_FOCUS = "#no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="confirm.yes"),
        Binding("n", "answer(False)", "No", id="confirm.no"),
        Binding("escape", "leave", "Never mind", id="confirm.leave"),
        Binding("left,right", "other", "Yes/No", show=False, id="confirm.other"),
        Binding("up,k", "scroll_text(-1)", "Up", show=False, id="confirm.up"),
        Binding("down,j", "scroll_text(1)", "Down", show=False, id="confirm.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="confirm.page_up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="confirm.page_down"),
    ]

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._question = question

    def body(self) -> ComposeResult:
        """Warnings, and what is going to happen."""
        asked = self._question
        for warning in asked.warnings:
            yield Line(f"! {warning}", classes="warning")
        with VerticalScroll(id="lines", can_focus=False):
            for line in asked.lines:
                yield Line(line or " ")

    def below(self) -> ComposeResult:
        """Two buttons."""
        asked = self._question
        with Horizontal(id="buttons"):
            yield Button(plain(asked.no), id="no", compact=True)
            yield Button(plain(asked.yes), id="yes", compact=True)

    def on_mount(self) -> None:
        """The title is the question."""
        self.head(self._question.title)
        count = sum(line.count("\n") + 1 for line in self._question.lines)
        self.query_one("#frame", Widget).border_subtitle = f"{count} lines" if count > SHORT else ""

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """The focused one, by Enter, or the one that was clicked."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Go back with an answer."""
        self.dismiss(yes)

    def action_leave(self) -> None:
        """Go back without one."""
        self.dismiss(None)

    def action_other(self) -> None:
        """The other button, by keys."""
        self.query_one("#no" if self.focused is self.query_one("#yes") else "#yes").focus()

    def action_page(self, step: int) -> None:
        """A page of lines that do not fit."""
        lines = self.query_one("#lines")
        lines.scroll_relative(y=step * max(1, lines.size.height - 1), animate=False)
