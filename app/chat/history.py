"""What a person has entered, across sessions: recalled with the arrow keys and searched."""

import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

MOST = 2000  # entries that are kept
LONGEST = 32 * 1024  # characters of an entry; a longer one is a text, and not kept
LARGEST = 4 * 2**20  # bytes of the file, beyond which the oldest entries go
PATIENCE = 1.0  # seconds for another app that is writing


class History:
    """The inputs, the newest last. Several apps may write the same file at once.

    The file has a JSON object a line; lines that are none are passed over, and vanish in time. One that cannot be
    read or written costs the person nothing but the memory of it.
    """

    def __init__(self, path: Path, most: int = MOST) -> None:
        """Reads nothing yet."""
        self._path = path
        self._most = most
        self._own: list[str] = []  # of this app, where the file does not take them
        self._state: tuple[int, int] | None = None
        self._read: list[str] = []
        self._shown: list[str] | None = None  # while somebody goes back: what they go through, and where they are
        self._at = 0
        self._begun = ""

    def add(self, text: str) -> None:
        """Remember an input, and go back to the end. A file that cannot be written is none of the person's trouble."""
        self.rewind()
        if not text.strip() or len(text) > LONGEST or self._entries()[-1:] == [text]:
            return
        try:
            self._append(text)
        except OSError:  # filelock's Timeout is one, too
            self._own = [*self._own, text][-self._most :]

    def previous(self, current: str) -> str | None:
        """The input before the one that is shown, among those that begin as `current` did when going back began.

        None: there is none.
        """
        if self._shown is None:
            matching = [each for each in self._entries() if each.startswith(current) and each != current]
            self._begun, self._shown, self._at = current, matching, len(matching)
        if self._at == 0:
            return None
        self._at -= 1
        return self._shown[self._at]

    def next(self, current: str) -> str | None:
        """The input after the one that is shown; at the end what was being written; None: that is shown already."""
        if self._shown is None:
            return None
        self._at += 1
        if self._at < len(self._shown):
            return self._shown[self._at]
        self.rewind()
        return self._begun if self._begun != current else None

    def search(self, query: str, limit: int = 50) -> tuple[str, ...]:
        """Inputs that contain all words of a query in any case, the newest first, each once."""
        words = query.lower().split()
        found = (each for each in reversed(self._entries()) if all(word in each.lower() for word in words))
        return tuple(dict.fromkeys(found))[:limit]

    def rewind(self) -> None:
        """Go back to the end: the person has changed what is shown."""
        self._shown = None

    def _entries(self) -> list[str]:
        """All of them, those of other apps too."""
        try:
            state = self._path.stat()
            stamp = state.st_mtime_ns, state.st_size
            if stamp != self._state:
                self._read = _once(_texts(_tail(self._path)))[-self._most :]
                self._state = stamp
        except OSError:
            self._read, self._state = [], None
        return _once([*self._read, *self._own])

    def _append(self, text: str) -> None:
        from filelock import FileLock

        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        line = msgspec.json.encode({"at": int(time.time()), "text": _writable(text)}) + b"\n"
        with FileLock(f"{self._path}.lock", timeout=PATIENCE, mode=0o600):
            handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                size = os.fstat(handle).st_size
                ended = not size or _last_byte(handle, size) == b"\n"  # not so where a writer was cut short
                data = line if ended else b"\n" + line
                while data:
                    data = data[os.write(handle, data) :]
            finally:
                os.close(handle)
            self._shorten()

    def _shorten(self) -> None:
        """Drop the oldest entries once there are twice as many as are kept. Whoever calls this holds the lock."""
        if self._path.stat().st_size < min(LARGEST, self._most * 40):
            return
        lines = [line for line in self._path.read_bytes().split(b"\n") if line]
        kept, size = list[bytes](), 0
        for line in reversed(lines[-self._most :]):
            size += len(line) + 1
            if size > LARGEST // 2:
                break
            kept.append(line)
        if len(lines) < 2 * self._most and len(kept) == len(lines[-self._most :]):
            return
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=self._path.name)  # mode 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(b"\n".join([*reversed(kept), b""]))
            Path(name).replace(self._path)
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            raise


def _tail(path: Path) -> bytes:
    """The last LARGEST bytes of a file, from a line's beginning."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= LARGEST:
            return file.read()
        file.seek(size - LARGEST)
        return file.read().partition(b"\n")[2]


def _last_byte(handle: int, size: int) -> bytes:
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1)


def _texts(data: bytes) -> Iterable[str]:
    for line in data.split(b"\n"):
        try:
            entry: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(entry, dict) and isinstance(text := entry.get("text"), str) and text:
            yield text


def _once(texts: Iterable[str]) -> list[str]:
    """Without those that repeat the one before."""
    found: list[str] = []
    for text in texts:
        if found[-1:] != [text]:
            found.append(text)
    return found


def _writable(text: str) -> str:
    """Without what no file in UTF-8 can have."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
