"""Who answers, as far as completing knows it: which model, how fast it reads, and whether it answers at the moment."""

from dataclasses import dataclass, field
from typing import Protocol

from paceline.client.events import Completion, Options, Priority
from paceline.errors import PacelineError
from paceline.lsp.anchor import Budget, Reach, Window
from paceline.lsp.flight import Notice

REST, LONGEST_REST = 2.0, 60.0  # seconds without requests after an engine failed: at first, and at most
PREFIX, SUFFIX = 1024, 256  # tokens of a large window, where the machine reads them within HORIZON
HORIZON = 6.0  # seconds that reading a large window may take while nobody waits
MODELS = 4  # that are remembered of an engine


class StoppedError(PacelineError):
    """The engine has ended a completion before its end: nobody wanted it any more."""


class Infiller(Protocol):
    """What completes: the daemon's client."""

    async def complete(self, prefix: str, suffix: str, options: Options, notice: Notice) -> Completion:
        """One completion. Raises PacelineError."""
        ...


@dataclass
class Engine:
    """One engine, as far as completing knows it: who answers, how fast, and whether it does at the moment."""

    infiller: Infiller
    model: str = ""  # that answered last
    models: tuple[str, ...] = ("",)  # that answer now: the last one, and those that it takes turns with
    reach: Reach = field(default_factory=Reach)
    _former: tuple[str, ...] = ()
    _until: float = 0.0
    _rest: float = REST

    def rests(self, now: float) -> bool:
        """Whether it failed a short while ago."""
        return now < self._until

    def renewed(self) -> None:
        """It may be another one from now on."""
        self.model, self.models, self._former = "", ("",), ()
        self.reach = Reach()
        self._until, self._rest = 0.0, REST

    def failed(self, now: float) -> None:
        """It did not answer: every further time it is left alone for longer."""
        self._until, self._rest = now + self._rest, min(LONGEST_REST, 2 * self._rest)

    def woken(self, done: Completion) -> None:
        """It answers: learn from that who it is, and how fast it says that it reads."""
        self._until, self._rest = 0.0, REST
        self._heard_of(done.model)
        speed = done.timings.get("usual_prompt_per_second")
        if isinstance(speed, (int, float)) and not isinstance(speed, bool):
            self.reach.told(speed)

    def answered(self, done: Completion, window: Window, typed: str, priority: Priority | None) -> None:
        """Learn from an answer.

        How long the reading took says how fast the engine reads where that was not made to wait for anybody: in the
        most urgent class.
        """
        self.woken(done)
        tokens, milliseconds = done.timings.get("prompt_n"), done.timings.get("prompt_ms")
        if priority == "completion" and isinstance(tokens, int) and isinstance(milliseconds, (int, float)):
            self.reach.read(tokens, milliseconds / 1000)
        if done.usage.prompt_tokens:
            extra = sum(len(each.text) for each in window.extra)
            self.reach.counted(len(window.prefix) + len(typed) + len(window.suffix) + extra, done.usage.prompt_tokens)

    def _heard_of(self, model: str) -> None:
        """A model has answered. One that comes back after another takes turns with it; any other takes its place."""
        if model not in self.models:
            back = model in self._former
            self._former = (*self._former, *self.models)[-MODELS:]
            self.models = (*self.models, model)[-MODELS:] if back else (model,)
        self.model = model

    def budgets(self, latency: float) -> tuple[Budget, Budget]:
        """Characters of a window that is read within the latency, and of a large one."""
        tokens = min(PREFIX + SUFFIX, int(self.reach.speed * HORIZON))
        characters = self.reach.characters * tokens
        full = Budget(int(characters * PREFIX / (PREFIX + SUFFIX)), int(characters * SUFFIX / (PREFIX + SUFFIX)))
        return self.reach.small(latency, full), full
