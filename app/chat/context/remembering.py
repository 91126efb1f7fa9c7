"""Texts of files as a model may see them, remembered as long as the files stay as they are."""

import os
import time
from collections import OrderedDict
from pathlib import Path
from threading import Lock

from paceline.chat.reading import LARGEST, read_text
from paceline.text import replace_surrogates
from paceline.workspace.redaction import redact

MOST = 16 * 2**20  # characters that are remembered
MANY = 1024  # files
RECENT = 2_000_000_000  # nanoseconds: a file that changed so lately may change again and keep its time and its size
_State = tuple[int, ...]


class Texts:
    """What files have in them, without secrets. For several threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[_State, str, bool]] = OrderedDict()
        self._size = 0  # characters
        self._lock = Lock()

    def read(self, path: Path, name: str, most: int = LARGEST) -> tuple[str, bool]:
        """A file's text, and whether something in it was replaced, as it is a secret. Raises as `read_text`.

        A file that is the same as when it was read is not read again: the same file, of the same size, that nobody has
        written to since.
        """
        begun, state = time.time_ns(), _state(path)
        with self._lock:
            known = self._known.get(str(path))
            if known is not None and known[0] == state and state[0] <= most:
                self._known.move_to_end(str(path))
                return known[1:]
        text = replace_surrogates(read_text(path, name, most))
        clean = redact(text)
        hidden = clean != text
        if state and state == _state(path) and max(state[-2:]) < begun - RECENT:
            self._keep(str(path), state, clean, hidden=hidden)
        return clean, hidden

    def _keep(self, path: str, state: _State, text: str, *, hidden: bool) -> None:
        with self._lock:
            before = self._known.pop(path, None)
            self._size -= len(before[1]) if before is not None else 0
            self._known[path] = state, text, hidden
            self._size += len(text)
            while self._size > MOST or len(self._known) > MANY:
                _, (_, gone, _) = self._known.popitem(last=False)
                self._size -= len(gone)


def _state(path: Path) -> _State:
    """What tells one state of a file from another, its size first and its times last; nothing where it is not there."""
    try:
        found = os.stat(path)  # noqa: PTH116 - twice as fast, for each file of a folder
    except (OSError, ValueError):
        return ()
    return found.st_size, found.st_ino, found.st_dev, found.st_mtime_ns, found.st_ctime_ns
