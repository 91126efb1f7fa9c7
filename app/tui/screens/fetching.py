"""What the screens that fetch models have in common: a download that can be paused, and ends the screen when done."""

from textual import on

from paceline.tui.screens.dialog import Dialog
from paceline.tui.widgets.fetching import Fetching


class FetchingDialog(Dialog[str | None]):
    """Has a `Fetching`. The result is the id of the pair that is written into the configuration now, or None."""

    def action_pause(self) -> None:
        """Stop the download for now."""
        self.query_one(Fetching).stop()

    def action_leave(self) -> None:
        """Back; a download is stopped first, and goes on another time."""
        self.query_one(Fetching).stop()
        self.dismiss(None)

    @on(Fetching.Done)
    def _done(self, event: Fetching.Done) -> None:
        self.dismiss(event.pair)

    @on(Fetching.Stopped)
    def _stopped(self, event: Fetching.Stopped) -> None:
        self.tell(event.error or "Paused: what has arrived is kept, Enter goes on with it.")
        self.refresh_bindings()
