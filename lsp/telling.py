"""What a person is told in the editor: each thing once, with the next step; never one message for every key."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from paceline.errors import PacelineError

Kind = Literal["error", "warning", "info"]
Show = Callable[[Kind, str], None]
KEPT = 200  # messages that are remembered


@dataclass
class Telling:
    """`show` puts a message before the person."""

    show: Show
    _told: dict[str, None] = field(default_factory=dict)

    def fail(self, error: PacelineError) -> None:
        """Something failed: the cause and the next step. The same again is not repeated, until `mended`."""
        self.once("error", f"Paceline: {error.message}" + (f" ({error.hint})" if error.hint else ""))

    def once(self, kind: Kind, text: str) -> None:
        """Say it, unless it has been said."""
        if text in self._told:
            return
        if len(self._told) >= KEPT:
            self._told.pop(next(iter(self._told)))
        self._told[text] = None
        self.show(kind, text)

    def mended(self) -> None:
        """The engine answers again: should it fail once more, that is news."""
        self._told = {text: None for text in self._told if not text.startswith("Paceline: ")}
