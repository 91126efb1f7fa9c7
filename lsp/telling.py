"""What a person is told in the editor: each thing once, with the next step; never one message for every key."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from paceline.errors import PacelineError
from paceline.text import strip_controls

Kind = Literal["error", "warning", "info"]
Show = Callable[[Kind, str], None]
KEPT = 200  # messages that are remembered
LONGEST = 600  # characters of a message: engines elsewhere may say anything
_NUMBER = re.compile(r"\b[0-9a-fA-F-]*\d[0-9a-fA-F-]*\b|\d+")  # a count, a time, a request's name


@dataclass
class Telling:
    """`show` puts a message before the person."""

    show: Show
    _told: dict[str, None] = field(default_factory=dict)
    _failed: dict[str, dict[str, bool]] = field(default_factory=dict)  # by cause: whether it still holds, by document

    def fail(self, error: PacelineError, uri: str = "") -> None:
        """Something failed in a document: the cause and the next step. It is told once for all documents.

        The same again is no news, until the document that it happened in is `mended`. Numbers make no other cause.
        """
        text = f"Paceline: {error.message}" + (f" ({error.hint})" if error.hint else "")
        cause = _NUMBER.sub("#", text)
        known = self._failed.pop(cause, {})
        news = not known or not known.get(uri, True)
        self._failed[cause] = {**known, uri: True}
        while len(self._failed) > KEPT:
            del self._failed[next(iter(self._failed))]
        if news:
            self._say("error", text)

    def once(self, kind: Kind, text: str) -> None:
        """Say it, unless it has been said."""
        if text in self._told:
            return
        if len(self._told) >= KEPT:
            self._told.pop(next(iter(self._told)))
        self._told[text] = None
        self._say(kind, text)

    def mended(self, uri: str | None = None) -> None:
        """The engine answers again, in this document or at all: should it fail there once more, that is news."""
        if uri is None:
            self._failed.clear()
        for documents in self._failed.values():
            if uri in documents:
                documents[uri] = False

    def _say(self, kind: Kind, text: str) -> None:
        text = strip_controls(text)
        self.show(kind, text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
