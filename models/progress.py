"""How a long transfer tells about itself. Whoever owns the terminal implements this; models/ only calls it."""

from typing import Protocol


class Progress(Protocol):
    """Bytes done out of bytes in all. `start` may come again when a transfer begins anew."""

    def start(self, total: int, done: int) -> None:
        """A transfer of `total` bytes begins or goes on; `done` of them are here already."""

    def advance(self, count: int) -> None:
        """So many more bytes are done."""

    def note(self, text: str) -> None:
        """One line that a person should read, such as a change of source or a wait."""

    def stop(self) -> None:
        """The transfer has ended, well or not."""


class Silent:
    """Tells nobody."""

    def start(self, total: int, done: int) -> None:
        """Nothing."""

    def advance(self, count: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""


class Once:
    """Passes on what another one is told of one of several transfers, but no note that came with an earlier one."""

    def __init__(self, progress: Progress, said: set[str]) -> None:
        """said: the notes so far; all transfers share it."""
        self.start, self.advance, self.stop = progress.start, progress.advance, progress.stop
        self._progress = progress
        self._said = said

    def note(self, text: str) -> None:
        """One line, unless it has been said."""
        if text not in self._said:
            self._said.add(text)
            self._progress.note(text)
