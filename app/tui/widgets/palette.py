"""Rows to strips of the terminal: the styles' names become what the theme makes of them."""

from collections.abc import Callable, Collection

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from paceline.tui.widgets.rows import Names, Row

MARK = "▌ "  # before what is selected
GUTTER = len(MARK)


class Palette:
    """Looks up styles by name, once each."""

    def __init__(self, style: Callable[[str], Style], known: Collection[str], base: Style) -> None:
        """style: what one of the known names looks like, without what is behind it. base: of everything."""
        self._style, self._known, self._base = style, known, base
        self._found: dict[Names, Style] = {}

    def __getitem__(self, names: Names) -> Style:
        found = self._found.get(names)
        if found is None:
            found = self._base
            for name in names:
                if name not in self._known and name.startswith("drafted-"):
                    name = "drafted-other"
                if name in self._known:
                    found += self._style(name)
            self._found[names] = found
        return found

    def strip(self, row: Row, width: int, *, marked: bool) -> Strip:
        """The row with the gutter before it, filled up to this many cells."""
        mark = Segment(MARK, self["selected",]) if marked else Segment(" " * GUTTER, self._base)
        segments = [mark, *(Segment(text, self[row.fill + names]) for text, names in row.spans if text)]
        strip = Strip(segments)
        return strip.adjust_cell_length(width, self[row.fill])
