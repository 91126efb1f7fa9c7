"""What a conversation needs of the place where its turns are kept."""

from collections.abc import Sequence
from typing import Protocol

from paceline.chat.turns import Run, Session, Turn


class Keeper(Protocol):
    """Where turns are kept: chat.store.Store."""

    def create(self, workspace: str, system: str = "", title: str = "") -> Session:
        """A new session."""
        ...

    def add(self, session: str, turn: Turn) -> Turn:
        """A new turn, which becomes the session's last; with its id."""
        ...

    def update(self, turn: Turn) -> None:
        """All of a turn but its place."""
        ...

    def shorten(self, turn: Turn) -> None:
        """From this turn on, what it says of those before it."""
        ...

    def append(self, turn_id: int, text: str, runs: Sequence[Run]) -> None:
        """More of an answer."""
        ...

    @property
    def owing(self) -> bool:
        """Whether some of what `update` and `append` were given could not be kept yet."""
        ...

    def settle(self) -> None:
        """Keep it now."""
        ...

    def turns(self, session: str) -> tuple[Turn, ...]:
        """All branches."""
        ...

    def select(self, session: str, leaf: int | None) -> None:
        """Which branch is shown."""
        ...

    def set_system(self, session: str, text: str) -> None:
        """The system prompt."""
        ...
