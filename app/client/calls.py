"""Requests as they go over the wire, in the words of the OpenAI API and of llama.cpp's server. Pure."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from paceline.client.events import Extra, Message, Options
from paceline.config import Config, SamplingConfig
from paceline.errors import PacelineError
from paceline.prompts.fim import Budget, FimPrompt
from paceline.prompts.stops import StopAt
from paceline.text import replace_surrogates

# who answers decides what may be asked: "openai" knows the standard's fields alone, and may refuse any other;
# "paceline elsewhere" drafts as its own machine allows, and gets no other texts to draft from
Dialect = Literal["openai", "llama.cpp", "paceline", "paceline elsewhere"]
T = TypeVar("T")
GO_ON = "Go on exactly where you stopped, in the middle of the word if need be. Repeat nothing, explain nothing."
KEPT = 2**20  # characters of a text (of each side of the cursor) that are sent; more than any context holds
STEP = 2**18  # what is left out grows in large steps, so that a cache still knows the beginning as a person types


@dataclass(frozen=True)
class Place:
    """Where an engine answers: an address, and the Unix socket that leads there, if it is one."""

    base: str  # "http://host:port", without a path
    socket: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # the key among them
    local: bool = True  # on this machine: no proxy leads there


@dataclass(frozen=True)
class Call:
    """One HTTP request."""

    method: str
    path: str
    body: bytes | None = None


@dataclass(frozen=True)
class Answer:
    """The whole of an answer that does not stream."""

    status: int
    body: bytes


Flow = Generator[Call, Answer, T]  # asks what it has to know, one call after the other, and returns what comes of it


@dataclass(frozen=True)
class Infilling:
    """A completion that is to be asked for, and how to trim what comes back."""

    call: Call
    prompt: FimPrompt
    options: Options
    ends: tuple[str, ...] = ()  # texts of special tokens: an answer ends before the first of them

    @property
    def stop_at(self) -> StopAt:
        """Where the answer ends."""
        return self.options.stop_at or ("line" if self.options.single_line else "")


class Engine(Protocol):
    """What a client must know about who answers."""

    name: str  # as messages call it
    silence: float | None  # seconds without a byte, after which nothing more is expected

    def place(self) -> Place:
        """Where to send requests; it is started if need be. May block. Raises PacelineError when that fails."""
        ...

    def chat(self, messages: Sequence[Message], options: Options) -> Flow[Call]:
        """How to ask for an answer that streams."""
        ...

    def infill(self, prefix: str, suffix: str, options: Options) -> Flow[Infilling]:
        """How to ask for a completion that streams. Raises ModelError where it cannot be had."""
        ...

    def models(self) -> Flow[tuple[str, ...]]:
        """Names of the models that can be asked."""
        ...

    def cancelling(self, name: str) -> Call | None:
        """How to end the request with this id; None: only closing its connection does."""
        ...

    def unreachable(self, why: str) -> PacelineError:
        """Nothing could be sent."""
        ...

    def broken(self, why: str) -> PacelineError:
        """The answer ended before its end."""
        ...


def chat_body(
    messages: Sequence[Message], options: Options, config: Config, dialect: Dialect, model: str = ""
) -> bytes:
    """Body of POST /v1/chat/completions."""
    turns = [{"role": each.role, "content": replace_surrogates(each.content)} for each in messages]
    body: dict[str, Any] = {"messages": turns, "stream_options": {"include_usage": True}}
    if options.go_on and dialect == "openai":  # whose servers have no common word for it
        turns.append({"role": "user", "content": GO_ON})
    if dialect == "paceline":
        body |= _quotable(options)
        if options.go_on:
            body["continue_final_message"] = True
    return _encoded(body, options, config, dialect, model, options.max_tokens or config.ask.max_tokens)


def completion_body(prompt: str, options: Options, config: Config, stop: Sequence[str], model: str = "") -> bytes:
    """Body of POST /v1/completions, for a prompt that has the family's special tokens as text."""
    body: dict[str, Any] = {"prompt": prompt, "stream_options": {"include_usage": True}}
    if stop:
        body["stop"] = list(stop)
    if options.logprobs:
        body["logprobs"] = 0
    return _encoded(body, options, config, "openai", model, _most(options, config) or 1)


def infill_body(
    prompt: FimPrompt, prefix: str, suffix: str, options: Options, config: Config, dialect: Dialect, model: str = ""
) -> bytes:
    """Body of POST /infill: the lines before the cursor's, what is typed of that, and what follows."""
    start = len(prefix) - len(prompt.typed)
    body: dict[str, Any] = {
        "input_prefix": prefix[min(start, prompt.prefix_cut) : start],
        "prompt": prompt.typed,
        "input_suffix": suffix[: len(suffix) - prompt.suffix_cut],
        "input_extra": _files(options.extra),
        "cache_prompt": True,
    }
    line = options.single_line or options.stop_at == "line"
    if dialect in ("paceline", "paceline elsewhere"):
        body |= _hole(options, config)
    if dialect == "paceline" and options.references:
        body["references"] = _files(options.references)
    elif line and prompt.typed.strip():
        body["stop"] = ["\n", *options.stop]
    if options.logprobs:
        body["n_probs"] = 1
    return _encoded(body, options, config, dialect, model, _most(options, config))


def _hole(options: Options, config: Config) -> dict[str, Any]:
    """What only our own server knows about holes."""
    budget = budget_of(options, config)
    fields: dict[str, Any] = {
        "single_line": options.single_line,
        "prefix_tokens": budget.prefix_tokens,
        "suffix_tokens": budget.suffix_tokens,
        "stop_at": options.stop_at,
        "max_lines": options.max_lines,
        "anchor": options.anchor,
        "filename": replace_surrogates(options.filename),
        "repository": replace_surrogates(options.repository),
        "partial": options.partial,
    }
    return {name: value for name, value in fields.items() if value not in (None, "")}


def budget_of(options: Options, config: Config) -> Budget:
    """How much of the document the model is shown."""
    usual = config.complete
    return Budget(
        usual.prefix_tokens if options.prefix_tokens is None else options.prefix_tokens,
        usual.suffix_tokens if options.suffix_tokens is None else options.suffix_tokens,
    )


def _most(options: Options, config: Config) -> int:
    """Tokens of a completion; 0: only the prompt is to be read."""
    return 0 if options.warm else options.max_tokens or config.complete.max_tokens


def beyond(length: int) -> int:
    """How many characters of a text next to the cursor are not sent."""
    return max(0, -(-(length - KEPT) // STEP) * STEP)


def trimming(prefix: str, suffix: str, prefix_cut: int = 0, suffix_cut: int = 0) -> FimPrompt:
    """What is needed to trim a completion for this place."""
    from paceline.prompts.fim import NEARBY
    from paceline.prompts.lines import last_line_start, line_ending

    start = last_line_start(prefix)
    return FimPrompt(
        tokens=[],
        forced=b"",
        typed=prefix[start:],
        before=prefix[-NEARBY:],
        after=suffix[:NEARBY],
        newline=line_ending(prefix + suffix),
        prefix_cut=prefix_cut,
        suffix_cut=suffix_cut,
    )


def _encoded(
    body: dict[str, Any], options: Options, config: Config, dialect: Dialect, model: str, max_tokens: int
) -> bytes:
    if model:
        body["model"] = model
    body |= {"stream": True, "max_tokens" if "input_suffix" not in body else "n_predict": max_tokens}
    body |= _sampling(options, config.sampling, dialect)
    if options.stop and "stop" not in body:
        body["stop"] = list(options.stop)
    if dialect != "openai":
        body["return_progress"] = True
    if options.tell_pace and dialect != "openai":
        body["timings_per_token"] = True
    if dialect == "paceline":
        body |= _own(options, config)
    if dialect in ("paceline", "paceline elsewhere"):
        body |= _queued(options)
    return msgspec.json.encode({**body, **options.fields})


def _sampling(options: Options, config: SamplingConfig, dialect: Dialect) -> dict[str, Any]:
    def chosen(asked: float | None, usual: float) -> float:
        return usual if asked is None else asked

    fields: dict[str, Any] = {
        "temperature": chosen(options.temperature, config.temperature),
        "top_p": chosen(options.top_p, config.top_p),
    }
    if options.seed is not None:
        fields["seed"] = options.seed
    if dialect != "openai":
        fields["top_k"] = chosen(options.top_k, config.top_k)
        fields["min_p"] = chosen(options.min_p, config.min_p)
        fields["repeat_penalty"] = config.repetition_penalty
        fields["repeat_last_n"] = config.repetition_window
    return fields


def _quotable(options: Options) -> dict[str, Any]:
    """Texts from which the answer may be guessed. OpenAI's servers know a prediction too, but make one pay for it."""
    fields: dict[str, Any] = {}
    if options.original:
        fields["prediction"] = {"type": "content", "content": replace_surrogates(options.original[:KEPT])}
    if options.references:
        fields["references"] = _files(options.references)
    return fields


def _files(files: Sequence[Extra]) -> list[dict[str, str]]:
    return [
        {"filename": replace_surrogates(each.filename), "text": replace_surrogates(each.text[:KEPT])} for each in files
    ]


def _own(options: Options, config: Config) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    speculation = options.speculation or config.engine.speculation
    fields["speculation"] = (
        speculation if options.draft_length is None else {"drafter": speculation, "length": options.draft_length}
    )
    fields["strict"] = config.engine.strict if options.strict is None else options.strict
    if options.tell_drafts:
        fields["tell_drafts"] = True
    return fields


def _queued(options: Options) -> dict[str, Any]:
    """What only our own server knows about requests that wait for each other."""
    fields: dict[str, Any] = {}
    if options.priority is not None:
        fields["priority"] = options.priority
    if options.supersedes:
        fields["supersedes"] = options.supersedes
    return fields
