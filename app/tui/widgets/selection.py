"""What is selected of a conversation: a turn, or one of its code blocks. Nothing here draws."""

from dataclasses import dataclass

from paceline.tui.widgets.column import Column
from paceline.tui.widgets.message import Entry


@dataclass(frozen=True)
class Selection:
    """A place in a column. Where there is none before or behind it, None is given back."""

    place: int | None = None  # of the turn; None: nothing is selected
    block: int | None = None  # of the turn, from 0; None: the turn as a whole

    def next(self, column: Column) -> "Selection | None":
        """The next turn or code block; the last turn, where nothing is selected."""
        if self.place is None:
            return self.turn(column, 0)
        following = 0 if self.block is None else self.block + 1
        if following < column.entries[self.place].blocks():
            return Selection(self.place, following)
        return Selection(self.place + 1) if self.place + 1 < len(column) else None

    def previous(self, column: Column) -> "Selection | None":
        """The turn or code block before; the last turn, where nothing is selected."""
        if self.place is None:
            return self.turn(column, 0)
        if self.block is not None:
            return Selection(self.place, self.block - 1 if self.block else None)
        if self.place == 0:
            return None
        blocks = column.entries[self.place - 1].blocks()
        return Selection(self.place - 1, blocks - 1 if blocks else None)

    def turn(self, column: Column, by: int) -> "Selection | None":
        """The turn as many further on, or the one at the end; the last turn, where nothing is selected."""
        last = len(column) - 1
        if last < 0:
            return None
        return Selection(last if self.place is None else min(max(0, self.place + by), last))

    def covers(self, column: Column, entry: Entry, row: int) -> bool:
        """Whether this row of a turn is marked as selected."""
        if self.place is None or entry is not column.entries[self.place] or row == entry.height - 1:
            return False
        return self.block is None or row in entry.rows_of(self.block)

    def top(self, column: Column, top: int, height: int) -> int:
        """The row that is to be the first in a view of so many rows, for what is selected to be seen.

        top: the one that is. What is selected is laid out.
        """
        if self.place is None:
            return top
        column.lay(self.place)
        entry = column.entries[self.place]
        rows = range(entry.height) if self.block is None else entry.rows_of(self.block)
        first = column.start(self.place) + rows.start
        if first < top or len(rows) >= height:
            return first
        return max(top, first + len(rows) - height)
