"""What a client asks an engine for, and what comes back. Plain data: no transport, no engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from paceline.config import Speculation
from paceline.prompts.stops import StopAt

Priority = Literal["completion", "chat", "prefetch", "background"]  # most urgent first


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: str  # "system" | "user" | "assistant" | "tool"
    content: str


@dataclass(frozen=True)
class Extra:
    """Another file, or a piece of it (`input_extra` of llama.cpp's /infill)."""

    filename: str
    text: str


@dataclass(frozen=True)
class Options:
    """What one request asks for instead of the configuration; None: as configured."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None
    stop: Sequence[str] = ()
    speculation: Speculation | None = None
    draft_length: int | None = None  # drafted tokens in a round, at most; needs `speculation` to name a drafter
    priority: Priority | None = None
    supersedes: str = ""  # a newer request with the same key ends the older one
    single_line: bool = False  # completions: only the rest of the line, as stop_at "line"
    stop_at: StopAt = ""  # completions: the end of the line, or of the block around the cursor
    max_lines: int | None = None  # completions: of a block
    anchor: int | None = None  # completions: characters typed since a prompt that is cached; None: the cursor's line
    filename: str = ""  # completions: the document's name within its repository
    repository: str = ""  # completions: and the repository's
    prefix_tokens: int | None = None  # completions: how much is shown before the cursor
    suffix_tokens: int | None = None  # completions: and after it
    logprobs: bool = False  # completions: with the log-probabilities of what is inserted
    warm: bool = False  # completions: only read the prompt, in the background unless `priority` says otherwise
    partial: bool = False  # completions: the text is told as it comes, before it is trimmed
    extra: Sequence[Extra] = ()  # completions: pieces of other files, the least important first
    strict: bool | None = None  # near-ties are decided as plain decoding would, whoever drafts
    tell_drafts: bool = False  # text comes with who drafted it
    tell_pace: bool = False  # chat: how fast it goes is told on the way, where the server can
    original: str = ""  # chat: the text that the answer reproduces with changes, such as the file in question
    references: Sequence[Extra] = ()  # other texts that the answer may quote; the model is not shown them
    go_on: bool = False  # chat: the last message is the beginning of the answer, which goes on behind it
    fields: Mapping[str, object] = field(default_factory=dict)  # more of the API's, such as response_format or tools


AS_CONFIGURED = Options()


@dataclass(frozen=True)
class Loading:
    """The models are being loaded; the answer begins when they are."""

    text: str


@dataclass(frozen=True)
class Note:
    """Something that a person should know once, such as why there is no draft model."""

    text: str


@dataclass(frozen=True)
class Progress:
    """So many of the prompt's tokens have been read."""

    done: int
    total: int
    ms_left: float | None = None
    model: str = field(default="", compare=False)  # that reads it, where a server says so already; else ""


@dataclass(frozen=True)
class Text:
    """More of the answer."""

    text: str
    drafter: str = ""  # who drafted it, where that was asked for and is known; "": the model chose it by itself
    model: str = field(default="", compare=False)  # that answers, where a server says so already; else ""


@dataclass(frozen=True)
class Pace:
    """How an answer has been getting on up to here, where that was asked for."""

    tokens: int  # produced
    per_second: float
    drafted: int = 0  # tokens, and how many of them stood
    accepted: int = 0
    speed_up: float | None = None  # over plain decoding, where the server knows it
    milliseconds: float | None = None  # since the first of them, where the server says so


@dataclass(frozen=True)
class Draft:
    """More of a completion before it is trimmed, from a server that trims it."""

    text: str


@dataclass(frozen=True)
class Reasoning:
    """More of what a model thinks before it answers, where a server tells the two apart."""

    text: str


@dataclass(frozen=True)
class Usage:
    """Tokens of a request; None where the server does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None  # of the prompt, found in the cache


@dataclass(frozen=True)
class End:
    """The answer is complete: "stop", "length", "superseded", "cancelled", or what else a server calls it."""

    reason: str
    usage: Usage = Usage()
    timings: Mapping[str, Any] = field(default_factory=dict)  # llama.cpp's, then our own; empty where there are none
    model: str = ""


Event = Loading | Note | Progress | Text | Pace | Draft | Reasoning | End


@dataclass(frozen=True)
class Completion:
    """What to insert at the cursor."""

    text: str
    finish_reason: str
    usage: Usage = Usage()
    timings: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    prefix_cut: int = 0  # characters of the document's head that the model was not shown
    suffix_cut: int = 0  # and of its tail
    logprobs: tuple[float, ...] = ()  # of the tokens inserted, in order; where asked for, and where a server says
    tokens: tuple[str, ...] = ()  # and what each of them says
