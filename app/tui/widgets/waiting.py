"""Messages that wait for the answer before them, above the prompt."""

from collections.abc import Sequence
from pathlib import Path

from textual.content import Content
from textual.widget import Widget

from paceline.chat.titles import one_line
from paceline.chat.turns import Draft
from paceline.chat.words import many
from paceline.tui.widgets.rows import shorten

ROWS = 3  # at most, the one that counts the others included
HINT = " · Up takes the last back"
WIDE = 60  # cells of a line that has room for the hint


class Waiting(Widget):
    """One line each. Takes no room while nothing waits."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drafts: tuple[Draft, ...] = ()
        self.display = False

    def show(self, drafts: Sequence[Draft]) -> None:
        """Shows these, the next one first."""
        self._drafts = tuple(drafts)
        self.display = bool(drafts)
        self.styles.height = min(ROWS, len(self._drafts)) or 1
        self.refresh()

    def render(self) -> Content:
        """The lines."""
        return Content("\n".join(lines(self._drafts, self.size.width)))


def lines(drafts: Sequence[Draft], width: int) -> list[str]:
    """The first messages in a line of at most `width` cells each, and how many more there are."""
    shown = drafts if len(drafts) <= ROWS else drafts[: ROWS - 1]
    told = [f"{'next' if at == 0 else 'then'}: {_told(draft)}" for at, draft in enumerate(shown)]
    if len(shown) < len(drafts):
        told.append(f"then {many(len(drafts) - len(shown), 'message')} more")
    found = [shorten(line, max(1, width)) for line in told]
    if found and width >= WIDE:
        found[-1] = shorten(told[-1], width - len(HINT)) + HINT
    return found


def _told(draft: Draft) -> str:
    more = f" (+ {many(len(draft.attached), 'attachment')})" if draft.attached else ""
    return one_line(draft.text) + more
