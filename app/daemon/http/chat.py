"""POST /v1/chat/completions: OpenAI's fields, answers and chunks."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, UnsetType

from paceline.daemon.http import answers, sse, tools, wishes
from paceline.daemon.http.answers import ChatChoice, ChatChunk, ChatChunkChoice, ChatDelta, Finish, ToolCall
from paceline.daemon.http.choice import Choice
from paceline.daemon.http.errors import RequestError, refused
from paceline.daemon.http.limits import Limits
from paceline.daemon.http.logprobs import Placed, Trail, for_chat
from paceline.daemon.http.run import Job, Sink
from paceline.daemon.http.schemas import ChatMessage, ChatRequest, Part, Tool
from paceline.engine.sequence import Chosen, Delta, Event, Finished, Prefilled
from paceline.errors import ModelError
from paceline.prompts.chat import Message

if TYPE_CHECKING:
    from paceline.daemon.service import Overrides, Service
    from paceline.engine.stream import Stream


class Turn(Choice):
    """One answer: its text, the calls in it, and its log-probabilities."""

    def __init__(self, index: int, calls: tools.ToolCalls | None, trail: Trail | None) -> None:
        super().__init__(index)
        self._calls = calls
        self._trail = trail
        self._length = 0
        self._said: list[str] = []
        self._told: list[Placed] = []
        self._opened = False

    def delta(self, event: Event) -> tuple[ChatDelta, list[Placed]] | None:
        """What the event adds to the turn, or None."""
        self.take(event)
        said, made, placed = "", list[ToolCall](), list[Placed]()
        if isinstance(event, Chosen) and self._trail is not None:
            self._trail.add(event)
        elif isinstance(event, Delta):
            self._length += len(event.text)
            said, made = (event.text, made) if self._calls is None else self._calls.feed(event.text)
        elif isinstance(event, Finished) and self._calls is not None:
            said, made = self._calls.flush()
        if self._trail is not None:
            placed = self._trail.up_to(self._length if event is not self.finished else self._rest())
        self._said.append(said)
        self._told += placed
        if not (said or made or placed):
            return None
        numbered = [_numbered(call, len(self.calls) - len(made) + at) for at, call in enumerate(made)]
        opening: Literal["assistant"] | UnsetType = UNSET if self._opened else "assistant"
        self._opened = True
        drafter = (said and self.drafter) or UNSET
        return ChatDelta(role=opening, content=said or UNSET, tool_calls=numbered or UNSET, drafter=drafter), placed

    def closing(self) -> ChatDelta:
        """The delta beside the finish reason."""
        return ChatDelta() if self._opened else ChatDelta(role="assistant", content="")

    @property
    def calls(self) -> list[ToolCall]:
        """Complete calls so far."""
        return [] if self._calls is None else self._calls.calls

    @property
    def content(self) -> str | None:
        """The text beside the calls; None where there are only calls."""
        return "".join(self._said) or (None if self.calls else "")

    @property
    def told(self) -> list[Placed]:
        """All tokens with their log-probabilities."""
        return self._told

    @property
    def reason(self) -> Finish:
        """How it ended."""
        return "tool_calls" if self.calls and self.end.reason == "stop" else self.end.reason

    def _rest(self) -> int:
        """Tokens up to here are told at the end: behind a stop string there are some that are not."""
        return self._length if self.end.reason == "stop" else 2**63


class ChatShape:
    """One request."""

    route = "/v1/chat/completions"
    ending = sse.DONE

    def __init__(self, body: ChatRequest, limits: Limits, name: str) -> None:
        """`name`: the id that its chunks have. Raises RequestError for what can be told without the model."""
        count = body.n or 1
        wishes.check_jobs(count, limits.jobs)
        self._body = body
        self._messages = messages(body.messages)
        self._original = None if body.prediction is None else _text(body.prediction.content, "prediction")
        self._logprobs = (body.top_logprobs or 0) if body.logprobs or body.top_logprobs else None
        self._count = count
        self._id = name
        self._created = int(time.time())
        self.choices: list[Turn] = []

    def plan(self, service: "Service") -> Sequence[Job]:
        """The prompt, read once for all choices."""
        body, vocabulary = self._body, service.vocabulary
        offered = tools.offered(body.tools, body.tool_choice, vocabulary.chat_template or "")
        forced = bool(offered) and tools.forced(body.tool_choice)
        turns, unfinished = self._messages, ""
        if body.continue_final_message and turns[-1].role == "assistant":
            turns, unfinished = turns[:-1], turns[-1].content
        prompt = encode(service, turns, offered, body.chat_template_kwargs, unfinished)
        if forced:
            from paceline.engine.grammar import Grammar

            grammar: Grammar | None = Grammar.json_schema(tools.call_schema(offered))
            prompt = prompt + vocabulary.encode(tools.FORCED, special=True)
        else:
            grammar = wishes.grammar(body, body.response_format)
        for index in range(self._count):
            calls = tools.ToolCalls(inside=forced) if offered else None
            trail = None if self._logprobs is None else Trail(vocabulary)
            self.choices.append(Turn(index, calls, trail))
        self._model, self._vocabulary = service.model, vocabulary
        most = body.max_completion_tokens or body.max_tokens
        asked = wishes.overrides(
            body,
            service,
            max_tokens=most,
            logprobs=self._logprobs,
            grammar=grammar,
            priority="chat",
            original=self._original,
            tell_pace=body.timings_per_token,
            references=tuple((each.filename, each.text) for each in body.references or ()) or None,
        )
        default = service.config.ask.max_tokens
        return [
            Job(_submit(prompt, wishes.for_choice(asked, at), default), after=0 if at else None)
            for at in range(self._count)
        ]

    def skip(self, model: str) -> None:
        """Choices without a plan."""
        self._model = model
        self._logprobs = None
        self.choices = [Turn(index, None, None) for index in range(self._count)]

    def take(self, index: int, event: Event) -> Iterator[ChatChunk]:
        """Chunks for an event."""
        turn = self.choices[index]
        added = turn.delta(event)
        if isinstance(event, Prefilled) and self._body.return_progress:
            yield self._chunk([_choice(index, ChatDelta())], prompt_progress=turn.progress(event))
        if added is not None:
            delta, placed = added
            logprobs = for_chat(placed, self._vocabulary) if placed else None
            pace = event.pace if isinstance(event, Delta) else None
            more = {} if pace is None else {"timings": pace.timings()}
            yield self._chunk([ChatChunkChoice(index=index, delta=delta, logprobs=logprobs)], **more)
        if isinstance(event, Finished):
            last = ChatChunkChoice(index=index, delta=turn.closing(), finish_reason=turn.reason)
            yield self._chunk([last], timings=event.stats.timings())

    def end(self) -> Iterator[ChatChunk]:
        """The usage, where it is wanted."""
        options = self._body.stream_options
        if options is not None and options.include_usage:
            yield self._chunk([], usage=self._usage(), timings=self.choices[0].stats.timings())

    def whole(self) -> answers.ChatCompletion:
        """The answer in one piece."""
        return answers.ChatCompletion(
            id=self._id,
            created=self._created,
            model=self._model,
            choices=[
                ChatChoice(
                    index=turn.index,
                    message=answers.AssistantMessage(content=turn.content, tool_calls=turn.calls or UNSET),
                    finish_reason=turn.reason,
                    logprobs=None if self._logprobs is None else for_chat(turn.told, self._vocabulary),
                )
                for turn in self.choices
            ],
            usage=self._usage(),
            timings=self.choices[0].stats.timings(),
        )

    def _usage(self) -> answers.Usage:
        everyone = [turn.stats for turn in self.choices]
        return answers.usage(everyone[:1], everyone, foretold=bool(self._original))

    def _chunk(self, choices: list[ChatChunkChoice], **more: Any) -> ChatChunk:  # noqa: ANN401
        wanted = self._body.stream_options is not None and self._body.stream_options.include_usage
        more = {"usage": None, **more} if wanted else more
        return ChatChunk(id=self._id, created=self._created, model=self._model, choices=choices, **more)


def messages(turns: Sequence[ChatMessage]) -> list[Message]:
    """The conversation in the engine's words. Raises RequestError for content that is no text."""
    found = []
    for at, turn in enumerate(turns):
        text = _text(turn.content, f"messages[{at}]")
        if turn.tool_calls:
            written = tools.as_text(turn.tool_calls)
            text = f"{text}\n{written}" if text else written
        found.append(Message("system" if turn.role == "developer" else turn.role, text))
    return found


def encode(
    service: "Service",
    turns: Sequence[Message],
    offered: Sequence[Tool],
    variables: Mapping[str, Any] | None,
    unfinished: str = "",
) -> list[int]:
    """The prompt's tokens. Raises RequestError where the model's template refuses the conversation."""
    extra = dict(variables or {})
    if offered:
        extra["tools"] = tools.for_template(offered)
    try:
        return service.encode_chat(turns, extra or None, unfinished)
    except ModelError as error:
        raise refused(error, 400) from error


def _text(content: str | Sequence[Part] | None, of: str) -> str:
    """The text. Raises RequestError for parts that are none; `of`: whose content it is."""
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type != "text" or part.text is None:
            raise RequestError(
                400,
                f"{of} has a part of type {part.type[:40]!r}; this model reads text only",
                'send parts of type "text"',
                param=f"{of}.content",
            )
    return "".join(part.text or "" for part in content)


def _submit(prompt: Sequence[int], asked: "Overrides", default: int) -> "Callable[[Service, Sink], Stream]":
    def submit(service: "Service", sink: Sink) -> "Stream":
        return service.generate(prompt, asked, sink, default_max_tokens=default)

    return submit


def _choice(index: int, delta: ChatDelta) -> ChatChunkChoice:
    return ChatChunkChoice(index=index, delta=delta)


def _numbered(call: ToolCall, index: int) -> ToolCall:
    return ToolCall(id=call.id, function=call.function, index=index)
