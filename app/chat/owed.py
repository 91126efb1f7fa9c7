"""What could not be kept of answers while they grew: kept with the next change that can be, in the same order."""

from collections.abc import Callable
from sqlite3 import Connection

from paceline.errors import InputError

Write = Callable[[Connection, int], None]  # in a transaction, as this process; raises InputError where it never can be


class Owed:
    """Writes by turn. One of a whole turn takes the place of those before it."""

    def __init__(self) -> None:
        self._writes: dict[int, list[Write]] = {}
        self.lasting = False  # whether it has to survive a loss of power, once it is written

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._writes)

    def whole(self, turn: int, write: Write) -> None:
        """All of a turn is to be written."""
        self._writes[turn] = [write]
        self.lasting = True

    def more(self, turn: int, write: Write) -> None:
        """Something is to be added to a turn."""
        self._writes.setdefault(turn, []).append(write)

    def pay(self, connection: Connection, owner: int) -> InputError | None:
        """Write all; why some of it could not be, if so. They are still there until `clear`: a commit may fail."""
        refused = None
        for writes in self._writes.values():
            for write in writes:
                try:
                    write(connection, owner)
                except InputError as error:
                    refused = error
        return refused

    def clear(self) -> None:
        """It is on the disk."""
        self._writes.clear()
        self.lasting = False
