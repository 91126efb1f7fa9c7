"""What a person has entered, across sessions: recalled with the arrow keys and searched."""

from pathlib import Path

MOST = 2000  # entries that are kept


class History:
    """The inputs, the newest last. Several apps may write the same file at once."""

    def __init__(self, path: Path, most: int = MOST) -> None:
        """Reads nothing yet."""

    def add(self, text: str) -> None:
        """Remember an input, and go back to the end. A file that cannot be written is none of the person's trouble."""

    def previous(self, current: str) -> str | None:
        """The input before the one that is shown, among those that begin as `current` did when going back began."""
        raise NotImplementedError

    def next(self, current: str) -> str | None:
        """The input after the one that is shown; at the end what was being written; None: it is shown already."""
        raise NotImplementedError

    def search(self, query: str, limit: int = 50) -> tuple[str, ...]:
        """Inputs that contain all words of a query, the newest first."""
        raise NotImplementedError

    def rewind(self) -> None:
        """Go back to the end: the person has changed what is shown."""
