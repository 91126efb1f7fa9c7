"""Where on a screen that stands which is said for a moment."""

from typing import Any

from textual.screen import Screen


def stand_above(screen: Screen[Any], row: int) -> None:
    """Has toasts end above this row of the screen, and take no more rows than there are."""
    for rack in screen.query("ToastRack"):
        rack.styles.margin = (0, 0, min(screen.size.height - row, screen.size.height - 1), 0)
        rack.styles.max_height = max(1, row)
