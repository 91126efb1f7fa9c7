"""What an answer would make of a file. Plain data."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from paceline.workspace.differences import differences, lines

# how the answer says it: the whole file; search and replace; a unified diff; a definition or an excerpt of the file
Form = Literal["whole", "replace", "diff", "fragment"]


@dataclass(frozen=True)
class Hunk:
    """Neighbouring lines that give way to others. Lines have their endings."""

    index: int  # counts from 0; what `accepted` is given
    old_start: int  # line of the file as it is, from 0
    old: tuple[str, ...]
    new_start: int  # line of the file as it would be, from 0
    new: tuple[str, ...]


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

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """What differs, in rising order; lines that differ in how they are ended differ. Found once, then kept.

        A file that is made or deleted is a single hunk, also an empty one.
        """
        if self.before == self.after:
            return ()
        old, new = lines(self.before or ""), lines(self.after or "")
        if self.before is None or self.after is None:
            return (Hunk(0, 0, old, 0, new),)
        return tuple(
            Hunk(index, first, old[first:last], begin, new[begin:end])
            for index, (first, last, begin, end) in enumerate(differences(old, new))
        )
