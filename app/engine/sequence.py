"""One request and everything it has so far: tokens, text, cache, drafters, figures."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from paceline.config import Speculation
from paceline.engine.controller import Pilot
from paceline.engine.drafters import Drafter
from paceline.engine.kv import Slot
from paceline.engine.sampler import Constraint, Distribution, SamplerSettings, distribution
from paceline.engine.stats import Stats
from paceline.engine.vocabulary import Vocabulary
from paceline.text import StopStrings, Utf8Stream

FinishReason = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True)
class Request:
    """What somebody wants generated."""

    prompt: Sequence[int]
    max_tokens: int
    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    seeded: bool = False  # the person chose the seed: the answer must not depend on how it was drafted
    stop: Sequence[str] = ()
    speculation: Speculation = "auto"
    constraint: Constraint | None = None
    until: Callable[[str], bool] | None = None  # fed each piece of text; True ends the answer behind it


@dataclass(frozen=True)
class Prefilled:
    """So many of the prompt's tokens are in the cache."""

    done: int
    total: int


@dataclass(frozen=True)
class Delta:
    """More text: whole characters, nothing that may yet turn out to be a stop string."""

    text: str


@dataclass(frozen=True)
class Finished:
    """The answer is complete. "stop": the model or a stop string ended it; "length": tokens or context ran out.

    `tokens`: all that were generated, the one that ended the answer included.
    """

    reason: FinishReason
    stats: Stats
    tokens: Sequence[int] = ()


Event = Prefilled | Delta | Finished | BaseException


@dataclass
class Generation:
    """A request on its way. Owned by the engine's thread; only `cancelled` and `events` are shared."""

    request: Request
    vocabulary: Vocabulary
    slot: Slot
    drafters: list[Drafter]
    pilot: Pilot
    stats: Stats
    n_ctx: int
    events: "SimpleQueue[Event]"
    tokens: list[int] = field(default_factory=list)
    finished: FinishReason | None = None
    began: float = field(default_factory=time.perf_counter)
    first_token_at: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = list(self.request.prompt)
        self._utf8 = Utf8Stream()
        self._stops = StopStrings(self.request.stop)

    @property
    def pending(self) -> list[int]:
        """Tokens that are known and not yet in the cache: the rest of the prompt, or the last one chosen."""
        return self.tokens[len(self.slot.tokens) :]

    @property
    def produced(self) -> int:
        """Tokens of the answer."""
        return len(self.tokens) - len(self.request.prompt)

    @property
    def draft_limit(self) -> int:
        """Drafted tokens that can be of use: within the context and the tokens still wanted."""
        if self.request.constraint is not None and self.request.constraint.allowed() is not None:
            return 0  # a constraint holds for a few tokens only (a word being typed); not worth looking ahead for
        wanted = self.request.max_tokens - self.produced - 1
        room = self.n_ctx - len(self.tokens)
        return max(0, min(wanted, room))

    def distribution(self, row: NDArray[np.float32], drafted: Sequence[int]) -> Distribution:
        """The target's final distribution for what follows the tokens and these drafted ones."""
        settings, constraint = self.request.sampler, self.request.constraint
        recent: list[int] = []
        if settings.repetition_penalty != 1.0 and settings.repetition_window:
            window = settings.repetition_window
            recent = (self.tokens[-window:] + list(drafted))[-window:]
        return distribution(row, settings, recent, None if constraint is None else constraint.allowed())

    def commit(self, tokens: Sequence[int]) -> list[int]:
        """Take the tokens up to the first that ends the answer; emit their text. The tokens that were taken."""
        taken: list[int] = []
        for token in tokens:
            taken.append(token)
            self.tokens.append(token)
            if self.request.constraint is not None:
                self.request.constraint.advance(token)
            if token in self.vocabulary.end_of_generation:
                self._end("stop")
            elif self._emit(self._utf8.feed(self.vocabulary.piece(token))):
                self._end("stop", flush=False)
            elif self.produced >= self.request.max_tokens:
                self._end("length")
            elif len(self.tokens) >= self.n_ctx:
                self.stats.notes.append(f"the context of {self.n_ctx} tokens is full")
                self.stats.context_full = True
                self._end("length")
            if self.finished:
                break
        for drafter in self.drafters:
            drafter.extend(taken)
        return taken

    def close(self) -> None:
        """Give back what the request held."""
        for drafter in self.drafters:
            drafter.close()

    def _emit(self, text: str) -> bool:
        """Send text on; True when it ended the answer."""
        text, stopped = self._stops.feed(text)
        if text:
            self.events.put(Delta(text))
            if self.request.until is not None and self.request.until(text):
                return True
        return stopped

    def _end(self, reason: FinishReason, *, flush: bool = True) -> None:
        if flush:
            rest, stopped = self._stops.feed(self._utf8.flush())
            rest += "" if stopped else self._stops.flush()
            if rest:
                self.events.put(Delta(rest))
        self.finished = reason
