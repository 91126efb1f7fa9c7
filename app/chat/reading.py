"""Files of a person as text, exactly as they are."""

import os
import stat
from pathlib import Path

from paceline.errors import InputError

TEXTS = "only texts can be shown to the model"
LARGEST = 4 * 2**20  # bytes; more text than contexts hold


def read_text(path: Path, name: str, most: int = LARGEST) -> str:
    """A text file. name: as a person calls it. Raises InputError where it cannot be read, is too large or is no text.

    Nothing that is no regular file is waited for, such as a pipe.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
        with os.fdopen(handle, "rb") as file:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode):
                raise InputError(f"{name} is not a file", "name the files in it" if path.is_dir() else "")
            data = file.read(most + 1) if state.st_size <= most else None
    except IsADirectoryError as error:
        raise InputError(f"{name} is a folder", "name the files in it") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no file can have this name"
        raise InputError(f"cannot read {name}: {why}", "check the name and its permissions") from error
    if data is None or len(data) > most:
        size = f"{most >> 20} MiB" if most >= 2**20 else f"{most:,} bytes"
        raise InputError(f"{name} is larger than {size}", "name the lines that matter, such as @name:10-40")
    return decode(data, name)


def decode(data: bytes, name: str, hint: str = TEXTS) -> str:
    """Bytes of a text in UTF-8, or in UTF-16 with a byte order mark, which is no part of the text.

    Raises InputError for anything else. hint: what to do about what is no text.
    """
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in data and not wide:
        raise InputError(f"{name} is not text: it has NUL bytes", hint)
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        coding = "UTF-16" if wide else "UTF-8"
        raise InputError(
            f"{name} is not {coding} text: byte {error.start} cannot be decoded", "convert it, e.g. with iconv"
        ) from error
    if "\0" in text:
        raise InputError(f"{name} is not text: it has NUL characters", hint)
    return text
