"""What the routes answer: OpenAI's and llama.cpp's fields, and our own."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from paceline.engine.stats import Stats

Finish = Literal["stop", "length", "tool_calls", "cancelled", "superseded"]
EDIT = "edit"  # the drafter that follows a prediction, where there is one


class Answer(msgspec.Struct, frozen=True):
    """Anything that is sent."""


class Top(Answer, frozen=True):
    """A token that was likely at its place."""

    token: str
    logprob: float
    bytes: list[int] | None


class TokenLogprob(Answer, frozen=True):
    """A token of the answer and its log-probability, before sampling settings."""

    token: str
    logprob: float
    bytes: list[int] | None
    top_logprobs: list[Top]


class ChatLogprobs(Answer, frozen=True):
    """OpenAI's `logprobs` of a chat."""

    content: list[TokenLogprob]
    refusal: None = None


class TextLogprobs(Answer, frozen=True):
    """OpenAI's `logprobs` of a completion; offsets in characters of the text."""

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class FunctionCall(Answer, frozen=True):
    """A function's name and its arguments as JSON."""

    name: str
    arguments: str


class ToolCall(Answer, frozen=True):
    """A call that the model asks for."""

    id: str
    function: FunctionCall
    type: Literal["function"] = "function"
    index: int | UnsetType = UNSET  # in streams


class AssistantMessage(Answer, frozen=True):
    """The model's turn."""

    content: str | None
    role: Literal["assistant"] = "assistant"
    refusal: None = None
    tool_calls: list[ToolCall] | UnsetType = UNSET


class ChatChoice(Answer, frozen=True):
    """One answer."""

    index: int
    message: AssistantMessage
    finish_reason: Finish
    logprobs: ChatLogprobs | None = None


class ChatDelta(Answer, frozen=True):
    """What is new of the model's turn."""

    role: Literal["assistant"] | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tool_calls: list[ToolCall] | UnsetType = UNSET
    drafter: str | UnsetType = UNSET  # who drafted the content, where that was asked for


class ChatChunkChoice(Answer, frozen=True):
    """What is new of one answer."""

    index: int
    delta: ChatDelta
    finish_reason: Finish | None = None
    logprobs: ChatLogprobs | None = None


class TextChoice(Answer, frozen=True):
    """One completion, or what is new of it."""

    index: int
    text: str
    finish_reason: Finish | None = None
    logprobs: TextLogprobs | None = None
    drafter: str | UnsetType = UNSET


class PromptDetails(Answer, frozen=True):
    """Of the prompt's tokens."""

    cached_tokens: int


class CompletionDetails(Answer, frozen=True):
    """Of the answer's tokens: those of the prediction that stood, and those that were tried and did not."""

    accepted_prediction_tokens: int
    rejected_prediction_tokens: int


class Usage(Answer, frozen=True):
    """Tokens of all choices together; a prompt that several share is counted once."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


class Progress(Answer, frozen=True):
    """How much of the prompt has been read; `cache` tokens of it were known. llama.cpp's, and the time left."""

    total: int
    cache: int
    processed: int
    time_ms: float
    time_left_ms: float | None


class ChatCompletion(Answer, frozen=True):
    """POST /v1/chat/completions."""

    id: str
    created: int
    model: str
    choices: list[ChatChoice]
    usage: Usage
    timings: dict[str, Any]
    object: Literal["chat.completion"] = "chat.completion"
    system_fingerprint: str | None = None


class ChatChunk(Answer, frozen=True):
    """One event of a chat's stream."""

    id: str
    created: int
    model: str
    choices: list[ChatChunkChoice]
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    usage: Usage | UnsetType | None = UNSET
    timings: dict[str, Any] | UnsetType = UNSET
    prompt_progress: Progress | UnsetType = UNSET


class TextCompletion(Answer, frozen=True):
    """POST /v1/completions, and one event of its stream."""

    id: str
    created: int
    model: str
    choices: list[TextChoice]
    object: Literal["text_completion"] = "text_completion"
    usage: Usage | UnsetType | None = UNSET
    timings: dict[str, Any] | UnsetType = UNSET
    prompt_progress: Progress | UnsetType = UNSET
    prefix_cut: int | UnsetType = UNSET
    suffix_cut: int | UnsetType = UNSET


class Model(Answer, frozen=True):
    """A model; `meta` only while it is loaded."""

    id: str
    created: int
    owned_by: str = "paceline"
    object: Literal["model"] = "model"
    meta: dict[str, Any] | None = None


class ModelList(Answer, frozen=True):
    """GET /v1/models."""

    data: list[Model]
    object: Literal["list"] = "list"


class LlamaTop(Answer, frozen=True):
    """A token that was likely at its place, with its id."""

    id: int
    token: str
    bytes: list[int]
    logprob: float


class LlamaProbability(Answer, frozen=True):
    """A token of the answer, with its id."""

    id: int
    token: str
    bytes: list[int]
    logprob: float
    top_logprobs: list[LlamaTop]


class LlamaChunk(Answer, frozen=True):
    """One event of a stream of /completion or /infill."""

    index: int
    content: str
    tokens: list[int]
    id_slot: int
    tokens_predicted: int
    tokens_evaluated: int
    stop: bool = False
    drafter: str | UnsetType = UNSET
    draft: str | UnsetType = UNSET  # more of the text behind the cursor before it is trimmed, where `partial` asked
    completion_probabilities: list[LlamaProbability] | UnsetType = UNSET
    prompt_progress: Progress | UnsetType = UNSET


class LlamaCompletion(Answer, frozen=True):
    """POST /completion and /infill, and the last event of their streams."""

    index: int
    content: str
    tokens: list[int]
    id_slot: int
    stop: bool
    model: str
    tokens_predicted: int
    tokens_evaluated: int
    generation_settings: dict[str, Any]
    prompt: str
    has_new_line: bool
    truncated: bool
    stop_type: Literal["eos", "limit", "word", "cancelled", "superseded"]
    stopping_word: str
    finish_reason: Finish  # what OpenAI's routes would say
    tokens_cached: int
    timings: dict[str, Any]
    completion_probabilities: list[LlamaProbability] | UnsetType = UNSET
    prefix_cut: int | UnsetType = UNSET
    suffix_cut: int | UnsetType = UNSET


class Piece(Answer, frozen=True):
    """A token and its text, or its bytes where they are no text."""

    id: int
    piece: str | list[int]


class Tokens(Answer, frozen=True):
    """POST /tokenize."""

    tokens: list[int | Piece]


class Content(Answer, frozen=True):
    """POST /detokenize."""

    content: str


class Prompt(Answer, frozen=True):
    """POST /apply-template."""

    prompt: str


class Health(Answer, frozen=True):
    """GET /health."""

    status: Literal["ok"] = "ok"


class ErrorDetail(Answer, frozen=True, rename={"kind": "class"}):
    """What failed. `code`: the status, or a word such as "unsupported"."""

    code: int | str
    message: str
    type: str
    param: str | None = None
    hint: str | None = None
    kind: str | UnsetType = UNSET
    n_prompt_tokens: int | UnsetType = UNSET
    n_ctx: int | UnsetType = UNSET


class Failure(Answer, frozen=True):
    """Any error."""

    error: ErrorDetail


def usage(first: "list[Stats]", everyone: "list[Stats]", *, foretold: bool = False) -> Usage:
    """Of a whole request. `first`: one of each prompt's choices; `foretold`: there was a prediction."""
    prompt = sum(each.prompt_tokens for each in first)
    produced = sum(each.predicted_tokens for each in everyone)
    predicted = [each.drafters[EDIT] for each in everyone if foretold and EDIT in each.drafters]
    accepted = sum(each.accepted for each in predicted)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=produced,
        total_tokens=prompt + produced,
        prompt_tokens_details=PromptDetails(cached_tokens=sum(each.cached_tokens for each in first)),
        completion_tokens_details=CompletionDetails(
            accepted_prediction_tokens=accepted,
            rejected_prediction_tokens=sum(each.drafted for each in predicted) - accepted,
        ),
    )
