"""Files of a workspace, read so that nothing on a disk can hold the server up or lead it out of the workspace."""

import codecs
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from paceline.workspace.kinds import is_binary, is_generated, is_generated_file, is_minified, is_secret_file

LARGEST = 128 * 1024  # bytes of a file that is worth reading
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_COOKIE = re.compile(rb"^[ \t\f]*#.{0,200}?coding[:=][ \t]*([-\w.]{1,40})", re.MULTILINE)


@dataclass(frozen=True)
class Stamp:
    """What tells one state of a file from another."""

    path: str
    modified: int  # nanoseconds
    size: int


def there(path: Path) -> bool:
    """Whether something is there that may be looked at."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def within(root: str, path: str) -> Path | None:
    """The file below the root, links followed; None where they lead out of it or nothing is there."""
    try:
        top = Path(root).resolve(strict=True)
        found = (top / path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # a loop of links, a character that no name may have
        return None
    return found if found.is_relative_to(top) else None


def real(root: str, path: str) -> str:
    """Where links lead from a path below the root: relative to the root, with "/"; absolute where that is outside."""
    try:
        top = Path(root).resolve()
        found = (top / path).resolve()
    except (OSError, RuntimeError, ValueError):
        return path
    return (found.relative_to(top) if found.is_relative_to(top) else found).as_posix()


def stamp(path: Path) -> Stamp | None:
    """The state of a regular file that is not too large; None for everything else."""
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
        return None
    return Stamp(str(path), state.st_mtime_ns, state.st_size)


def read(path: Path) -> str | None:
    """The text of a regular file that is not too large, all line ends as on Unix; None for everything else."""
    data = content(path)
    return None if data is None else decoded(data).replace("\r\n", "\n").replace("\r", "\n")


def content(path: Path, most: int = LARGEST) -> bytes | None:
    """The bytes of a regular file that has no more than so many; None for everything else."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)  # does not wait for a pipe's other end
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with open(handle, "rb", closefd=False) as file:
            data = file.read(most + 1)
    except OSError:
        return None
    finally:
        os.close(handle)
    return data if len(data) <= most else None


def decoded(data: bytes) -> str:
    """The bytes as text: by their mark, as UTF-8, by what a comment at the start says, or as Latin-1."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        cookie = _COOKIE.search(data[:400])
    try:
        return data.decode(cookie[1].decode() if cookie else "latin-1", errors="replace")
    except (LookupError, ValueError):  # no such encoding, or one that is none of texts
        return data.decode("latin-1")


def useful(path: str, text: str) -> bool:
    """Whether a model may see this text, and gains by it."""
    if is_secret_file(path) or is_generated_file(path):
        return False
    return not (is_binary(text) or is_minified(text) or is_generated(text))


def below(root: Path, name: str) -> Path:
    """Where a name leads from a folder; "~/name" to the person's own folder, while "~name" is a file like any other."""
    return root / (Path(name).expanduser() if re.match(r"~(?:[/\\]|$)", name) else name)
