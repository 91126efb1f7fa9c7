"""A session becomes a file: the person says which, and is asked where it would take the place of another one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.app import App

from paceline.chat import export, exporting
from paceline.chat.edits.store import outside
from paceline.chat.slash import FORMATS
from paceline.chat.turns import Session, Turn
from paceline.errors import InputError, PacelineError
from paceline.paths import expanded
from paceline.text import strip_controls
from paceline.tui.screens.confirm import ConfirmScreen, about_files
from paceline.tui.screens.naming import NamingScreen

ABOUT = f"Its ending says what is written: {', '.join(f'.{kind} {name}' for kind, name in FORMATS.items())}"
_OF_A_BRANCH: Mapping[str, Callable[[Session, Sequence[Turn]], str]] = {"md": export.markdown, "html": export.html}


@dataclass(frozen=True)
class Exporting:
    """A session that is written into a file."""

    session: Session
    turns: Sequence[Turn]  # of all branches, which JSON has
    shown: Sequence[Turn]  # of the branch that the others have
    root: Path  # what relative names belong to

    def content(self, kind: str) -> str:
        """What is in the file. kind: md, json or html."""
        if kind == "json":
            return export.json_(self.session, self.turns)
        return _OF_A_BRANCH[kind](self.session, self.shown)

    async def ask(self, app: App[Any], kind: str = "") -> None:
        """Have the person name a file, and write it; what fails is said, and may be tried with another name.

        In a worker only. kind: what is suggested, and written whatever the name ends in; "": as it ends.
        """
        name = export.file_name(self.session, f".{kind or 'md'}", lambda each: (self.root / each).exists())
        trouble = ""
        while name := await app.push_screen_wait(NamingScreen("Export to", name, "" if kind else ABOUT, trouble)):
            try:
                if await self.write(app, name, kind):
                    return
                trouble = ""
            except PacelineError as error:
                trouble = str(error)

    async def write(self, app: App[Any], name: str, kind: str = "") -> bool:
        """Write it into this file, after a question where one is there already, or it is outside of the workspace.

        In a worker only. Returns whether it is written. Raises InputError where it cannot be.
        """
        path = self.root / expanded(name)
        content = self.content(kind or kind_of(path))
        try:
            there = path.exists()
        except (OSError, ValueError) as error:
            raise InputError(f"{name[:60]} cannot be a file's name", "name another file") from error
        beyond = [name] if outside(self.root, str(path)) else []
        does = "Replace" if there else "Write"
        if there or beyond:
            asked = about_files(f"{does} this file?", [name], beyond, yes=does)
            if not await app.push_screen_wait(ConfirmScreen(asked)):
                return False
        exporting.write(self.root, str(path), content)
        app.notify(strip_controls(f"written to {name}"), markup=False)
        return True


def kind_of(path: Path) -> str:
    """What is written into a file, by its ending. Raises InputError for another one."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        endings = ", ".join(f".{each}" for each in FORMATS)
        raise InputError(f"{path.name[:60]} ends in none of {endings}", "its ending says what is written")
    return kind
