"""What an engine learns about its drafts, stored now and then while it works."""

import threading
from collections.abc import Callable

from paceline.engine.acceptance import AcceptanceTable

EVERY = 300.0  # seconds; a process that is killed loses no more than that


class Learned:
    """Stores a table every few minutes if it has changed, on a thread of its own."""

    def __init__(self, table: AcceptanceTable, store: Callable[[AcceptanceTable], None], every: float = EVERY) -> None:
        """store: writes the table."""
        self._table = table
        self._store = store
        self._every = every
        self._stored = table.to_json()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="paceline-learned", daemon=True)
        self._thread.start()

    def keep(self) -> None:
        """Store it now, if anything was learned since the last time."""
        learned = self._table.to_json()
        if learned != self._stored:
            self._store(self._table)
            self._stored = learned

    def close(self) -> None:
        """Store it for the last time."""
        self._ending.set()
        self._thread.join()
        self.keep()

    def _run(self) -> None:
        while not self._ending.wait(self._every):
            self.keep()
