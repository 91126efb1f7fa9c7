"""The SQLite file that sessions are kept in: opened, guarded, and set aside when it is damaged."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from paceline import paths
from paceline.chat import schema
from paceline.errors import ResourceError

PATIENCE = 5.0  # seconds for another process that writes
WAL_BYTES = 16 * 2**20  # the log is cut back to this after it was longer


def default_path() -> Path:
    """Where the person's sessions are kept."""
    return paths.data_dir() / "chat.db"


class LockedError(ResourceError):
    """Another process is writing: what was to be kept can be tried again soon."""


class Database:
    """One connection, for one thread. Any number of processes may have the same file open.

    `note` says for a person, in one line, that a damaged file was set aside and where; "" if none was.
    Raises InputError for a newer Paceline's file, ResourceError where it cannot be opened or made.
    """

    def __init__(self, path: Path | None) -> None:
        """None: in memory, gone at the end."""
        self.path = path
        self.note = ""
        try:
            self.connection = self._open()
        except (sqlite3.Error, OSError) as error:
            raise self._failure(error, "opened") from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One look at the file, the same to its end. Raises ResourceError."""
        with self._transaction("BEGIN", "read") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self, *, lasting: bool = True, patience: float = PATIENCE) -> Iterator[sqlite3.Connection]:
        """A change, made whole or not at all. Raises ResourceError, after which the next one may be tried.

        patience: seconds to wait for another process that writes.

        With a write-ahead log a commit survives a crash of the program at once. `synchronous` decides about loss of
        power: FULL (lasting) waits until the disk has it; NORMAL leaves that to the system, which takes no time, and
        may lose what was committed within the last seconds before the power went. Neither damages the file.
        """
        with contextlib.suppress(sqlite3.Error):  # the transaction will say what is wrong
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
        with self._waiting(patience), self._transaction("BEGIN IMMEDIATE", "written") as connection:
            yield connection

    def free(self) -> bool:
        """Whether nobody else is writing at this moment; also where that cannot be said. Waits for nobody."""
        try:
            with self.writing(lasting=False, patience=0):
                return True
        except LockedError:
            return False
        except ResourceError:
            return True

    def wipe(self) -> None:
        """Leave nothing of what was deleted in the log beside the file, unless another process is at it."""
        with self._waiting(0), contextlib.suppress(sqlite3.Error):
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()

    @contextlib.contextmanager
    def _waiting(self, seconds: float) -> Iterator[None]:
        """Wait so long for another process, meanwhile."""
        with contextlib.suppress(sqlite3.Error):
            self.connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
        try:
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")

    @contextlib.contextmanager
    def _transaction(self, begin: str, what: str) -> Iterator[sqlite3.Connection]:
        try:
            self.connection.execute(begin)
            yield self.connection
            self.connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            self._undo()
            if isinstance(error, sqlite3.ProgrammingError) and "thread" in str(error):  # a fault of ours
                raise
            raise self._failure(error, what) from error
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def _failure(self, error: Exception, what: str) -> ResourceError:
        """What a person is told."""
        said = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        message = f"the sessions in {self.path or 'memory'} cannot be {what}: {said}"
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            if self.path is not None:
                with contextlib.suppress(OSError):
                    _doubt(self.path).touch(0o600)
            return ResourceError(message, "start Paceline again: it sets the file aside and begins a new one")
        if "closed" in said:
            return ResourceError(message, "start Paceline again")
        if "full" in said or "disk I/O" in said:
            return ResourceError(message, "free some space on the disk; what was kept before is still there")
        if "locked" in said or "busy" in said:
            return LockedError(message, "another Paceline is writing; try again")
        return ResourceError(message, "check the disk, and whose the folder is")

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return _connected(None)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return _connected(self.path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        from filelock import FileLock, Timeout

        try:
            with FileLock(f"{self.path}.lock", timeout=PATIENCE, mode=0o600):
                return self._replaced(self.path)
        except Timeout as error:
            raise ResourceError(f"another Paceline holds {self.path}.lock", "try again in a moment") from error

    def _replaced(self, path: Path) -> sqlite3.Connection:
        """Set the damaged file aside, unless another process has done that already, and open."""
        try:
            return _connected(path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        aside = _unused(path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"))
        for end in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + end).replace(aside.with_name(aside.name + end))
        _doubt(path).unlink(missing_ok=True)
        self.note = f"the sessions in {path.name} were damaged: the file is now {aside}, and a new one is begun"
        return _connected(path)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is no database, or not a whole one. What fails otherwise has classes of its own."""
    return type(error) is sqlite3.DatabaseError


def _connected(path: Path | None) -> sqlite3.Connection:
    """A connection to tables of today. Raises sqlite3.Error, OSError and InputError."""
    if path is not None:
        _make_private(path)
    connection = sqlite3.connect(path or ":memory:", timeout=PATIENCE, isolation_level=None)
    try:
        _keep_a_log(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what a person deletes is not left in the file
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        schema.migrate(connection, str(path or "memory"))
        if path is not None and _doubt(path).exists():
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError("database disk image is malformed")
            with contextlib.suppress(sqlite3.Error):  # where SQLite lacks what the index needs
                schema.forget_index(connection)
            _doubt(path).unlink(missing_ok=True)
    except BaseException:
        connection.close()
        raise
    return connection


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """Write ahead, so that readers and a writer do not wait for each other.

    Two processes that switch a new file at once are told "locked" without having waited. Where a file system cannot
    do it, SQLite goes on in its older way.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _make_private(path: Path) -> None:
    """Make the file if there is none; whether or not, nobody else may read it.

    A file that is there is not opened: when this process has it open elsewhere, closing it here would end the locks.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        mode = path.stat().st_mode
        if mode & 0o077 and path.is_file():
            path.chmod(mode & 0o7700)


def _doubt(path: Path) -> Path:
    """A file that says: damage was met, look at all of it when it is opened next."""
    return path.with_name(f"{path.name}.check")


def _unused(path: Path) -> Path:
    """The path, or one like it that nothing has."""
    found, number = path, 1
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
