"""One answer while it is written: kept as it comes, and told."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from paceline.chat.happenings import Tell, Told, Working, working
from paceline.chat.persisting import Persisting
from paceline.chat.turns import Run, State, Turn
from paceline.client.cancel import Cancel
from paceline.client.events import End, Event, Note, Progress, Text
from paceline.errors import PacelineError

KEPT_EVERY = 2.0  # seconds of an answer that a crash may cost


class Grew(Protocol):
    """Told of more text."""

    def __call__(self, turn: Turn, text: str, drafter: str) -> None:
        """The turn as it is now, and what was added."""
        ...


class Answering:
    """Writes one turn. It is kept every few seconds, and at the end whatever the end is."""

    def __init__(
        self,
        turn: Turn,
        kept: Persisting,
        changed: Callable[[Turn], None],
        grew: Grew,
        tell: Tell,
    ) -> None:
        self.turn = turn
        self._kept = kept
        self._changed = changed
        self._grew = grew
        self._tell = tell
        self._cancel = Cancel()
        self._unkept: list[Text] = []
        self._kept_at = time.monotonic()

    @property
    def cancel(self) -> Cancel:
        """Ends it early."""
        return self._cancel

    async def run(self, events: AsyncGenerator[Event, None]) -> None:
        """Until its end. Errors become the turn's; only the task's own cancellation is raised."""
        self._tell(Working("waiting"))
        try:
            async with aclosing(events) as coming:
                async for event in coming:
                    self._take(event)
        except PacelineError as error:
            self._end("failed", error=str(error))
        except (asyncio.CancelledError, GeneratorExit):
            self._end("stopped")
            raise
        except Exception as error:  # whatever a client may raise: the turn must not stay half written
            self._end("failed", error=f"{type(error).__name__}: {error}")
        if self.turn.state == "streaming":
            self._end("failed", error="the answer ended early")

    def _take(self, event: Event) -> None:
        if isinstance(event, Text | Progress) and event.model not in ("", self.turn.model):
            self._answered_by(event.model)
        if isinstance(event, Text):
            self._add(event)
        elif (work := working(event)) is not None:
            self._tell(work)
        elif isinstance(event, Note):
            self._tell(Told(event.text))
        elif isinstance(event, End):
            states: dict[str, State] = {"cancelled": "stopped", "superseded": "stopped", "length": "length"}
            self.turn = replace(self.turn, model=event.model or self.turn.model, timings=dict(event.timings))
            self._end(states.get(event.reason, "done"))

    def _answered_by(self, model: str) -> None:
        """It is known whose answer it is: kept now, as it may have no end."""
        self.turn = replace(self.turn, model=model)
        self._unkept.clear()
        self._kept_at = time.monotonic()
        self._kept.update(self.turn)
        self._changed(self.turn)

    def _add(self, event: Text) -> None:
        run = Run(event.drafter, len(event.text))
        self.turn = replace(self.turn, text=self.turn.text + event.text, runs=longer(self.turn.runs, run))
        self._unkept.append(event)
        if time.monotonic() - self._kept_at >= KEPT_EVERY:
            self._keep()
        self._grew(self.turn, event.text, event.drafter)

    def _keep(self) -> None:
        text = "".join(each.text for each in self._unkept)
        runs = tuple(Run(each.drafter, len(each.text)) for each in self._unkept)
        self._unkept.clear()
        self._kept_at = time.monotonic()
        self._kept.append(self.turn.id, text, runs)

    def _end(self, state: State, error: str = "") -> None:
        if self.turn.state != "streaming":
            return
        self.turn = replace(self.turn, state=state, error=error)
        self._kept.update(self.turn)
        self._changed(self.turn)


def longer(runs: tuple[Run, ...], more: Run) -> tuple[Run, ...]:
    """The runs with one more, joined with the last where the same drafted both."""
    if runs and runs[-1].drafter == more.drafter:
        return (*runs[:-1], Run(more.drafter, runs[-1].characters + more.characters))
    return (*runs, more)
