"""What /v1/completions, /completion and /infill share: a choice that is plain text, and how it is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paceline.daemon.http.choice import Choice
from paceline.daemon.http.errors import UNSUPPORTED, refused
from paceline.daemon.http.logprobs import Placed, Trail
from paceline.daemon.http.run import Job, Sink
from paceline.engine.sequence import Chosen, Delta, Event, Finished
from paceline.errors import ModelError

if TYPE_CHECKING:
    from paceline.daemon.service import Infill, Overrides, Service, Wish
    from paceline.engine.stream import Stream


@dataclass(frozen=True)
class Hole:
    """A place to be filled in. `typed` stands between prefix and cursor."""

    prefix: str
    suffix: str
    wish: "Wish | None" = None
    typed: str = ""


class TextTurn(Choice):
    """One answer that is plain text. `muted`: only the prompt is to be read, so what was generated is not told."""

    def __init__(self, index: int, trail: Trail | None = None, *, muted: bool = False) -> None:
        super().__init__(index)
        self.infill: Infill | None = None
        self.told: list[Placed] = []
        self._trail = trail
        self._muted = muted
        self._length = 0
        self.draft = ""  # what the last event added to the untrimmed text behind the cursor of a hole

    def delta(self, event: Event) -> tuple[str, list[Placed]]:
        """The text and the tokens that the event adds. What fills a hole is trimmed as a whole, so it comes last."""
        self.take(event)
        said, placed, self.draft = "", list[Placed](), ""
        if self._muted:
            return said, placed
        if isinstance(event, Chosen) and self._trail is not None:
            self._trail.add(event)
        elif isinstance(event, Delta):
            if self.infill is None:
                said = event.text
            else:
                self.draft = event.text[max(0, self.infill.n_forced - self._length) :]
            self._length += len(event.text)
        elif isinstance(event, Finished) and self.infill is not None:
            said = self.content
        if self._trail is not None:
            placed = self._placed(self._trail)
        self.told += placed
        return said, placed

    def _placed(self, trail: Trail) -> list[Placed]:
        """The tokens that can be told now. Those of a hole are the ones that begin in the text that is kept; where
        none does, the one that it is the end of.
        """
        if self.infill is not None:
            if self.finished is None:
                return []
            begin, end = self.infill.kept(self.text, self.content)
            found = [each for each in trail.up_to(end) if end > begin]
            return [each for each in found if each.offset >= begin] or found[-1:]
        over = self.finished is not None and self.finished.reason != "stop"
        return trail.up_to(2**63 if over else self._length)

    @property
    def content(self) -> str:
        """The text, trimmed where it fills a hole."""
        if self._muted:
            return ""
        if self.infill is None:
            return self.text
        return self.infill.finish(self.text, unfinished=self.finished is not None and self.finished.reason == "length")

    @property
    def shown(self) -> int:
        """Characters the engine told, before anything is trimmed."""
        return self._length


def text_job(prompt: Sequence[int], asked: "Overrides", default: int, after: int | None) -> Job:
    """A continuation of a prompt."""

    def submit(service: "Service", sink: Sink) -> "Stream":
        return service.generate(prompt, asked, sink, default_max_tokens=default)

    return Job(submit, after)


def infill_job(turn: TextTurn, hole: Hole, asked: "Overrides", after: int | None) -> Job:
    """Something for a hole. What trims it is put into the turn before its first event."""

    def submit(service: "Service", sink: Sink) -> "Stream":
        try:
            turn.infill = service.prepare_infill(hole.prefix, hole.suffix, hole.wish, typed=hole.typed)
        except ModelError as error:  # it is loaded, and cannot do this
            raise refused(error, 400, UNSUPPORTED) from error
        return service.start_infill(turn.infill, asked, sink)

    return Job(submit, after)
