"""A text that takes as many rows as there are for it; where they are too few, it says that there is more."""

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from paceline.text import strip_controls
from paceline.tui.widgets.rows import breaks, shorten, untab


class Notes(Widget):
    """Lines that are never read as markup, and are cut with a sign. Styles say how many rows they may take."""

    def __init__(self, text: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.text = text

    def say(self, text: str) -> None:
        """Show this instead."""
        self.text = text
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows for all of it."""
        return len(self._rows(width))

    def render(self) -> Content:
        """All of it, or as much of each line as a row holds, the last row with a mark where there are more lines."""
        width, height = self.size
        rows = self._rows(width)
        if len(rows) > height:
            mark = "~" if self.app.console.options.ascii_only else "…"
            lines = self._lines()
            rows = [shorten(line, width, mark) for line in lines[:height]]
            if len(lines) > height > 0 and not rows[-1].endswith(mark):
                rows[-1] = shorten(f"{rows[-1]}{mark}", width, mark)
        return Content("\n".join(rows))

    def _lines(self) -> list[str]:
        return [untab(line) for line in strip_controls(self.text).splitlines()]

    def _rows(self, width: int) -> list[str]:
        return [line[a:b] for line in self._lines() for a, b in breaks(line, max(1, width))]
