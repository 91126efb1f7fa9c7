"""What is written is measured, and kept, once nothing has been typed for a moment."""

from typing import TYPE_CHECKING

from textual.timer import Timer

from paceline.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen

QUIET = 0.4  # seconds without a key


class Measuring:
    """One screen's."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._timer: Timer | None = None

    def soon(self) -> None:
        """Something is another now."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._screen.set_timer(QUIET, self._measure)

    def _measure(self) -> None:
        screen, self._timer = self._screen, None
        screen.keeping.keep()
        if screen.conversation.path or screen.query_one(Prompt).text.strip() or screen.attached:
            screen.run_worker(screen.sending.show(), group="measure", exclusive=True)
        else:
            screen.show_figures(used=None)
