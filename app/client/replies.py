"""What comes back, as it comes: chunks of a streamed answer to events. Shared by all clients; knows no transport."""

from collections.abc import Iterator
from typing import Any

import msgspec

from paceline.client import refusals
from paceline.client.events import Draft, End, Event, Loading, Note, Pace, Progress, Reasoning, Text, Usage
from paceline.client.sse import Comment, Events

LOADING, NOTE = "loading", "note "  # comments of our own server begin so
STOP_TYPES = {"eos": "stop", "word": "stop", "none": "stop", "limit": "length"}  # llama.cpp's in OpenAI's words


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None  # llama.cpp, vLLM, DeepSeek
    reasoning: str | None = None  # OpenRouter
    drafter: str | None = None  # of the content; only our own server says


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None  # instead of a delta, where a server does not stream
    text: str | None = None  # of /v1/completions
    drafter: str | None = None
    finish_reason: str | None = None
    logprobs: Any = None  # of /v1/completions: parallel lists, among them `tokens` and `token_logprobs`


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Progress(msgspec.Struct):
    total: int
    processed: int
    time_left_ms: float | None = None


class _Going(msgspec.Struct):
    predicted_n: int
    predicted_per_second: float
    draft_n: int = 0
    draft_n_accepted: int = 0
    speed_up: float | None = None
    predicted_ms: float | None = None


class _Chunk(msgspec.Struct):
    """Of /v1/chat/completions, /v1/completions and /infill alike: their fields do not contradict each other."""

    choices: list[_Choice] | None = None
    content: str | None = None  # of /infill
    drafter: str | None = None
    draft: str | None = None
    completion_probabilities: Any = None  # objects with `token` and `logprob`
    stop: bool = False
    stop_type: str | None = None
    tokens_evaluated: int | None = None
    tokens_predicted: int | None = None
    prefix_cut: int | None = None  # only our own server says, which also trims
    suffix_cut: int | None = None
    finish_reason: str | None = None  # what our own server says besides stop_type
    model: str | None = None
    usage: _Usage | None = None
    timings: dict[str, Any] | None = None
    prompt_progress: _Progress | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode


class Reader:
    """Turns the pieces of one answer into events, of which End is the last."""

    def __init__(self, who: str) -> None:
        """`who`: the server, as messages call it."""
        self._who = who
        self._events = Events()
        self._reason = ""
        self._usage: _Usage | None = None
        self._timings: dict[str, Any] = {}
        self.model = ""
        self._evaluated: int | None = None
        self._predicted: int | None = None
        self.prefix_cut = 0
        self.suffix_cut = 0
        self.chances: list[tuple[str, float]] = []  # tokens' texts and log-probabilities, where they were told
        self.trims = False  # the server has trimmed a completion itself
        self.over = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that are complete now. Raises what the server reports, EngineError for what is no answer."""
        for item in self._events.feed(piece):
            if isinstance(item, Comment):
                if item.text.startswith(NOTE):
                    yield Note(item.text[len(NOTE) :])
                elif item.text.startswith(LOADING):
                    yield Loading(item.text)
            elif item == b"[DONE]":
                yield from self._finished()
            else:
                yield from self.whole(item)
            if self.over:
                return

    def end(self) -> Iterator[Event]:
        """The connection has ended. Without an End the answer is not complete, and was cut."""
        if self._reason and not self.over:
            yield from self._finished()

    def cut(self) -> End:
        """The end of an answer that was cancelled and did not end by itself: what is known of it."""
        self.over = True
        return End("cancelled", self._counted(), self._timings, self.model)

    def whole(self, data: bytes) -> Iterator[Event]:
        """The events in one chunk, which is all of the answer where a server does not stream."""
        chunk = self._decoded(data)
        if chunk.model:
            self.model = chunk.model
        if chunk.prompt_progress is not None:
            progress = chunk.prompt_progress
            self._evaluated = progress.total
            yield Progress(progress.processed, progress.total, progress.time_left_ms, self.model)
        if chunk.choices:
            choice = chunk.choices[0]
            delta = choice.delta or choice.message
            if delta is not None:
                thought = delta.reasoning_content or delta.reasoning
                if thought:
                    yield Reasoning(thought)
                if delta.content:
                    yield Text(delta.content, delta.drafter or "", self.model)
            elif choice.text:
                yield Text(choice.text, choice.drafter or "", self.model)
            self.chances += _listed(choice.logprobs)
            if choice.finish_reason:
                self._reason = choice.finish_reason
            elif chunk.timings is not None:
                yield from _pace(chunk.timings)
        elif chunk.content:
            yield Text(chunk.content, chunk.drafter or "", self.model)
        elif chunk.draft:
            yield Draft(chunk.draft)
        self.chances += _told(chunk.completion_probabilities)
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.timings is not None:
            self._timings = chunk.timings
        if chunk.stop:
            self._last_of_infill(chunk)
            yield from self._finished()

    def _decoded(self, data: bytes) -> _Chunk:
        try:
            chunk = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise refusals.not_understood(self._who) from error
        if chunk.error is not None:
            raise refusals.in_stream(data, self._who)
        return chunk

    def _last_of_infill(self, chunk: _Chunk) -> None:
        self._reason = chunk.finish_reason or STOP_TYPES.get(chunk.stop_type or "eos", chunk.stop_type or "stop")
        self._evaluated, self._predicted = chunk.tokens_evaluated, chunk.tokens_predicted
        self.prefix_cut, self.suffix_cut = chunk.prefix_cut or 0, chunk.suffix_cut or 0
        self.trims = chunk.prefix_cut is not None

    def _finished(self) -> Iterator[Event]:
        self.over = True
        yield End(self._reason or "stop", self._counted(), self._timings, self.model)

    def _counted(self) -> Usage:
        """Tokens as `usage` says, or /infill's own fields, or llama.cpp's timings."""
        read, cached, predicted = map(self._timed, ("prompt_n", "cache_n", "predicted_n"))
        prompt, answer = self._evaluated, self._predicted
        if self._usage is not None:
            details = self._usage.prompt_tokens_details
            cached = details.cached_tokens if details and details.cached_tokens is not None else cached
            prompt = self._usage.prompt_tokens if self._usage.prompt_tokens is not None else prompt
            answer = self._usage.completion_tokens if self._usage.completion_tokens is not None else answer
        if prompt is None and read is not None and cached is not None:
            prompt = read + cached
        if cached is None and read is not None and prompt is not None:
            cached = prompt - read
        return Usage(prompt, predicted if answer is None else answer, cached)

    def _timed(self, name: str) -> int | None:
        value = self._timings.get(name)
        return value if isinstance(value, int) else None


def _pace(timings: dict[str, Any]) -> Iterator[Pace]:
    """Figures on the way; nothing where they are not such."""
    try:
        told = msgspec.convert(timings, _Going)
    except msgspec.ValidationError:
        return
    yield Pace(
        told.predicted_n,
        told.predicted_per_second,
        told.draft_n,
        told.draft_n_accepted,
        told.speed_up,
        told.predicted_ms,
    )


def _listed(found: object) -> list[tuple[str, float]]:
    """OpenAI's `logprobs` of a completion. Whatever else a server puts there tells nothing."""
    if not isinstance(found, dict):
        return []
    tokens, chances = found.get("tokens"), found.get("token_logprobs")
    if not (isinstance(tokens, list) and isinstance(chances, list)):
        return []
    return [pair for each in zip(tokens, chances, strict=False) for pair in _pair(*each)]


def _told(found: object) -> list[tuple[str, float]]:
    """llama.cpp's `completion_probabilities`."""
    told = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return [pair for each in told for pair in _pair(each.get("token"), each.get("logprob"))]


def _pair(token: object, chance: object) -> list[tuple[str, float]]:
    return [(token, float(chance))] if isinstance(token, str) and isinstance(chance, (int, float)) else []
