"""Where counts are kept: one small SQLite file in paceline's state folder, written by every editor's server.

It is opened for a moment only, whenever something is written. Whatever is wrong with it costs figures, never an answer.
"""

import contextlib
import logging
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

from paceline import paths

Key = tuple[str, str, str]  # day as YYYY-MM-DD, language, what was counted
NAME = "figures.sqlite3"
VERSION = 1  # of the table
PATIENCE = 5.0  # seconds for another process that writes
KEPT = timedelta(days=730)
_TABLE = (
    "CREATE TABLE IF NOT EXISTS counts (day TEXT NOT NULL, language TEXT NOT NULL, what TEXT NOT NULL, "
    "number INTEGER NOT NULL, PRIMARY KEY (day, language, what)) WITHOUT ROWID"
)
_ADD = (
    "INSERT INTO counts (day, language, what, number) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (day, language, what) DO UPDATE SET number = number + excluded.number"
)
logger = logging.getLogger(__name__)


def default_path() -> Path:
    """The file. Raises ConfigError for a user without a home."""
    return paths.state_dir() / NAME


class Store:
    """May be used by any thread and any number of processes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, counts: Mapping[Key, int]) -> bool:
        """Add to what is there. False where that could not be done, for example as the disk is full."""
        rows = [(*key, number) for key, number in counts.items()]

        def write(file: sqlite3.Connection) -> None:
            file.execute("BEGIN IMMEDIATE")
            file.executemany(_ADD, rows)
            file.execute("DELETE FROM counts WHERE day < ?", ((date.today() - KEPT).isoformat(),))
            file.execute("COMMIT")

        return self._done(write)

    def read(self, since: date | None = None) -> Counter[Key]:
        """All counts, or those since a day, that day included. Empty where there are none, or none can be read."""
        found: Counter[Key] = Counter()

        def read(file: sqlite3.Connection) -> None:
            found.clear()
            first = since.isoformat() if since is not None else ""
            for day, language, what, number in file.execute("SELECT * FROM counts WHERE day >= ?", (first,)):
                found[(day, language, what)] += number

        if self.path.exists():
            self._done(read)
        return found

    def reset(self) -> bool:
        """Take out everything."""

        def clear(file: sqlite3.Connection) -> None:
            file.execute("DELETE FROM counts")
            file.execute("VACUUM")

        return not self.path.exists() or self._done(clear)

    def _done(self, act: Callable[[sqlite3.Connection], None]) -> bool:
        """Do it; a file that is damaged is set aside, and a new one takes its place."""
        try:
            try:
                self._act(act)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._set_aside()
                self._act(act)
        except (sqlite3.Error, OSError) as error:
            logger.warning("figures cannot be kept in %s: %s", self.path, error)
            return False
        return True

    def _act(self, act: Callable[[sqlite3.Connection], None]) -> None:
        with self._opened() as file:
            act(file)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        with contextlib.closing(sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)) as file:
            (version,) = file.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise sqlite3.OperationalError("a newer version of Paceline has written them")
            if not version:
                file.execute(_TABLE)
                file.execute(f"PRAGMA user_version = {VERSION}")
            yield file

    def _set_aside(self) -> None:
        """Rename a damaged file, unless another process has done that already."""
        from filelock import FileLock

        with FileLock(self.path.with_suffix(".lock"), timeout=PATIENCE):
            try:
                with self._opened() as file:
                    (found,) = file.execute("PRAGMA quick_check(1)").fetchone()
                    damaged = found != "ok"
            except sqlite3.DatabaseError as error:
                damaged = _is_damage(error)
            if damaged:
                logger.warning("the figures in %s are damaged and set aside", self.path)
                self.path.replace(self.path.with_suffix(".damaged"))
                self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is no database, or not a whole one. What fails otherwise has classes of its own."""
    return type(error) is sqlite3.DatabaseError
