"""Turns one below the other: how high each is, which of them can be seen. Nothing here draws.

A turn is laid out when it comes into view; until then its height is estimated. What is at the top of the view stays
there when a height turns out to be another.
"""

from collections.abc import Iterator, Sequence

from paceline.tui.widgets.heights import Heights
from paceline.tui.widgets.message import Entry

KEPT = 40  # turns that stay laid out beside those that can be seen


class Column:
    """The turns, for a width."""

    def __init__(self, entries: Sequence[Entry] = (), width: int = 1) -> None:
        self.entries = list(entries)
        self.width = width
        self._places = {entry.turn.id: at for at, entry in enumerate(self.entries)}
        self._heights = Heights(entry.height or entry.estimate(width) for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def height(self) -> int:
        """Rows of all turns; of those never seen, about so many."""
        return self._heights.total

    def place(self, turn: int) -> int:
        """Where the turn with this id is."""
        return self._places[turn]

    def start(self, place: int) -> int:
        """The first row of a turn."""
        return self._heights.start(place)

    def at(self, row: int) -> tuple[Entry, int] | None:
        """The turn that has this row, and which of its rows that is."""
        place = self._heights.find(row)
        return (self.entries[place], row - self.start(place)) if place < len(self) else None

    def add(self, entry: Entry) -> None:
        """One more, at the end."""
        self._places[entry.turn.id] = len(self.entries)
        self.entries.append(entry)
        self._heights.append(entry.estimate(self.width))

    def resize(self, width: int, top: int) -> int:
        """All heights are others now, and are estimated. Returns the row that should be at the top where `top` was."""
        anchor = self._heights.find(top)
        part = 0.0
        if anchor < len(self):
            part = (top - self.start(anchor)) / max(1, self._heights[anchor])
        self.width = width
        for entry in self.entries:
            if entry.width != width:
                entry.unlay()
        self._heights = Heights(entry.height or entry.estimate(width) for entry in self.entries)
        if anchor >= len(self):
            return self.height
        self.lay(anchor)
        return self.start(anchor) + int(part * self._heights[anchor])

    def lay(self, place: int) -> int:
        """Lays a turn out, if it is not yet. Returns by how many rows it is higher than it was taken to be."""
        entry = self.entries[place]
        if entry.width == self.width:
            return 0
        entry.lay(self.width)
        return self._heights.set(place, entry.height)

    def changed(self, place: int) -> int:
        """A turn's text has changed. Returns the first row of the column that may look different."""
        entry = self.entries[place]
        if not entry.width and place < len(self) - 1:
            self._heights.set(place, entry.estimate(self.width))
            return self.start(place)
        row = entry.lay(self.width)
        self._heights.set(place, entry.height)
        return self.start(place) + row

    def visible(self, top: int, height: int) -> int:
        """Lays out what can be seen from this row on. Returns where the row is now."""
        while True:
            place = self._heights.find(top)
            if place < len(self):
                within = top - self.start(place)
                grown = self.lay(place)
                top += max(grown, -within) if within else 0  # what is below stays where it is
            while place < len(self) and self.start(place) < top + height:
                self.lay(place)
                place += 1
            last = max(0, self.height - height)
            if top <= last:
                return max(0, top)
            top = last  # there is less below than it was taken for

    def end(self, height: int) -> int:
        """Lays out what can be seen when the last row is the lowest. Returns the row that is the first then."""
        place, shown = len(self), 0
        while place > 0 and shown < height:
            place -= 1
            self.lay(place)
            shown += self._heights[place]
        return max(0, self.height - height)

    def seen(self, top: int, height: int) -> Iterator[tuple[Entry, int]]:
        """The turns that have rows in view, and the first row of each."""
        place = self._heights.find(top)
        while place < len(self) and self.start(place) < top + height:
            yield self.entries[place], self.start(place)
            place += 1

    def forget(self, row: int) -> None:
        """Drops the rows of turns that are far from this row, so that memory stays the same."""
        laid = [at for at, entry in enumerate(self.entries) if entry.width]
        if len(laid) <= 3 * KEPT:
            return
        middle = self._heights.find(row)
        laid.sort(key=lambda at: abs(at - middle))
        for at in laid[KEPT:]:
            if self.entries[at].turn.state != "streaming":
                self.entries[at].drop()
