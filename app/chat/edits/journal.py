"""Writes changes that a person has agreed to, all or none, and keeps what was there before, so that it can come back.

The journal is a folder: `entries/ID.json` say what was written when, `texts/SHA256` hold files as they were. Both are
written before anything is touched. Old entries go when there are many, and texts that no entry needs go with them.
"""

import contextlib
import stat
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from paceline.chat.edits import store
from paceline.errors import InputError, PacelineError

MOST_ENTRIES = 500
MOST_BYTES = 128 * 1024 * 1024  # of texts that are kept
OLDEST = 90 * 24 * 3600  # seconds after which an entry goes
PATIENCE = 30  # seconds to wait for another process that writes


@dataclass(frozen=True)
class Accepted:
    """What is to be written."""

    path: str  # relative to the root
    before: str | None  # the text that the change was computed from; None: there was no file
    after: str | None  # None: delete it


class Kept(msgspec.Struct, frozen=True):
    """A file as it was, and what was made of it."""

    path: str  # absolute, links followed
    name: str  # as the caller named it
    before: str  # SHA-256 of the bytes, under which they are kept; "": there was no file
    after: str  # SHA-256; "": it was deleted
    mode: int  # permissions of the file as it was
    made: tuple[str, ...] = ()  # folders that were made for it, the innermost first


class Entry(msgspec.Struct, frozen=True):
    """What was written at one time."""

    id: str  # sorts by time
    created: float  # seconds since the epoch
    root: str
    files: tuple[Kept, ...]


@dataclass(frozen=True)
class _Step:
    """One file on its way."""

    file: Path
    name: str
    old: bytes | None
    new: bytes | None
    mode: int

    def write(self) -> None:
        """Raises InputError."""
        _put(self.file, self.new, self.name, None)

    def take_back(self) -> None:
        """Raises InputError."""
        _put(self.file, self.old, self.name, self.mode or None)


class Journal:
    """A folder of entries. May be used by several processes."""

    def __init__(self, folder: Path) -> None:
        """folder: a private one of its own, such as paths.state_dir() / "edits"; it is made when needed."""
        self.folder = folder
        self._entries = folder / "entries"
        self._texts = folder / "texts"

    def apply(self, root: Path, changes: Sequence[Accepted]) -> Entry:
        """Write all of them or none. The entry stands in the journal before the first file is touched.

        Paths that lead out of the root are written too: whoever calls has asked (see store.outside).
        Raises InputError that says why nothing was written: a file has changed since, is read-only, is too large …
        """
        with self._alone():
            steps = [_step(root, each) for each in changes if each.before != each.after]
            if not steps:
                raise InputError("there is nothing to write: no change was accepted")
            if len({step.file for step in steps}) < len(steps):
                raise InputError("a file is to be changed twice at once", "accept one change after the other")
            entry = self._keep(root, steps)
            try:
                _carry_out(steps)
            except BaseException:
                self._forget(entry)
                raise
            self._tidy()
            return entry

    def undo(self, entry: Entry, *, force: bool = False) -> None:
        """Give the original bytes back, and forget the entry.

        Raises InputError, and changes nothing, where a file has been changed since; force: even then.
        """
        with self._alone():
            steps = [self._backward(kept, force=force) for kept in entry.files]
            _carry_out([step for step in steps if step.old != step.new])
            for kept, step in zip(entry.files, steps, strict=True):
                if step.new is not None and kept.mode:
                    with contextlib.suppress(OSError):
                        step.file.chmod(kept.mode)
            for folder in sorted({each for kept in entry.files for each in kept.made}, key=len, reverse=True):
                with contextlib.suppress(OSError):  # something else is in it by now
                    Path(folder).rmdir()
            self._forget(entry)

    def entries(self) -> list[Entry]:
        """All that can be undone, the newest first."""
        found = list[Entry]()
        if self._entries.is_dir():
            for path in sorted(self._entries.glob("*.json"), reverse=True):
                with contextlib.suppress(OSError, msgspec.MsgspecError):  # somebody else's, or removed meanwhile
                    found.append(msgspec.json.decode(path.read_bytes(), type=Entry))
        return found

    def last(self, root: Path) -> Entry | None:
        """What was written last in this workspace and has not been undone."""
        top = str(root.resolve())
        return next((entry for entry in self.entries() if entry.root == top), None)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """What one process at a time does. Raises InputError where the folder cannot be made, or others are at it."""
        try:
            for folder in (self.folder, self._entries, self._texts):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = FileLock(self.folder / "lock", timeout=PATIENCE)
            lock.acquire()
        except Timeout as error:
            raise InputError(f"another program has been writing for {PATIENCE} seconds", "try again") from error
        except OSError as error:
            raise InputError(
                f"cannot keep what is changed in {self.folder}: {error.strerror or error}",
                "nothing is changed without it; check the disk, and whose the folder is",
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _keep(self, root: Path, steps: Sequence[_Step]) -> Entry:
        """Write down what is there now, and what is going to be. Raises InputError."""
        files = tuple(
            Kept(
                str(step.file),
                step.name,
                store.digest(step.old),
                store.digest(step.new),
                step.mode,
                tuple(str(each) for each in store.missing_folders(step.file)),
            )
            for step in steps
        )
        now = time.time()
        entry = Entry(f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}", now, str(root.resolve()), files)
        for step in steps:
            text = self._texts / store.digest(step.old)
            if step.old is not None and not text.exists():
                store.write(text, step.old, str(text), 0o600)
        path = self._path(entry)
        store.write(path, msgspec.json.encode(entry), str(path), 0o600)
        return entry

    def _backward(self, kept: Kept, *, force: bool) -> _Step:
        """How one file gets its bytes back. Raises InputError."""
        file = Path(kept.path)
        try:
            now = store.read_bytes(file, kept.name)
        except InputError:
            if not force or not file.is_file():
                raise
            now = b""
        if store.digest(now) not in (kept.after, kept.before) and not force:
            raise InputError(
                f"{kept.name} has been changed since", "undo by hand, or undo anyway and lose what was changed since"
            )
        old = self._text(kept.before) if kept.before else None
        if reason := store.unwritable(file):
            raise InputError(f"cannot write {kept.name}: {reason}")
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else kept.mode
        return _Step(file, kept.name, now, old, mode)

    def _text(self, digest: str) -> bytes:
        try:
            data = (self._texts / digest).read_bytes()
        except OSError as error:
            raise InputError("the journal has lost the file as it was", f"look into {self._texts}") from error
        if store.digest(data) != digest:
            raise InputError("the journal's copy of the file is damaged", f"look into {self._texts}")
        return data

    def _path(self, entry: Entry) -> Path:
        return self._entries / f"{entry.id}.json"

    def _forget(self, entry: Entry) -> None:
        with contextlib.suppress(OSError):
            self._path(entry).unlink()
        self._sweep(self.entries())

    def _tidy(self) -> None:
        """Drop entries beyond the bounds of number, age and size; the newest always stays."""
        kept, sizes, total = list[Entry](), dict[str, int](), 0
        for number, entry in enumerate(self.entries()):
            for each in entry.files:
                if each.before and each.before not in sizes:
                    with contextlib.suppress(OSError):
                        sizes[each.before] = (self._texts / each.before).stat().st_size
            total = sum(sizes.values())
            old = time.time() - entry.created > OLDEST
            if number and (number >= MOST_ENTRIES or old or total > MOST_BYTES):
                with contextlib.suppress(OSError):
                    self._path(entry).unlink()
            else:
                kept.append(entry)
        self._sweep(kept)

    def _sweep(self, entries: Sequence[Entry]) -> None:
        """Remove texts that no entry needs."""
        needed = {each.before for entry in entries for each in entry.files}
        for text in self._texts.iterdir():
            if text.name not in needed:
                with contextlib.suppress(OSError):
                    text.unlink()


def _step(root: Path, change: Accepted) -> _Step:
    """How one change is made. Raises InputError where it cannot be."""
    file = store.located(root, change.path)
    old = store.read_bytes(file, change.path)
    new = None if change.after is None else store.encoded(change.after, change.path)
    expected = None if change.before is None else change.before.encode("utf-8", "surrogatepass")
    if old != expected:
        if expected is None:
            raise InputError(f"{change.path} is there already", "ask again with the file attached")
        if old is None:
            raise InputError(f"{change.path} is not there any more")
        store.decoded(old, change.path)  # what it says is the better reason
        raise InputError(f"{change.path} has been changed since the answer", "ask again with the file as it is now")
    if reason := store.unwritable(file):
        raise InputError(f"cannot write {change.path}: {reason}")
    mode = stat.S_IMODE(file.stat().st_mode) if old is not None else 0
    return _Step(file, change.path, old, new, mode)


def _carry_out(steps: Sequence[_Step]) -> None:
    """Write all, or, where one fails, put back what has been written. Raises InputError."""
    done = list[_Step]()
    try:
        for step in steps:
            done.append(step)
            step.write()
    except BaseException:
        for step in reversed(done):
            with contextlib.suppress(PacelineError):
                if store.read_bytes(step.file, step.name) != step.old:
                    step.take_back()
        raise


def _put(file: Path, data: bytes | None, name: str, mode: int | None) -> None:
    if data is None:
        if file.exists():
            store.delete(file, name)
    else:
        store.write(file, data, name, mode)
