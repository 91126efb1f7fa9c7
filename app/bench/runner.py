"""Runs workloads, plain and with drafts in alternation, and keeps what came of it.

A machine's pace drifts, with its temperature and with whatever else it does. So each repetition runs all modes one
after the other, in turning order, and speeds are compared within a repetition only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from paceline.bench.workloads import Workload
from paceline.config import AskConfig, Speculation
from paceline.daemon.service import Overrides, Service
from paceline.engine.acceptance import AcceptanceTable
from paceline.engine.controller import HOPE
from paceline.engine.engine import Engine
from paceline.engine.sequence import Chosen, Delta, Finished
from paceline.engine.stream import Stream
from paceline.errors import ContextOverflowError, ModelError, PacelineError
from paceline.prompts.chat import Message

PLAIN: Speculation = "off"
WARM = 8  # tokens that are generated before anything is timed: the prompt is in the cache then, the models are loaded
TELL = 16  # pieces of an answer after which progress is told: telling takes time, too
Tell = Callable[[str, float], None]  # what is going on, and the share of all that is done


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    modes: Sequence[Speculation]  # without PLAIN, which all are compared with
    tokens: int  # of an answer, at most
    repetitions: int

    def order(self, repetition: int) -> list[Speculation]:
        """All modes, in turning order: whoever always came last would always meet the warmer machine."""
        modes = [PLAIN, *self.modes]
        return modes[::-1] if repetition % 2 else modes


@dataclass(frozen=True)
class Difference:
    """Two answers part after so many tokens that are the same.

    `margin`: by how much the likeliest token led the second there in plain decoding, in logits; None: not looked at.
    """

    token: int
    margin: float | None = None


@dataclass
class Record:
    """What was measured of one workload so far."""

    workload: Workload
    prompt: Sequence[int]  # tokens
    runs: dict[Speculation, list[Finished]] = field(default_factory=dict)  # by mode, one a repetition
    differences: dict[Speculation, Difference] = field(default_factory=dict)  # from plain decoding, where there is one
    disturbed: bool = False  # other programs used the processor

    def pairs(self, mode: Speculation) -> Iterator[tuple[Finished, Finished]]:
        """(plain, with drafts) of each repetition that has both."""
        return zip(self.runs.get(PLAIN, ()), self.runs.get(mode, ()), strict=False)


def first_difference(plain: Sequence[int], other: Sequence[int]) -> int | None:
    """How many tokens two answers have in common at their beginning; None: they are the same."""
    if list(plain) == list(other):
        return None
    pairs = enumerate(zip(plain, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(plain), len(other)))


class Runner:
    """Measures workloads with a service that has nothing else to do. `records` may be read at any time."""

    def __init__(self, engine: Engine, service: Service, plan: Plan, *, busy: Callable[[], bool]) -> None:
        """engine: the service's. busy: asked, while nothing is computed here, whether others use the processor."""
        self.engine, self.plan = engine, plan
        self.records: list[Record] = []
        self.left_out: dict[str, str] = {}  # workloads that this model cannot do, and why
        self._service, self._busy = service, busy
        self._learned = dict(engine.controller.acceptance.counts)  # in earlier sessions
        self._done, self._all = 0, 1  # runs
        self._tell: Tell = lambda label, share: None

    def prepare(self, workloads: Sequence[Workload], *, required: bool) -> None:
        """Encode the prompts. What the model cannot do is left out; it is an error where it is `required`, or where
        nothing is left. Raises ModelError, ContextOverflowError.
        """
        failed: PacelineError | None = None
        for workload in workloads:
            try:
                self.records.append(Record(workload, self._prompt(workload)))
            except (ModelError, ContextOverflowError) as error:
                if required:
                    raise
                failed, self.left_out[workload.name] = error, error.message
        if failed is not None and not self.records:
            raise failed
        self._all = len(self.records) * self.plan.repetitions * (1 + len(self.plan.modes))

    def run(self, tell: Tell = lambda label, share: None) -> None:
        """Measure everything. Whatever ends it early, what was measured until then is in the records."""
        self._tell = tell
        for record in self.records:
            record.disturbed = self._busy()
            for mode in self._to_warm_up():
                self._finish(record, mode, WARM)
            for repetition in range(self.plan.repetitions):
                for mode in self.plan.order(repetition):
                    end = self._finish(record, mode, self.plan.tokens, f"{record.workload.name}, {shown(mode)}")
                    record.runs.setdefault(mode, []).append(end)
                    self._done += 1
            for mode in self.plan.modes:
                self._compare(record, mode)
        self._tell("done", 1.0)

    def _to_warm_up(self) -> list[Speculation]:
        """The draft model is loaded when it is first used, which must not happen while something is timed."""
        modes, controller = [PLAIN, *self.plan.modes], self.engine.controller
        if "auto" in modes and self.engine.draft is not None and controller.outlook(HOPE) > 1.0:
            modes.append("draft")
        return modes

    def _forget(self) -> None:
        """Let go of what runs left behind, texts and experience: each is measured as if it were the first of its kind.

        Otherwise all but the first would be drafted from the answer of another, which is the same.
        """
        self.engine.forget()
        self.engine.controller.acceptance = AcceptanceTable(dict(self._learned))

    def _prompt(self, workload: Workload) -> Sequence[int]:
        if workload.is_hole:
            return self._service.prepare_infill(workload.before, workload.after).tokens
        messages = [Message("system", AskConfig().system), Message("user", workload.question)]
        prompt, room = self._service.encode_chat(messages), self._service.n_ctx - 1
        if len(prompt) > room:
            raise ContextOverflowError(len(prompt), room, "raise engine.context in the configuration")
        return prompt

    def _start(self, record: Record, mode: Speculation, tokens: int) -> Stream:
        overrides = _greedy(mode, tokens, original=record.workload.file)  # as `paceline ask -f` says it
        if record.workload.is_hole:
            infill = self._service.prepare_infill(record.workload.before, record.workload.after)
            return self._service.start_infill(infill, overrides)
        return self._service.generate(record.prompt, overrides)

    def _finish(self, record: Record, mode: Speculation, tokens: int, label: str = "") -> Finished:
        """Generate; progress is told under a label."""
        self._forget()
        pieces = 0
        for event in self._start(record, mode, tokens):
            if isinstance(event, Finished):
                return event
            if label and isinstance(event, Delta):
                if pieces % TELL == 0:
                    self._tell(label, (self._done + min(1.0, pieces / tokens)) / self._all)
                pieces += 1
        raise AssertionError("a stream ends with Finished or an exception")

    def _compare(self, record: Record, mode: Speculation) -> None:
        """Look where the texts part, and how near to a tie that was."""
        for plain, other in record.pairs(mode):
            same = first_difference(plain.tokens, other.tokens)
            if same is not None:
                margin = self._margin([*record.prompt, *plain.tokens[:same]])
                record.differences[mode] = Difference(same, margin)
                return

    def _margin(self, tokens: Sequence[int]) -> float | None:
        """The largest logit behind these tokens less the second."""
        for event in self._service.generate(tokens, _greedy(PLAIN, 1, logprobs=2)):
            if isinstance(event, Chosen):
                (_, first), (_, second) = event.alternatives[:2]
                return round(first - second, 4)
        return None


def shown(mode: Speculation) -> str:
    """The mode in a word for people."""
    return "plain" if mode == PLAIN else mode


def _greedy(mode: Speculation, tokens: int, **more: Any) -> Overrides:  # noqa: ANN401 - as Overrides has it
    """The likeliest token, always, whatever is configured: answers can then be compared."""
    return Overrides(tokens, temperature=0.0, repetition_penalty=1.0, speculation=mode, **more)
