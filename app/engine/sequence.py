"""One request and everything it has so far: tokens, text, cache, drafters, figures."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from paceline.config import Speculation
from paceline.engine.drafters import Drafter, Outcome
from paceline.engine.kv import Slot
from paceline.engine.pilot import Pilot
from paceline.engine.sampler import Constraint, Ids, SamplerSettings
from paceline.engine.stats import Stats
from paceline.engine.vocabulary import Vocabulary
from paceline.text import StopStrings, Utf8Stream

FinishReason = Literal["stop", "length", "cancelled", "superseded"]
Priority = Literal["completion", "chat", "prefetch", "background"]  # most urgent first


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
    draft_length: int | None = None  # drafted tokens in a round, at most
    priority: Priority = "chat"
    supersedes: str = ""  # a newer request with the same key, such as an editor's document, ends the older one
    logprobs: int | None = None  # with each token comes its log-probability and so many of the likeliest others
    prompt_seconds: float | None = None  # reading the prompt may take so long; then the answer is empty
    predict_seconds: float | None = None  # and so long from the first token to the end of a line
    original: Sequence[int] = ()  # the text that the answer reproduces with changes, where that is known
    references: Sequence[tuple[str, Sequence[int]]] = ()  # (name, tokens) of texts that the answer may quote
    strict: bool = False  # near-ties are decided by a decode of one token, as plain decoding would
    tell_drafts: bool = False  # each Delta says who drafted it
    tell_pace: bool = False  # and how fast it goes


@dataclass(frozen=True)
class Prefilled:
    """So many of the prompt's tokens are in the cache. The first one says how many were there to begin with."""

    done: int
    total: int


@dataclass(frozen=True)
class Pace:
    """How an answer has been getting on up to here."""

    tokens: int  # produced
    milliseconds: float  # since the first of them
    drafted: int  # tokens, in the rounds before
    accepted: int
    speed_up: float | None = None  # over plain decoding, where that is known

    def timings(self) -> dict[str, float | None]:
        """Under the field names of llama.cpp's server."""
        per_second = (self.tokens - 1) / self.milliseconds * 1000 if self.milliseconds > 0 else 0.0
        return {
            "predicted_n": self.tokens,
            "predicted_ms": round(self.milliseconds, 3),
            "predicted_per_second": round(per_second, 3),
            "draft_n": self.drafted,
            "draft_n_accepted": self.accepted,
            "speed_up": None if self.speed_up is None else round(self.speed_up, 3),
        }


@dataclass(frozen=True)
class Delta:
    """More text: whole characters, nothing that may yet turn out to be a stop string."""

    text: str
    drafter: str = ""  # who drafted it, where that was asked for; "": the target chose it by itself
    pace: Pace | None = None  # where that was asked for


@dataclass(frozen=True)
class Chosen:
    """A token of the answer, where its log-probability was asked for: ln softmax(logits), before sampling settings."""

    token: int
    logprob: float
    alternatives: tuple[tuple[int, float], ...] = ()  # the likeliest tokens, likeliest first


@dataclass(frozen=True)
class Finished:
    """The answer is complete. "stop": the model or a stop string ended it; "length": tokens, context or time ran out.

    "superseded": a newer request with the same key took its place.

    `tokens`: all that were generated, the one that ended the answer included.
    """

    reason: FinishReason
    stats: Stats
    tokens: Sequence[int] = ()


Event = Prefilled | Delta | Chosen | Finished | BaseException


RANKS: dict[Priority, int] = {"completion": 0, "chat": 1, "prefetch": 2, "background": 3}


@dataclass(eq=False)
class Generation:
    """A request on its way, owned by the engine's thread. `slot` is None while it waits for its turn."""

    request: Request
    vocabulary: Vocabulary
    drafters: list[Drafter]
    pilot: Pilot
    stats: Stats
    n_ctx: int
    send: Callable[[Event], None]
    number: int = 0  # in the order of arrival
    slot: Slot | None = None
    tokens: list[int] = field(default_factory=list)
    finished: FinishReason | None = None
    began: float = field(default_factory=time.perf_counter)
    first_token_at: float = 0.0
    skipped: int = 0  # steps that others had since its last
    interrupted: int = 0  # times in a row that its step was stopped for somebody more urgent

    def __post_init__(self) -> None:
        self.tokens = list(self.request.prompt)
        self.rank = RANKS[self.request.priority]
        self._utf8 = Utf8Stream()
        self._stops = StopStrings(self.request.stop)
        self._drafter = ""
        self._lines = False  # a line has ended since the first token

    @property
    def place(self) -> Slot:
        """Its slot, while it runs."""
        assert self.slot is not None, "a running request has a slot"
        return self.slot

    @property
    def pending(self) -> list[int]:
        """Tokens that are known and not yet in the cache: the rest of the prompt, or the last one chosen."""
        return self.tokens[len(self.place.tokens) :]

    @property
    def reading(self) -> bool:
        """Whether more than its last token is missing in the cache."""
        return len(self.tokens) - len(self.place.tokens) > 1

    @property
    def produced(self) -> int:
        """Tokens of the answer."""
        return len(self.tokens) - len(self.request.prompt)

    @property
    def out_of_time(self) -> bool:
        """Whether the prompt has taken longer than the request allows."""
        limit = self.request.prompt_seconds
        return limit is not None and not self.first_token_at and time.perf_counter() - self.began > limit

    @property
    def draft_limit(self) -> int:
        """Drafted tokens that can be of use: within the context and the tokens still wanted."""
        wanted = self.request.max_tokens - self.produced - 1
        room = self.n_ctx - len(self.tokens)
        return max(0, min(wanted, room))

    def recent(self, drafted: Sequence[int]) -> list[int]:
        """The tokens that penalties look at, where these were drafted behind the committed ones."""
        settings = self.request.sampler
        window = settings.repetition_window
        return (self.tokens[-window:] + list(drafted))[-window:] if settings.looks_back else []

    def viable(self, tokens: Sequence[int]) -> int:
        """How many of these drafted tokens the request's constraint lets follow each other."""
        constraint = self.request.constraint
        if constraint is None or constraint.allowed() is None:
            return len(tokens)
        ahead = constraint.copy()
        for i, token in enumerate(tokens):
            allowed = ahead.allowed()
            if allowed is not None and not _holds(allowed, token):
                return i
            ahead.advance(token)
        return len(tokens)

    def turn_off(self, drafter: Drafter, error: Exception) -> None:
        """One that failed drafts no more; the answer goes on without it."""
        if drafter in self.drafters:
            self.drafters.remove(drafter)
            self.stats.notes.append(f"drafter {drafter.name!r} turned off: {getattr(error, 'message', repr(error))}")
            with suppress(Exception):
                drafter.close()

    def catch_up(self) -> None:
        """Let the drafters do a piece of what they have put off."""
        self._each(lambda drafter: drafter.catch_up())

    def show(self, outcome: Outcome) -> None:
        """Let the drafters see what a round showed."""
        self._each(lambda drafter: drafter.see(outcome))

    def rest(self) -> None:
        """It has to wait; its drafters give back what others need."""
        self._each(lambda drafter: drafter.rest())

    def _each(self, act: Callable[[Drafter], None]) -> None:
        for drafter in list(self.drafters):
            try:
                act(drafter)
            except Exception as error:
                self.turn_off(drafter, error)

    @property
    def needs_hidden(self) -> bool:
        """Whether one of its drafters looks at the target's hidden states."""
        return any(drafter.needs_hidden for drafter in self.drafters)

    def commit(self, tokens: Sequence[int], drafters: Sequence[str] = ()) -> list[int]:
        """Take the tokens up to the first that ends the answer; emit their text. The tokens that were taken.

        drafters: who drafted the first of them, each.
        """
        taken: list[int] = []
        for at, token in enumerate(tokens):
            self._drafter = drafters[at] if at < len(drafters) and self.request.tell_drafts else ""
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
            elif self._late():
                self.stats.notes.append("the time for the answer was over")
                self._end("length")
            if self.finished:
                break
        self._each(lambda drafter: drafter.extend(taken))
        return taken

    def close(self) -> None:
        """Give back what the request held."""
        self._each(lambda drafter: drafter.close())

    def _late(self) -> bool:
        """Whether the answer has taken longer than the request allows, and is at least a line long."""
        limit = self.request.predict_seconds
        return limit is not None and self._lines and time.perf_counter() - self.first_token_at > limit

    def _emit(self, text: str) -> bool:
        """Send text on; True when it ended the answer."""
        text, stopped = self._stops.feed(text)
        if text:
            self._lines = self._lines or "\n" in text
            self.send(Delta(text, self._drafter, self._pace()))
            if self.request.until is not None and self.request.until(text):
                return True
        return stopped

    def _pace(self) -> Pace | None:
        if not self.request.tell_pace:
            return None
        stats, now = self.stats, time.perf_counter()
        stats.predicted_tokens, stats.predicted_ms = self.produced, (now - (self.first_token_at or now)) * 1000
        return Pace(self.produced, stats.predicted_ms, stats.drafted, stats.accepted, stats.speed_up)

    def _end(self, reason: FinishReason, *, flush: bool = True) -> None:
        if flush:
            rest, stopped = self._stops.feed(self._utf8.flush())
            rest += "" if stopped else self._stops.flush()
            if rest:
                self.send(Delta(rest, self._drafter))
        self.finished = reason


def _holds(allowed: Ids, token: int) -> bool:
    """Whether the rising ids have this one."""
    at = int(np.searchsorted(allowed, token))
    return at < len(allowed) and int(allowed[at]) == token
