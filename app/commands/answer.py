"""An answer on its way to a person: the text as it comes, or one JSON object at the end."""

import sys
from typing import Literal

import click

from paceline import console
from paceline.client.events import End, Event, Text
from paceline.commands.drafts import RESET, Painter, listed
from paceline.commands.options import GenerationOptions
from paceline.commands.session import Telling, as_json, report
from paceline.status import Status
from paceline.text import ControlFilter

Drafts = Literal["hidden", "coloured", "listed", "unknown"]  # the latter two: in JSON; nobody tells who drafted what


class Answer:
    """Writes the answer to stdout, and to stderr what is to be said about it."""

    def __init__(self, status: Status, options: GenerationOptions, max_tokens: int, drafts: Drafts = "hidden") -> None:
        """max_tokens: of the answer, as asked for."""
        self.ended = False
        self.whole = options.as_object  # it is written when it is complete
        self._status = status
        self._options = options
        self._max_tokens = max_tokens
        self._drafts = drafts
        self._painter = Painter() if drafts == "coloured" else None
        self._clean = ControlFilter()
        self._pieces: list[Text] = []
        self._tell = Telling(status)

    def show(self, event: Event) -> None:
        """Write what the event brings."""
        if isinstance(event, Text):
            self._status.clear()
            self._pieces.append(event)
            if not self.whole:
                self._write(self._clean.feed(event.text), event.drafter)
        elif isinstance(event, End):
            self._status.clear()
            if event.reason == "cancelled":
                self.interrupt()
            self.ended = True
            click.echo(self._object(event) if self.whole else self._clean.flush())
            self._tell_end(event)
        else:
            self._tell(event)

    def interrupt(self) -> None:
        """Whatever is written next is not coloured: a terminal that is told of Ctrl-C drops what it has not shown."""
        if self._painter is not None and self._pieces and not self.ended:
            click.echo(RESET, nl=False, color=True)

    def break_off(self) -> None:
        """There will be no end: what is said next does not belong to the answer's last line."""
        self.interrupt()
        if self._pieces and not self.whole and console.is_terminal(sys.stderr):
            click.echo()

    def _write(self, text: str, drafter: str) -> None:
        if self._painter is None:
            click.echo(text, nl=False)
        else:
            click.echo(self._painter.paint(text, drafter), nl=False, color=True)

    def _object(self, end: End) -> str:
        more = {}
        if self._drafts in ("listed", "unknown"):
            more["drafts"] = listed(self._pieces) if self._drafts == "listed" else None
        return as_json("".join(piece.text for piece in self._pieces), end, **more)

    def _tell_end(self, end: End) -> None:
        if self._painter is not None:
            click.echo(self._painter.legend(), err=True)  # where stderr is no terminal, click takes the colours out
        if end.reason == "length" and not self.whole:
            produced = end.usage.completion_tokens
            full = produced is not None and produced < self._max_tokens
            console.say("the answer was cut: " + ("the context is full" if full else "raise --max-tokens"))
        if self._options.stats:
            report(end.usage, end.timings)
