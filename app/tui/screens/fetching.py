"""What the screens that fetch models have in common: a download that can be paused, and ends the screen when done."""

from textual import on

from paceline.tui.screens.dialog import Dialog
from paceline.tui.widgets.fetching import Fetching


class FetchingDialog(Dialog[str | None]):
    """Has a `Fetching`. The result is the id of the pair that is written into the configuration now, or None."""

    def action_pause(self) -> None:
        """Stop the download for now."""
        self.query_one(Fetching).stop()

    def action_go_on(self) -> None:
        """Go on with the download that was stopped."""
        fetching = self.query_one(Fetching)
        self.tell("")
        fetching.start(fetching.halted)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What can be done while a download runs, when it has been stopped, and when there is none."""
        fetching = self.query_one(Fetching) if self.is_mounted else None
        can = {
            "pause": bool(fetching and fetching.pair),
            "go_on": bool(fetching and fetching.halted and not fetching.pair),
        }
        return can.get(action, True)

    def action_leave(self) -> None:
        """Back; a download is stopped first, and goes on another time."""
        self.query_one(Fetching).stop()
        self.dismiss(None)

    @on(Fetching.Done)
    def _done(self, event: Fetching.Done) -> None:
        self.dismiss(event.pair)

    @on(Fetching.Stopped)
    def _stopped(self, event: Fetching.Stopped) -> None:
        self.tell(event.error or "Paused: what has arrived is kept.")
        self.refresh_bindings()
