"""What another command of Paceline prints, while it runs."""

from contextlib import aclosing
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Log

from paceline.chat.programs import Program
from paceline.errors import PacelineError
from paceline.text import strip_controls
from paceline.tui.screens.dialog import Dialog

KEPT = 10_000  # lines


class ReportScreen(Dialog[None]):
    """Runs it when it is shown; leaving the screen ends it."""

    CSS_PATH: ClassVar = ["dialog.tcss", "report.tcss"]
    AUTO_FOCUS = "Log"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back", id="report.back"),
        Binding("s,ctrl+c", "stop", "Stop", id="report.stop"),
    ]

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        self._going = True

    def body(self) -> ComposeResult:
        """Its lines."""
        yield Log(max_lines=KEPT)

    def on_mount(self) -> None:
        """Run it."""
        self.head(f"{self._program.title} (running)")
        self._run()

    @work
    async def _run(self) -> None:
        log, state = self.query_one(Log), "done"
        try:
            async with aclosing(self._program.lines()) as lines:
                async for line in lines:
                    log.write_line(strip_controls(line).expandtabs(8))
        except PacelineError as error:
            self.tell(error)
            state = "failed"
        self._going = False
        self.head(f"{self._program.title} ({state})")
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What has ended cannot be stopped."""
        return self._going if action == "stop" else True

    def action_stop(self) -> None:
        """Let it come to an end, and say what it has to say."""
        self.head(f"{self._program.title} (stopping)")
        self._program.stop()

    def action_leave(self) -> None:
        """End it, and go back."""
        self.dismiss(None)
