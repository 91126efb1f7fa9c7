"""What the app says for a moment: kept, to be read again, and shortened to what there is room for."""

import time
from collections import deque
from dataclasses import dataclass

from paceline.text import strip_controls
from paceline.tui.widgets.rows import breaks, shorten

KEPT = 100  # of them
BESIDE = 4  # cells of a line, and rows of the screen, that are not for the text
FEWEST = 2  # rows that one may take on any screen


@dataclass(frozen=True)
class Said:
    """One thing, when it was said, in seconds since the epoch, and whether it is about something that went wrong."""

    at: float
    text: str
    wrong: bool = False

    def line(self) -> str:
        """The time of the day, and all of the text."""
        return f"{time.strftime('%H:%M:%S', time.localtime(self.at))} {'! ' if self.wrong else ''}{self.text}"


class Memory:
    """What was said lately, the last first."""

    def __init__(self) -> None:
        self._kept: deque[Said] = deque(maxlen=KEPT)

    def add(self, said: Said) -> None:
        """Something has been said."""
        self._kept.appendleft(said)

    def text(self) -> str:
        """All of it, with an empty line between two things."""
        return "\n\n".join(each.line() for each in self._kept)


def within(text: str, width: int, height: int, more: str) -> str:
    """As much of a text as may stand over a screen of this size, in cells: half of it.

    more: stands below what is shown where that is not all.
    """
    columns, most = max(1, width - BESIDE), max(FEWEST, (height - BESIDE) // 2)
    rows = [line[a:b] for line in strip_controls(text).splitlines() for a, b in breaks(line, columns)]
    return text if len(rows) <= most else "\n".join([*rows[: most - 1], shorten(f"… {more}", columns)])
