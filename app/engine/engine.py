"""The engine: one thread, one step after the other. admit -> schedule -> decode -> commit."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paceline.engine.backend import Backend, DecodeAborted
from paceline.engine.controller import Controller
from paceline.engine.drafters.model import DraftModel
from paceline.engine.drafters.team import Team
from paceline.engine.joint import Joint
from paceline.engine.kv import SlotTable
from paceline.engine.pilot import Pilot
from paceline.engine.scheduler import Scheduler, Turn
from paceline.engine.sequence import RANKS, Finished, FinishReason, Generation, Prefilled, Priority, Request
from paceline.engine.stats import Stats
from paceline.engine.status import EngineStatus, SlotStatus
from paceline.engine.stream import Sink, Stream
from paceline.engine.turnstile import Turnstile
from paceline.errors import SHORTEN, BusyError, ContextOverflowError, EngineError, InputError, PacelineError

HEADROOM = 64  # tokens of an answer that must have room before its request is let in beside others
INTERRUPTIONS = 2  # times in a row that a prompt's chunk is stopped for somebody more urgent
AGEING = 20.0  # seconds of waiting that make a request one class more urgent


@dataclass(frozen=True)
class Limits:
    """What an engine allows itself."""

    parallel: int = 8  # requests in one step
    queue: int = 64  # requests that may wait
    step_ms: float = 100.0  # for a step whose end somebody waits for
    parking: int = 1 << 30  # bytes of main memory for conversations that had to leave the cache
    branches: int = 7  # sequences beside those of the requests, where the model has them: for drafts that branch


class Engine:
    """Generates for one target and, where it pays, its drafters. `submit` from any thread."""

    def __init__(
        self,
        target: Backend,
        controller: Controller,
        draft: DraftModel | None = None,
        limits: Limits = Limits(),
        turnstile: Turnstile | None = None,
    ) -> None:
        """turnstile: shared with engines that compute on the same processor."""
        self.target = target
        self.controller = controller
        self.draft = draft
        self.limits = limits
        self._capabilities = target.capabilities
        self._parallel = min(limits.parallel, target.capabilities.n_seq_max)
        spare = min(limits.branches, target.capabilities.n_seq_max - self._parallel)
        self._slots = SlotTable(target, parking=limits.parking, spare=spare)
        self._scheduler = Scheduler(self._capabilities.n_batch, controller.costs, limits.step_ms)
        self._joint = Joint(target, self._slots, controller.costs, self._committed, self._fail)
        self._team = Team(target, controller, draft, 1 + spare)
        self._turnstile = turnstile or Turnstile()
        self._waiting: list[Stream] = []
        self._entering: Stream | None = None  # neither waiting any longer nor running yet
        self._streams: dict[Generation, Stream] = {}  # of the running ones
        self._flying: list[Turn] = []  # in the decode that runs, or is being prepared
        self._arrivals = 0
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    def submit(self, request: Request, sink: Sink | None = None) -> Stream:
        """Queue a request. `sink` gets its events on the engine's thread; without one the stream is iterated.

        Raises InputError, ContextOverflowError, BusyError, EngineError.
        """
        self._check(request)
        with self._changed:
            if self._closing:
                raise EngineError("the engine is closed")
            entering = [self._entering] if self._entering else []
            everybody = [*self._waiting, *entering, *self._streams.values()] if request.supersedes else []
            older = [each for each in everybody if each.request.supersedes == request.supersedes]
            # Those that it supersedes make room for it, whether they wait or run.
            if len(self._waiting) - len(older) >= max(1, self.limits.queue):
                raise BusyError(f"{len(self._waiting)} requests are waiting already", "try again a little later")
            for each in older:
                self._cancel(each, "superseded")
            self._arrivals += 1
            stream = Stream(request, self._cancel, self._arrivals, sink)
            self._waiting.append(stream)
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="paceline-engine", daemon=True)
                self._thread.start()
            if self._interrupts(RANKS[request.priority]):
                self._abort(True)
            self._changed.notify()
        return stream

    def _check(self, request: Request) -> None:
        if not request.prompt:
            raise EngineError("the prompt is empty")
        if request.max_tokens < 1:
            raise InputError(f"{request.max_tokens} tokens were asked for", "ask for one or more")
        n_tokens = self.target.vocabulary.n_tokens
        for tokens in (request.original, *(tokens for _, tokens in request.references)):
            if len(tokens) and not 0 <= min(tokens) <= max(tokens) < n_tokens:
                raise InputError("a text to draft from has tokens that the model does not have")
        room = self._capabilities.n_ctx - 1
        if len(request.prompt) > room:
            raise ContextOverflowError(len(request.prompt), room, SHORTEN)

    def step(self) -> bool:
        """One decode for everybody whose turn it is. False: there was nothing to do. Raises DecodeAborted."""
        self._admit()
        turns = self._turns()
        if not turns:
            return False
        with self._changed:
            self._flying = turns
            if any(self._streams[turn.sequence].cancelled for turn in turns):
                return True  # the next turn takes it out
        try:
            self._joint.run(self._joint.prepare(turns))
        finally:
            self._flying = []
        return True

    def make_way(self, priority: Priority) -> None:
        """Another engine on this processor has a request of this class: a long step of less urgent ones is stopped."""
        with self._changed:
            if self._interrupts(RANKS[priority]):
                self._abort(True)

    def close(self) -> None:
        """Stop at once and free the memory; running requests end as cancelled."""
        with self._changed:
            self._closing = True
            self._abort(True)
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        else:
            with self._changed:
                self._reap()
        self.target.close()
        if self.draft is not None:
            self.draft.close()

    def forget(self) -> None:
        """Let go of the texts of earlier requests, from which later ones may be drafted. While nothing runs."""
        self._team.library.clear()

    def status(self) -> EngineStatus:
        """What it is doing, for people and for tools. From any thread."""
        with self._changed:
            by_slot = {sequence.slot: sequence for sequence in self._scheduler.running}
            slots = tuple(SlotStatus.of(slot, by_slot.get(slot)) for slot in self._slots.slots)
            cells, lot = self._slots.cells, self._slots.lot
            return EngineStatus(
                slots, len(by_slot), len(self._waiting), cells.used, cells.size, len(lot), lot.bytes, self._parallel
            )

    # --- the engine's thread ------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        while True:
            with self._changed:
                while not (self._closing or self._waiting or self._scheduler.running):
                    self._turnstile.rest(self)
                    self._changed.wait()
                self._reap()
                if self._closing:
                    self._turnstile.rest(self)
                    return
                rank = self._most_urgent()
            try:
                with self._turnstile.turn(self, rank):
                    self.step()
            except DecodeAborted:
                continue  # somebody was cancelled, or somebody more urgent came
            except Exception as error:  # the thread must outlive whatever went wrong
                for sequence in self._scheduler.running:
                    self._fail(sequence, error)

    def _admit(self) -> None:
        """Give those who wait a sequence, the most urgent first; less urgent ones make way for them."""
        while True:
            with self._changed:
                self._entering = None
                if not self._waiting:
                    return
                stream = min(self._waiting, key=lambda each: (self._rank(each), each.number))
                running, rank = self._scheduler.running, self._rank(stream)
                if running and not self._fits(stream, running):
                    # Waiting brings nobody so far that an equal, or a chat, has to go for it.
                    drives = rank if stream.request.priority == "completion" else max(rank, RANKS["chat"])
                    if not self._fits(stream, [each for each in running if each.rank <= drives]):
                        return
                    self._preempt(running[-1])
                    continue
                self._waiting.remove(stream)
                self._entering = stream
            try:
                self._start(stream, rank)
            except Exception as error:  # whatever it is, its owner waits for an answer
                stream.send(_as_ours(error))

    def _most_urgent(self) -> int:
        """The best class of all that run or wait."""
        ranks = [RANKS[stream.request.priority] for stream in self._waiting]
        return min([*ranks, *(each.rank for each in self._scheduler.running[:1])], default=max(RANKS.values()))

    def _rank(self, stream: Stream) -> int:
        """Its class, or a better one if it has waited long."""
        return max(0, RANKS[stream.request.priority] - int((time.monotonic() - stream.arrived) / AGEING))

    def _fits(self, stream: Stream, others: Sequence[Generation]) -> bool:
        """Whether it can run beside these, without one of them having to leave soon."""
        request, known = stream.request, stream.sequence
        tokens = len(request.prompt) if known is None else len(known.tokens)
        needed = tokens + min(request.max_tokens, HEADROOM)
        taken = {cell for each in others for cell in each.place.held}
        return not others or (len(others) < self._parallel and needed <= self._capabilities.n_ctx - len(taken))

    def _start(self, stream: Stream, rank: int) -> None:
        """Let a request run, for the first time or again; in the class that waiting has brought it to."""
        request, sequence = stream.request, stream.sequence
        stats = Stats(prompt_tokens=len(request.prompt)) if sequence is None else sequence.stats
        slot, same = self._slots.acquire(request.prompt if sequence is None else sequence.tokens)
        try:
            if sequence is None:
                stats.cached_tokens = same
                stats.queued_ms = (time.monotonic() - stream.arrived) * 1000
                pilot = Pilot.of(self.controller, forced=request.speculation not in ("auto", "off"))
                drafters, vocabulary = self._team.drafters(request, stats), self.target.vocabulary
                n_ctx, number = self._capabilities.n_ctx, stream.number
                sequence = Generation(request, vocabulary, drafters, pilot, stats, n_ctx, stream.send, number)
        except BaseException:  # the request is bad; the slot is not
            self._slots.release(slot)
            raise
        with self._changed:
            sequence.slot, sequence.rank, stream.sequence = slot, rank, sequence
            self._streams[sequence] = stream
            self._scheduler.add(sequence)
        sequence.stats.usual_plain_ms = self.controller.costs.at(1)
        if not sequence.first_token_at:
            sequence.send(Prefilled(same, len(sequence.tokens)))

    def _turns(self) -> list[Turn]:
        """Who runs in this step. Where the cache is full, those at rest leave it, then the last of those that run."""
        n_batch, slots = self._capabilities.n_batch, self._slots
        while True:
            turns = self._scheduler.next(slots.room(n_batch), crowded=self._turnstile.crowded(self))
            running = self._scheduler.running
            if turns or not running:
                return turns
            if len(running) == 1:
                raise EngineError("the model's cache has no room for another token", "raise engine.context")
            with self._changed:
                self._preempt(running[-1])

    # --- endings ------------------------------------------------------------------------------------------------------

    def _committed(self, sequence: Generation) -> None:
        """Its part of a step stands."""
        sequence.interrupted = 0
        if sequence.finished:
            self._finish(sequence, sequence.finished)

    def _finish(self, sequence: Generation, reason: FinishReason) -> None:
        stats, now = sequence.stats, time.perf_counter()
        first = sequence.first_token_at or now
        stats.prompt_ms = (first - sequence.began) * 1000
        stats.predicted_ms = (now - first) * 1000
        stats.predicted_tokens = sequence.produced
        stats.usual_plain_ms = self.controller.costs.at(1)
        stats.usual_prompt_per_second = self.controller.costs.reading
        sequence.close()
        if sequence.slot is not None:
            self._leave(sequence, whole=reason in ("stop", "length"))
        sequence.send(Finished(reason, stats, sequence.tokens[stats.prompt_tokens :]))

    def _fail(self, sequence: Generation, error: Exception) -> None:
        """Its last step went wrong; the cache may hold some of it."""
        sequence.close()
        self._leave(sequence, whole=False)
        sequence.send(_as_ours(error))

    def _preempt(self, sequence: Generation) -> None:
        """Let it wait again; its cache stays as long as there is room, and is parked then."""
        sequence.rest()
        stream = self._leave(sequence, whole=True)
        if stream.cancelled:
            self._finish(sequence, stream.cancelled)
        else:
            stream.arrived = time.monotonic()  # its waiting begins anew; otherwise it would come back at once
            self._waiting.append(stream)

    def _leave(self, sequence: Generation, *, whole: bool) -> Stream:
        """Take a sequence out.

        `whole`: it ended between two decodes. Otherwise a model that cannot drop its tail starts anew, as nobody knows
        how far it came.
        """
        slot = sequence.place
        if not (whole or self._capabilities.partial_removal):
            slot.clear()
        self._slots.release(slot)
        sequence.slot = None
        with self._changed:
            self._scheduler.remove(sequence)
            return self._streams.pop(sequence)

    def _cancel(self, stream: Stream, reason: FinishReason = "cancelled") -> None:
        with self._changed:
            stream.cancelled = stream.cancelled or reason
            if stream in self._waiting:
                self._waiting.remove(stream)
                if stream.sequence is not None:
                    self._finish(stream.sequence, reason)
                else:
                    stream.send(Finished(reason, Stats(prompt_tokens=len(stream.request.prompt))))
            elif self._stops():
                self._abort(True)

    def _stops(self) -> bool:
        """Whether the decode that runs is to be stopped: all of it, or most, is for those who no longer want it."""
        gone = [turn for turn in self._flying if self._is_cancelled(turn.sequence)]
        if not gone or len(gone) == len(self._flying):
            return bool(gone)
        share = sum(turn.tokens for turn in gone) / sum(turn.tokens for turn in self._flying)
        return self._capabilities.partial_removal and share > 0.5

    def _is_cancelled(self, sequence: Generation) -> bool:
        stream = self._streams.get(sequence)
        return stream is not None and stream.cancelled != ""

    def _interrupts(self, rank: int) -> bool:
        """Whether the decode that runs is stopped for somebody of this class: where it is long, and all less urgent."""
        flying = self._flying
        tokens = sum(turn.tokens for turn in flying)
        if not flying or not self._capabilities.partial_removal:
            return False
        if self.controller.costs.at(tokens) <= self.limits.step_ms:
            return False
        if any(turn.sequence.rank <= rank or turn.sequence.interrupted >= INTERRUPTIONS for turn in flying):
            return False
        for turn in flying:
            turn.sequence.interrupted += 1
        return True

    def _reap(self) -> None:
        """Take out those who were cancelled or whose time is over, and let decodes run again. With the lock held."""
        for sequence in self._scheduler.running:
            cancelled = self._streams[sequence].cancelled
            if self._closing or cancelled:
                self._finish(sequence, cancelled or "cancelled")
            elif sequence.out_of_time:
                sequence.stats.notes.append("the time for reading the prompt was over")
                self._finish(sequence, "length")
        while self._closing and self._waiting:
            self._cancel(self._waiting[0])
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
