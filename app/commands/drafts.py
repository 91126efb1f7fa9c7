"""Who drafted what of an answer (`paceline ask --show-drafts`): in colours for a person, as a list for a program."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TextIO

import click

from paceline.client.events import Text
from paceline.console import is_terminal
from paceline.text import strip_controls

# of the sixteen colours, those that can be read on a dark ground and on a light one
COLOURS = {"ngram": "green", "edit": "cyan", "draft": "magenta", "lookahead": "red"}
ANOTHER = "blue"  # for a drafter that has no colour of its own
RESET = "\x1b[0m"
_NEWLINES = re.compile(r"(\r?\n)")


def why_plain(stream: TextIO | None, environment: Mapping[str, str] = os.environ) -> str:
    """Why this output gets no colours; "" where it gets them. FORCE_COLOR is obeyed, and NO_COLOR before it."""
    if environment.get("NO_COLOR"):
        return "NO_COLOR is set"
    if environment.get("FORCE_COLOR"):
        return ""
    if not is_terminal(stream):
        return "the output is no terminal (FORCE_COLOR=1 colours it all the same)"
    return "this terminal has no colours" if environment.get("TERM") in ("dumb", "unknown") else ""


class Painter:
    """Colours the pieces of one answer, which are free of terminal controls, and remembers which colours it used."""

    def __init__(self) -> None:
        self._characters: Counter[str] = Counter()  # by drafter, in the order in which they came

    def paint(self, text: str, drafter: str) -> str:
        """The text in its drafter's colour, which ends before the line does: nothing is left to be closed."""
        self._characters[drafter] += len(text)
        if not drafter:
            return text
        parts = _NEWLINES.split(text)
        parts[::2] = [part and click.style(part, fg=_colour(drafter)) for part in parts[::2]]
        return "".join(parts)

    def legend(self) -> str:
        """A line that explains the colours, in them."""
        whole = self._characters.total() or 1
        told = [
            click.style(f"{strip_controls(name)} in {_colour(name)}", fg=_colour(name)) + f" ({count / whole:.0%})"
            for name, count in self._characters.items()
            if name and count
        ]
        drafted = ", ".join(told)
        return f"drafts      {drafted}; the rest is the target's own" if told else "drafts      none in this answer"


def listed(pieces: Iterable[Text]) -> list[dict[str, str]]:
    """Who drafted what, as plain data; adjacent pieces of the same drafter are one. "": the target chose it itself."""
    groups = groupby(pieces, key=lambda piece: piece.drafter)
    return [{"drafter": drafter, "text": "".join(piece.text for piece in run)} for drafter, run in groups]


def _colour(drafter: str) -> str:
    return COLOURS.get(drafter, ANOTHER)
