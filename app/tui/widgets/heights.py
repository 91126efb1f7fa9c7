"""Where each of many things stands that lie one below the other. Nothing here draws."""

from bisect import bisect_right
from collections.abc import Iterable


class Heights:
    """Heights that change one at a time; a sum is worked out again only from the first change on."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._ends: list[int] = []  # of those whose place is known

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, at: int) -> int:
        return self._heights[at]

    def set(self, at: int, height: int) -> int:
        """Gives one another height. Returns by how much it has grown."""
        grown = height - self._heights[at]
        if grown:
            self._heights[at] = height
            del self._ends[at:]
        return grown

    def append(self, height: int) -> None:
        """One more, at the end."""
        self._heights.append(height)

    @property
    def total(self) -> int:
        """The height of all."""
        return self.start(len(self._heights))

    def start(self, at: int) -> int:
        """The first row of one."""
        end = self._ends[-1] if self._ends else 0
        while len(self._ends) < at:
            end += self._heights[len(self._ends)]
            self._ends.append(end)
        return self._ends[at - 1] if at else 0

    def find(self, row: int) -> int:
        """Which one has this row; how many there are, where the row is below them all."""
        self.start(len(self._heights))
        return bisect_right(self._ends, row)
