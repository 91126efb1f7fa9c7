"""A text of anybody's that scrolls where it is longer than the rows that there are for it."""

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from paceline.text import strip_controls
from paceline.tui.widgets.passage import Passage
from paceline.tui.widgets.rows import breaks, untab


class Notes(Passage):
    """Lines that are never read as markup."""

    def __init__(self, text: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.text = text
        self._lines = Static(_plain(text), markup=False)

    def compose(self) -> ComposeResult:
        """The text."""
        yield self._lines

    @property
    def overflows(self) -> bool:
        """Styles may have lines cut instead of broken."""
        width, height = self.scrollable_content_region.size
        rows = sum(len(breaks(line, max(1, width))) for line in _plain(self.text).plain.splitlines())
        return super().overflows or (bool(self.display) and rows > height > 0)

    def on_focus(self) -> None:
        """Styles may break lines now that were cut."""
        self._lay_out_soon()

    def on_blur(self) -> None:
        """And cut them again."""
        self._lay_out_soon()

    def _lay_out_soon(self) -> None:
        """Once the styles are the new ones: Textual lays nothing out for another way of breaking lines alone."""
        self.call_after_refresh(self._lines.refresh, layout=True)

    def say(self, text: str) -> None:
        """Show this instead, from its beginning."""
        self.text = text
        self._lines.update(_plain(text))
        self.scroll_home(animate=False)


def _plain(text: str) -> Content:
    return Content("\n".join(untab(line) for line in strip_controls(text).splitlines()))
