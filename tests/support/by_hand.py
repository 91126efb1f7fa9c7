"""An engine that is run by hand, step by step, in the test's own thread, and a clock that only the test moves."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from paceline.engine.backend import DecodeAborted, Logits, Span
from paceline.engine.controller import Controller
from paceline.engine.costs import CostCurve, CostModel
from paceline.engine.drafters.model import DraftModel
from paceline.engine.engine import Engine, Limits
from paceline.engine.sequence import Chosen, Delta, Event, Finished, Prefilled, Request
from paceline.engine.stream import Stream
from paceline.engine.turnstile import Turnstile
from support.driving import CHEAP, FLAT
from support.fake_backend import FakeBackend

STEEP = CostCurve((1, 2, 64), (10.0, 15.0, 400.0))  # a processor: a second token costs half a decode


class Clock:
    """Takes the place of the `time` module in the engine. Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic

    @classmethod
    def in_place(cls, monkeypatch: pytest.MonkeyPatch) -> "Clock":
        """Everything that the engine times is timed by this one."""
        clock = cls()
        for module in ("engine", "joint", "sequence", "speculate"):
            monkeypatch.setattr(f"paceline.engine.{module}.time", clock)
        return clock


class Watched(FakeBackend):
    """Keeps what each decode held and how often one was to be stopped.

    `meanwhile` is done once, in the middle of the next decode, as another thread would do it. With a clock and a curve
    a decode takes what the curve says.
    """

    def __init__(
        self, *arguments: object, clock: Clock | None = None, curve: CostCurve | None = None, **how: object
    ) -> None:
        super().__init__(*arguments, **how)
        self.spans: list[list[Span]] = []
        self.stops = 0
        self.saves = 0
        self.meanwhile: Callable[[], object] | None = None
        self._clock, self._curve = clock, curve

    def decode(self, spans: Sequence[Span], *, hidden: bool = False) -> Logits:
        action, self.meanwhile = self.meanwhile, None
        if action is not None:
            action()
        rows = super().decode(spans, hidden=hidden)
        self.spans.append(list(spans))
        if self._clock is not None and self._curve is not None:
            self._clock.now += self._curve.at(self.decoded[-1]) / 1000
        return rows

    def abort(self, on: bool) -> None:
        self.stops += on
        super().abort(on)

    def save(self, seq: int) -> bytes:
        self.saves += 1
        return super().save(seq)


def engine_on(
    model: FakeBackend,
    *,
    draft: FakeBackend | None = None,
    curve: CostCurve = FLAT,
    turnstile: Turnstile | None = None,
    **limits: object,
) -> Engine:
    """An engine whose thread never runs."""
    controller = Controller(CostModel(curve), CostModel(CHEAP) if draft else None)
    drafting = None if draft is None else DraftModel(lambda: draft)
    assert drafting is None or drafting.backend is draft, "loaded from the start"
    return Engine(model, controller, drafting, Limits(**limits), turnstile)


class Steps:
    """Takes an engine's steps, and keeps what each request said in which."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        engine._thread = threading.Thread()  # never started: the test takes the steps
        self.count = 0
        self.first_token: dict[object, int] = {}
        self.ended: dict[object, object] = {}
        self.text: dict[object, str] = {}
        self.events: dict[object, list[Event]] = {}

    def submit(self, name: object, request: Request) -> Stream:
        self.text[name], self.events[name] = "", []

        def sink(event: Event) -> None:
            self.events[name].append(event)
            if isinstance(event, Delta):
                self.first_token.setdefault(name, self.count)
                self.text[name] += event.text
            elif isinstance(event, Finished):
                self.ended[name] = replace(event, tokens=tuple(event.tokens))
            elif isinstance(event, BaseException):
                self.ended[name] = event

        return self.engine.submit(request, sink)

    def take(self, steps: int = 1) -> None:
        """So many turns of the engine's loop. A decode that is stopped is one too."""
        for _ in range(steps):
            self.count += 1
            with self.engine._changed:
                self.engine._reap()
            with suppress(DecodeAborted):
                self.engine.step()

    def until(self, name: object, most: int = 2000) -> Finished:
        """What it ended with."""
        for _ in range(most):
            if name in self.ended:
                return self.ended[name]
            self.take()
        raise AssertionError(f"{name} did not end within {most} steps")

    def chosen(self, name: object) -> list[Chosen]:
        return [event for event in self.events[name] if isinstance(event, Chosen)]

    def read(self, name: object) -> list[int]:
        """How far its prompt was read, each time it was told."""
        return [event.done for event in self.events[name] if isinstance(event, Prefilled)]
