"""Files of a workspace, byte for byte: reading what may be changed, and writing it so that nothing is half done."""

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path

from paceline.errors import InputError
from paceline.text import strip_controls

LARGEST = 4 * 1024 * 1024  # bytes of a file that is changed
NEW_MODE = 0o666  # of a new file, of which the process's umask takes away


def outside(root: Path, path: str) -> bool:
    """Whether a path, relative to the root or not, leads out of it: absolute, by `..`, or through links."""
    try:
        top = root.resolve()
        return not (top / path).resolve().is_relative_to(top)
    except (OSError, RuntimeError, ValueError):  # a loop of links, a character that no name may have
        return True


def located(root: Path, path: str) -> Path:
    """The file that a path means, links followed: writing goes through a link, and leaves it. Raises InputError."""
    try:
        return (root.resolve() / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{_shown(path)} is no path: {error}") from error


def read(root: Path, path: str) -> str | None:
    r"""The file's exact text, with its byte order mark as \ufeff and its line endings; None: nothing is there.

    Raises InputError where it cannot be changed by us: not a regular file, not UTF-8, too large, unreadable.
    """
    data = read_bytes(located(root, path), path)
    return None if data is None else decoded(data, path)


def decoded(data: bytes, name: str) -> str:
    """Bytes as text that becomes the same bytes again. Raises InputError."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{_shown(name)} is not UTF-8", "edits are made in UTF-8 files only") from error
    if "\x00" in text:
        raise InputError(f"{_shown(name)} is no text: it has null bytes")
    return text


def encoded(text: str, name: str) -> bytes:
    """Text as bytes. Raises InputError for what no file can hold, or is too large."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"the new text of {_shown(name)} has half a character, which no file can hold") from error
    if len(data) > LARGEST:
        raise InputError(f"the new text of {_shown(name)} has {len(data)} bytes; {LARGEST} can be written")
    return data


def read_bytes(file: Path, name: str) -> bytes | None:
    """The bytes of a regular file; None: nothing is there. Raises InputError."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(file, flags)  # does not wait for a pipe's other end
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {_shown(name)}: {_reason(error)}") from error
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise InputError(f"{_shown(name)} is not a regular file")
        if state.st_size > LARGEST:
            raise InputError(f"{_shown(name)} has {state.st_size} bytes; files of up to {LARGEST} can be edited")
        with os.fdopen(handle, "rb", closefd=False) as opened:
            return opened.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"cannot read {_shown(name)}: {_reason(error)}") from error
    finally:
        os.close(handle)


def write(file: Path, data: bytes, name: str, mode: int | None = None) -> None:
    """Put the bytes into a file in one step, also a new one in new folders. Raises InputError; then it is as it was.

    mode: the file's permissions; None: those it has, or what is usual for new ones.
    """
    try:
        old = file.stat() if file.exists() else None
        made = _folders(file.parent)
        try:
            _replace(file, data, old, mode)
        except BaseException:
            for folder in reversed(made):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
    except OSError as error:
        raise InputError(f"cannot write {_shown(name)}: {_reason(error)}") from error


def delete(file: Path, name: str) -> None:
    """Remove a file. Raises InputError."""
    try:
        file.unlink()
        _sync(file.parent)
    except OSError as error:
        raise InputError(f"cannot delete {_shown(name)}: {_reason(error)}") from error


def missing_folders(file: Path) -> list[Path]:
    """The folders above a file that are not there, the innermost first."""
    return [each for each in file.parents if not each.exists()]


def unwritable(file: Path) -> str:
    """Why the file cannot be written, in a few words; "": it can."""
    if file.exists():
        if not file.is_file():
            return "it is not a regular file"
        return "" if os.access(file, os.W_OK) and file.stat().st_mode & 0o222 else "it is read-only"
    above = next((each for each in file.parents if each.exists()), None)
    if above is None or not above.is_dir():
        return "there can be no folder for it"
    return "" if os.access(above, os.W_OK) else f"the folder {_shown(str(above))} is read-only"


def digest(data: bytes | None) -> str:
    """SHA-256 of a file's bytes; "" where there is none."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _replace(file: Path, data: bytes, old: os.stat_result | None, mode: int | None) -> None:
    if old is not None and old.st_nlink > 1:  # a hard link has to stay one
        with file.open("r+b") as opened:
            opened.write(data)
            opened.truncate()
            opened.flush()
            os.fsync(opened.fileno())
        return
    new = file.with_name(f".{file.name[:100]}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    private = 0o600 if old is not None else NEW_MODE  # until it has the old one's
    handle = os.open(new, flags, private if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(handle)
        _dress(new, old, mode)
        new.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
    _sync(file.parent)


def _dress(new: Path, old: os.stat_result | None, mode: int | None) -> None:
    """Give the file the old one's owner and permissions, as far as we may."""
    if old is not None and hasattr(os, "chown"):
        state = new.stat()
        if (old.st_uid, old.st_gid) != (state.st_uid, state.st_gid):
            with contextlib.suppress(OSError):
                os.chown(new, old.st_uid, old.st_gid)
    if mode is not None or old is not None:
        new.chmod(mode if mode is not None else stat.S_IMODE(old.st_mode) if old is not None else NEW_MODE)


def _folders(folder: Path) -> list[Path]:
    """Make the folder and those above it; the ones that were made, outermost first."""
    missing = missing_folders(folder / "file")[::-1]
    for each in missing:
        each.mkdir(exist_ok=True)
    return missing


def _sync(folder: Path) -> None:
    """A rename survives a power failure only when the folder is written too; where systems know of that."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _shown(name: str) -> str:
    return " ".join(strip_controls(name).split("\n"))
