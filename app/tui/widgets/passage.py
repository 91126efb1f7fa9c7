"""What takes as many rows as there are for it, and scrolls where they are too few."""

from pathlib import Path

from textual.containers import VerticalScroll
from textual.message import Message


class Passage(VerticalScroll):
    """Styles say how many rows it may take. It takes the focus only while there is something to scroll."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")

    class Changed(Message):
        """It has become too long for its rows, or is no longer."""

    @property
    def overflows(self) -> bool:
        """Whether some of it is out of sight."""
        return bool(self.display) and self.max_scroll_y > 0

    def allow_focus(self) -> bool:
        """There has to be something to scroll."""
        return self.overflows

    def on_resize(self) -> None:
        """Other rows have room."""
        self.post_message(self.Changed())

    def watch_show_vertical_scrollbar(self) -> None:
        """There is more than can be seen, or no longer."""
        self.post_message(self.Changed())
