"""One file that an answer changes, and what the answer has made of it so far."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from paceline.chat.edits import shape
from paceline.chat.edits.changes import Change, Form
from paceline.chat.edits.splices import Outcome
from paceline.chat.hidden import warned
from paceline.prompts.context import language

_ESCAPES = ("&lt;", "&gt;", "&amp;", "&quot;", "&#39;")
_ESCAPING = {"html", "xml", "vue", "jsx", "tsx", "markdown", "php", "svg"}  # where they may be meant


@dataclass
class Target:
    """A file's texts, and what is in doubt about them."""

    path: str
    before: str | None
    after: str | None
    form: Form = "whole"
    sure: bool = True
    notes: list[str] = field(default_factory=list)
    touched: bool = False

    def take(self, outcome: Outcome, form: Form) -> None:
        """What one piece of the answer makes of it."""
        if outcome.applied:
            self.after = outcome.text
        self.form, self.touched = form, True
        self.sure = self.sure and outcome.sure and outcome.applied
        self.notes += [note for note in outcome.notes if note not in self.notes]

    def doubt(self, note: str) -> None:
        """Something was guessed."""
        self.sure = False
        if note not in self.notes:
            self.notes.append(note)

    def undone_by(self, text: str) -> bool:
        """Whether lines that earlier pieces have brought into the file are not in this text of it any more."""
        before, after, now = (
            {line.strip() for line in shape.file(each or "").bare} for each in (self.before, self.after, text)
        )
        return not (after - before) <= now

    def change(self) -> Change:
        """What comes of it."""
        for escape in self._escaped():
            self.doubt(f"the answer brings {escape} into the code, which may stand for another character")
        return warned(Change(self.path, self.before, self.after, self.form, self.sure, tuple(self.notes)))

    def _escaped(self) -> Iterator[str]:
        if language(self.path) not in _ESCAPING:
            for escape in _ESCAPES:
                if escape in (self.after or "") and escape not in (self.before or ""):
                    yield escape
