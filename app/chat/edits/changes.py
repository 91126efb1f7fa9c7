"""What an answer would make of a file. Plain data."""

from dataclasses import dataclass
from typing import Literal

# how the answer says it: the whole file; search and replace; a unified diff; a definition or an excerpt of the file
Form = Literal["whole", "replace", "diff", "fragment"]


@dataclass(frozen=True)
class Change:
    """A change of one file that a person has still to agree to.

    Texts are exactly as in the file: with its line endings, its final newline or none, and its mark at the start.
    """

    path: str  # as the caller names the file, relative to the workspace
    before: str | None  # None: there is no such file yet
    after: str | None  # None: the file is to be deleted
    form: Form
    certain: bool  # False: something was guessed, or could not be applied; then the notes say what
    notes: tuple[str, ...] = ()  # sentences for a person

    @property
    def changes(self) -> bool:
        """Whether there is anything to write. One without only has notes: why nothing could be applied."""
        return self.before != self.after
