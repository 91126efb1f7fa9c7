"""Rows as strips of the terminal, at a width and in a theme."""

from collections.abc import Sequence

from textual.strip import Strip

from paceline.tui.widgets.fence import Offer, offers_row
from paceline.tui.widgets.message import Entry
from paceline.tui.widgets.palette import GUTTER, Palette
from paceline.tui.widgets.rows import Row

KEPT = 2000  # strips that are kept


class Strips:
    """Draws rows of turns. What was drawn lately is kept: most rows are the same from one picture to the next."""

    def __init__(self, palette: Palette, width: int, offers: Sequence[Offer]) -> None:
        """width: cells of text, beside the gutter. offers: what stands below code."""
        self.width = width
        self._palette = palette
        self._offers = tuple(offers)
        self._kept: dict[tuple[Row, bool], Strip] = {}  # by what is in it, and whether it is marked

    def of(self, entry: Entry, row: int, *, marked: bool) -> Strip:
        """One row of a turn."""
        place = entry.place(row)
        if place.offers and place.block is not None and entry.turn.state != "streaming":
            return self.plain(offers_row(self._offers, self.width, entry.indent_of(place.block)), marked=marked)
        return self.plain(entry.row(row), marked=marked)

    def plain(self, row: Row, *, marked: bool = False) -> Strip:
        """Any row."""
        key = (row, marked)
        if key not in self._kept:
            if len(self._kept) > KEPT:
                self._kept.clear()
            self._kept[key] = self._palette.strip(row, self.width + GUTTER, marked=marked)
        return self._kept[key]
