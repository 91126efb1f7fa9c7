"""What another command of Paceline prints, while it runs."""

from collections import deque
from collections.abc import Iterator
from contextlib import aclosing
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widgets import Log

from paceline.chat.programs import Program
from paceline.errors import PacelineError
from paceline.text import strip_controls
from paceline.tui.screens.dialog import Dialog
from paceline.tui.widgets.rows import breaks, untab

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
        self._stopped = False
        self._said: deque[str] = deque(maxlen=KEPT)
        self._columns = 0  # that the lines are broken for; 0: they are not yet

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
                    self._said.append(untab(strip_controls(line)))
                    log.write_lines(broken(self._said[-1], self._columns))
        except PacelineError as error:
            self.tell(error)
            state = "failed"
        self._going = False
        self.head(f"{self._program.title} ({'stopped' if self._stopped and state == 'done' else state})")
        self.refresh_bindings()

    @on(Resize)
    def _arrange(self) -> None:
        self.call_after_refresh(self._break)

    def _break(self) -> None:
        """Break all lines anew, for the columns that there are now."""
        log = self.query_one(Log)
        if log.scrollable_content_region.width != self._columns:
            self._columns = log.scrollable_content_region.width
            log.clear()
            log.write_lines([part for line in self._said for part in broken(line, self._columns)])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What has ended cannot be stopped."""
        return self._going if action == "stop" else True

    def action_stop(self) -> None:
        """Let it come to an end, and say what it has to say."""
        self._stopped = True
        self.head(f"{self._program.title} (stopping)")
        self._program.stop()

    def action_leave(self) -> None:
        """End it, and go back."""
        self.dismiss(None)


def broken(line: str, columns: int) -> Iterator[str]:
    """A line as several that have room; as it is while it is not known how much there is (0 columns)."""
    if not columns:
        yield line
    else:
        yield from (line[start:end] for start, end in breaks(line, columns))
