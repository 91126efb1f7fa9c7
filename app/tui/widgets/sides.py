"""The two texts of a change in colours, each read as a whole, as far as somebody has looked. Nothing here draws."""

from collections.abc import Sequence

from paceline.chat.edits.changes import Change
from paceline.chat.edits.review import Row
from paceline.chat.hidden import reveal
from paceline.prompts import context
from paceline.tui.widgets.colouring import LIMIT, Colouring
from paceline.tui.widgets.rows import Span
from paceline.workspace.differences import lines


class Side:
    """One text: its lines by the numbers that people count them with, from 1."""

    def __init__(self, text: str, language: str, *, ascii_only: bool = False) -> None:
        """language: as a fence names it; "": nobody knows, then there are no colours. ascii_only: see `reveal`."""
        self._text = text if language and len(text) <= LIMIT else ""
        self._language = language
        self._ascii_only = ascii_only
        self._colouring: Colouring | None = None  # from the first work on: taking a text apart needs its time, too

    def spans(self, number: int, text: str) -> Sequence[Span]:
        """A line, whose text with signs for what cannot be seen is this, in colours; plain while they are not known."""
        known = self._colouring.lines if self._colouring is not None else ()
        spans = known[number - 1] if number <= len(known) else None
        if spans is None or "".join(part for part, _ in spans) != text:  # what is reviewed is the text, never less
            return [(text, ())]
        return spans

    def awaits(self, number: int) -> bool:
        """Whether work will show this line in other colours."""
        if self._colouring is None:
            return bool(self._text)
        return not self._colouring.settled(number - 1)

    def work(self) -> None:
        """Reads on for a moment."""
        if self._colouring is None:
            self._colouring = Colouring(self._language)
            bare = (line.rstrip("\r\n") for line in lines(self._text))
            self._colouring.add([reveal(line, ascii_only=self._ascii_only) for line in bare])
            self._colouring.close()
        elif self._colouring.working:
            self._colouring.work()


class Sides:
    """The text as it is, and the text as it would be."""

    def __init__(self, change: Change, *, ascii_only: bool = False) -> None:
        language = context.language(change.path)
        self._old, self._new = (
            Side(text or "", language, ascii_only=ascii_only) for text in (change.before, change.after)
        )

    def of(self, row: Row, *, new: bool) -> tuple[Side, int] | None:
        """Which text has this row, and as which line; new: the one as it would be, where both do."""
        first, second = (self._old, row.old), (self._new, row.new)
        for side, number in (second, first) if new else (first, second):
            if number is not None:
                return side, number
        return None
