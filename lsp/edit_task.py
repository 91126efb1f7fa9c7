"""What an edit changes: from what the command was given to lines of a document, and where these are when it is made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from paceline.errors import InputError
from paceline.lsp.commands import EDIT
from paceline.lsp.documents import Document
from paceline.prompts import rewriting
from paceline.prompts.rewriting import Part

LARGEST = 24_000  # characters of a selection; more are not rewritten in a time that anybody waits


@dataclass(frozen=True)
class Wanted:
    """What the command was given."""

    uri: str
    range: types.Range
    version: int | None
    wish: str


@dataclass(frozen=True)
class Task:
    """An edit on its way: what is changed, where it stood, and in which text."""

    uri: str
    part: Part
    wish: str
    text: str  # the document's, when the edit began
    start: int
    end: int

    @property
    def old(self) -> str:
        """What stood there."""
        return self.text[self.start : self.end]


def wanted_of(arguments: Sequence[Any]) -> Wanted:
    """The command's arguments: uri, range, version, instruction; the last two may be missing. Raises InputError."""
    given: tuple[Any, ...] = (*arguments, None, None, None, None)
    uri, chosen, version, wish = given[:4]
    if isinstance(chosen, dict):
        try:
            ends = [types.Position(int(chosen[end]["line"]), int(chosen[end]["character"])) for end in ("start", "end")]
        except (KeyError, TypeError, ValueError, OverflowError):
            chosen = None
        else:
            chosen = types.Range(*ends)
    if not isinstance(uri, str) or not isinstance(chosen, types.Range):
        raise InputError(f"{EDIT} needs a document's URI and a range", "run it as a code action on a selection")
    whole = isinstance(version, int) and not isinstance(version, bool)
    return Wanted(uri, chosen, version if whole else None, wish.strip() if isinstance(wish, str) else "")


def task_of(document: Document, wanted: Wanted, name: str) -> Task:
    """What an edit of the selection changes. Where the command was given no wish, a comment there says it.

    `name`: the document's path in its workspace folder.
    """
    ends = document.offset(wanted.range.start), document.offset(wanted.range.end)
    part, start, end = rewriting.part_of(
        document.text, min(ends), max(ends), document.language, name, comment=not wanted.wish
    )
    wish = wanted.wish
    if not wish:
        part, wish = part.with_wishes_taken_out()
    return Task(document.uri, part, wish, document.text, start, end)


def check(task: Task) -> None:
    """Raises InputError where it is not said what to do, or too much is selected."""
    if not task.wish:
        raise InputError(
            "it is not said what to change",
            "write a comment “paceline: rename x to y” in or above the selection, or let the editor pass what you want",
        )
    if task.end - task.start > LARGEST:
        raise InputError(f"{task.end - task.start} characters are selected; {LARGEST} can be edited", "select less")


def moved(old: str, new: str, start: int, end: int) -> int | None:
    """Where the lines [start, end) of the old text begin in the new one; None where they cannot be told any more.

    They are where they were in relation to what stands before or after them, or else in the one place that has them.
    """
    part, shift = old[start:end], len(new) - len(old)
    if new.startswith(old[:end]) and _whole_lines(new, start, part):
        return start
    if start + shift >= 0 and new.endswith(old[start:]) and _whole_lines(new, start + shift, part):
        return start + shift
    if not part.strip():
        return None
    at, places = new.find(part), []
    while at >= 0:
        if _whole_lines(new, at, part):
            places.append(at)
        at = new.find(part, at + 1)
    return places[0] if len(places) == 1 else None


def _whole_lines(text: str, at: int, part: str) -> bool:
    """Whether the part, which stands there, does so from the beginning of a line to the end of one."""
    begins = at == 0 or text[at - 1] in "\r\n"
    return begins and (part.endswith(("\r", "\n")) or text[at + len(part) : at + len(part) + 1] in ("", "\r", "\n"))
