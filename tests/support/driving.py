"""Runs the engine on the fake for one request after the other, and keeps all that came out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from paceline.engine.backend import Backend
from paceline.engine.controller import Controller
from paceline.engine.costs import CostCurve, CostModel
from paceline.engine.drafters.model import DraftModel
from paceline.engine.engine import Engine, Limits, Stream
from paceline.engine.sequence import Delta, Finished, Prefilled, Request
from paceline.engine.stats import Stats
from support.fake_backend import FakeBackend

FLAT = CostCurve((1, 2, 4, 8, 64), (1.0, 1.001, 1.002, 1.004, 1.01))  # long drafts always pay
CHEAP = CostCurve((1, 64), (0.01, 0.02))


@dataclass(frozen=True)
class Answer:
    """Everything a stream brought."""

    deltas: tuple[str, ...]
    tokens: tuple[int, ...]
    reason: str
    stats: Stats
    prefilled: tuple[Prefilled, ...]

    @property
    def text(self) -> str:
        return "".join(self.deltas)


def collect(stream: Stream) -> Answer:
    """The whole of a stream. Raises what the stream raises."""
    events = list(stream)
    end = events[-1]
    assert isinstance(end, Finished), "a stream ends with Finished"
    deltas = tuple(event.text for event in events if isinstance(event, Delta))
    prefilled = tuple(event for event in events if isinstance(event, Prefilled))
    assert len(deltas) + len(prefilled) + 1 == len(events), "nothing else comes, and nothing after the end"
    return Answer(deltas, tuple(end.tokens), end.reason, end.stats, prefilled)


@contextmanager
def running(
    target: Backend | None = None,
    draft: Backend | Callable[[], Backend] | None = None,
    *,
    curve: CostCurve = FLAT,
    draft_curve: CostCurve = CHEAP,
) -> Iterator[Engine]:
    """An engine that is closed at the end. `draft`: a backend, or what loads one."""
    model = None
    if draft is not None:
        model = DraftModel(draft if callable(draft) else lambda: draft)
        if not callable(draft) and draft.capabilities.partial_removal:
            assert model.backend is draft, "loaded from the start"
    controller = Controller(CostModel(curve), CostModel(draft_curve) if model else None)
    engine = Engine(target or FakeBackend(), controller, model)
    try:
        yield engine
    finally:
        engine.close()


def answer(engine: Engine, request: Request) -> Answer:
    """Submit and wait for all of it."""
    return collect(engine.submit(request))


def branching_engine(target: Backend, draft: Backend, curve: CostCurve = FLAT) -> Engine:
    """An engine for one request at a time, whose drafts may branch into the other sequences of the target."""
    controller, model = Controller(CostModel(curve), CostModel(CHEAP)), DraftModel(lambda: draft)
    assert model.backend is draft, "loaded from the start"
    return Engine(target, controller, model, Limits(parallel=1))
