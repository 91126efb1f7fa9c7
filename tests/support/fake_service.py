"""A service and its host that say what a test wants to hear, and remember what they were asked."""

import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from paceline.config import Config
from paceline.daemon.protocol import Hello, HttpReport, MemoryReport, StatusReport
from paceline.engine.sequence import Chosen, Delta, Finished, Prefilled, Request
from paceline.engine.stats import Stats
from paceline.engine.stream import Stream
from paceline.engine.vocabulary import FimTokens, Vocabulary
from paceline.errors import ModelError, PacelineError

BOS, END, FIM_PREFIX, FIM_SUFFIX, FIM_MIDDLE = range(256, 261)
NAMES = {BOS: "<s>", END: "<|im_end|>", FIM_PREFIX: "<|pre|>", FIM_SUFFIX: "<|suf|>", FIM_MIDDLE: "<|mid|>"}
TEMPLATE = (
    "{% if tools %}tools: {% for tool in tools %}{{ tool.function.name }} <tool_call>{% endfor %}\n{% endif %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
)
PATIENCE = 10.0  # seconds that a test waits for what must happen


def bytes_vocabulary(template: str | None = TEMPLATE) -> Vocabulary:
    """A token for each byte, and a few control tokens."""

    def encode(text: str, special: bool, bos: bool) -> list[int]:
        found = [BOS] if bos else []
        while text:
            name = next((token for token, name in NAMES.items() if special and text.startswith(name)), None)
            found += [name] if name is not None else list(text[0].encode())
            text = text[len(NAMES[name]) if name is not None else 1 :]
        return found

    return Vocabulary(
        n_tokens=261,
        encoder=encode,
        read_piece=lambda token: bytes([token]) if token < 256 else b"",
        read_text=lambda token: NAMES.get(token) or chr(token),
        end_of_generation=frozenset({END}),
        control=frozenset(NAMES),
        bos=BOS,
        eos=END,
        fim_tokens=FimTokens(FIM_PREFIX, FIM_SUFFIX, FIM_MIDDLE),
        chat_template=template,
    )


def saying(
    *said: str | Delta, reason: str = "stop", beyond: str = "", logprobs: bool = False, **stats: Any
) -> list[Any]:
    """The events of an answer in these pieces. `beyond`: generated too, but taken away by a stop string."""
    pieces = [each if isinstance(each, Delta) else Delta(each) for each in said]
    tokens = list("".join(each.text for each in pieces).encode() + beyond.encode())
    tokens += [END] if reason == "stop" and not beyond else []
    events: list[Any] = [Prefilled(3, 9), Prefilled(9, 9)]
    for piece in pieces:
        events += [Chosen(byte, -0.5, ((byte, -0.5), (35, -1.0))) for byte in piece.text.encode() if logprobs]
        events.append(piece)
    if logprobs:
        events += [Chosen(byte, -0.5) for byte in beyond.encode()] + ([] if beyond else [Chosen(END, -0.1)])
    figures = {"prompt_tokens": 9, "cached_tokens": 3, "prompt_ms": 6.0, "predicted_tokens": len(tokens), **stats}
    return [*events, Finished(reason, Stats(predicted_ms=10.0, **figures), tokens)]


@dataclass(eq=False)
class FakeStream:
    """A stream that plays a script: events, errors, and gates that hold it until they are opened."""

    sink: Callable[[Any], None]
    script: Iterable[Any]
    cancelled: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        self.cancelled.set()

    def play(self) -> None:
        for item in self.script:
            while isinstance(item, threading.Event) and not item.wait(0.002) and not self.cancelled.is_set():
                pass
            if self.cancelled.is_set():
                self.sink(Finished("cancelled", Stats(prompt_tokens=9)))
                break
            if not isinstance(item, threading.Event):
                self.sink(item)
        self.over.set()


@dataclass
class FakeInfill:
    """A prepared hole; the answer is trimmed at its right end."""

    tokens: list[int]
    prefix_cut: int = 5
    suffix_cut: int = 7
    constraint: None = None
    until: None = None
    n_forced: int = 0

    def finish(self, text: str, *, unfinished: bool = False) -> str:
        return text[self.n_forced :].rstrip()

    def kept(self, text: str, final: str) -> tuple[int, int]:
        return self.n_forced, self.n_forced + len(final)


@dataclass
class Slot:
    id: int = 0
    state: str = "idle"
    tokens: int = 12
    prompt_tokens: int = 9
    produced: int = 3
    priority: str = "chat"


@dataclass
class EngineState:
    slots: tuple[Slot, ...] = (Slot(0), Slot(1, "decode"))
    waiting: int = 2
    running: int = 1
    cells_used: int = 24
    cells: int = 4096
    parked_bytes: int = 1000
    parked: int = 1


class FakeService:
    """Plays `scripts` in turn; the last one again and again."""

    def __init__(self, *scripts: Iterable[Any], config: Config | None = None) -> None:
        self.scripts = list(scripts) or [saying("Hi")]
        self.config = config or Config()
        self.model = "tiny"
        self.vocabulary = bytes_vocabulary()
        self.n_ctx = 4096
        self.target = "tiny.gguf"
        self.notes: tuple[str, ...] = ("no draft model fits into memory",)
        self.loaded_at = 1700000000.0
        self.asked: list[Any] = []  # overrides
        self.prompts: list[list[int]] = []
        self.defaults: list[int] = []
        self.conversations: list[tuple[list[Any], Any]] = []
        self.holes: list[tuple[str, str, dict[str, Any]]] = []
        self.streams: list[FakeStream] = []
        self.refusal: Exception | None = None  # of the next submission
        self.can_infill = True
        self.n_forced = 0  # characters of a hole's answer that stand before the cursor

    def encode_chat(self, messages: Sequence[Any], extra: Any = None, unfinished: str = "") -> list[int]:
        self.conversations.append((list(messages), extra))
        whole = "".join(f"{each.role}: {each.content}\n" for each in messages)
        return self.vocabulary.encode(whole + unfinished)

    def generate(
        self, prompt: Sequence[int], overrides: Any, sink: Any = None, *, default_max_tokens: int = 0
    ) -> FakeStream:
        self.prompts.append(list(prompt))
        self.defaults.append(default_max_tokens)
        return self._start(overrides, sink)

    def chat(self, messages: Sequence[Any], overrides: Any) -> Stream:
        """The next script as a stream that one iterates over."""
        stream = Stream(Request(self.encode_chat(messages), 1), lambda _: None)
        self._start(overrides, stream.send)
        return stream

    def prepare_infill(self, prefix: str, suffix: str, wish: Any = None, *, typed: str = "") -> FakeInfill:
        if not self.can_infill:
            raise ModelError("the model cannot infill", "choose another")
        self.holes.append((prefix, suffix, {"typed": typed, "wish": wish}))
        return FakeInfill(self.vocabulary.encode(prefix + suffix), n_forced=self.n_forced)

    def start_infill(self, infill: FakeInfill, overrides: Any, sink: Any) -> FakeStream:
        return self._start(overrides, sink)

    def status(self) -> EngineState:
        return EngineState()

    def close(self) -> None:
        pass

    @property
    def prompt(self) -> str:
        """The last prompt as text."""
        return bytes(token for token in self.prompts[-1] if token < 256).decode()

    def _start(self, overrides: Any, sink: Any) -> FakeStream:
        if self.refusal is not None:
            raise self.refusal
        script = self.scripts[min(len(self.streams), len(self.scripts) - 1)]
        stream = FakeStream(sink, script)
        self.asked.append(overrides)
        self.streams.append(stream)
        threading.Thread(target=stream.play, daemon=True).start()
        return stream


class FakeHost:
    """Has its service at once, or when `gate` is opened; or never, where `failure` says why."""

    def __init__(self, service: FakeService, *, loaded: bool = True, failure: PacelineError | None = None) -> None:
        self.config = service.config
        self.loaded: FakeService | None = service if loaded else None
        self.loading = False
        self.active = 0
        self.failure = failure
        self.load_seconds = 0.0
        self._service = service

    @contextlib.asynccontextmanager
    async def use(self) -> AsyncIterator[FakeService]:
        import asyncio

        self.active += 1
        try:
            if self.loaded is None:
                await asyncio.sleep(self.load_seconds)
            if self.failure is not None:
                raise self.failure
            self.loaded = self._service
            yield self._service
        finally:
            self.active -= 1


class FakeControl:
    """Remembers how it was stopped."""

    def __init__(self) -> None:
        self.stopped: list[str] = []

    def hello(self) -> Hello:
        return Hello("0.1.0", 1, 42, "abc", 0, 1.0)

    def status(self) -> StatusReport:
        return StatusReport(42, "0.1.0", 1, 1.0, "/run/paceline.sock", HttpReport(), (), MemoryReport(), ())

    def stop(self, when: str) -> None:
        self.stopped.append(when)


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true while one waits."""
    until = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < until:
        time.sleep(0.002)
    return condition()
