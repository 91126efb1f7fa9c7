"""When what comes in many small pieces is drawn: soon, and only so many times a second."""

from collections.abc import Callable, Set
from time import monotonic

from textual.widget import Widget

FRAME = 1 / 15  # seconds between pictures while text arrives


class Frames:
    """Turns that are not drawn as they are now, by their ids. No timer runs while there are none."""

    def __init__(self, widget: Widget, draw: Callable[[Set[int]], None]) -> None:
        """widget: whose timers are used. draw: is given the turns that have changed since it was called last."""
        self._widget, self._draw = widget, draw
        self._changed: set[int] = set()
        self._last = 0.0  # when it was drawn
        self.due = False  # whether a picture is on its way

    def soon(self, turn: int) -> None:
        """Something of a turn has changed, and more is to be expected."""
        self._changed.add(turn)
        if not self.due:
            self.due = True
            self._widget.set_timer(max(0.001, self._last + FRAME - monotonic()), self.draw)

    def now(self, turn: int) -> None:
        """Something of a turn has changed that does not come in many pieces."""
        self._changed.add(turn)
        if not self.due:
            self.draw()

    def forget(self) -> None:
        """Everything is drawn anew by somebody else."""
        self._changed.clear()

    def draw(self) -> None:
        """Draw what has changed."""
        self.due, self._last = False, monotonic()
        changed, self._changed = self._changed, set()
        if changed:
            self._draw(changed)
