"""Exported sessions as files."""

from pathlib import Path

from paceline.chat.edits import store
from paceline.text import replace_surrogates


def write(root: Path, name: str, content: str) -> None:
    """Put what was exported into a file in one step, new folders too. name: absolute, or relative to root.

    Raises InputError; then a file that was there is as it was.
    """
    store.write(store.located(root, name), replace_surrogates(content).encode("utf-8"), name)
