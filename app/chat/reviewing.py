"""Which hunks of which changes a person has accepted."""

from collections.abc import Sequence
from pathlib import Path

from paceline.chat.edits import store
from paceline.chat.edits.changes import Change
from paceline.chat.edits.journal import Accepted
from paceline.chat.edits.review import accepted
from paceline.chat.hidden import warned
from paceline.errors import InputError


def prepared(root: Path, changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes as they can be reviewed: of a file that cannot be read or written nothing can be accepted, what
    cannot be seen is pointed out, hunks are found. Looks at the files; may take a second.
    """
    found = tuple(warned(_possible(root, each)) for each in changes)
    for each in found:
        _ = each.hunks
    return found


def _possible(root: Path, change: Change) -> Change:
    """The change, or none and the reason."""
    reason = _refused(root, change.path) if change.changes else ""
    if not reason:
        return change
    as_it_is = change.before or ""
    return Change(change.path, as_it_is, as_it_is, change.form, certain=False, notes=(*change.notes, reason))


def _refused(root: Path, path: str) -> str:
    """Why a file cannot be changed, in a sentence; "": it can."""
    try:
        store.read(root, path)
        why = store.unwritable(store.located(root, path))
    except InputError as error:
        return f"{error.message}."
    return f"It cannot be written: {why}." if why else ""


class Reviewing:
    """Begins with everything accepted of changes that are certain, and nothing of the others."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = tuple(changes)
        self.counts = tuple(len(change.hunks) for change in self.changes)  # hunks of each
        self._chosen = [
            set(range(count)) if change.certain else set[int]()
            for change, count in zip(self.changes, self.counts, strict=True)
        ]

    def chosen(self, change: int) -> frozenset[int]:
        """The accepted hunks of a change (its index)."""
        return frozenset(self._chosen[change])

    def toggle(self, change: int, hunk: int) -> None:
        """Accept a hunk, or no longer."""
        self._chosen[change] ^= {hunk}

    def take(self, change: int, *, everything: bool) -> None:
        """Accept all of a change, or nothing of it."""
        self._chosen[change] = set(range(self.counts[change])) if everything else set()

    @property
    def total(self) -> int:
        """How many hunks are accepted, of all changes."""
        return sum(map(len, self._chosen))

    def result(self) -> tuple[Accepted, ...]:
        """What is to be written: the files of which something is accepted."""
        return tuple(
            Accepted(change.path, change.before, accepted(change, chosen))
            for change, chosen in zip(self.changes, self._chosen, strict=True)
            if chosen
        )
