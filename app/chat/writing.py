"""Writing a file of the app's own making, such as an export: all of it, or nothing."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from paceline.errors import InputError
from paceline.text import replace_surrogates


def write_whole(path: Path, content: str, name: str) -> None:
    """Write a text in UTF-8; a file that is there already is replaced once all is written. name: as a person calls it.

    Raises InputError where it cannot be written; then what was there is there still.
    """
    beside = ""
    try:
        handle, beside = tempfile.mkstemp(prefix=".paceline-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(replace_surrogates(content))
        Path(beside).chmod(0o644)  # as other files of a person
        Path(beside).replace(path)
    except (OSError, ValueError) as error:
        if beside:
            with suppress(OSError):
                Path(beside).unlink()
        why = error.strerror if isinstance(error, OSError) and error.strerror else "no file can have this name"
        raise InputError(f"cannot write {name[:200]}: {why}", "name another file") from error
