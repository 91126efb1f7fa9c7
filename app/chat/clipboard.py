"""Copying: by a tool of the desktop, by the terminal (OSC 52), and into a file, with an honest word about which."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Means = Literal["tool", "terminal", "file", "none"]


@dataclass(frozen=True)
class Copied:
    """How it went. certain: it is known to be in the clipboard."""

    how: Means
    certain: bool
    message: str  # for the person


def copy(text: str, environ: Mapping[str, str], write: Callable[[str], None], folder: Path) -> Copied:
    """Copy a text. write: sends a sequence to the terminal, past everything that filters. folder: for the file.

    May block for about two seconds, while a tool is tried: call it in a thread if `write` may be called there.
    """
    raise NotImplementedError
