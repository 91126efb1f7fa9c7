"""The engine: one thread, one step after the other. schedule -> decode -> commit."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np

from paceline.engine.backend import Backend, DecodeAborted
from paceline.engine.controller import Controller
from paceline.engine.drafters import Drafter
from paceline.engine.drafters.lookup import LookupDrafter
from paceline.engine.drafters.model import DraftModel, ModelDrafter
from paceline.engine.kv import SlotTable
from paceline.engine.scheduler import Scheduler
from paceline.engine.sequence import Delta, Event, Finished, FinishReason, Generation, Prefilled, Request
from paceline.engine.stats import Stats
from paceline.errors import ContextOverflowError, EngineError, InputError, PacelineError


@dataclass(eq=False)
class Stream:
    """A submitted request as its owner sees it: an iterator of events that can be cancelled."""

    request: Request
    cancel_in: Callable[["Stream"], None]
    events: "SimpleQueue[Event]" = field(default_factory=SimpleQueue)
    cancelled: bool = False

    def __iter__(self) -> Iterator[Prefilled | Delta | Finished]:
        """Events up to and including Finished. Raises what went wrong. Leaving early cancels."""
        over = False
        try:
            while not over:
                event = self.events.get()
                over = isinstance(event, (Finished, BaseException))
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            if not over:
                self.cancel()

    def cancel(self) -> None:
        """Stop computing, within the running decode."""
        self.cancel_in(self)


class Engine:
    """Generates for one target and, where it pays, its drafters. `submit` from any thread."""

    def __init__(self, target: Backend, controller: Controller, draft: DraftModel | None = None) -> None:
        self.target = target
        self.controller = controller
        self.draft = draft
        self._capabilities = target.capabilities
        self._slots = SlotTable(target)
        self._scheduler = Scheduler(self._capabilities.n_batch)
        self._waiting: deque[Stream] = deque()
        self._streams: dict[int, Stream] = {}  # by id of the running sequence
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    def submit(self, request: Request) -> Stream:
        """Queue a request. Raises InputError, ContextOverflowError, EngineError."""
        if not request.prompt:
            raise EngineError("the prompt is empty")
        if request.max_tokens < 1:
            raise InputError(f"{request.max_tokens} tokens were asked for", "ask for one or more")
        room = self._capabilities.n_ctx - 1
        if len(request.prompt) > room:
            raise ContextOverflowError(
                len(request.prompt), room, "shorten it, or raise engine.context in the configuration"
            )
        stream = Stream(request, self._cancel)
        with self._changed:
            if self._closing:
                raise EngineError("the engine is closed")
            self._waiting.append(stream)
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="paceline-engine", daemon=True)
                self._thread.start()
            self._changed.notify()
        return stream

    def step(self) -> bool:
        """One decode for everybody whose turn it is. False: there was nothing to do. Raises EngineError."""
        self._admit()
        work = self._scheduler.next()
        if not work:
            return False
        began = time.perf_counter()
        rows = self.target.decode([each.span for each in work])
        milliseconds = (time.perf_counter() - began) * 1000
        for each in work:
            outputs = each.span.outputs
            each.commit(rows[:outputs], milliseconds)
            rows = rows[outputs:]
            if each.sequence.finished:
                self._finish(each.sequence, each.sequence.finished)
        return True

    def close(self) -> None:
        """Stop at once and free the memory; running requests end as cancelled."""
        with self._changed:
            self._closing = True
            self._abort(True)
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        if self.draft is not None:
            self.draft.close()
        self.target.close()

    def _loop(self) -> None:
        while True:
            with self._changed:
                while not (self._closing or self._waiting or self._scheduler.running):
                    self._changed.wait()
                self._reap()
                if self._closing:
                    return
            try:
                self.step()
            except DecodeAborted:
                continue  # somebody was cancelled: the next turn takes them out
            except Exception as error:  # the thread must outlive a failed request
                self._fail(error)

    def _admit(self) -> None:
        """Give a waiting request its sequence; one at a time for now."""
        with self._changed:
            if self._scheduler.running or not self._waiting:
                return
            stream = self._waiting.popleft()
        try:
            self._start(stream)
        except Exception as error:  # whatever it is, its owner waits for an answer
            stream.events.put(_as_ours(error))

    def _start(self, stream: Stream) -> None:
        request = stream.request
        stats = Stats(prompt_tokens=len(request.prompt))
        slot, stats.cached_tokens = self._slots.acquire(request.prompt)
        try:
            sequence = Generation(
                request,
                self.target.vocabulary,
                slot,
                self._drafters(request, stats),
                self.controller.pilot(forced=request.speculation in ("ngram", "draft")),
                stats,
                self._capabilities.n_ctx,
                stream.events,
            )
        except BaseException:  # the request is bad; the slot is not
            self._slots.release(slot)
            raise
        with self._changed:
            self._streams[id(sequence)] = stream
            self._scheduler.add(sequence)
            if stream.cancelled:  # in the meantime, when it was neither waiting nor running
                self._abort(True)

    def _drafters(self, request: Request, stats: Stats) -> list[Drafter]:
        """The drafters that may serve this request, fed with its prompt. Why one is missing goes into the notes."""
        wanted = request.speculation
        if wanted == "off":
            return []
        if not self._capabilities.partial_removal:
            stats.notes.append("no speculation: this model's memory cannot drop rejected tokens (recurrent or hybrid)")
            return []
        drafters: list[Drafter] = []
        if wanted in ("auto", "ngram"):
            drafters.append(LookupDrafter())
        if wanted in ("auto", "draft"):
            reason = self._why_no_draft(wanted == "draft")
            if reason:
                stats.notes.append(reason)
            elif self.draft is not None:
                drafters.append(
                    ModelDrafter(
                        self.draft,
                        request.sampler,
                        shared_noise=request.seeded,
                        n_tokens=self.target.vocabulary.n_tokens,
                    )
                )
        for drafter in drafters:
            drafter.extend(request.prompt)
        return drafters

    def _why_no_draft(self, forced: bool) -> str:
        """Empty when the draft model may be used."""
        if self.draft is None:
            return "no draft model is set" if forced else ""
        if forced:
            return ""
        perfect = self.controller.draft_outlook(1.0)
        hopeful = self.controller.draft_outlook(0.9)
        if hopeful > 1.0:
            return ""
        return (
            f"draft model not used: on this machine it would give {hopeful:.2f}x with 90 % of its tokens accepted, "
            f"{perfect:.2f}x with all"
        )

    def _finish(self, sequence: Generation, reason: FinishReason) -> None:
        stats, now = sequence.stats, time.perf_counter()
        first = sequence.first_token_at or now
        stats.prompt_ms = (first - sequence.began) * 1000
        stats.predicted_ms = (now - first) * 1000
        stats.predicted_tokens = sequence.produced
        stats.usual_plain_ms = self.controller.costs.at(1)
        self._drop(sequence, whole=reason != "cancelled")
        sequence.events.put(Finished(reason, stats, sequence.tokens[stats.prompt_tokens :]))

    def _drop(self, sequence: Generation, *, whole: bool) -> None:
        """Take a sequence out.

        `whole`: it ended between two decodes. Otherwise a model that cannot drop its tail starts anew, as nobody knows
        how far it came.
        """
        sequence.close()
        if not (whole or self._capabilities.partial_removal):
            sequence.slot.clear()
        self._slots.release(sequence.slot)
        self._scheduler.remove(sequence)
        self._streams.pop(id(sequence), None)

    def _fail(self, error: Exception) -> None:
        """Whatever ran in the failing step is lost; say so to its owners."""
        failure = _as_ours(error)
        for sequence in self._scheduler.running:
            self._drop(sequence, whole=False)
            sequence.events.put(failure)

    def _cancel(self, stream: Stream) -> None:
        with self._changed:
            stream.cancelled = True
            if stream in self._waiting:
                self._waiting.remove(stream)
                stream.events.put(Finished("cancelled", Stats(prompt_tokens=len(stream.request.prompt))))
            elif stream in self._streams.values():
                self._abort(True)

    def _reap(self) -> None:
        """Take cancelled requests out, and let decodes run again. Called with the lock held."""
        for sequence in self._scheduler.running:
            if self._closing or self._streams[id(sequence)].cancelled:
                self._finish(sequence, "cancelled")
        while self._closing and self._waiting:
            self._waiting.popleft().events.put(Finished("cancelled", Stats()))
        self._abort(False)

    def _abort(self, on: bool) -> None:
        self.target.abort(on)
        if self.draft is not None:
            self.draft.abort(on)


def _as_ours(error: Exception) -> PacelineError:
    return error if isinstance(error, PacelineError) else EngineError(f"the engine failed: {error!r}")


def random_seed() -> int:
    """A seed nobody chose."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
